#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) on the compiler, runtime, schema and contracts, changed files first.
#
#   tidy.sh BUILD      a configured build folder with compile_commands.json
#
# Environment: CODL_TIDY_SECONDS  no file is started later than this (default 20; 0: no limit), so
#                                 that a lint run stays short on two cores. Files not looked at are
#                                 counted in the last line.
set -uo pipefail
build=$1
limit=${CODL_TIDY_SECONDS:-20}

# Leaves out CPU kernels, which include themselves once per instruction set, and files that include LLVM 14's JSON.h,
# which clang 14 in C++20 cannot compile with libstdc++ 12 (a vector of an incomplete type). Files that differ from the
# main branch (or the last commit) come first, then the rest.
base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse --verify -q HEAD~1 || echo HEAD)
mapfile -t files < <({
  git diff --name-only --diff-filter=d "$base" -- '*.cc'
  git ls-files '*.cc'
} | awk '/^(compiler|runtime|schema|kernels)\// && !/_(f32|q8)_cpu\.cc$/ && !seen[$0]++' |
  grep -vxFf <(git grep -l 'llvm/Support/JSON\.h' -- '*.cc'))

export build deadline=$((limit > 0 ? $(date +%s) + limit : 0))
one_file() {
  [ "$deadline" -ne 0 ] && [ "$(date +%s)" -ge "$deadline" ] && return 0
  grep -qF "/$1\"" "$build/compile_commands.json" || { echo "not built: $1"; return 0; }
  # Checks our headers, not those generated in the build folder; gcc's own warning options are unknown to clang.
  clang-tidy -p "$build" --quiet --header-filter="^$PWD/(schema|kernels|compiler|runtime)/" \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument "$1" 2>/dev/null || return 1
  echo "looked at $1"
}
export -f one_file
log=$(mktemp)
trap 'rm -f "$log"' EXIT
code=0
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I {} bash -c 'one_file {}' >"$log" || code=1
cat "$log"
echo "$(grep -c '^looked at' "$log") of ${#files[@]} files without a finding"
exit $code
