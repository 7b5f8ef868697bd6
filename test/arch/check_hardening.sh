#!/usr/bin/env bash
# Checks that release binaries are hardened, so that a fault is harder to use.
#
#   check_hardening.sh READELF FILE...
#
# FILE: a program or shared library. Fortified calls and stack protectors show as imports, so every
# FILE is expected to have code that needs them.
set -uo pipefail
readelf=$1
shift
faults=0
fault() {
  echo "$1" >&2
  faults=$((faults + 1))
}

[ $# -gt 0 ] || fault "expected files to check, found none"
for file in "$@"; do
  headers=$("$readelf" --file-header --program-headers --wide "$file") || fault "$file: expected an ELF file"
  dynamic=$("$readelf" --dynamic --wide "$file")
  symbols=$("$readelf" --dyn-syms --wide "$file")
  grep -qE '^ *Type: +DYN' <<<"$headers" || fault "$file: expected position-independent code (-fPIE)"
  grep -q 'GNU_RELRO' <<<"$headers" || fault "$file: expected -z relro"
  grep -qE '\((BIND_NOW|FLAGS_1?)\).*NOW|\(BIND_NOW\)' <<<"$dynamic" || fault "$file: expected -z now"
  grep 'GNU_STACK' <<<"$headers" | grep -q 'RW ' || fault "$file: expected a stack that is not executable"
  # Each entry of the search path must be a folder of its own: an empty one is the current folder.
  while read -r paths; do
    [[ ":$paths:" != *::* ]] || fault "$file: expected no empty entry in RUNPATH, found '$paths'"
    IFS=: read -ra entries <<<"$paths"
    for entry in "${entries[@]}"; do
      [[ -z $entry || $entry == /* || $entry == '$ORIGIN'* ]] ||
        fault "$file: expected absolute entries in RUNPATH, found '$entry'"
    done
  done < <(sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\]$/\2/p' <<<"$dynamic")
  grep -q '__stack_chk_fail' <<<"$symbols" || fault "$file: expected -fstack-protector-strong"
  grep -qE '__[a-z]+_chk(@|$| )' <<<"$symbols" || fault "$file: expected -D_FORTIFY_SOURCE=2"
done
exit $((faults > 0))
