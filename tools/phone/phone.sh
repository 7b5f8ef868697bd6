#!/usr/bin/env bash
# Runs codl's tools on a phone (adb) or a board (ssh) and brings back the files that they write. It takes the tools from
# the folder that `cmake --build --preset aarch64 --target phone-kit` makes, or from any other with the same programs
# for the device.
#
#   phone.sh [--ssh=USER@HOST] [--serial=ID] push
#   phone.sh [...] profile OUT.json [flags of codl-profile]      the device's own profile, for codlc --device=OUT.json
#   phone.sh [...] bench PLAN.codl OUT.json [flags of codl-bench]   measured times, for codlc --measured and --learn
#   phone.sh [...] run PLAN.codl OUT_DIR [NAME=FILE.npy...]      the outputs of a run
#   phone.sh [...] evidence OUT.zip [flags of codl-profile]      all that tells of a phone nobody has measured yet: 15 minutes
#   phone.sh --version
#
# On the device everything lies in CODL_PHONE_DIR (default: /data/local/tmp/codl; with ssh: codl in the home folder).
# Exit codes: those of the tool, 1 if the command line or the connection is wrong.
set -euo pipefail
kit=$(cd "$(dirname "$0")" && pwd)
version=@PROJECT_VERSION@ # CMake writes it into the kit's copy

fail() {
  echo "phone.sh: error: $1: expected $2, found $3" >&2
  exit 1
}

host='' adb=(adb)
while [ $# -gt 0 ]; do
  case $1 in
    --ssh=*) host=${1#--ssh=} ;;
    --serial=*) adb+=(-s "${1#--serial=}") ;;
    --help | -h)
      sed -n '2,/^set /p' "$0" | grep '^#' | cut -c 3-
      exit 0
      ;;
    --version)
      echo "phone.sh $version"
      exit 0
      ;;
    -*) fail "command line" "a flag that --help lists" "'$1'" ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || fail "command line" "push, profile, bench, run or evidence (see --help)" none
command=$1
shift
folder=${CODL_PHONE_DIR:-$([ -n "$host" ] && echo codl || echo /data/local/tmp/codl)}

# ---- the connection ----

# Quotes words as one line for the device's shell.
quoted() {
  local words
  words=$(printf '%q ' "$@")
  echo "${words% }"
}
shell() {
  if [ -n "$host" ]; then
    ssh "$host" "$1" </dev/null
  else
    "${adb[@]}" shell "$1" </dev/null
  fi
}
put() {
  if [ -n "$host" ]; then scp -q "$1" "$host:$2"; else "${adb[@]}" push "$1" "$2" >/dev/null; fi
}
get() {
  if [ -n "$host" ]; then scp -q -r "$host:$1" "$2"; else "${adb[@]}" pull "$1" "$2" >/dev/null; fi
}
# Copies a file completely or not at all.
get_file() {
  local part=$2.part$$
  if get "$1" "$part"; then mv "$part" "$2"; else rm -f "$part" && fail "$2" "all of the device's $(basename "$1")" "less"; fi
}
# Checks that the output $1 is none of the inputs after it.
check_is_no_input() {
  local out=$1 input
  shift
  for input in "$@"; do
    [ ! "$out" -ef "$input" ] || fail "$out" "an output that is none of the inputs" "the file of input $input"
  done
}
# Checks before long work that $1 can be written, and is none of the inputs after it.
check_out() {
  { [ -d "$(dirname "$1")" ] && [ -w "$(dirname "$1")" ]; } || fail "$1" "a folder that can be written to" "none"
  [ ! -d "$1" ] || fail "$1" "a file's name" "a folder"
  check_is_no_input "$@"
}

push_kit() {
  local program=${host:+ssh}
  command -v "${program:=adb}" >/dev/null || fail "PATH" "$program" "none"
  shell "mkdir -p $(quoted "$folder/bin" "$folder/lib" "$folder/work")" ||
    fail "${host:-adb}" "a device that can be reached" "none"
  local file
  for file in "$kit"/bin/*; do put "$file" "$folder/bin/$(basename "$file")"; done
  for file in "$kit"/lib/*; do put "$file" "$folder/lib/$(basename "$file")"; done
  shell "chmod 755 $(quoted "$folder")/bin/*"
}

# The tool itself reports what ran where; its files are beside it on the device.
tool() { shell "cd $(quoted "$folder/work") && LD_LIBRARY_PATH=$(quoted "$folder/lib"):\$LD_LIBRARY_PATH $(quoted "../bin/$@")"; }

# ---- evidence ----

# Prints what the chip and the system call themselves. None of it tells of the phone's owner: no serial numbers, accounts or
# names of networks.
device_facts() {
  local property
  for property in ro.soc.manufacturer ro.soc.model ro.board.platform ro.hardware ro.product.manufacturer ro.product.model \
    ro.build.version.release ro.build.version.sdk; do
    echo "$property: $(shell "getprop $property" 2>/dev/null || true)"
  done
  shell "uname -srm; cat /sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq 2>/dev/null; grep -E 'CPU (part|implementer)|model name' /proc/cpuinfo" || true
}
# Prints a line for each sensor, in thousandths of a degree.
temperatures() {
  shell "for zone in /sys/class/thermal/thermal_zone*; do [ ! -e \$zone/temp ] || echo \"\$(cat \$zone/type 2>/dev/null) \$(cat \$zone/temp 2>/dev/null)\"; done" || true
}
# attempt NAME COMMAND...: goes on without what fails, and lists it.
attempt() {
  local name=$1
  shift
  echo "phone.sh: note: $name" >&2
  "$@" || { echo "$name: exit code $?" | tee -a "$work/faults.txt" >&2; }
}
profile_to() {
  tool codl-profile -o profile.json --force "$@" &&
    get_file "$folder/work/profile.json" "$work/profile.json" && get_file "$folder/work/profile.json.samples.csv" "$work/profile.json.samples.csv"
}
self_test_to() { tool codl-run "$1.codl" --self-test --json >"$work/$1.self_test.json"; }
bench_to() {
  tool codl-bench "$1.codl" --json --steps --all-variants --num-runs=20 -o bench.json && get_file "$folder/work/bench.json" "$work/$1.bench.json"
}
collect() {
  local plan name
  push_kit
  device_facts >"$work/device.txt"
  temperatures >"$work/temperature_before.txt"
  attempt "the profile, with the driver's strings and limits and the times of synchronisations" profile_to "$@"
  for plan in "$kit"/plans/*.codl; do
    name=$(basename "$plan" .codl)
    put "$plan" "$folder/work/$name.codl"
    cp "$plan" "$work"
    attempt "$name: each GPU step against the CPU" self_test_to "$name"
    attempt "$name: times of its variants" bench_to "$name"
  done
  temperatures >"$work/temperature_after.txt"
  cat >"$work/README.txt" <<END
Made by phone.sh $version evidence. Nothing in here tells of the phone's owner.
device.txt               what chip and system call themselves, clocks
temperature_*.txt        the sensors before and after, in thousandths of a degree
profile.json             the device's profile; /transfer has the times of synchronisations by event, by poll and by flag
profile.json.samples.csv what it was fitted to; its lines #fact,CL_... are the driver's strings and limits
*.codl                   the plans that ran
*.self_test.json         each GPU step compared with the CPU
*.bench.json             the times of each variant and its steps
faults.txt               what failed, if anything did
END
}

check_plan() { [ -f "$1" ] || fail "$1" "a plan's file" "no such file"; }

case $command in
  push) push_kit ;;
  profile)
    [ $# -ge 1 ] || fail "profile" OUT.json none
    out=$1
    shift
    check_out "$out"
    push_kit
    tool codl-profile -o profile.json --force "$@"
    get_file "$folder/work/profile.json" "$out"
    ;;
  bench)
    [ $# -ge 2 ] || fail "bench" "PLAN.codl OUT.json" "$# arguments"
    plan=$1 out=$2
    shift 2
    check_plan "$plan"
    check_out "$out" "$plan"
    push_kit
    put "$plan" "$folder/work/plan.codl"
    tool codl-bench plan.codl --json --steps -o bench.json "$@"
    get_file "$folder/work/bench.json" "$out"
    # Prints a line per variant; the tool's own report is in the file, and what it advises is on stderr.
    tr ',{' '\n\n' <"$out" | awk -F: '/^"variant":/ { variant = $2 } /^"steps":/ { variant = "" } /^"median_us":/ && variant {
      printf "variant %s: median %.3f ms\n", variant, $2 / 1000; variant = "" }' | tr -d '"'
    ;;
  evidence)
    [ $# -ge 1 ] || fail "evidence" OUT.zip none
    out=$1
    shift
    check_out "$out"
    command -v python3 >/dev/null || fail "PATH" "python3" "none"
    compgen -G "$kit/plans/*.codl" >/dev/null || fail "$kit/plans" "plans (a kit that was built beside codlc has them)" "none"
    case " $* " in *" --time-budget"*) ;; *) set -- --time-budget=10m "$@" ;; esac
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    collect "$@"
    (cd "$work" && python3 -m zipfile -c evidence.zip *) && mv "$work/evidence.zip" "$out.part$$" && mv "$out.part$$" "$out" ||
      { rm -f "$out.part$$" && fail "$out" "space to write to" "none"; }
    cat "$work/README.txt"
    [ ! -s "$work/faults.txt" ] || fail "$out" "all that --help tells of" "faults, which faults.txt in it lists"
    ;;
  run)
    [ $# -ge 2 ] || fail "run" "PLAN.codl OUT_DIR" "$# arguments"
    plan=$1 out=$2
    shift 2
    check_plan "$plan"
    push_kit
    put "$plan" "$folder/work/plan.codl"
    inputs=()
    for pair in "$@"; do
      [ -f "${pair#*=}" ] || fail "$pair" "NAME=FILE.npy" "no such file"
      put "${pair#*=}" "$folder/work/in${#inputs[@]}.npy"
      inputs+=("--input=${pair%%=*}=in${#inputs[@]}.npy")
    done
    mkdir -p "$out" || fail "$out" "a folder that can be made" "none"
    shell "rm -rf $(quoted "$folder/work/outputs")"
    tool codl-run plan.codl --output-dir=outputs ${inputs[@]+"${inputs[@]}"}
    # Copies to a new name: if the folder existed, adb and scp would copy the folder into it, not its files.
    part=$(mktemp -d "$out/.part.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    get "$folder/work/outputs" "$part/outputs" || fail "$out" "all outputs" "less"
    for file in "$part"/outputs/*; do check_is_no_input "$out/$(basename "$file")" "$plan" "${@#*=}"; done
    mv -f "$part"/outputs/* "$out"
    ;;
  *) fail "command line" "push, profile, bench, run or evidence" "'$command'" ;;
esac
