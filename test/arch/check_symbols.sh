#!/usr/bin/env bash
# Checks that the device side uses no exceptions, RTTI, libstdc++, heap or global constructors, and nothing of kernels
# that is for planning only.
#
#   check_symbols.sh NM READELF LIBCODL.so PLANNING.a ARCHIVE.a...
#
# The archives are the libraries that make up libcodl.so; the .so is checked for what it exports and
# links. PLANNING.a is the library that it must not need. Not for sanitizer builds, which add symbols
# of their own.
set -uo pipefail
nm=$1
readelf=$2
shared=$3
planning=$4
shift 4
faults=0
fault() {
  echo "$1" >&2
  faults=$((faults + 1))
}

# Lists the undefined symbols of every object, as "archive:object: symbol".
undefined=$("$nm" --undefined-only --print-file-name "$@" 2>/dev/null | awk '{print $1, $NF}')
[ -n "$undefined" ] || fault "expected objects with undefined symbols in $*, found none"

# No object may need these: __cxa_* and _Unwind* throw or guard; _Zn*/_Zd* are new and delete;
# _ZTI/_ZTV are type information; St names are libstdc++.
while read -r line; do
  fault "expected no C++ run-time support, found $line"
done < <(grep -E ' (__cxa_|__gxx_personality|_Unwind_|_Zn[wa]|_Zd[la]|_ZT[ISV]|_ZN?K?St|_ZNK?S[abdios])' \
  <<<"$undefined")

# Only the default allocator may use the heap (runtime/src/arena.cc); all other code goes through codl_allocator_t.
while read -r line; do
  fault "expected codl_allocator_t, found $line"
done < <(grep -E ' (malloc|calloc|realloc|aligned_alloc|posix_memalign|memalign|free|strdup)(@.*)?$' \
  <<<"$undefined" | grep -vE '(^|[:/])arena\.cc\.o: ')

# The compiler and the profiler compute costs and choose tiles; a phone that runs plans does not. Weak symbols are
# inline functions, which other code may have, too.
decided=$("$nm" --defined-only --extern-only "$planning" 2>/dev/null | awk '$2 ~ /^[TDRB]$/ {print $NF}' | sort -u)
[ -n "$decided" ] || fault "expected symbols in $planning, found none"
while read -r symbol; do
  fault "expected nothing of $planning in libcodl.so, found $symbol"
done < <({ awk '{print $NF}' <<<"$undefined"; "$nm" --defined-only "$shared" 2>/dev/null | awk '{print $NF}'; } |
  sort -u | comm -12 - <(echo "$decided"))

# Nothing may run before main: processes that never use the library load it on a phone.
for archive in "$@"; do
  while read -r line; do
    fault "expected no global constructor, found one in $archive: $line"
  done < <("$readelf" --sections --wide "$archive" 2>/dev/null | grep -E '\.(init_array|ctors)')
done

while read -r symbol; do
  fault "expected only codl_* to be exported, found $symbol"
done < <("$nm" --dynamic --defined-only "$shared" | awk '{print $NF}' | sed 's/@.*//' |
  grep -vE '^(codl_|_init$|_fini$)')

while read -r library; do
  fault "expected libcodl.so to link libc (with pthread and dl) and libm only, found $library"
done < <("$readelf" --dynamic --wide "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
  grep -vE '^(libc\.so|libpthread\.so|libdl\.so|libm\.so|ld-linux)')
exit $((faults > 0))
