#!/usr/bin/env bash
# From a fresh Debian 12 machine to a network running on CPU and GPU. Needs root or sudo; asks
# nothing. Everything it builds stays in build/quickstart.
#
#   examples/quickstart.sh
#
# Without a GPU driver the "GPU" is PoCL: an OpenCL device made of the machine's own CPU cores. It
# shows that both lanes work together; it is not expected to be faster than the CPU alone.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/quickstart
plan=$build/tiny_resnet.host.codl
outputs=$build/outputs

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
show $build/bin/codlc examples/models/tiny_resnet.onnx --device=host -o $plan

step "4/5 Run both variants of the plan on the same seeded input"
for variant in coexec cpu; do
  show $build/bin/codl-run $plan --variant=$variant --output-dir=$outputs/$variant
done

step "5/5 Measure both variants"
# number KEY JSON: the value of a numeric member.
number() { sed -nE "s/.*\"$1\":([-+0-9.e]+).*/\1/p" <<<"$2"; }
# A core for each lane, as profiles/host.json assumes; without that PoCL's threads wander.
cores=()
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
  cores=(--cpu-cores=0 --gpu-cores=1)
fi
rows=()
for variant in coexec cpu; do
  bench=($build/bin/codl-bench $plan --variant=$variant "${cores[@]}" --json)
  printf '$ %s\n' "${bench[*]}"
  report=$("${bench[@]}")
  rows+=("$variant $(number predicted_us "$report") $(number median_us "$report")")
done

printf '\n%-10s %14s %14s\n' variant 'predicted us' 'measured us'
for row in "${rows[@]}"; do
  read -r variant predicted measured <<<"$row"
  LC_ALL=C printf '%-10s %14.0f %14.0f\n' "$variant" "$predicted" "$measured"
done
echo 'Predicted: from profiles/host.json. Measured: median of 50 runs on this machine.'
