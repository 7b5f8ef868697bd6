#!/usr/bin/env bash
# Sessions for a long time (test/soak/soak.cc): created and destroyed, and two side by side whose variants change, with
# cancels. Outputs have the bits of the first, and memory, threads and descriptors do not grow.
#
#   test/soak.sh [DURATION [CREATIONS [BUILD/bin]]]     in all, like 120m (default: 4m), over the plans below; sessions
#                                                       created (default: 400); default: build/release/bin
#
# The plans share memory in each of the three ways, in buffers and in images, and split every node that can be.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1-4m} creations=${2-400} bin=${3-build/release/bin}
case $duration in
  *m) seconds=$((${duration%m} * 60)) ;;
  *) seconds=${duration%s} ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plans=()
for device in host test/profiles/host_{sub_buffer,separate,images,separate_images}.json; do
  name=${device##*/}
  plans+=("$work/${name%.json}.codl")
  "$bin/codlc" examples/models/tiny_resnet.onnx --device="$device" --split-dim=h --ratio=0.5 --quiet \
    -o "${plans[-1]}"
done
"$bin/soak" "${plans[@]}" --duration=$(((seconds + ${#plans[@]} - 1) / ${#plans[@]}))s --creations="$creations"
