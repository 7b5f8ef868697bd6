#!/usr/bin/env python3
"""One CPU thread and several beside processes that compute without end, measured here.

    busy_machine.py BIN PLAN.. [--threads 2] [--loads 2] [--rounds 5] [--before BIN]

BIN is a folder with codl-bench; plans are what `codlc MODEL.onnx --device=host --strategy=cpu` writes, or others that
codl-bench can run. Needs Python's standard library only. Nothing else may run meanwhile.

Each round runs every plan on one thread and on --threads, without load and beside --loads busy processes, which are
not pinned, nor are the threads. The table has the median of the runs of all rounds, and the quartiles. On the busy
machine --threads take at most twice the time of one: exit code 1 if they do not.

With --before, a folder with codl-bench of another build, every plan runs on --threads by both builds in each round,
without load: the table has the median over the rounds of what BIN takes over the other, and the geometric mean over
the plans.

Markdown goes to stdout.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import measured_pairs
import results

MAX_RATIO = 2  # several threads relative to one, on the busy machine
MS = 200  # length of a timing, with MIN_RUNS
MIN_RUNS = 5


def runs_ms(binaries, plan, threads):
    report = measured_pairs.run(binaries, "codl-bench", plan, "--json", "--list-runs", "--recorded-runs=1", f"--num-threads={threads}",
                                "--warmup-runs=1", f"--num-runs={MIN_RUNS}", f"--min-ms={MS}")
    return [run["us"] / 1e3 for run in json.loads(report)["runs"]]


def timed_beside(loads, binaries, plan, threads):
    competitors = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loads)]
    try:
        return runs_ms(binaries, plan, threads)
    finally:
        for process in competitors:
            process.kill()
            process.wait()


def network_of(plan):
    return os.path.splitext(os.path.basename(plan))[0]


def cell(times):
    first, median, last = statistics.quantiles(times, n=4)
    return f"{median:.2f} ({first:.2f} - {last:.2f})"


def compare_threads(options):
    cases = [(loads, threads) for loads in (0, options.loads) for threads in (1, options.threads)]
    times = {plan: {case: [] for case in cases} for plan in options.plans}
    for _ in range(options.rounds):
        for plan, by_case in times.items():
            for (loads, threads), found in by_case.items():
                found += timed_beside(loads, options.bin, plan, threads)
    median = lambda by_case, loads, threads: statistics.median(by_case[loads, threads])
    ratio = lambda by_case, loads: median(by_case, loads, options.threads) / median(by_case, loads, 1)
    print("\n".join(results.table(
        ["ms", "alone: 1 thread", f"{options.threads} threads", "ratio", f"beside {options.loads}: 1 thread",
         f"{options.threads} threads", "ratio"],
        [[network_of(plan), *(text for loads in (0, options.loads)
                              for text in (cell(by_case[loads, 1]), cell(by_case[loads, options.threads]),
                                           f"{ratio(by_case, loads):.2f}"))] for plan, by_case in times.items()])))
    return all(ratio(by_case, options.loads) <= MAX_RATIO for by_case in times.values())


def compare_builds(options):
    ratios = {plan: [] for plan in options.plans}
    for i in range(options.rounds):
        for plan, found in ratios.items():
            builds = (options.bin, options.before)[::1 if i % 2 else -1]
            ms = {build: statistics.median(runs_ms(build, plan, options.threads)) for build in builds}
            found.append(ms[options.bin] / ms[options.before])
    rows = [[network_of(plan), f"{statistics.median(found):.3f}"] for plan, found in ratios.items()]
    mean = statistics.geometric_mean(statistics.median(found) for found in ratios.values())
    print("\n".join(results.table(["network", "time over the other build's"], rows + [["geometric mean", f"{mean:.3f}"]])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--threads", type=int, default=2, help="(default: 2)")
    parser.add_argument("--loads", type=int, default=2, help="busy processes (default: 2)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--before", help="a folder with another build's codl-bench")
    options = parser.parse_args()
    print("\n".join(results.wrapped(f"Measured on {results.machine_text()}, {options.rounds} rounds.")))
    if options.before:
        return compare_builds(options)
    return 0 if compare_threads(options) else 1


if __name__ == "__main__":
    sys.exit(main())
