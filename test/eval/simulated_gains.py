#!/usr/bin/env python3
"""Simulates the default strategy's gains over CoDL's released plans and over one processor, for the paper's networks and phones.

    simulated_gains.py MODELS --bin BIN [--out docs/results/simulated_gains.md]

MODELS has retinaface, yolov2, vgg16_paper, posenet and fst with weights. All plans have the same kernels, schedule, profile and
simulator; only who decides differs. Exit code 1 where one of the aims is missed; each is printed with what was reached.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import paper
import papers_runs

NETWORKS = papers_runs.NETWORKS
PHONES = ("sd855", "sd865", "sd888")
STRATEGIES = {"cpu": ["--strategy=cpu"], "gpu": ["--strategy=gpu"], "codl": ["--strategy=codl"], "optimal": []}
PLANS = ("cpu", "gpu", "codl-released", "codl", "optimal")


def op_text(op):
    if op.kind == "fc":
        return f"fc 0 0 0 {op.in_channels} {op.out_channels};"
    return f"{op.kind} {op.kernel} {op.stride} {op.out_rows} {op.in_channels} {op.out_channels};"


def released_ms(binaries, model, phone, network, data):
    """Predicts the plan that CoDL's authors released for the phone, on our kernels and schedule."""
    plan = data.plans[phone][network]["chained"]
    done = subprocess.run([os.path.join(binaries, "released_plan"), model, phone, "".join(map(op_text, data.networks[network])),
                           plan["dims"], plan["gpu_tenths"], " ".join(map(str, plan["lengths"]))],
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout) / 1e3


class Row:
    def __init__(self, phone, network, ms):
        self.phone, self.network, self.ms = phone, network, ms
        self.single = min(self.ms["cpu"], self.ms["gpu"])
        self.ideal = 1 + self.single / max(self.ms["cpu"], self.ms["gpu"])  # S*

    def over(self, plan):
        return self.ms[plan] / self.ms["optimal"]

    @property
    def speedup(self):
        return self.single / self.ms["optimal"]

    @property
    def text(self):
        reached = (self.speedup - 1) / (self.ideal - 1)
        return (f"| {self.phone} | {self.network} | " + " | ".join(f"{self.ms[plan]:.1f}" for plan in PLANS) +
                f" | {self.over('codl-released'):.2f} | {self.over('codl'):.2f} | {self.speedup:.2f}"
                f" | {self.ideal:.2f} | {reached:.2f} |")


def aims(rows):
    """Returns (what, reached, whether it is kept)."""
    released = [row.over("codl-released") for row in rows]
    gains = [row.speedup for row in rows]
    on_fst = min(row.speedup for row in rows if row.network == "fst")
    mean = statistics.geometric_mean
    ideal = mean(row.ideal for row in rows)
    return [
        ("faster than codl-released, mean, at least 1.10", mean(released), mean(released) >= 1.10),
        ("the same, least of all, at least 1.00", min(released), min(released) >= 1),
        (f"faster than the best single processor, mean, at least 1.70 (S* {ideal:.2f})", mean(gains), mean(gains) >= 1.7),
        ("the same, fst, least of all phones, at least 1.40", on_fst, on_fst >= 1.4),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder of .onnx files")
    parser.add_argument("--bin", required=True, help="the folder with codlc, codl-sim and released_plan")
    parser.add_argument("--out", help="the table's file (default: stdout)")
    arguments = parser.parse_args()
    missing = [name for name in NETWORKS.values() if not os.path.exists(os.path.join(arguments.models, name + ".onnx"))]
    if missing:
        sys.exit(f"simulated_gains.py: error: {arguments.models}: expected {', '.join(name + '.onnx' for name in missing)}")
    data = paper.read_data()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plans = papers_runs.Plans(arguments.bin, arguments.models, folder)
        for phone in PHONES:
            for network, name in NETWORKS.items():
                ms = {plan: plans.summary(name, phone, flags)["wall_us"] / 1e3 for plan, flags in STRATEGIES.items()}
                model = os.path.join(arguments.models, name + ".onnx")
                ms["codl-released"] = released_ms(arguments.bin, model, phone, network, data)
                rows.append(Row(phone, name, ms))
    results = aims(rows)
    lines = ["# The default strategy against CoDL's released plans, simulated", "",
             "Predicted milliseconds of each plan by the phones' profiles. All plans have the same kernels, schedule and simulator. `codl-released`",
             "has the dimensions, shares and chains of CoDL's released code, `codl` is our Algorithm 1. S is the best single processor over `optimal`.",
             "S* = 1 + faster / slower processor is what perfect sharing without any transfer would give of these two times, and the last column is",
             "(S - 1) / (S* - 1).", "",
             "```", "cmake --build build/release --target released_plan",
             "test/eval/simulated_gains.py MODELS --bin build/release/bin --out docs/results/simulated_gains.md", "```", "",
             "Plans have weights of any size (`--max-weights=none`). What falls short: nothing here was measured, and the profiles' shares are",
             "fitted to latencies of other libraries' kernels ([phones.md](phones.md)). codl's GPU kernels are predicted to be faster",
             "than those ([mobile_kernels.md](mobile_kernels.md)), so the processors are less alike, and sharing gives less.", "",
             "| phone | network | " + " | ".join(PLANS) + " | codl-released / optimal | codl / optimal | S | S* | reached |",
             "|---|---|" + "---:|" * (len(PLANS) + 5), *(row.text for row in rows), "",
             "| aim | reached | |", "|---|---:|---|",
             *(f"| {what} | {value:.3f} | {'met' if is_kept else 'missed'} |" for what, value, is_kept in results), ""]
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    print("\n".join(lines))
    return 0 if all(is_kept for _, _, is_kept in results) else 1


if __name__ == "__main__":
    sys.exit(main())
