#!/usr/bin/env bash
# Rules for the text of every tracked file (binaries excepted): ASCII, no trailing blanks, no tabs,
# no unnumbered TODO, no dead code behind `#if 0`, no path of somebody's machine, no comment that begins with Of, By or
# What; scripts can be executed. Code outside of test/ that is longer than 500 lines says why in its first comment.
#   check_text.sh ROOT
set -uo pipefail
cd "$1"
if ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  echo "[SKIP] check_text: not a git checkout, so there is no list of tracked files"
  exit 77
fi

faults=0
# reject WHAT PCRE [PATHSPEC...] fails if a line matches
reject() {
  local what=$1 pattern=$2
  shift 2
  if git grep -nIP "$pattern" -- . ':(exclude)LICENSE' ':(exclude)test/arch/check_text*.sh' "$@"; then
    echo "check_text: expected $what in the lines above" >&2
    faults=$((faults + 1))
  fi
}
reject "ASCII only" '[^\x00-\x7F]'
reject "no blanks at the end" '[ \t]+$'
reject "no tabs" '\t'
reject "TODO(#issue): text" '\bTODO\b(?!\(#[0-9]+\):)|\bFIXME\b|\bXXX\b' ':(exclude)*.md'
reject "no dead code" '^\s*#\s*if\s+0\b'
# A comment begins with what the thing is or does. Behind code, lower case begins a comment, too.
reject "a comment that begins with what the thing is or does, not with Of, By or What" \
  '^\s*(//+<?|#|/?\*+)\s+(Of|By|What)\b|\S\s+(//+<?|#|/\*+<?)\s+(?i:of|by|what)\b|"""(?i:of|by|what)\b' ':(exclude)*.md'
reject "no path of one machine" '(?<![A-Za-z0-9_.])/(home|root|work)/'
# docs/design/glossary.md gives a word one meaning. A lane is a SIMD lane; a row is a row of a map or a matrix.
reject "a word of the glossary (kMax, kMin)" '\bk(Most(?!ly)|Least)[A-Z]?\w*\b'
reject "a word of the glossary (synchronisation, transfer)" '[Hh]and(s|ed|ing)?[-_ ]?[Oo]ffs?\b|[Hh]and-?[Oo]vers?\b'
reject "a word of the glossary (entry of a list)" '\b(Import|Strategy|Op)Rows?\b|\bkOpRows\b|\b(op|newest|each)_row\b'
reject "a word of the glossary (interference)" '\b[Dd]isturbances?\b' ':(exclude)docs' ':(exclude)profiles' ':(exclude)test/eval'
reject "a word of the glossary (queue, processor)" '\b(CPU|GPU|copy|transfer) lanes?\b|\b(Cpu|Gpu|No|Host)Lane\b|\bkLane(Count|Names)\b|\blane_(us|of|steps)\b'
reject "a word of the glossary (kernel)" '\bKernelRows?\b|\bkKernelRows\b|\bkernel rows?\b|\b(OpenCL|tiled|reference) rows?\b'
reject "a word of the glossary (node partition)" '\bDivision\b' ':(exclude)*.md' ':(exclude)*.py'
reject "a word of the glossary (transfer)" '\b[Ee]xchange(s|d|_us|_ms|Point|Times)?\b(?!\()' ':(exclude)docs' ':(exclude)test/eval/data' ':(exclude)*.json'
reject "a word of the glossary (assignment, value split, value tensors, user place, run)" '\b(ValuePlace|ValuePlacement|PlacedTensor|ForcedPlaces|ForcedPlacement|KnownPlacements)\b' ':(exclude)test/arch'
# Pages run scripts by their names.
while IFS= read -r path; do
  if [ "$(head -c 2 "$path")" = '#!' ] && [ ! -x "$path" ]; then
    echo "$path: check_text: expected a script that can be executed" >&2
    faults=$((faults + 1))
  fi
done < <(git grep -lI '^#!')
while IFS= read -r path; do
  lines=$(wc -l < "$path")
  [ "$lines" -le 500 ] || head -20 "$path" | grep -q '500 lines' && continue
  echo "$path: check_text: expected at most 500 lines, or a reason in its first comment, found $lines" >&2
  faults=$((faults + 1))
done < <(git ls-files -- '*.cc' '*.h' '*.c' '*.hpp' '*.cl' '*.def' '*.fbs' '*.py' '*.sh' '*.cmake' ':(exclude)test')
exit $((faults > 0))
