#!/usr/bin/env bash
# Builds and runs the tests, on a Debian 12 machine that may be fresh (root or sudo).
#
#   test/run.sh                  the stage quick, for everyday use
#   test/run.sh all              every stage below but quick, wheel and dev; continuous integration runs this
#   test/run.sh STAGE...         the stages named; STAGE+STAGE runs two side by side
#
#   quick      a release build for this processor with its unit tests, the command-line tools from end to end, and samples of ONNX's node
#              tests and of the random graphs
#   lint       format, include and text rules, clang-tidy
#   release    every test but those of papers' figures, optimised; the command-line tools from end to end (label e2e_tools);
#              symbol rules and size budget (label arch)
#   asan       everything built with clang, AddressSanitizer and UBSan, assertions on: every test, each fuzz target on
#              its corpus
#   tsan       the runtime's tests with ThreadSanitizer
#   differential  200 random small graphs in three modes each, against ONNX's reference evaluator
#   node_tests every second of ONNX's own node tests, each in a mode that is drawn
#   oclgrind   the OpenCL kernels in a simulator that finds races and out-of-bounds accesses
#   drivers    the runtime's tests on a second OpenCL implementation, Mesa's Rusticl (test/drivers.sh has more)
#   examples   examples/cmake_project and examples/java against an installed package; a project outside the tree against
#              the install and the Debian packages (test/package)
#   aarch64    cross build; the runtime's and kernels' tests under qemu-user
#   wheel      the Python wheel in an empty virtual environment, against ONNX Runtime (fetches from PyPI); not part of
#              "all"
#   dev        every test in a Debug build; not part of "all" (asan is the same with more checks)
#
# Logs: build/logs/. Ends with a table of wall and CPU seconds (user and system), and "N passed, N failed, N skipped in
# N s, N CPU seconds"; exits 1 if any failed.
set -uo pipefail
cd "$(dirname "$0")/.."

# release comes before asan: PoCL compiles the OpenCL programs, which are kept, in half the time without sanitizers.
# Stages with a + between them run side by side, because one of them has long tests of one thread.
all_stages=(lint release differential node_tests oclgrind+drivers examples asan tsan+aarch64)
names=$(tr + ' ' <<<"quick ${all_stages[*]} dev wheel")
stages=("$@")
case $* in
  '')
    stages=(quick)
    echo "This builds codl for release and runs its unit tests, its tools and samples of the larger suites: about fifteen"
    echo "minutes on two cores, nearly all of it building and less the second time. \"test/run.sh all\" runs everything."
    ;;
  all) stages=("${all_stages[@]}") ;;
esac
for stage in ${stages[@]//+/ }; do
  if ! grep -qw -- "$stage" <<<"$names"; then
    echo "run.sh: expected all or a stage ($names), found '$stage'" >&2
    exit 1
  fi
done

logs=build/logs
mkdir -p $logs
jobs=$(nproc)
# Keeps the kernels that PoCL has compiled from stage to stage; nothing is written outside build/.
export POCL_CACHE_DIR=$PWD/build/pocl_cache
mkdir -p "$POCL_CACHE_DIR"
# PoCL compiles a program in half the time if it does not optimise it; nightly.sh has programs that are optimised.
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
# The tests use PoCL even if other OpenCL platforms are installed.
[ -f /etc/OpenCL/vendors/pocl.icd ] && export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd

passed=0 failed=0 skipped=0
table=()

# Sets cpu_seconds to what the commands of this shell took so far: the second line of "times".
count_cpu_seconds() {
  times >"$logs/$stage.times"
  cpu_seconds=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * $1 + $2 + 60 * $3 + $4 }' "$logs/$stage.times")
}

# check NAME COMMAND...: runs the command with its output in a log. Exit 77 is a skip.
check() {
  local name=$1 log=$logs/$stage-$1.log start=$SECONDS code=0 verdict
  count_cpu_seconds
  local cpu_before=$cpu_seconds
  shift
  "$@" >"$log" 2>&1 </dev/null || code=$?
  local found_passed=0 found_failed=0 found_skipped=0
  case $code in
    0) verdict=ok found_passed=1 ;;
    77) verdict=skip found_skipped=1 ;;
    *) verdict=FAIL found_failed=1 ;;
  esac
  # A ctest run counts as its number of tests.
  local total
  total=$(sed -nE 's/^[0-9]+% tests passed, [0-9]+ tests failed out of ([0-9]+)$/\1/p' "$log" | tail -n 1)
  if [ -n "$total" ]; then
    found_failed=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed.*/\1/p' "$log" | tail -n 1)
    found_skipped=$(grep -cE '\*\*\*Skipped' "$log")
    found_passed=$((total - found_failed - found_skipped))
  fi
  local unlisted
  unlisted=$(unlisted_skips "$log")
  if [ -n "$unlisted" ]; then
    verdict=FAIL
    found_failed=$((found_failed + 1))
    printf 'expected every skip in test/skips.txt, found:\n%s\n' "$unlisted" | tee -a "$log"
  fi
  passed=$((passed + found_passed))
  failed=$((failed + found_failed))
  skipped=$((skipped + found_skipped))
  count_cpu_seconds
  local row
  row=$(printf '%-5s %-12s %-20s %5d s %5d CPU s' "$verdict" "$stage" "$name" $((SECONDS - start)) \
    $((cpu_seconds - cpu_before)))
  table+=("$row")
  echo "$row"
  if [ "$verdict" = FAIL ]; then
    echo "--- last lines of $log"
    tail -n 40 "$log"
    echo "---"
  fi
  [ "$verdict" != FAIL ]
}

# Prints the "[SKIP] text" lines of a log that no pattern of skips.txt covers.
unlisted_skips() {
  grep -hoE '\[SKIP\] .*' "$1" | sort -u | grep -vE -f <(sed -E '/^(#|$)/d; s/ \| .*//' test/skips.txt)
}

# configure PRESET [TARGET...]: configures and builds.
configure() {
  local preset=$1
  shift
  check configure cmake --preset "$preset" &&
    check build cmake --build --preset "$preset" ${1+--target "$@"} -- -k 0
}

# Prints ctest's output for a preset, including that of tests that passed (it has the skips).
ctest_run() {
  local preset=$1 code=0
  shift
  ctest --preset "$preset" --parallel "$jobs" --no-tests=error "$@" || code=$?
  grep -aE '\[SKIP\] ' "build/$preset/Testing/Temporary/LastTest.log"
  return $code
}

stage_lint() {
  check includes cmake -DROOT="$PWD" -P test/arch/check_includes.cmake
  check text test/arch/check_text.sh "$PWD"
  check format format_check
  check scripts syntax_of_scripts
  check tidy_configure cmake --preset dev &&
    check tidy_headers cmake --build --preset dev --target codl_plan_header &&
    check tidy test/lint/tidy.sh build/dev
}
format_check() { git ls-files -z '*.h' '*.hpp' '*.c' '*.cc' | xargs -0 clang-format --dry-run --Werror; }
syntax_of_scripts() {
  git ls-files -z '*.sh' .ci/run | xargs -0 -n 1 bash -n &&
    git ls-files -z '*.py' | xargs -0 python3 -c '
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path).read(), path)'
}

# Leaves out what repeats other tests at length, or tests programs that are not part of the product.
stage_quick() {
  configure quick codlc codl codl_policy codl-run codl-bench codl-dump codl-sim codl-profile \
    test_schema test_kernels test_runtime test_tools test_profiler test_compiler test_e2e run_cases zero_queue &&
    check ctest ctest_run quick \
      -E 'opencl_(conv|special)|^phone_|^real_|papers|figures|released|pairs|soak|matrix|shrink|size|wait_bench' || return
  check node_tests python3 test/onnx/run_node_tests.py --bin build/quick/bin --every=8 --modes=1
  check random_graphs python3 test/differential/differential.py --bin build/quick/bin --count=100 --modes=2
}
stage_wheel() { release_build && check wheel python3 test/python/wheel_test.py --build build/release; }
stage_dev() { configure dev && check ctest ctest_run dev; }
stage_release() {
  configure release && release_built=1 && check ctest ctest_run release -E '^(papers|measured_pairs)$'
}
stage_asan() {
  configure asan && check ctest ctest_run asan -LE 'arch|e2e_tools|release_only' &&
    check bad_input python3 test/e2e/tools_test.py --bin build/asan/bin -k rejects -k refused -k unsupported
}
stage_tsan() { configure tsan test_runtime && check ctest ctest_run tsan -R test_runtime; }
stage_differential() { release_build && check random_graphs python3 test/differential/differential.py --count=200; }
stage_node_tests() { release_build && check half_of_onnx python3 test/onnx/run_node_tests.py --every=2 --modes=1; }
stage_oclgrind() { release_build && check kernels test/kernels/oclgrind.sh build/release/bin/test_kernels; }
stage_drivers() { release_build && check rusticl test/drivers.sh --short build/release/bin rusticl; }

stage_examples() {
  local prefix=$PWD/build/install project=build/cmake_project
  release_build && check packages python3 test/package/package_test.py --build build/release
  rm -rf "$prefix" $project
  release_build && check install cmake --install build/release --prefix "$prefix" &&
    check configure cmake -S examples/cmake_project -B $project -G Ninja \
      -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release &&
    check build cmake --build $project &&
    check ctest ctest --test-dir $project --no-tests=error --output-on-failure
  release_build && check java java_example "$prefix" build/java
}
# Builds the Java wrapper against the installed package.
java_example() {
  if ! command -v javac >/dev/null; then
    echo "[SKIP] java: no JDK"
    return 77
  fi
  rm -rf "$2" && cmake -S examples/java -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$1" -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$2" && ctest --test-dir "$2" --no-tests=error --output-on-failure
}

stage_aarch64() {
  configure aarch64 && check ctest ctest_run aarch64 -LE release_only
  release_build && check cross_package python3 test/package/package_test.py --build build/release \
    --aarch64 build/aarch64 -k cross
  release_build && check phone_plan test/e2e/phone_plan.sh build/release build/aarch64
}

# Makes the release build for stages that need it, if the stage release did not.
release_build() {
  [ -n "${release_built-}" ] && return 0
  cmake --preset release >$logs/release.log 2>&1 &&
    cmake --build --preset release >>$logs/release.log 2>&1 && release_built=1 && return 0
  check release_build false
}

# side_by_side STAGE...: runs each in a process of its own; a single one runs here.
side_by_side() {
  if [ $# -eq 1 ]; then
    stage=$1
    "stage_$stage"
    return
  fi
  release_build || return
  for stage in "$@"; do
    rm -f "$logs/$stage.result"
    (
      passed=0 failed=0 skipped=0 table=()
      "stage_$stage"
      printf '%s\n' "$passed $failed $skipped" "${table[@]}" >"$logs/$stage.result"
    ) &
  done
  wait
  local -a counts rows
  for stage in "$@"; do
    # A stage without a result was killed.
    counts=(0 1 0) rows=()
    [ ! -f "$logs/$stage.result" ] || { read -r -a counts && mapfile -t rows; } <"$logs/$stage.result"
    table+=("${rows[@]}")
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
  done
}

# Every stage takes packages from the same list; --no-install-recommends keeps a fresh machine small.
stage=setup
groups=(build run test peers)
[ "${stages[*]}" = quick ] || groups+=(aarch64 bench fuzz)
check packages cmake/debian_packages.sh "${groups[@]}"
for group in "${stages[@]}"; do
  side_by_side ${group//+/ }
done

echo
printf '%s\n' "${table[@]}"
count_cpu_seconds
echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s, $cpu_seconds CPU seconds"
[ "$failed" -eq 0 ]
