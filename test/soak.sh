#!/usr/bin/env bash
# Runs sessions for a long time (test/soak/soak.cc): they are created and destroyed, and two run side by side with changing
# variants and cancels. Outputs have the bits of the first, and memory, threads, descriptors and OpenCL objects do not grow.
#
#   test/soak.sh [DURATION [CREATIONS [BUILD/bin]]]     in all, like 120m (default: 4m), over the plans below; sessions
#                                                       created (default: 400); default: build/release/bin
#
# The plans share memory in each of the three ways, in buffers and in images, one waits by flag and has its steps recorded,
# on cores 0 and 1, and they split every node that can be split. All have their turn; the exit code is 1 if one of them has a fault.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1-4m} creations=${2-400} bin=${3-build/release/bin}
case $duration in
  *m) seconds=$((${duration%m} * 60)) ;;
  *) seconds=${duration%s} ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
devices=(host test/profiles/host_{sub_buffer,separate,images,separate_images,flags}.json)
faults=()
for device in "${devices[@]}"; do
  name=${device##*/}
  name=${name%.json}
  # Flags need cores of their own.
  cores=()
  [ "$name" != host_flags ] || cores=(--cpu-cores=0 --gpu-cores=1)
  "$bin/codlc" examples/models/tiny_resnet.onnx --device="$device" '--place=*=split:h:0.5' --quiet -o "$work/$name.codl" &&
    "$bin/soak" "$work/$name.codl" --duration=$(((seconds + ${#devices[@]} - 1) / ${#devices[@]}))s \
      --creations="$creations" "${cores[@]}" || faults+=("$name")
done
if [ ${#faults[@]} -gt 0 ]; then
  echo "soak.sh: expected ${#devices[@]} plans without a fault, found ${#faults[@]} with: ${faults[*]}" >&2
  exit 1
fi
