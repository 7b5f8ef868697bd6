#!/usr/bin/env python3
"""Accuracy of latency models on measured steps that no model has seen.

    evaluate.py --codl-profile build/release/bin/codl-profile [--out docs/evaluation]

Reads test/eval/data/*.csv.xz (samples of codl-profile), fits four kinds of models per kernel and
writes accuracy.md and accuracy.json:

  analytic  codl's own: the contracts' features, non-negative least squares (codl-profile)
  codl      the form of the CoDL paper's Table 1: blocks times a unit time that is linear in rows,
            columns and channels; a linear regression per filter and stride
  flops     the baseline of uLayer: a line through the multiply-adds (bytes, where there are none)
  forest    a random forest on shapes, the yardstick of what samples alone tell; needs scikit-learn,
            left out without it

All kinds get the same five folds of distinct shapes: every prediction is of a step that was not in
the fit. Errors are predicted / measured - 1.
"""
import argparse
import json
import lzma
import math
import os
import pickle
import subprocess
import sys
import tempfile

import numpy

FOLDS = 5
# CPU threads that the samples were taken with.
PAIRS = {"host-2core-pocl": 1, "host-2core-zen4-pocl": 1, "host-2core-avx512-pocl": 1,
         "h200-nvidia": 2, "16core-pocl": 2}


class Sample:
    """A line of a sample file: fields of to_line() in profiler/sample.cc."""

    def __init__(self, line):
        fields = line.rstrip("\n").split(",")
        self.symbol = fields[0]
        self.is_fitted = fields[5] in ("0", "4")  # 4: with warm weights, which are another step
        self.step = (fields[0], *fields[5:9])
        self.part = [int(x) for x in fields[6].split()]
        self.params = [int(x) for x in fields[7].split()]
        self.operands = []
        for operand in fields[8].split(" "):
            parts = operand.split(":")
            self.operands.append((int(parts[1]), [int(x) for x in parts[5].split("x") if x]))

    def dims(self, operand):
        dims = self.operands[operand][1]
        return ([1] * (4 - len(dims)) + dims)[:4] if len(dims) < 4 else dims[:4]

    def output(self):
        """Rows, columns and channels that the step computes."""
        _, channels, rows, columns = self.dims(-1)
        if self.part[0] == 1:
            rows = self.part[2] - self.part[1]
        if self.part[0] == 2:
            channels = self.part[2] - self.part[1]
        return rows, columns, channels

    def filter(self):
        """Filter rows and columns, and stride: of convolutions."""
        if "conv2d" not in self.symbol:
            return 1, 1, 1
        return self.operands[1][1][2], self.operands[1][1][3], self.params[0]

    def shape_features(self):
        """For the forest: everything that is known of the shape, and the parameters' numbers."""
        x = self.dims(0)
        return (list(x) + list(self.output()) + list(self.filter()) +
                [self.part[0], self.operands[0][0], len(self.operands[0][1])] +
                [math.prod(x), math.prod(self.output())] +
                [p if abs(p) < 65536 else 0 for p in (self.params + [0] * 12)[:12]])


def relative_regression(rows, us):
    """Coefficients of the least squares of predicted / measured - 1."""
    scaled = numpy.asarray(rows) / numpy.asarray(us)[:, None]
    return numpy.linalg.lstsq(scaled, numpy.ones(len(us)), rcond=None)[0]


class Flops:
    def fit(self, items, us):
        self.coefficients = relative_regression([self.row(i) for i in items], us)

    def row(self, item):
        return [item["work"], 1.0]

    def predict(self, item):
        return float(numpy.dot(self.row(item), self.coefficients))

    def coefficient_count(self):
        return len(self.coefficients)


class Codl:
    """Table 1 of the CoDL paper; one regression per filter and stride, as its released code has."""

    def fit(self, items, us):
        self.by_class = {}
        for kind in {self.kind(i) for i in items}:
            own = [(i, t) for i, t in zip(items, us) if self.kind(i) == kind]
            self.by_class[kind] = relative_regression([self.row(i) for i, _ in own],
                                                      [t for _, t in own])
        self.all = relative_regression([self.row(i) for i in items], us)

    @staticmethod
    def kind(item):
        return item["sample"].filter()

    @staticmethod
    def row(item):
        sample = item["sample"]
        rows, columns, channels = sample.output()
        kernel_h, kernel_w, _ = sample.filter()
        in_channels = sample.dims(0)[1]
        depth = in_channels if item["has_macs"] else 1
        blocks = (math.ceil(channels / 4) * math.ceil(columns / 4) * rows * math.ceil(depth / 4) *
                  kernel_h * kernel_w)
        return [blocks, blocks * rows * 1e-3, blocks * columns * 1e-3, blocks * in_channels * 1e-3,
                blocks * channels * 1e-3, 1.0]

    def predict(self, item):
        coefficients = self.by_class.get(self.kind(item), self.all)
        return float(numpy.dot(self.row(item), coefficients))

    def coefficient_count(self):
        return sum(len(c) for c in self.by_class.values())


class Forest:
    def __init__(self, make):
        self.forest = make()

    def fit(self, items, us):
        self.forest.fit([i["sample"].shape_features() for i in items], numpy.log(us))

    def predict(self, item):
        return float(math.exp(self.forest.predict([item["sample"].shape_features()])[0]))

    def predict_all(self, items):
        return numpy.exp(self.forest.predict([i["sample"].shape_features() for i in items]))

    def bytes(self):
        return len(pickle.dumps(self.forest))


def forest_maker():
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        return None
    return lambda: RandomForestRegressor(n_estimators=100, min_samples_leaf=1, random_state=1,
                                         n_jobs=2)


def held_out(make, items):
    predictions = [0.0] * len(items)
    for fold in range(FOLDS):
        seen = [i for i in items if i["fold"] != fold]
        unseen = [i for i in items if i["fold"] == fold]
        if not seen or not unseen:
            continue
        model = make()
        model.fit(seen, [i["us"] for i in seen])
        found = (model.predict_all(unseen) if hasattr(model, "predict_all")
                 else [model.predict(i) for i in unseen])
        for item, us in zip(unseen, found):
            predictions[item["index"]] = us
    return predictions


def accuracy(items, predictions):
    errors = [abs(p / i["us"] - 1) for i, p in zip(items, predictions)]
    return {"within_10_percent": round(100 * sum(e <= 0.1 for e in errors) / len(errors), 1),
            "median_error_percent": round(100 * float(numpy.median(errors)), 1)}


def read_pair(path, threads, tool):
    """Items by kernel symbol, and how often a repeat is within 10 % of the first measurement."""
    with lzma.open(path, "rt") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        csv = os.path.join(folder, "samples.csv")
        with open(csv, "w") as file:
            file.write(text)
        features = os.path.join(folder, "features.txt")
        log = subprocess.run([tool, "-o", os.path.join(folder, "p.json"), f"--samples={csv}",
                              "--fit-only", "--cpu-only", f"--num-threads={threads}",
                              f"--evaluation={features}"], check=True, capture_output=True,
                             text=True).stdout
        profile_bytes = os.path.getsize(os.path.join(folder, "p.json"))
        with open(features) as file:
            evaluated = file.read().splitlines()
    by_symbol = {}
    seen = set()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        sample = Sample(line)
        if sample.is_fitted and sample.step not in seen:  # a step has a line for each visit
            seen.add(sample.step)
            by_symbol.setdefault(sample.symbol, []).append(sample)
    items = {}
    network_errors = {"cpu": [], "gpu": []}
    for line in evaluated:
        symbol, fold, us, predicted, features_text = line.split(",")
        if fold == "-1":
            side = "gpu" if "_cl_" in symbol else "cpu"
            network_errors[side].append(abs(float(predicted) / float(us) - 1))
            continue
        features = {name: float(value) for name, value in
                    (pair.split("=") for pair in features_text.split())}
        own = items.setdefault(symbol, [])
        macs = sum(v for n, v in features.items() if n.startswith("mmacs"))
        own.append({"sample": by_symbol[symbol][len(own)], "index": len(own), "fold": int(fold),
                    "us": float(us), "analytic": float(predicted), "has_macs": macs > 0,
                    "work": macs if macs > 0 else features.get("mbytes", 0.0)})
    floors = [line.split("repeated measurement: ")[1].split()[0]
              for line in log.splitlines() if "repeated measurement: " in line]
    return items, floors, profile_bytes, network_errors


def mean(values):
    values = list(values)
    return round(sum(values) / len(values), 1) if values else 0.0


def evaluate_pair(path, threads, tool, make_forest):
    items_by_symbol, floors, profile_bytes, network_errors = read_pair(path, threads, tool)
    makers = {"codl": Codl, "flops": Flops}
    if make_forest:
        makers["forest"] = lambda: Forest(make_forest)
    kernels = {}
    for symbol, items in items_by_symbol.items():
        # Not the plain rows, of which few are sampled: any_cpu stands for them.
        if "_any_" in symbol or len(items) < 20:
            continue
        result = {"samples": len(items),
                  "analytic": accuracy(items, [i["analytic"] for i in items])}
        for kind, make in makers.items():
            result[kind] = accuracy(items, held_out(make, items))
        kernels[symbol] = result
    kinds = ["analytic", *makers]
    summary = {}
    for side in ("cpu", "gpu"):
        own = [k for s, k in kernels.items() if ("_cl_" in s) == (side == "gpu")]
        summary[side] = {kind: mean(k[kind]["within_10_percent"] for k in own) for kind in kinds}
    networks = {side: {"steps": len(errors), "within_10_percent": round(
        100 * sum(e <= 0.1 for e in errors) / len(errors), 1)}
        for side, errors in network_errors.items() if errors}
    return {"threads": threads, "network_steps": networks, "kernels": kernels, "mean_within_10_percent": summary,
            "repeats_within_10_percent": floors, "profile_bytes": profile_bytes}


def markdown(results):
    lines = ["# Accuracy of latency models", "",
             "Share of predictions within 10 % of the measured time, in percent; every prediction is",
             "of a shape that was not in the fit (five folds). Made by `test/eval/evaluate.py` from",
             "the samples in `test/eval/data`. What a kind is: the script's first lines.", ""]
    for pair, result in results.items():
        kinds = list(next(iter(result["mean_within_10_percent"].values())))
        lines += [f"## {pair}", "",
                  "A repeated measurement of the same step is within 10 % of the first (the noise "
                  f"floor): {', '.join(f + ' %' for f in result['repeats_within_10_percent'])} "
                  "(CPU, GPU). The profile with all models has "
                  f"{result['profile_bytes'] / 1000:.1f} kB.", "",
                  *[f"Of {n['steps']} steps of networks that no fit has seen ({side.upper()}), "
                    f"{n['within_10_percent']:.1f} % are predicted within 10 %."
                    for side, n in result["network_steps"].items()], "",
                  "| kernel | samples | " + " | ".join(kinds) + " | median error of analytic |",
                  "|---" * (len(kinds) + 3) + "|"]
        for symbol, kernel in sorted(result["kernels"].items()):
            lines.append(f"| `{symbol}` | {kernel['samples']} | " +
                         " | ".join(f"{kernel[k]['within_10_percent']:.0f}" for k in kinds) +
                         f" | {kernel['analytic']['median_error_percent']:.1f} % |")
        for side, means in result["mean_within_10_percent"].items():
            if any(means.values()):
                lines.append(f"| mean, {side.upper()} kernels | | " +
                             " | ".join(f"**{means[k]:.1f}**" for k in kinds) + " | |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codl-profile", required=True)
    parser.add_argument("--out", default="docs/evaluation")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=os.path.join(here, "data"))
    options = parser.parse_args()
    make_forest = forest_maker()
    if make_forest is None:
        print("[SKIP] forest: no scikit-learn", file=sys.stderr)
    results = {}
    for pair, threads in PAIRS.items():
        path = os.path.join(options.data, pair + ".csv.xz")
        if os.path.exists(path):
            results[pair] = evaluate_pair(path, threads, options.codl_profile, make_forest)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "accuracy.json"), "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    with open(os.path.join(options.out, "accuracy.md"), "w") as file:
        file.write(markdown(results) + "\n")


if __name__ == "__main__":
    main()
