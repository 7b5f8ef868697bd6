#!/usr/bin/env bash
# Tests check_text.sh on a tree that is right, and on the same tree with files that break one rule each.
#   check_text_test.sh WORK
set -euo pipefail
work=$1/check_text_tree  # the only folder that is deleted, whatever WORK is
check=$(cd "$(dirname "$0")" && pwd)/check_text.sh
rm -rf "$work"
mkdir -p "$work"
cd "$work"
git init -q .
failed=0

# file NAME TEXT writes a tracked file of this text
file() {
  printf '%b\n' "$2" >"$1"
  git add -f "$1"
}
# expect EXIT TEXT...: runs the check, whose output must have the texts.
expect() {
  local wanted=$1 found=0 output text
  shift
  output=$("$check" "$work" 2>&1) || found=$?
  for text in "" "$@"; do
    if [ "$found" != "$wanted" ] || ! grep -qF -- "$text" <<<"$output"; then
      echo "check_text_test: expected exit $wanted and '$text', found exit $found and: $output" >&2
      failed=1
    fi
  done
}

file good.cc '// The sum of two numbers.\nint sum;  // half of it is x\n// A line may go on with the words\n// of the one before.'
file good.py '"""Adds numbers."""\nx = "#of"  # the sum of two'
file page.md '# What a page says\n## Of numbers\n\nx  # of y'
expect 0

file full.cc '// Of two numbers the sum.'
file block.c '/* What a sum is. */'
file java.java '/**\n * By two numbers.\n */'
file behind.h 'int sum;  // of two numbers'
file member.h 'int sum;  /**< by number */'
file script.sh '# What it adds.'
file list.cmake 'set(sum 2)  # What is added'
file module.py '"""What it adds."""'
file later.cc '// The sum.\n// Of two numbers.'
file accent.txt 'na\xc3\xafve'
file blanks.txt 'text '
file tabs.txt '\ttext'
file todo.cc '// TODO: later'
file dead.c '#if 0'
file path.txt 'see /home/somebody'
expect 1 full.cc:1 block.c:1 java.java:2 behind.h:1 member.h:1 script.sh:1 list.cmake:1 module.py:1 later.cc:2 \
  'not with Of, By or What' accent.txt:1 blanks.txt:1 tabs.txt:1 todo.cc:1 dead.c:1 path.txt:1
output=$("$check" "$work" 2>&1) || true
for good in good.cc good.py page.md; do
  if grep -q "^$good" <<<"$output"; then
    echo "check_text_test: expected nothing on $good, found: $output" >&2
    failed=1
  fi
done
exit $failed
