#!/usr/bin/env python3
"""Fits the shares of kernel families on the measured machines: makes compiler/cost/family_shares.inc.

    family_shares.py EVALUATION... [--without NAME] [--out compiler/cost/family_shares.inc]

EVALUATION is NAME.evaluation, what `codl-profile --fit-only --evaluation=FILE` writes of the samples of machine NAME:
a line for each step, "symbol,family,fold,us,prediction,term=us term=us ...", fold -1 for steps of networks, which are not
fitted here. NAME is one of MACHINES below.

Shares are fitted to all kernels of a family on all machines: least squares of log(predicted / measured), shares not
negative, each kernel of each machine with the same weight however many samples it has. In logarithms a kernel that is
ten times slower than its family moves the fit as much as one that is ten times faster; a loss in relative errors, or a
robust one, would give such kernels up and predict them far too fast. Of plain loops an underestimate weighs
LOOPS_WEIGHT times an overestimate: a plan must not prefer them to a fast kernel that it knows as little of. Tiled
kernels of a GPU are fitted with their operators' others, too: to wait costs little there, and one GPU has few others.

The interval holds the middle 80 % of measured / predicted where the machine was left out of the fit, each kernel with
the same weight; with one machine, where the kernel was.
"""
import argparse
import os
import re
import sys

import numpy
from scipy.optimize import nnls

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
# Lists each set of samples with its host and the kind of OpenCL device. Two sets of one host count once for the CPU.
# The server's samples are in the history only (docs/guide/measuring.md).
MACHINES = {
    "h200-nvidia": ("server", "gpu"),
    "16core-pocl": ("server", "processor"),
    "host-2core-avx512-pocl": ("xeon", "processor"),
    "host-2core-pocl": ("zen4-avx2", "processor"),
    "host-2core-zen4-pocl": ("zen4", "processor"),
    "host-2core-zen5-pocl-290s": ("zen5", "processor"),
}
KINDS = ("cpu", "processor", "gpu")
FAMILIES = ("convolution", "product", "depthwise", "window", "reduction", "elementwise", "move", "tiled", "loops")
MAX_SAMPLES = 300  # per kernel and machine; more would only take time
MIN_SAMPLES = 8    # as in codl-profile
LOOPS_WEIGHT = 3
MIN_SHARE = 0.004  # mean share of the predicted time; terms below are left out


def read_terms():
    """Returns the names of the terms, in the order of the enumeration."""
    with open(os.path.join(ROOT, "compiler", "cost", "step_cost.h"), encoding="utf-8") as file:
        names = re.search(r"kTermNames\[kTermCount\] = \{(.*?)\}", file.read(), re.DOTALL).group(1)
    return re.findall(r'"(\w+)"', names)


TERMS = read_terms()


OPERATORS = [folder for folder in os.listdir(os.path.join(ROOT, "kernels"))
             if os.path.exists(os.path.join(ROOT, "kernels", folder, folder + "_work.cc"))]


def op_of(symbol):
    return max((op for op in OPERATORS if symbol.startswith(op + "_")), key=len)


def processor_of(symbol):
    return "gpu" if "_cl_" in symbol or symbol.endswith("_any_gpu") else "cpu"


class Steps:
    """Steps of a kernel: its family; nominal times per term, measured and predicted microseconds, folds."""

    def __init__(self, family, lines):
        self.family = family
        self.times = numpy.zeros((len(lines), len(TERMS)))
        self.folds = numpy.array([int(fold) for fold, *_ in lines])
        self.us = numpy.array([float(us) for _, us, *_ in lines])
        self.predicted = numpy.array([float(predicted) for _, _, predicted, _ in lines])
        index = {term: i for i, term in enumerate(TERMS)}
        for row, (*_, text) in zip(self.times, lines):
            for pair in text.split():
                term, _, value = pair.partition("=")
                row[index[term]] = float(value)


def read_evaluation(path):
    """Returns (fitted steps, steps of networks), each keyed by symbol."""
    by_symbol = ({}, {})
    with open(path, encoding="utf-8") as file:
        for line in file:
            symbol, family, *step = line.rstrip("\n").split(",")
            by_symbol[step[0] == "-1"].setdefault((symbol, family), []).append(step)
    return tuple({symbol: Steps(family, lines) for (symbol, family), lines in own.items()} for own in by_symbol)


def fit_shares(times, us, weights, under_weight=1):
    """Returns the shares that minimise the sum of weights x log(predicted / measured)^2: 40 halved steps of linear
    least squares around the present prediction. If predicted < measured, a weight counts `under_weight` times.
    """
    scale = times.max(axis=0)
    scale[scale == 0] = 1
    scaled = times / scale

    def solve(matrix, target, own):
        return nnls(matrix * numpy.sqrt(own)[:, None], target * numpy.sqrt(own), maxiter=10000)[0]

    def logs_of(shares):
        return numpy.log(numpy.maximum(scaled @ shares, 1e-6 * us) / us)

    def weights_at(logs):
        return numpy.where(logs < 0, under_weight, 1) * weights

    shares = solve(scaled / us[:, None], numpy.ones(len(us)), weights)
    best = None
    for _ in range(40):
        logs = logs_of(shares)
        own = weights_at(logs)
        loss = float((own * logs**2).sum())
        if best is None or loss < best[0]:
            best = loss, shares
        near = numpy.exp(logs) * us
        shares = (shares + solve(scaled / near[:, None], 1 - numpy.clip(logs, -2, 2), own)) / 2
    return best[1] / scale


class Pool:
    """Holds the kernels of a family on one kind of processor."""

    def __init__(self, family):
        self.family = family
        self.hosts, self.symbols, self.times, self.us = [], [], [], []

    def add(self, host, symbol, steps):
        if len(steps.us) < MIN_SAMPLES:
            return
        chosen = numpy.arange(len(steps.us))
        if len(chosen) > MAX_SAMPLES:
            chosen = numpy.random.default_rng(1).choice(chosen, MAX_SAMPLES, replace=False)
        self.hosts.append(host)
        self.symbols.append(symbol)
        self.times.append(steps.times[chosen])
        self.us.append(steps.us[chosen])

    def fit(self, members):
        weights = numpy.hstack([numpy.full(len(self.us[i]), 1 / len(self.us[i])) for i in members])
        return fit_shares(numpy.vstack([self.times[i] for i in members]), numpy.hstack([self.us[i] for i in members]),
                          weights, LOOPS_WEIGHT if self.family == "loops" else 1)

    def left_out_ratios(self):
        """Returns measured / predicted for the steps of each host left out of the fit (if there is one host: of each
        kernel); each kernel has as many.
        """
        groups = self.hosts if len(set(self.hosts)) > 1 else self.symbols
        ratios = []
        for group in sorted(set(groups)):
            seen = [i for i, own in enumerate(groups) if own != group] or range(len(groups))
            shares = self.fit(seen)
            for i, own in enumerate(groups):
                if own == group:
                    ratios.append(numpy.quantile(self.us[i] / numpy.maximum(self.times[i] @ shares, 1e-9),
                                                 numpy.linspace(0.005, 0.995, 100)))
        return numpy.hstack(ratios)

    def shares(self):
        """Returns shares of three digits, without terms that hardly count."""
        shares = self.fit(range(len(self.us)))
        times = numpy.vstack(self.times)
        part = (times * shares / (times @ shares)[:, None]).mean(axis=0)
        shares[part < MIN_SHARE] = 0
        return [float(f"{share:.3g}") for share in shares]


def pools_of(evaluations, without=None):
    """Returns pools, keyed by (kind, family), without the host of `without`. `evaluations`: results of
    read_evaluation(), by name.
    """
    left_out = MACHINES[without][0] if without else None
    pools, cpu_hosts = {}, set()
    for name, (kernels, _) in evaluations.items():
        host, gpu_kind = MACHINES[name]
        of_operator = {op_of(symbol): steps.family for symbol, steps in kernels.items()
                       if steps.family not in ("tiled", "loops")}
        if host == left_out:
            continue
        for symbol, steps in kernels.items():
            kind = "cpu" if processor_of(symbol) == "cpu" else gpu_kind
            if kind == "cpu" and host in cpu_hosts:
                continue
            families = [steps.family]
            if (kind, steps.family) == ("gpu", "tiled"):
                families.append(of_operator[op_of(symbol)])
            for family in families:
                pools.setdefault((kind, family), Pool(family)).add(host, symbol, steps)
        cpu_hosts.add(host)
    return {key: pool for key, pool in pools.items() if pool.us}


def calibrations_of(evaluations, without=None):
    """Returns, keyed by (kind, family), shares by term and the quantiles 0.05, 0.1, 0.9 and 0.95 of measured /
    predicted.
    """
    return {key: (pool.shares(), numpy.quantile(pool.left_out_ratios(), [0.05, 0.1, 0.9, 0.95]))
            for key, pool in pools_of(evaluations, without).items()}


def read_all(paths):
    evaluations = {}
    for path in paths:
        name = os.path.splitext(os.path.basename(path))[0]
        if name not in MACHINES:
            sys.exit(f"{path}: expected NAME.evaluation of one of {', '.join(MACHINES)}")
        evaluations[name] = read_evaluation(path)
    # If a host has two sets, the order of MACHINES decides which gives the CPU's samples.
    return {name: evaluations[name] for name in MACHINES if name in evaluations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluations", nargs="+")
    parser.add_argument("--without", choices=MACHINES, help="a machine whose host gives no samples")
    parser.add_argument("--out", default=os.path.join(ROOT, "compiler", "cost", "family_shares.inc"))
    options = parser.parse_args()
    found = calibrations_of(read_all(options.evaluations), options.without)
    lines = ["// Made by test/eval/family_shares.py: what kernels of a family reach on the measured machines, and the "
             "interval", "// that holds eight tenths of the times of a machine that was left out.",
             "// SHARES(processor, family, low, high, share of each term ...)"]
    for kind in KINDS:
        for family in FAMILIES:
            if (kind, family) in found:
                shares, (_, low, high, _) = found[kind, family]
                lines.append(f"SHARES({kind.capitalize()}, {family.capitalize()}, {low:.2f}, {high:.2f}, " +
                             ", ".join(f"{share:g}" for share in shares) + ")")
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
