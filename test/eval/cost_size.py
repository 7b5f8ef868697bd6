#!/usr/bin/env python3
"""How large and how fast the cost model is: measure 5 of the cost model.

    cost_size.py [--old OLD --new NEW --models DIR [--rounds 3]] [--bench build/release/bin/predictor_bench]

Counts lines and bytes of this tree. With --bench (cmake --build build/release --target predictor_bench) it also times
predictions, with --old, --new and --models (as compare_models.py has them) how long codlc takes for the networks of
compare_models.py with the old and the new model: in turns, the least of --rounds. Nothing else may run meanwhile.
What is not asked for keeps its numbers from the last run. Writes a section of docs/results/cost_model.md.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import compare_models
import results

ROOT = os.path.join(results.HERE, "..", "..")
# What counts against the budget of lines, by group. All lines of the formatted files count, comments, too.
COUNTED = {
    "`compiler/cost/*`": ("compiler/cost/*",),
    "`kernels/*/*_work.cc`": ("kernels/*/*_work.cc",),
    "`kernels/common/work/work_counts.*`": ("kernels/common/work/work_counts.*",),
    "fit: `profiler/fit/fit.*`, `profiler/fit/fit_samples.*`, `profiler/fit/least_squares.*`":
        ("profiler/fit/fit.*", "profiler/fit/fit_samples.*", "profiler/fit/least_squares.*"),
    "sampling: `profiler/fit/sample.*`, `profiler/measure/session.*`": ("profiler/fit/sample.*", "profiler/measure/session.*"),
}
MAX_LINES = 2600
MAX_PROFILE_KB = 40
MAX_PREDICTION_US = 1.0
SECONDS = 900  # that one program may take


def lines_of(patterns):
    count = 0
    for pattern in patterns:
        for path in glob.glob(os.path.join(ROOT, pattern)):
            with open(path, encoding="utf-8") as file:
                count += sum(1 for _ in file)
    return count


def prediction_us(bench, profile):
    """Of the profile's benchmark in predictor_bench: nanoseconds a pass over its shapes, shapes a second."""
    done = subprocess.run([bench, profile, "--benchmark_format=json", "--benchmark_repetitions=5"],
                          capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"{bench}: {done.stderr.strip()}")
    return min(1e6 / run["items_per_second"] for run in json.loads(done.stdout)["benchmarks"]
               if run["run_type"] == "iteration")


def planning_s(binaries, model, profile, folder):
    """Wall time and CPU time of codlc."""
    before = os.times()
    begin = time.monotonic()
    compare_models.make_plan(binaries, model, profile, os.path.join(folder, "plan.codl"))
    wall = time.monotonic() - begin
    after = os.times()
    return [wall, after.children_user + after.children_system - before.children_user - before.children_system]


def planning_times(options):
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks:
            model = os.path.join(options.models, name + ".onnx")
            runs = {"old": [], "new": []}
            for _ in range(options.rounds):
                for kind, binaries, profiles in (("old", options.old, os.path.join(options.old, "profiles")),
                                                 ("new", options.new, options.profiles)):
                    runs[kind].append(planning_s(binaries, model, os.path.join(profiles, options.device + ".json"),
                                                 folder))
            found[name] = {kind: [min(times) for times in zip(*own)] for kind, own in runs.items()}
            print(name, found[name], flush=True)
    return found


def met(is_met):
    return "met" if is_met else "missed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="folder with the old programs and profiles/")
    parser.add_argument("--new", help="folder with this tree's programs")
    parser.add_argument("--models", help="folder of NAME.onnx, with weights")
    parser.add_argument("--networks", type=lambda text: text.split(","), default=compare_models.NETWORKS)
    parser.add_argument("--device", default="host-2core-zen4-pocl", help="the profile that is planned for")
    parser.add_argument("--profiles", default=compare_models.PROFILES, help="folder of the new profiles")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bench", help="the built predictor_bench")
    parser.add_argument("--out", default=results.DEFAULT)
    options = parser.parse_args()
    if any((options.old, options.new, options.models)) and not all((options.old, options.new, options.models)):
        parser.error("expected --old, --new and --models together")
    data = results.read_section(options.out, "size") or {}
    data["lines"] = {group: lines_of(patterns) for group, patterns in COUNTED.items()}
    data["profile_kb"] = {os.path.basename(path): os.path.getsize(path) / 1000
                          for path in sorted(glob.glob(os.path.join(options.profiles, "*.json")))}
    if options.bench:
        data["prediction_us"] = {"machine": results.machine_text(), "by_profile": {
            name: prediction_us(options.bench, os.path.join(options.profiles, name + ".json"))
            for name in compare_models.DEVICES.split(",")}}
    if options.old:
        data["planning_s"] = {"machine": results.machine_text(), "device": options.device,
                              "by_network": planning_times(options)}
    total = sum(data["lines"].values())
    largest = max(data["profile_kb"].values())
    lines = results.wrapped("Counted in this tree by `test/eval/cost_size.py`; all lines of the formatted files, "
                            "comments, too.")
    lines += results.table(["files", "lines"], [
        *data["lines"].items(), (f"all (at most {MAX_LINES}: {met(total <= MAX_LINES)})", total)])
    lines += results.wrapped(f"The largest profile has {largest:.1f} kB (at most {MAX_PROFILE_KB}: "
                             f"{met(largest <= MAX_PROFILE_KB)}).")
    if "prediction_us" in data:
        slowest = max(data["prediction_us"]["by_profile"].values())
        each = ", ".join(f"{us:.3f} us ({name})" for name, us in data["prediction_us"]["by_profile"].items())
        lines += results.wrapped(
            f"Measured on {data['prediction_us']['machine']}: a prediction takes {each} (at most "
            f"{MAX_PREDICTION_US:g}: {met(slowest <= MAX_PREDICTION_US)}; the least of five repetitions over all "
            "kernels' shapes of `predictor_bench`).")
    if "planning_s" in data:
        own = data["planning_s"]
        lines += results.wrapped(f"Measured on {own['machine']}: seconds of `codlc` for {own['device']}, the least of "
                                 "its rounds, with reading the model and writing the plan.")
        lines += results.table(["network", "old, wall", "new, wall", "old, CPU time", "new, CPU time"],
                               [(name, *(f"{times[kind][which]:.2f}" for which in (0, 1) for kind in ("old", "new")))
                                for name, times in own["by_network"].items()])
    results.write_section(options.out, "size", lines, data)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
