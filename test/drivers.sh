#!/usr/bin/env bash
# Runs the conformance and end-to-end sets on one OpenCL implementation after the other.
#
#   test/drivers.sh [--short] BUILD/bin [DRIVER...]
#   test/drivers.sh --column=PLANS BUILD/bin [DRIVER...]     a column of docs/results/drivers.md (test/driver_table.py)
#   test/drivers.sh --checks=RUNS BUILD/bin [DRIVER...]      so many runs, each with a check of a GPU step: none may differ
#
#   pocl     Debian's pocl-opencl-icd
#   rusticl  Mesa's on llvmpipe (Debian's mesa-opencl-icd): no fine-grained SVM, and slow
#   intel    Intel's CPU runtime, from its wheels
#   nvidia   this machine's driver, if there is one
#
# Without a DRIVER it runs all of them. Wheels and drivers' compiled programs lie in build/drivers, outside the tree. Ends
# with a table of driver, set and verdict; exits 1 if a set failed. --short: only the runtime's tests, which take seconds.
set -uo pipefail
cd "$(dirname "$0")/.."
short=false plans= checks=0
case ${1-} in
  --short) short=true && shift ;;
  --column=*) plans=${1#*=} && shift ;;
  --checks=*) checks=${1#*=} && shift ;;
esac
bin=${1:?expected BUILD/bin}
shift
drivers=("$@")
[ $# -gt 0 ] || drivers=(pocl rusticl intel nvidia)

place=$PWD/build/drivers
mkdir -p "$place"
table=()
failed=0

# Sets `environment` to select this driver and no other. Returns false if it is not available here.
setup() {
  local folder=$place/$1 library
  mkdir -p "$folder/vendors" "$folder/cache"
  environment=(OCL_ICD_VENDORS="$folder/vendors" POCL_CACHE_DIR="$folder/cache")
  case $1 in
    pocl)
      cmake/debian_packages.sh run >&2 && cp /etc/OpenCL/vendors/pocl.icd "$folder/vendors/"
      ;;
    rusticl)
      # It uses Mesa's cache of compiled kernels.
      environment+=(RUSTICL_ENABLE=llvmpipe MESA_SHADER_CACHE_DIR="$folder/cache")
      cmake/debian_packages.sh run drivers >&2 && cp /etc/OpenCL/vendors/rusticl.icd "$folder/vendors/"
      ;;
    intel)
      library=$folder/venv/lib/libintelocl.so
      [ -f "$library" ] || {
        cmake/debian_packages.sh run drivers >&2 && python3 -m venv "$folder/venv" &&
          "$folder/venv/bin/pip" install --quiet intel-opencl-rt intel-cmplr-lib-rt
      } || return 1
      echo "$library" >"$folder/vendors/intel.icd"
      environment+=(LD_LIBRARY_PATH="$folder/venv/lib")
      ;;
    nvidia)
      library=$(ls /usr/lib/libnvidia-opencl.so.1 /usr/lib/*/libnvidia-opencl.so.1 2>/dev/null | head -n 1)
      [ -n "$library" ] && echo "$library" >"$folder/vendors/nvidia.icd"
      ;;
    *)
      echo "drivers.sh: expected a driver (pocl rusticl intel nvidia), found '$1'" >&2
      return 1
      ;;
  esac
}

# run_set NAME COMMAND...: runs it in the driver's environment, with its output in a log.
run_set() {
  local log=$place/$driver-$1.log start=$SECONDS verdict=ok
  local name=$1
  shift
  env "${environment[@]}" "$@" >"$log" 2>&1 </dev/null || verdict=FAIL
  grep -qE 'no OpenCL library|OpenCL: expected a device.* on a platform|expected an OpenCL device' "$log" && verdict=FAIL
  grep -hoE '\[SKIP\] .*' "$log" | sort -u
  if [ $verdict = FAIL ]; then
    failed=1
    tail -n 40 "$log"
  fi
  table+=("$(printf '%-8s %-12s %-5s %4d s' "$driver" "$name" $verdict $((SECONDS - start)))")
  echo "${table[-1]}"
}

for driver in "${drivers[@]}"; do
  if ! setup "$driver"; then
    echo "[SKIP] drivers: no device of $driver here"
    continue
  fi
  if [ -n "$plans" ]; then
    run_set column python3 test/driver_table.py column "$plans" --bin "$bin" --name "$driver"
    cat "$place/$driver-column.log"
    continue
  fi
  if [ "$checks" -gt 0 ]; then
    # Half of them are in buffers and half in images. Every driver has this kind of sharing.
    for profile in host_sub_buffer host_separate_images; do
      "$bin/codlc" examples/models/tiny_resnet.onnx --device=test/profiles/$profile.json --strategy=gpu --quiet \
        -o "$place/$profile.codl" || exit 1
    done
    run_set checks "$bin/soak" "$place"/host_{sub_buffer,separate_images}.codl --checked-runs=$(((checks + 1) / 2))
    cat "$place/$driver-checks.log"
    continue
  fi
  run_set runtime "$bin/test_runtime"
  $short && continue
  # Runs one network with all kinds of memory and of splitting.
  run_set end_to_end "$bin/test_e2e" 'every mode on every kind of device*'
  run_set both_queues "$bin/test_e2e" 'both queues of a split*,halves on the GPU queue*'
  run_set kernels "$bin/test_kernels" '[opencl]'
done

printf '%s\n' "${table[@]}"
exit $failed
