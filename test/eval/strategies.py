#!/usr/bin/env python3
"""What each strategy's plan takes, simulated: networks by devices by strategies.

    strategies.py MODELS --bin BUILD/bin [--devices sd855,sd865,sd888,kirin990] [--networks NAME,...] [--out FILE.md]

Compiles every .onnx file of the folder MODELS (all, or --networks) with each strategy of codlc and writes a table for
each device: predicted milliseconds of the first variant, the best of one processor alone, and how much faster
`optimal` is than that and than `codl`. All numbers are simulated, with the profiles of the build. Files without
weights: fill them first.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

STRATEGIES = ("cpu", "gpu", "gpu-image", "gpu-buffer", "coarse", "branches", "fine", "mulayer", "codl", "codl-buffer", "codl-released",
              "segments", "optimal")
SECONDS = 900  # of one compilation


def predicted_ms(model, device, strategy, binaries, folder):
    plan = os.path.join(folder, "plan.codl")
    for command in ([os.path.join(binaries, "codlc"), model, f"--device={device}", f"--strategy={strategy}", "-q",
                     "-o", plan], [os.path.join(binaries, "codl-dump"), plan, "--json"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            sys.exit(f"strategies.py: error: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["variants"][0]["predicted_us"] / 1e3


def table(device, rows):
    lines = [f"## {device}", "", "| network | " + " | ".join(STRATEGIES) + " | best of one / optimal | codl / optimal |",
             "|---|" + "---:|" * (len(STRATEGIES) + 2)]
    gains, over_codl = [], []
    for network, times in rows:
        gains.append(min(times["cpu"], times["gpu"]) / times["optimal"])
        over_codl.append(times["codl"] / times["optimal"])
        lines.append(f"| {network} | " + " | ".join(f"{times[s]:.1f}" for s in STRATEGIES) +
                     f" | {gains[-1]:.2f} | {over_codl[-1]:.2f} |")
    lines.append("| geometric mean |" + " |" * len(STRATEGIES) +
                 f" {statistics.geometric_mean(gains):.2f} | {statistics.geometric_mean(over_codl):.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder of .onnx files")
    parser.add_argument("--bin", required=True, help="the folder with codlc and codl-dump")
    parser.add_argument("--devices", default="sd855,sd865,sd888,kirin990")
    parser.add_argument("--networks", help="names of files, without .onnx, comma separated")
    parser.add_argument("--out", help="the table's file (default: stdout)")
    arguments = parser.parse_args()
    names = arguments.networks.split(",") if arguments.networks else sorted(
        os.path.basename(path)[:-5] for path in glob.glob(os.path.join(arguments.models, "*.onnx")))
    text = ["# Strategies, simulated", "",
            "Predicted milliseconds of each strategy's plan by the profiles of this tree; nothing here was measured.",
            "`optimal` is one processor alone where co-execution is not faster in enough of the profile's draws.",
            "Made by `test/eval/strategies.py`.", ""]
    with tempfile.TemporaryDirectory() as folder:
        for device in arguments.devices.split(","):
            rows = []
            for name in names:
                model = os.path.join(arguments.models, name + ".onnx")
                rows.append((name, {s: predicted_ms(model, device, s, arguments.bin, folder) for s in STRATEGIES}))
            text.append(table(device, rows))
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write("\n".join(text))
    else:
        print("\n".join(text))


if __name__ == "__main__":
    main()
