#!/usr/bin/env python3
"""Pruning of the digits network over five folds: as far as a budget allows, and uniform cuts at the same predicted time.

    folds.py BIN --work DIR [--device sd855] [--cpu-cores 0] [--no-times]

Trains a network a fold (train.py; minutes each, kept in DIR), and of each makes plans of one processor:

  untouched     as it was trained
  half          --prune=0.5, uniform, with the same repair as all others
  budget        --prune=auto --low-rank=auto --accuracy-budget=0.5%
  budget 0      the same with --accuracy-budget=0%: no prediction on the samples measured may change
  cut           --prune=auto --latency-cut=30%
  as budget     uniform: the least ratio whose predicted time is at most that of `budget`
  as cut        the same of `cut`
  as half       --prune=auto --latency-cut: as much time saved as by `half`

Each classifies its fold's test images by codl-run; codl-bench times it on this machine, where nothing else may run then
(--no-times: it does not; the same command without it then measures what is in DIR). What is found of a fold is kept in DIR, too:
the same command goes on where it was cut off. Times of two machines are not mixed in a DIR.
The page has accuracy over all samples (each is in one test set), with 95 % intervals: of a share, Wilson's; of differences,
Student's t over the folds. DIR/folds.md; exit code 1 if a target is missed. Needs what train.py needs."""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import results  # noqa: E402
from measured_pairs import run, write_whole  # noqa: E402

FOLDS = 5
T95 = 2.776  # Student's t, four degrees of freedom, two-sided
CUT = 30  # percent of the predicted time
ROUNDS = 5  # number of measurements
RATIOS = [percent / 100 for percent in range(5, 80, 5)]
SEARCHES = {"budget": ["--prune=auto", "--low-rank=auto", "--accuracy-budget=0.5%"],
            "budget 0": ["--prune=auto", "--low-rank=auto", "--accuracy-budget=0%"],
            "cut": ["--prune=auto", f"--latency-cut={CUT}%", "--accuracy-budget=100%"]}
KINDS = ["untouched", *SEARCHES, "as budget", "as cut", "half", "as half"]


def is_timed(found):
    return all(found[name]["measured_us"] for name in KINDS)


def machines(folds):
    """Returns texts of the machines that timed the folds; exits if they have different processors."""
    texts = {fold[name].get("machine", "unknown") for fold in folds for name in KINDS if fold[name]["measured_us"]}
    if len({processor(text) for text in texts}) > 1:
        sys.exit(f"folds.py: error: expected times of one machine in a DIR, found {'; '.join(sorted(texts))}")
    return texts


def processor(machine):
    """Returns a text of results.machine_text() without the date."""
    return machine.rsplit(", ", 1)[0]


def refuse_other_machine(work):
    """Exits if times must still be measured, but those in DIR come from another machine."""
    folds = []
    for number in range(FOLDS):
        kept = os.path.join(work, f"fold{number}", "found.json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                folds.append(json.load(file))
    here = results.machine_text()
    if len(folds) < FOLDS or not all(map(is_timed, folds)):
        for text in machines(folds):
            if processor(text) != processor(here):
                sys.exit(f"folds.py: error: expected {work} to have no times, or of {processor(here)}, found those of {text}")


class Fold:
    def __init__(self, number, options):
        self.options = options
        self.folder = os.path.join(options.work, f"fold{number}")
        if not os.path.exists(self.path("done")):
            text = subprocess.run([sys.executable, os.path.join(HERE, "train.py"), f"--fold={number}", "-o", self.folder],
                                  check=True, capture_output=True, text=True).stdout
            write_whole(self.path("done"), text)
            print(text, end="", flush=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan_of(self, name):
        return self.path(name.replace(" ", "_") + ".codl")

    def compile(self, name, *flags, repairs=True):
        """Returns the plan's path, and its predicted time in microseconds."""
        plan = self.plan_of(name)
        if not os.path.exists(plan + ".json"):
            calibration = []
            if flags:
                calibration.append(f"--calibration={self.path('calibration')}" if repairs else "--unchecked")
            if "--prune=auto" in flags and "--accuracy-budget=0%" not in flags:  # it is in another metric's unit
                calibration.append(f"--search-log={self.path('search.log')}")
            text = run(self.options.bin, "codlc", self.path("digits.onnx"), f"--device={self.options.device}",
                       "--strategy=cpu", *flags, *calibration, "-o", plan, f"--report={plan}.new.json")
            write_whole(plan + ".txt", text)
            os.replace(plan + ".new.json", plan + ".json")
        with open(plan + ".json", encoding="utf-8") as file:
            return plan, json.load(file)["variants"][0]["predicted_us"]

    def uniform(self, most_us):
        """Returns the flag of the least uniform cut that is fast enough: weights do not change predicted times."""
        for ratio in RATIOS:
            if self.compile(f"shape {ratio}", f"--prune={ratio}", repairs=False)[1] <= most_us:
                return f"--prune={ratio}"
        return f"--prune={RATIOS[-1]}"

    def predictions(self, plan):
        images = np.load(self.path("test_images.npy"))
        found = []
        for image in images:
            np.save(self.path("image.npy"), image[None])
            run(self.options.bin, "codl-run", plan, f"--input=image={self.path('image.npy')}",
                f"--output-dir={self.path('out')}", "-o", os.devnull)
            found.append(int(np.load(self.path("out/logits.npy")).argmax()))
        return np.array(found)

    def bench(self, plan):
        report = json.loads(run(self.options.bin, "codl-bench", plan, "--json", f"--cpu-cores={self.options.cpu_cores}",
                                "--num-threads=1", "--min-ms=300"))
        return report["median_us"]

    def add_times(self, found):
        """Adds medians over rounds in which the plans take turns, so that a changing clock affects all of them."""
        times = {name: [] for name in KINDS}
        for _ in range(ROUNDS):
            for name in KINDS:
                times[name].append(self.bench(self.plan_of(name)))
        for name in KINDS:
            found[name].update(measured_us=statistics.median(times[name]), machine=results.machine_text())

    def all(self):
        kept = self.path("found.json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                found = json.load(file)
        else:
            found = self.find()
            write_whole(kept, json.dumps(found))
        if not self.options.no_times and not is_timed(found):
            self.add_times(found)
            write_whole(kept, json.dumps(found))
        return found

    def find(self):
        plans = {"untouched": self.compile("untouched"), "half": self.compile("half", "--prune=0.5")}
        for name, flags in SEARCHES.items():
            plans[name] = self.compile(name, *flags)
        for name in ("budget", "cut"):
            plans["as " + name] = self.compile("as " + name, self.uniform(plans[name][1]))
        half = 100 * (1 - plans["half"][1] / plans["untouched"][1])
        plans["as half"] = self.compile("as half", "--prune=auto", f"--latency-cut={half:.3f}%", "--accuracy-budget=100%")
        labels = np.load(self.path("test_labels.npy"))
        found = {}
        for name in KINDS:
            plan, predicted_us = plans[name]
            predictions = self.predictions(plan)
            found[name] = {"predicted_us": predicted_us, "measured_us": None, "count": len(labels),
                           "right": int((predictions == labels).sum())}
            print(f"{self.folder} {name}: {100 * found[name]['right'] / len(labels):.2f} %, {predicted_us:.1f} us",
                  flush=True)
        return found


def wilson(right, count):
    z = 1.96
    share = right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return 100 * (middle - half), 100 * (middle + half)


def points(folds, a, b):
    """Returns for each fold how many more percent of the test images `a` gets right than `b`."""
    return [100 * (fold[a]["right"] - fold[b]["right"]) / fold[a]["count"] for fold in folds]


def with_interval(values):
    half = T95 * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):+.2f} ({statistics.mean(values) - half:+.2f} to {statistics.mean(values) + half:+.2f})"


def agreement(number, name, options):
    """Returns the percentage of measured samples whose prediction equals the untouched network's, from codlc's
    report.
    """
    with open(os.path.join(options.work, f"fold{number}", name.replace(" ", "_") + ".codl.txt"), encoding="utf-8") as file:
        return float(re.findall(r"same top-1 (\d+\.\d+) %", file.read())[-1])


def page(folds, options):
    rows = []
    measured_on = machines(folds) if all(map(is_timed, folds)) else None
    for name in KINDS:
        right, count = (sum(fold[name][key] for fold in folds) for key in ("right", "count"))
        low, high = wilson(right, count)
        saved = {key: f"{100 * (1 - statistics.mean(fold[name][key] / fold['untouched'][key] for fold in folds)):.1f} %"
                 if key == "predicted_us" or measured_on else "" for key in ("predicted_us", "measured_us")}
        rows.append([name, f"{100 * right / count:.2f} %", f"{low:.2f} to {high:.2f}", with_interval(points(folds, name, "untouched")),
                     saved["predicted_us"], saved["measured_us"]])
    lost = {name: -statistics.mean(points(folds, name, "untouched")) for name in KINDS}
    better = {(a, b): points(folds, a, b)
              for a, b in (("budget", "as budget"), ("cut", "as cut"), ("as half", "half"))}
    checks = {"uniform 50 % loses at least 3 points": lost["half"] >= 3,
              f"a cut of {CUT} % of the time loses at most 0.5 points": lost["cut"] <= 0.5,
              "and at least 1 point less than a uniform cut of the same time":
                  statistics.mean(better["cut", "as cut"]) >= 1,
              "a budget of 0 changes no prediction on the samples measured":
                  all(agreement(number, "budget 0", options) == 100 for number in range(len(folds)))}
    lines = ["# Pruning the digits network, five folds", "",
             *results.wrapped(f"Accuracy of codl's own runs over all samples, each in the test set of one fold. Predicted: "
                              f"{options.device}, one processor. "
                              + (f"Measured: {'; '.join(sorted(measured_on))}. " if measured_on else "") +
                              "`test/eval/digits/folds.py` says what the rows are."),
             *results.table(["", "right", "95 % interval", "points more than untouched, by fold", "predicted time saved",
                             "measured time saved"], rows),
             *(f"- `{a}` over `{b}`, the search over a uniform cut of the same predicted time, in points: {with_interval(values)}"
               for (a, b), values in better.items()), "",
             *(f"- {text}: {'met' if is_met else 'MISSED'}" for text, is_met in checks.items())]
    return all(checks.values()), lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of codlc, codl-run and codl-bench")
    parser.add_argument("--work", required=True, metavar="DIR", help="networks, plans and results")
    parser.add_argument("--device", default="sd855", help="that times are predicted for (default: sd855)")
    parser.add_argument("--cpu-cores", default="0", help="of codl-bench (default: 0)")
    parser.add_argument("--no-times", action="store_true", help="measure none: other work may run beside it")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    if not options.no_times:
        refuse_other_machine(options.work)
    folds = [Fold(number, options).all() for number in range(FOLDS)]
    is_met, lines = page(folds, options)
    write_whole(os.path.join(options.work, "folds.md"), "\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(int(not is_met))


if __name__ == "__main__":
    main()
