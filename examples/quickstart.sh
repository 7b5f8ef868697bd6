#!/usr/bin/env bash
# Leads from a fresh Debian 12 machine to a network that runs on two processors at once. Needs root or sudo; asks
# nothing. Everything it builds stays in build/quickstart.
#
#   examples/quickstart.sh
#
# It takes about ten minutes on two cores, nearly all for building; half a minute when run again. Without a GPU driver
# the "GPU" is PoCL, an OpenCL device made of CPU cores: here one core is the CPU and one the GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/quickstart
model=examples/models/super_resolution.onnx
plan=$build/super_resolution.codl
# The profile was measured on two such cores, one as the CPU and one as the GPU: with AVX-512, or with AVX2.
device=host-2core-pocl
grep -qw avx512f /proc/cpuinfo && device=host-2core-avx512-pocl

# PoCL reports how many warnings its compiler gave, but users cannot change that.
export POCL_EXTRA_BUILD_FLAGS=-w

echo "What this shows: a second core of this machine stands in for a phone's GPU, through OpenCL (PoCL). One thread on each"
echo "computes its part of a network at the same time, and both together are faster than one. It takes about ten minutes on"
echo "two cores, nearly all of it building; a second time, half a minute."

step() { printf '\n== %s\n' "$1"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

step "1/5 Install the Debian packages that are missing"
show cmake/debian_packages.sh build run

step "2/5 Build the compiler, the runtime and the tools that are used here, for this processor"
show cmake --preset quick -B $build -DCODL_TESTS=OFF
show cmake --build $build --target codlc codl-run codl-bench

step "3/5 Compile a network: ONNX and a device profile become a plan"
echo "The network (ESPCN) makes a picture three times as large. The profile is one measured on two cores like these, one as"
echo "the CPU and one as the GPU; for a phone it would be --device=sd855."
show $build/bin/codlc $model --device=$device -o $plan

step "4/5 Run both variants of the plan on the same seeded input"
for variant in coexec cpu; do
  show $build/bin/codl-run $plan --variant=$variant --output-dir=$build/outputs/$variant
done

step "5/5 Measure both variants, in turns"
# Gives each processor a core, as in the profile; otherwise PoCL's threads wander.
cores=()
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
  cores=(--cpu-cores=0 --gpu-cores=1)
fi
show $build/bin/codl-bench $plan --all-variants --rounds=5 --num-runs=20 "${cores[@]}"
echo "Predicted: from profiles/$device.json. If co-execution is not the fastest, the cores are not those of the profile, or not free."
echo "What each processor does, and when, in one run:"
show $build/bin/codl-bench $plan --num-runs=20 "${cores[@]}"
echo "A phone adds a GPU as fast as its CPU, beside it and not of its cores: the gain there is larger than between two cores."
