#!/usr/bin/env bash
# From a fresh Debian 12 machine to a network running on two processors at once. Needs root or sudo; asks nothing.
# Everything it builds stays in build/quickstart.
#
#   examples/quickstart.sh
#
# Without a GPU driver the "GPU" is PoCL, an OpenCL device made of CPU cores: here one core is the CPU and one the GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/quickstart
model=examples/models/selfie_segmentation.onnx
device=host-2core-zen4-pocl
plan=$build/selfie_segmentation.codl

step() { printf '\n== %s\n' "$1"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

step "1/5 Install the Debian packages that are missing"
show cmake/debian_packages.sh build run

step "2/5 Build the compiler, the runtime and the tools (release, without tests)"
show cmake --preset release -B $build -DCODL_TESTS=OFF
show cmake --build $build

step "3/5 Compile a network: ONNX and a device profile become a plan"
echo "The network finds the person in a picture (MediaPipe). The profile is one measured on two cores like these, one"
echo "as the CPU and one as the GPU; for a phone it would be --device=sd855."
show $build/bin/codlc $model --device=$device -o $plan

step "4/5 Run both variants of the plan on the same seeded input"
for variant in coexec cpu; do
  show $build/bin/codl-run $plan --variant=$variant --output-dir=$build/outputs/$variant
done

step "5/5 Measure both variants"
# A core for each processor, as in the profile; without that PoCL's threads wander.
cores=()
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
  cores=(--cpu-cores=0 --gpu-cores=1)
fi
rows=()
for variant in coexec cpu; do
  bench=($build/bin/codl-bench $plan --variant=$variant "${cores[@]}")
  printf '$ %s\n' "${bench[*]}"
  report=$("${bench[@]}")
  [ $variant = cpu ] || echo "$report"
  rows+=("$variant $(sed -nE 's/^ +median +([0-9.]+) us +predicted ([0-9.]+) us/\2 \1/p' <<<"$report")")
done

printf '\n%-10s %14s %14s\n' variant 'predicted us' 'measured us'
for row in "${rows[@]}"; do
  read -r variant predicted measured <<<"$row"
  LC_ALL=C printf '%-10s %14.0f %14.0f\n' "$variant" "$predicted" "$measured"
done
echo "Predicted: from profiles/$device.json. Measured: median of 50 runs on this machine."
echo "A phone adds a GPU as fast as its CPU, beside it and not of its cores: the gain there is larger than between two cores."
