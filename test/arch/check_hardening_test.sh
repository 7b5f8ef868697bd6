#!/usr/bin/env bash
# Tests check_hardening.sh on programs that lack one thing each.
#   check_hardening_test.sh CC READELF WORK
set -euo pipefail
cc=$1
readelf=$2
work=$3
check=$(cd "$(dirname "$0")" && pwd)/check_hardening.sh
rm -rf "$work"
mkdir -p "$work"
cd "$work"
failed=0

cat >main.c <<'C'
#include <string.h>
char text[16];
int main(int count, char** words) {
  char copy[16];
  memcpy(copy, words[0], (size_t)count);
  strcpy(text, copy);
  return text[0];
}
C
safe=(-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
  -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
# expect EXIT TEXT [FLAG...]: checks a program built with the safe flags and these.
expect() {
  local wanted=$1 text=$2 found=0 output
  shift 2
  "$cc" main.c -o main "${safe[@]}" "$@"
  output=$("$check" "$readelf" main 2>&1) || found=1
  if [ "$found" != "$wanted" ] || ! grep -qF -- "$text" <<<"$output"; then
    echo "$*: expected exit $wanted and '$text', found exit $found and: $output" >&2
    failed=1
  fi
}
expect 0 ''
expect 0 '' '-Wl,-rpath,$ORIGIN/../lib:/usr/lib'
expect 1 'relro' -Wl,-z,norelro
expect 1 'now' -Wl,-z,lazy
expect 1 'executable' -Wl,-z,execstack
expect 1 'stack-protector' -fno-stack-protector
expect 1 'FORTIFY' -U_FORTIFY_SOURCE
expect 1 'position' -fno-pie -no-pie
expect 1 'empty entry' -Wl,-rpath,/usr/lib:
expect 1 'empty entry' -Wl,-rpath,:/usr/lib
expect 1 'absolute' -Wl,-rpath,lib
exit $failed
