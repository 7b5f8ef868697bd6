#!/usr/bin/env python3
"""Compares a long annealing from a random start with the default strategy, by predicted times; nothing is measured.

    annealing.py MODELS --bin BIN [--devices sd855,sd865,sd888] [--times 100] [--known FILE] [--out annealing.md]

BIN has partition_bench. Every .onnx file of MODELS is searched with the default budget, and by simulated annealing, which has
nothing in common with that search but what a plan is and who judges it, with `--times` as many plans. It takes minutes a network:
--known has what it has found, so that a run can go on where one was ended, and another search be compared with the same. Exit code 1
where annealing gains 1 % or more in the mean, or 3 % or more on a network.
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys

BUDGET = 20000  # kSearchBudget of compiler/partition/options.h
MEAN_LIMIT, WORST_LIMIT = 1.0, 3.0  # percent
SEARCHED = re.compile(r": (\d+) nodes, [\d.]+ s, \d+ plans judged, ([\d.]+) ms")
ANNEALED = re.compile(r"; annealing, \d+ plans judged, ([\d.]+) ms")


def line_of(binaries, model, device, plans):
    """Returns partition_bench's line; without annealing if `plans` is 0."""
    command = [os.path.join(binaries, "partition_bench"), f"--device={device}", f"--budget={BUDGET}", f"--anneal={plans}", model]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not SEARCHED.search(done.stdout):
        sys.exit(f"annealing.py: error: {' '.join(command)}: {done.stderr.strip() or 'no time printed'}")
    return done.stdout


class Known:
    """Keeps the milliseconds that annealing has found, keyed by what was annealed."""

    def __init__(self, path):
        self.path = path
        self.ms = {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.ms = json.load(file)

    def add(self, key, ms):
        self.ms[key] = ms
        if not self.path:
            return
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.ms, file, indent=1)
        os.replace(self.path + ".new", self.path)


def annealed(binaries, model, device, plans, known):
    """Returns (nodes, ms, annealing's ms)."""
    key = f"{device} {os.path.basename(model)} {plans}"
    line = line_of(binaries, model, device, 0 if key in known.ms else plans)
    if key not in known.ms:
        known.add(key, float(ANNEALED.search(line)[1]))
    found = SEARCHED.search(line)
    return int(found[1]), float(found[2]), known.ms[key]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder of .onnx files")
    parser.add_argument("--bin", required=True, help="the folder with partition_bench")
    parser.add_argument("--devices", default="sd855", help="profiles, with commas between")
    parser.add_argument("--times", type=int, default=100, help="plans of annealing for each of the search")
    parser.add_argument("--known", help="what annealing has found, and will (JSON): of the same passes, profiles and simulator")
    parser.add_argument("--out", help="the table's file (default: stdout)")
    arguments = parser.parse_args()
    models = sorted(glob.glob(os.path.join(arguments.models, "*.onnx")))
    if not models:
        sys.exit(f"annealing.py: error: {arguments.models}: expected .onnx files")
    lines = ["# The default strategy against a long annealing, simulated", "",
             f"Predicted milliseconds; nothing here was measured. `optimal` judges {BUDGET} plans, annealing {BUDGET * arguments.times}",
             "from a random start. What falls short: `partition_bench` judges without Concats written in place, so its milliseconds are not",
             "codlc's.", "",
             "```", "test/eval/annealing.py MODELS --bin build/release/bin --known FILE.json --out docs/results/annealing.md", "```", "",
             "| device | network | nodes | optimal | annealing | gains |", "|---|---|---:|---:|---:|---:|"]
    gains = []
    known = Known(arguments.known)
    for device in arguments.devices.split(","):
        for model in models:
            name = os.path.splitext(os.path.basename(model))[0]
            nodes, ms, other_ms = annealed(arguments.bin, model, device, BUDGET * arguments.times, known)
            gains.append(100 * (ms / other_ms - 1))
            lines.append(f"| {device} | {name} | {nodes} | {ms:.3f} | {other_ms:.3f} | {gains[-1]:.2f} % |")
            print(lines[-1], flush=True)
    mean, worst = statistics.mean(gains), max(gains)
    is_kept = mean < MEAN_LIMIT and worst < WORST_LIMIT
    lines += ["", f"Of {len(gains)} networks annealing gains {mean:.2f} % in the mean (limit {MEAN_LIMIT:.0f}) and {worst:.2f} % at most "
              f"(limit {WORST_LIMIT:.0f}): {'met' if is_kept else 'missed'}.", ""]
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    print(lines[-2])
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
