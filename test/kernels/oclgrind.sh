#!/usr/bin/env bash
# The OpenCL kernels' conformance cases in oclgrind, a simulator that reports data races and accesses
# outside a buffer or image. Slow (an interpreter), so only the cases tagged [opencl] and, of those,
# what CODL_SMALL_CASES leaves.
#
#   oclgrind.sh BUILD/bin/test_kernels
set -uo pipefail
test=$1
icd=/usr/lib/oclgrind/liboclgrind-rt-icd.so
if [ ! -f $icd ]; then
  echo "[SKIP] oclgrind: expected $icd, found no such file"
  exit 77
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The ICD loader sees oclgrind and nothing else; the variables are those the oclgrind command sets. Local
# memory: kClMaxLocalBytes.
code=0
OCL_ICD_VENDORS=$icd OCLGRIND_LOG=$log OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 \
  OCLGRIND_UNINITIALIZED=0 OCLGRIND_LOCAL_MEM_SIZE=49152 CODL_SMALL_CASES=1 "$test" '[opencl]~[special]' || code=1
if [ -s "$log" ]; then
  head -n 60 "$log"
  echo "oclgrind: expected an empty report, found the lines above" >&2
  code=1
fi
exit $code
