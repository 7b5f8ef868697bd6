#!/usr/bin/env python3
"""What of a network only the CPU computes, and why: networks by devices.

    on_cpu.py MODEL.onnx... --bin BUILD/bin [--devices sd855,kirin990] [--out FILE.md]

Asks codlc --report-support for each network and device and writes a table: predicted milliseconds of the plan (codlc's
first variant), synchronisations between the processors in it and where the GPU runs all that it can, and the nodes that the
plan has on the CPU alone, by operator and reason:

    no GPU kernel     no kernel of the GPU takes the node, in whatever layout (an image that exceeds the device's limit
                      is no reason: a buffer takes its place)
    network's ends    Converts of inputs and outputs, which are the application's memory
    cheaper on CPU    the GPU could, and is predicted to be of more use elsewhere, or not worth a synchronisation

All numbers are simulated, with the profiles of the build. Files without weights: fill them first.
"""
import argparse
import json
import os
import subprocess
import sys

SECONDS = 900  # of one compilation


def support(model, device, binaries):
    command = [os.path.join(binaries, "codlc"), model, f"--device={device}", "--report-support=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"on_cpu.py: error: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def listed(counts):
    return ", ".join(f"{op} {count}" for op, count in counts if count) or "-"


def row(network, device, report):
    operators = report["operators"]
    missing = [(row["op"], row["node_count"] - row["gpu_count"]) for row in operators]
    # Of the Converts only those at the ends have no GPU kernel.
    ends = sum(count for op, count in missing if op == "Convert")
    cheaper = [(row["op"], row["cpu_placed"] - lacking) for row, (_, lacking) in zip(operators, missing)]
    placed = "/".join(str(sum(row[key] for row in operators)) for key in ("cpu_placed", "gpu_placed", "split_placed"))
    return [network, device, f"{report['predicted_us'] / 1e3:.1f}", str(report["syncs"]),
            str(report["gpu_syncs"]), placed, listed((op, n) for op, n in missing if op != "Convert"), str(ends),
            listed(cheaper)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help=".onnx files")
    parser.add_argument("--bin", required=True, help="the folder with codlc")
    parser.add_argument("--devices", default="sd855,kirin990", help="names or files of profiles, comma separated")
    parser.add_argument("--out", help="the table's file (default: stdout)")
    arguments = parser.parse_args()
    heads = ["network", "device", "predicted ms", "synchronisations", "all on the GPU", "nodes cpu/gpu/split",
             "no GPU kernel", "network's ends", "cheaper on CPU"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---:|---:|---:|---|---|---:|---|"]
    for model in arguments.models:
        for device in arguments.devices.split(","):
            cells = row(os.path.basename(model)[:-5], os.path.basename(device).removesuffix(".json"),
                        support(model, device, arguments.bin))
            lines.append("| " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
