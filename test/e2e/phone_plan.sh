#!/usr/bin/env bash
# Runs a phone's plan, with image kernels, on the build host: the co-execution variant with the host's OpenCL, the CPU
# variant in the aarch64 build under qemu-user. Compares the two.
#
#   phone_plan.sh HOST_BUILD AARCH64_BUILD [MODEL.onnx [DEVICE]]
set -euo pipefail
host=$1
aarch64=$2
model=${3:-examples/models/tiny_resnet.onnx}
device=${4:-sd855}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The split is forced, because the profile may keep a small network on the CPU.
"$host/bin/codlc" "$model" --device="$device" '--place=*=split:h:0.5' \
  -o "$work/plan.codl"
"$host/bin/codl-run" "$work/plan.codl" --variant=coexec --require-variant --output-dir="$work/coexec"
"$host/bin/codl-run" "$work/plan.codl" --variant=cpu --output-dir="$work/cpu"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$aarch64/bin/codl-run" "$work/plan.codl" --variant=cpu \
  --output-dir="$work/aarch64"
for other in coexec aarch64; do
  python3 "$(dirname "$0")/compare_npy.py" "$work/cpu" "$work/$other"
done
