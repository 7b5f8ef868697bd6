#!/usr/bin/env python3
"""Fixed variants against the adaptive policy while other processes come and go on the CPU's core, measured here.

    adaptive.py BIN MODELS --work DIR [--time-budget 8m] [--cpu-cores 0] [--gpu-cores 1] [--profile NAME|FILE.json]

BIN is a folder with codlc, codl-bench and codl-profile; MODELS has networks as NAME.onnx. Needs Python's standard
library only. OpenCL is what the environment says (OCL_ICD_VENDORS). Nothing else may run meanwhile.

Each network is compiled once, with all variants, for the pair of cores, by a profile that codl-profile makes first
(without --profile). Each variant is timed, and codl-bench --adaptive, in six passes, each of which begins with another.
The first variant is timed twice in each pass: what both timings differ by is what the same variant differs by, and how
far the others' differences can be trusted. During each timing the same phases go by: --loads competing processes, which compute without end on the CPU's core. The
first ten runs of a phase are the policy's to find out; the means are of those behind them. Two conditions hold in each
phase: adaptive takes at most 5 % more than the best fixed variant, and never more than the worst.

Phases are as long as --time-budget allows, 1.5 s at least, and 30 runs. DIR keeps the profile, plans and results.json;
networks that are in results.json are not measured again. Markdown goes to stdout. Exit code 1 if a condition fails, 3
if time was up before the last network (the same command goes on).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import measured_pairs
import results

NETWORKS = "mobilenet_v2_ts13,mobilenet_v3_large_ts13,squeezenet1_1_ts13"
ADAPTIVE = "adaptive"
AGAIN = "again"  # the first variant once more
LEFT_OUT = 10  # runs of a phase in which the policy finds out
MIN_RUNS = 30  # of a phase, for which it is made longer
MIN_PHASE_SECONDS = 1.5
MAX_ABOVE_BEST = 0.05
PASSES = 6
PROFILE_SECONDS = 80
SECONDS = 600  # that a program may take
COMPETITOR = "while True: pass"


def fail(text):
    sys.exit(f"adaptive.py: error: {text}")


def start(binaries, tool, *arguments):
    libraries = [binaries, os.path.join(binaries, "..", "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, libraries)))
    path = os.path.join(binaries, tool)
    try:
        return subprocess.Popen([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def finish(process, tool):
    """What the tool printed. Ends this program with the tool's own words if it failed."""
    try:
        text, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{tool}: no end after {SECONDS} s")
    if process.returncode:
        fail(f"{tool}: {errors.strip()[-2000:]}")
    return text


def cores_of(text):
    """The cores of a list like 0,2,4-7."""
    cores = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


class Competitors:
    """Processes that compute without end on some cores."""

    def __init__(self, count, cores):
        self.processes = [
            subprocess.Popen([sys.executable, "-c", COMPETITOR],
                             preexec_fn=lambda: os.sched_setaffinity(0, cores)) for _ in range(count)]

    def stop(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


class Timing:
    """codl-bench through all phases: one fixed variant, or ADAPTIVE."""

    def __init__(self, options, plan, mode):
        variant = options.variants[0] if mode == AGAIN else mode
        policy = ["--adaptive"] if mode == ADAPTIVE else [f"--variant={variant}"]
        self.options = options
        self.arguments = [plan, "--json", "--list-runs", "--require-variant", *policy, "--warmup-runs=2",
                          f"--cpu-cores={options.cpu_cores}", f"--gpu-cores={options.gpu_cores}"]
        # What comes before the timed runs takes about as long the second time, when its files are cached.
        begin = time.monotonic()
        first = json.loads(finish(self.bench("--num-runs=1"), "codl-bench"))
        self.load_s = min(time.monotonic() - begin, 4 * first["load_us"] / 1e6 + 4 * first["first_run_us"] / 1e6 + 0.5)
        self.slowest_s = first["median_us"] / 1e6 * (1 + max(options.loads))

    def bench(self, *arguments):
        return start(self.options.bin, "codl-bench", *self.arguments, *arguments)

    def measure(self, phase_seconds):
        """The report, with the runs of each phase: [{"us", "variant"}]."""
        phase_s = max(phase_seconds, MIN_RUNS * self.slowest_s)
        process = self.bench("--num-runs=1", f"--min-ms={1000 * (self.load_s + phase_s * len(self.options.loads)):.0f}")
        time.sleep(self.load_s)
        spans = []
        for count in self.options.loads:
            begin_ns = time.monotonic_ns()
            competitors = Competitors(count, self.options.competing_cores)
            try:
                time.sleep(phase_s)
            finally:
                spans.append((begin_ns, time.monotonic_ns()))
                competitors.stop()
        report = json.loads(finish(process, "codl-bench"))
        report["phases"] = [[run for run in report["runs"]
                             if begin_ns <= run["start_ns"] and run["start_ns"] + run["us"] * 1e3 <= end_ns]
                            for begin_ns, end_ns in spans]
        for phase in report["phases"]:
            if len(phase) <= LEFT_OUT:
                fail(f"{self.arguments[0]}: expected more than {LEFT_OUT} runs in a phase, found {len(phase)}")
        del report["runs"]
        return report


def measure(options, plan, seconds):
    """By mode: the report of each pass."""
    begin = time.monotonic()
    timings = {mode: Timing(options, plan, mode) for mode in [*options.variants, ADAPTIVE, AGAIN]}
    loads_s = PASSES * sum(timing.load_s for timing in timings.values())
    left_s = seconds - (time.monotonic() - begin) - loads_s
    phase_seconds = max(MIN_PHASE_SECONDS, left_s / (PASSES * len(timings) * len(options.loads)))
    reports = {mode: [] for mode in timings}
    for i in range(PASSES):
        first = i * len(timings) // PASSES
        for mode in [*timings][first:] + [*timings][:first]:
            reports[mode].append(timings[mode].measure(phase_seconds))
    return reports


def mean_ms(reports, phase):
    return statistics.fmean(run["us"] for report in reports for run in report["phases"][phase][LEFT_OUT:]) / 1e3


def counts(reports, phase):
    """"busy 31, coexec 2": runs by variant."""
    variants = [run["variant"] for report in reports for run in report["phases"][phase]]
    return ", ".join(f"{name} {variants.count(name)}" for name in sorted(set(variants), key=variants.count)[::-1])


def spread_percent(first, again, phase):
    """Of both timings of the first variant in each pass: by how much they differ, as the square root of the mean square."""
    ratios = [mean_ms([b], phase) / mean_ms([a], phase) - 1 for a, b in zip(first, again)]
    return 100 * statistics.fmean(ratio * ratio for ratio in ratios) ** 0.5


def verdicts(means):
    """By phase: adaptive over the best fixed variant, and whether both conditions hold. `means`: {mode: [by phase]}."""
    found = []
    for i, adaptive in enumerate(means[ADAPTIVE]):
        fixed = [by_phase[i] for mode, by_phase in means.items() if mode not in (ADAPTIVE, AGAIN)]
        above = adaptive / min(fixed) - 1
        found.append((above, above <= MAX_ABOVE_BEST and adaptive <= max(fixed)))
    return found


def means_of(options, reports):
    return {mode: [mean_ms(passes, i) for i in range(len(options.loads))] for mode, passes in reports.items()}


def section(options, network, reports):
    means = means_of(options, reports)
    head = ["ms a run", *(f"{i + 1}: {count} competing" for i, count in enumerate(options.loads))]
    rows = [[mode, *(f"{ms:.2f}" for ms in means[mode])] for mode in [*options.variants, AGAIN, ADAPTIVE]]
    first = options.variants[0]
    rows.append([f"again over {first}", *(f"{100 * (b / a - 1):+.1f} %" for a, b in zip(means[first], means[AGAIN]))])
    rows.append(["the same in one pass", *(f"{spread_percent(reports[first], reports[AGAIN], i):.1f} %"
                                           for i in range(len(options.loads)))])
    rows.append(["adaptive over the best", *(f"{100 * above:+.1f} %" + ("" if holds else " (fails)")
                                             for above, holds in verdicts(means))])
    rows.append(["runs by variant", *(counts(reports[ADAPTIVE], i) for i in range(len(options.loads)))])
    adaptive = reports[ADAPTIVE]
    return ([f"## {network}", "", *results.table(head, rows)] + results.wrapped(
        f"{', '.join(str(report['switch_count']) for report in adaptive)} switches in the passes; a call of "
        f"codl_session_set_variant takes {max(report['switch_us'] for report in adaptive):.3f} us."))


def compile_plan(options, network):
    plan = os.path.join(options.work, network + ".codl")
    model = os.path.join(options.models, network + ".onnx")
    finish(start(options.bin, "codlc", model, f"--device={options.profile}", f"--variants={','.join(options.variants)}",
                 f"--search-budget={options.search_budget}", "-q", "-o", plan), "codlc")
    return plan


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")
    measured_pairs.pair_arguments(parser, "8m")
    parser.add_argument("--networks", type=names, default=names(NETWORKS), help="without .onnx (default: three)")
    parser.add_argument("--variants", type=names, default=names("coexec,cpu,gpu50,busy"), help="(default: coexec,cpu,gpu50,busy)")
    parser.add_argument("--loads", type=lambda text: [int(count) for count in names(text)], default="0,1,2,0",
                        help="competing processes, by phase (default: 0,1,2,0)")
    options = parser.parse_args()
    options.competing_cores = cores_of(options.cpu_cores)
    options.profile_budget, options.profile_flags = PROFILE_SECONDS, ["--no-tiles"]
    missing = [name for name in options.networks if not os.path.exists(os.path.join(options.models, name + ".onnx"))]
    if missing:
        parser.error(f"{options.models}: expected {missing[0]}.onnx, found no such file")
    return options


def page(options, data):
    found = {network: verdicts(means_of(options, reports)) for network, reports in data["networks"].items()}
    all_hold = all(holds for by_phase in found.values() for _, holds in by_phase)
    lines = ["# Variants that adapt, measured", "", *results.wrapped(
        f"Measured on {data['machine']}: the CPU's steps on core {options.cpu_cores}, OpenCL ({data['opencl'] or 'the system'}) on core "
        f"{options.gpu_cores}, competing processes on the CPU's core; load before it {data['load_before']:.2f}, profile "
        f"{data['profile']}. Means of the runs of a phase behind its first {LEFT_OUT}, of {PASSES} passes; `{AGAIN}` is "
        f"{options.variants[0]} timed once more in each. Made by `test/eval/adaptive.py`."), *results.wrapped(
        f"Adaptive may take {100 * MAX_ABOVE_BEST:.0f} % more than the best fixed variant of a phase, and never more "
        f"than the worst: {'this holds in every phase' if all_hold else 'this fails where it says so'}.")]
    for network, reports in data["networks"].items():
        lines += section(options, network, reports)
    return lines, all_hold


def main():
    options = parse()
    end = time.monotonic() + options.time_budget
    data = {"machine": results.machine_text(), "opencl": os.environ.get("OCL_ICD_VENDORS", ""), "load_before": os.getloadavg()[0],
            "profile": options.profile, "networks": {}}
    pair = measured_pairs.Build(options, options.bin, "adaptive", "pinned")
    path = os.path.join(options.work, "results.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    if not options.profile:
        options.profile = pair.profile
        if seconds := pair.make_profile():
            data["profile"] = f"made in {seconds:.0f} s before"
    left = [network for network in options.networks if network not in data["networks"]]
    longest = 0
    while left and time.monotonic() + longest < end:
        begin = time.monotonic()
        plan = compile_plan(options, left[0])
        seconds = (end - begin) / len(left) - (time.monotonic() - begin)
        data["networks"][left[0]] = measure(options, plan, seconds)
        longest = max(longest, time.monotonic() - begin)
        measured_pairs.write_whole(path, json.dumps(data) + "\n")
        print(f"{left[0]}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        left = left[1:]
    lines, all_hold = page(options, data)
    print("\n".join(lines).rstrip())
    if left:
        print("adaptive.py: time is up: the same command goes on with what is left", file=sys.stderr)
        return measured_pairs.LEFT
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
