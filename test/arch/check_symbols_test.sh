#!/usr/bin/env bash
# Tests check_symbols.sh on libraries that break one rule each.
#   check_symbols_test.sh CXX AR NM READELF WORK
set -euo pipefail
cxx=$1
ar=$2
nm=$3
readelf=$4
work=$5
check=$(cd "$(dirname "$0")" && pwd)/check_symbols.sh
rm -rf "$work"
mkdir -p "$work"
cd "$work"
failed=0

# build NAME SOURCE [FLAGS...] makes an archive and a shared library
build() {
  local name=$1 source=$2
  shift 2
  printf '%s\n' "$source" >"$name.cc"
  "$cxx" -fPIC -O1 "$@" -c "$name.cc" -o "$name.cc.o"
  "$ar" rcs "$name.a" "$name.cc.o"
}
link() { "$cxx" -shared -nostdlib -o "$1.so" "$1.cc.o" -lc "${@:2}"; }
expect() {
  local wanted=$1 name=$2 text=$3 found=0 output
  output=$("$check" "$nm" "$readelf" "${4:-clean}.so" "${5:-planning}.a" "$name.a" 2>&1) || found=1
  if [ "$found" != "$wanted" ] || ! grep -q "$text" <<<"$output"; then
    echo "$name: expected exit $wanted and '$text', found exit $found and: $output" >&2
    failed=1
  fi
}

build planning 'void cost() {}'
build clean 'extern "C" int puts(const char*); extern "C" int codl_f() { return puts("x"); }'
link clean
expect 0 clean ''
build throws 'extern "C" void codl_f() { throw 1; }'
expect 1 throws __cxa_throw
build news 'extern "C" int* codl_f() { return new int; }'
expect 1 news _Znwm
build strings '#include <string>
extern "C" void codl_f(std::string* s) { s->append("x"); }' -fno-exceptions
expect 1 strings 'C++ run-time'
build mallocs '#include <stdlib.h>
extern "C" void* codl_f() { return malloc(1); }'
expect 1 mallocs codl_allocator_t
build arena '#include <stdlib.h>
extern "C" void* codl_f() { return malloc(1); }'
expect 0 arena ''
build constructs 'extern "C" int codl_g(); int value = codl_g();'
expect 1 constructs 'global constructor'
build exports 'extern "C" int puts(const char*); extern "C" int other() { return puts("x"); }'
link exports
expect 1 clean 'codl_\*' exports
build asks 'void cost(); extern "C" void codl_f() { cost(); }'
expect 1 asks 'found _Z4costv'
build has 'extern "C" int codl_f() { return 1; }
void codl_cost() {}'
link has
expect 1 clean 'nothing of has.a' has has
link clean -Wl,--no-as-needed -lgcc_s -Wl,--soname=linked
mv clean.so linked.so
expect 1 clean 'libc' linked
exit $failed
