#!/usr/bin/env bash
# Runs every libFuzzer program of a preset.
#
#   test/fuzz/run.sh SECONDS [PRESET]     seconds per target; default preset: fuzz
#
# Corpora: build/corpus/NAME, which begins with corpus/NAME, profiles/ and the output of make_plan_seeds (or that of a test of
# the build), and is kept. Prints for each target executions, coverage (edges) and findings; a finding stays in
# build/corpus/found-NAME-*. Exits 1 if there is one.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1?expected the seconds of each target}
bin=build/${2-fuzz}/bin
corpus=build/corpus

mkdir -p $corpus/{models,plans,profiles,replays,measurements,npy,calibration,flags}
cp -n test/fuzz/corpus/models/* $corpus/models/
cp -n test/fuzz/corpus/replays/* $corpus/replays/
cp -n test/fuzz/corpus/measurements/* $corpus/measurements/
cp -n test/fuzz/corpus/npy/* $corpus/npy/
cp -n test/fuzz/corpus/npy/* $corpus/calibration/
cp -n test/fuzz/corpus/flags/* $corpus/flags/
cp -n profiles/*.json $corpus/profiles/
cp -n $bin/../fuzz_plans/*.codl $corpus/plans/ 2>/dev/null
[ -n "$(ls $corpus/plans)" ] || $bin/make_plan_seeds $corpus/plans test/fuzz/corpus/models/*.onnx examples/models/*.onnx || exit 1

found=0
for program in $bin/fuzz_*; do
  name=${program##*/fuzz_}
  log=$corpus/$name.log
  code=0
  $program -timeout=60 -rss_limit_mb=3000 -max_len=1000000 -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix=$corpus/found-$name- $corpus/$name >$log 2>&1 || code=$?
  runs=$(sed -nE 's/^stat::number_of_executed_units: +//p' $log)
  edges=$(sed -nE 's/.* cov: ([0-9]+) .*/\1/p' $log | tail -n 1)
  echo "$name: ${runs:-?} executions, ${edges:-?} edges, $([ $code -eq 0 ] && echo no finding || echo a finding, $log)"
  sed -nE 's/^(plans: .*)/  \1/p' $log | tail -n 1
  [ $code -eq 0 ] || { found=1; tail -n 30 $log; }
done
exit $found
