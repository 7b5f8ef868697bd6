#!/usr/bin/env bash
# Runs tests that take longer than continuous integration has: every case of the kernels, searches with sanitizers,
# every fault while a session is made, every text of the troubleshooting page, plans of many small graphs against an
# enumeration, ten million synchronisations by flag, sessions for two hours, codl-matrix on a Dask cluster, random graphs by a new seed, ONNX's node
# tests in six modes each, clang-tidy on every file, the programs of the benches, each fuzz target.
# Where CODL_MODELS names a folder of ONNX files with weights: these pruned, and of low rank, in five modes.
#
#   test/nightly.sh [MINUTES]     of random graphs and of each target; default: 30
#
# Builds the presets release and fuzz, and configures dev, if need be. A failure does not keep the rest from running;
# the script names it and exits 1 at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1-30}

cmake/debian_packages.sh build run test fuzz cluster peers
cmake --preset release
cmake --build --preset release
cmake --preset fuzz
cmake --build --preset fuzz
# clang-tidy reads how each file is compiled alone.
cmake --preset dev
cmake --build --preset dev --target codl_plan_header

faults=()
# part COMMAND...: runs it, and remembers it if it fails.
part() { "$@" || faults+=("$*"); }

# They are not part of "all", but must build all the same.
part cmake --build --preset release --target kernel_bench cl_kernel_bench check_bench partition_bench released_plan
part env CODL_ALL_CASES=1 build/release/bin/test_kernels '[opencl]'
part env CODL_ALL_CASES=1 build/fuzz/bin/test_kernels '~[opencl]'
part build/fuzz/bin/test_kernels '[opencl]'
part build/fuzz/bin/test_compiler '[search]'
part env CODL_ALL_CASES=1 build/fuzz/bin/test_compiler 'a plan that differs*'
part env CODL_ALL_CASES=1 build/fuzz/bin/test_e2e 'halves round*'
part ctest --preset release -R '^(papers|measured_pairs)$' --no-tests=error
part env CODL_ALL_CASES=1 build/release/bin/test_compiler 'plans found*,plans that hand*,a plan in a tenth*'
part env CODL_TIDY_SECONDS=0 test/lint/tidy.sh build/dev
part env CODL_FAULT_ROUNDS=3 build/fuzz/bin/test_runtime 'no memory goes*'
part env CODL_ALL_CASES=1 test/kernels/oclgrind.sh build/release/bin/test_kernels
part python3 test/e2e/troubleshooting_test.py --bin build/release/bin
part python3 test/onnx/run_node_tests.py --modes=6
part /usr/bin/python3 test/matrix/cluster_test.py --bin build/release/bin # Debian's, for which there is distributed
part env OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd build/release/bin/wait_bench 0 1 --count=10000000
part test/soak.sh 120m 2000

if [ -n "${CODL_MODELS-}" ]; then
  for smaller in --prune=0.3 --low-rank=0.95; do
    part python3 test/peers/compare_onnxruntime.py --models "$CODL_MODELS" --bin build/release/bin "--smaller=$smaller --unchecked"
  done
fi

seed=${CODL_NIGHTLY_SEED-$RANDOM$RANDOM}
echo "seed $seed (CODL_NIGHTLY_SEED=$seed repeats it)"
end=$((SECONDS + 60 * minutes))
while [ $SECONDS -lt $end ]; do
  part python3 test/differential/differential.py --seed "$seed" --count 10000
  seed=$((seed + 1))
done

part test/fuzz/run.sh $((60 * minutes))

for fault in "${faults[@]}"; do echo "nightly.sh: failed: $fault" >&2; done
[ ${#faults[@]} -eq 0 ]
