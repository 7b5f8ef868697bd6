#!/usr/bin/env bash
# Runs the OpenCL kernels' conformance cases in oclgrind, a simulator that reports data races and accesses outside a
# buffer or image. It is slow (an interpreter), so only the cases tagged [opencl] run and, of those, the ones that
# CODL_SMALL_CASES leaves (with CODL_ALL_CASES windows of large maps and comparisons of parts with the whole, too), in two
# processes. So do the kernels of flags.
#
#   oclgrind.sh BUILD/bin/test_kernels
set -uo pipefail
test=$1
icd=/usr/lib/oclgrind/liboclgrind-rt-icd.so
if [ ! -f $icd ]; then
  echo "[SKIP] oclgrind: expected $icd, found no such file"
  exit 77
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# The ICD loader sees oclgrind and nothing else; the oclgrind command sets the same variables. Local memory:
# kClMaxLocalBytes. Its compiler says that it has cl_khr_fp16, but it cannot interpret halves: kernels compute floats.
run() {
  OCL_ICD_VENDORS=$icd OCLGRIND_LOG=$logs/$1.report OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=0 \
    OCLGRIND_LOCAL_MEM_SIZE=49152 OCLGRIND_BUILD_OPTIONS=-Ucl_khr_fp16 CODL_SMALL_CASES=1 "${3-$test}" "$2" >"$logs/$1.out" 2>&1
}
but_splits='~[splits]'
[ -z "${CODL_ALL_CASES-}" ] || but_splits=
code=0
run convolutions "[opencl][convolution]~[special]$but_splits,[opencl][windows]" &
run flags '[oclgrind]' "${test%/*}/test_runtime" || code=1
run others "[opencl]~[convolution]~[windows]~[special]$but_splits" || code=1
wait $! || code=1
cat "$logs"/*.out
if grep -qs . "$logs"/*.report; then
  head -n 60 "$logs"/*.report
  echo "oclgrind: expected empty reports, found the lines above" >&2
  code=1
fi
exit $code
