#!/usr/bin/env python3
"""Fixed variants against the adaptive policy while other processes come and go on the CPU's core, measured here.

    adaptive.py BIN MODELS --work DIR --cpu-cores 0 --gpu-cores 1 > adaptive.md

BIN is a folder with codlc and codl-bench; MODELS has networks as NAME.onnx. Needs Python's standard library only. OpenCL
is what the environment says (OCL_ICD_VENDORS). Nothing else may run meanwhile.

Each network is compiled once, with all variants, and timed once for each variant and once with codl-bench --adaptive.
During each timing the same phases go by: --loads competing processes, which compute without end on the CPU's core. The
first ten runs of a phase are the policy's to find out; the means are of those behind them. Two conditions hold in each
phase: adaptive takes at most 5 % more than the best fixed variant, and never more than the worst.

DIR keeps plans and results.json. Markdown goes to stdout. Exit code 1 if a condition fails.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import results

NETWORKS = "mobilenet_v2_ts13,mobilenet_v3_large_ts13,squeezenet1_1_ts13"
ADAPTIVE = "adaptive"
LEFT_OUT = 10  # runs of a phase in which the policy finds out
LEAST_RUNS = 30  # of a phase, for which it is made longer
MOST_ABOVE_BEST = 0.05
SECONDS = 600  # that a program may take
COMPETITOR = "while True: pass"


def fail(text):
    sys.exit(f"adaptive.py: error: {text}")


def command_of(binaries, tool, arguments):
    libraries = [binaries, os.path.join(binaries, "..", "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return ([os.path.join(binaries, tool), *arguments],
            dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, libraries))))


def start(binaries, tool, *arguments):
    command, environment = command_of(binaries, tool, arguments)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")


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


def run(binaries, tool, *arguments):
    return finish(start(binaries, tool, *arguments), tool)


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
        policy = ["--adaptive"] if mode == ADAPTIVE else [f"--variant={mode}"]
        self.options = options
        self.arguments = [plan, "--json", "--list-runs", "--require-variant", *policy, "--warmup-runs=2",
                          f"--cpu-cores={options.cpu_cores}", f"--gpu-cores={options.gpu_cores}"]

    def bench(self, *arguments):
        return start(self.options.bin, "codl-bench", *self.arguments, *arguments)

    def measure(self):
        """The report, with the runs of each phase: [{"us", "variant"}]."""
        # What comes before the timed runs takes about as long the second time, when its files are cached.
        begin = time.monotonic()
        first = json.loads(finish(self.bench("--num-runs=1"), "codl-bench"))
        load_s = min(time.monotonic() - begin, 4 * first["load_us"] / 1e6 + 4 * first["first_run_us"] / 1e6 + 0.5)
        slowest_s = first["median_us"] / 1e6 * (1 + max(self.options.loads))
        phase_s = max(self.options.phase_seconds, LEAST_RUNS * slowest_s)
        phases_s = phase_s * len(self.options.loads)
        process = self.bench("--num-runs=1", f"--min-ms={1000 * (load_s + phases_s):.0f}")
        time.sleep(load_s)
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
                fail(f"{self.arguments[0]}: expected more than {LEFT_OUT} runs in a phase, found {len(phase)}: "
                     "a larger --phase-seconds")
        return report


def mean_ms(phase):
    return statistics.fmean(run["us"] for run in phase[LEFT_OUT:]) / 1e3


def counts(phase):
    """"busy 31, coexec 2": runs by variant."""
    variants = [run["variant"] for run in phase]
    return ", ".join(f"{name} {variants.count(name)}" for name in sorted(set(variants), key=variants.count)[::-1])


def verdicts(options, means):
    """By phase: adaptive over the best fixed variant, and whether both conditions hold."""
    found = []
    for i in range(len(options.loads)):
        fixed = [means[variant][i] for variant in options.variants]
        above = means[ADAPTIVE][i] / min(fixed) - 1
        found.append((above, above <= MOST_ABOVE_BEST and means[ADAPTIVE][i] <= max(fixed)))
    return found


def section(options, network, reports):
    means = {mode: [mean_ms(phase) for phase in report["phases"]] for mode, report in reports.items()}
    found = verdicts(options, means)
    head = ["ms a run", *(f"{i + 1}: {count} competing" for i, count in enumerate(options.loads))]
    rows = [[mode, *(f"{ms:.2f}" for ms in means[mode])] for mode in [*options.variants, ADAPTIVE]]
    rows.append(["adaptive over the best", *(f"{100 * above:+.1f} %" + ("" if holds else " (fails)")
                                             for above, holds in found)])
    rows.append(["runs by variant", *(counts(phase) for phase in reports[ADAPTIVE]["phases"])])
    adaptive = reports[ADAPTIVE]
    return ([f"## {network}", "", *results.table(head, rows)] +
            results.wrapped(f"{adaptive['switch_count']} switches; a call of codl_session_set_variant takes "
                            f"{adaptive['switch_us']:.3f} us."), all(holds for _, holds in found))


def compile_plan(options, network):
    plan = os.path.join(options.work, network + ".codl")
    model = os.path.join(options.models, network + ".onnx")
    run(options.bin, "codlc", model, f"--device={options.device}", f"--variants={','.join(options.variants)}",
        f"--search-budget={options.search_budget}", "-q", "-o", plan)
    return plan


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin")
    parser.add_argument("models")
    parser.add_argument("--work", required=True)
    parser.add_argument("--cpu-cores", required=True)
    parser.add_argument("--gpu-cores", required=True)
    parser.add_argument("--device", default="host-pair", help="the profile of the pair")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--variants", default="coexec,cpu,gpu50,busy")
    parser.add_argument("--loads", default="0,1,2,0", help="competing processes, by phase")
    parser.add_argument("--phase-seconds", type=float, default=2, help="at least")
    parser.add_argument("--search-budget", type=int, default=300)
    options = parser.parse_args()
    options.variants = options.variants.split(",")
    options.loads = [int(count) for count in options.loads.split(",")]
    options.competing_cores = cores_of(options.cpu_cores)
    return options


def main():
    options = parse()
    os.makedirs(options.work, exist_ok=True)
    sections, everything, all_hold = [], {}, True
    for network in options.networks.split(","):
        plan = compile_plan(options, network)
        reports = {mode: Timing(options, plan, mode).measure() for mode in [*options.variants, ADAPTIVE]}
        lines, holds = section(options, network, reports)
        sections += lines
        all_hold = all_hold and holds
        everything[network] = reports
        with open(os.path.join(options.work, "results.json"), "w", encoding="utf-8") as file:
            json.dump(everything, file)
        print(f"{network}: {'holds' if holds else 'fails'}", file=sys.stderr)
    lines = ["# Variants that adapt, measured", ""]
    lines += results.wrapped(
        f"Measured on {results.machine_text()}: the CPU's steps on core {options.cpu_cores}, OpenCL on core "
        f"{options.gpu_cores}, competing processes on the CPU's core; plans for {options.device}. Means of the runs "
        f"of a phase behind its first {LEFT_OUT}; each phase lasts {options.phase_seconds:g} s or more. Made by "
        "`test/eval/adaptive.py`.")
    lines += results.wrapped(
        f"Adaptive may take {100 * MOST_ABOVE_BEST:.0f} % more than the best fixed variant of a phase, and never more "
        f"than the worst: {'this holds in every phase' if all_hold else 'this fails where it says so'}.")
    print("\n".join(lines + sections).rstrip())
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
