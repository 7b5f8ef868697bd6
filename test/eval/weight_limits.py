#!/usr/bin/env python3
"""Plans within the default of --max-weights beside plans of any size: bytes of weights, and what keeping to it costs in time.

    weight_limits.py MODELS --bin BIN [--devices sd855,...] --out TABLES.md

MODELS has the ten networks with weights, NAME.onnx. All times are simulated on the devices' profiles. Exit code 1 where a plan
has more weights than its limit.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import markdown  # noqa: E402

# Each network needs these flags.
NETWORKS = {"resnet18": [], "resnet50": [], "mobilenet_v2": [], "mobilenet_v3_large": [], "efficientnet_b0": [], "squeezenet1_1": [],
            "fast_style_transfer": [], "vit_tiny": [], "yolov2": [], "ppocr_v4_rec": ["--input-shape=x:1x3x48x320"]}
DEVICES = ("sd855", "sd888", "sd8gen2", "dimensity9300")
SECONDS = 1800  # limit for one program


def compiled(options, folder, network, device, flags):
    report = os.path.join(folder, "plan.json")
    done = subprocess.run([os.path.join(options.bin, "codlc"), os.path.join(options.models, network + ".onnx"), f"--device={device}",
                           *NETWORKS[network], *flags, "-q", "-o", os.path.join(folder, "plan.codl"), f"--report={report}"],
                          capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"weight_limits.py: error: {network} for {device}: {done.stderr.strip()}")
    with open(report) as file:
        return json.load(file)


def row_of(network, free, kept):
    def mb(report, key):
        return f"{report['plan'][key] / 1e6:.1f}"

    row = [network, mb(kept, "model_weight_bytes"), mb(free, "weight_bytes"), mb(kept, "weight_bytes")]
    for index in (0, -1):  # the first variant, and the CPU's, which may be the first
        free_us, kept_us = (report["variants"][index]["predicted_us"] for report in (free, kept))
        row += [f"{free_us / 1e3:.2f}", f"{kept_us / 1e3:.2f}", f"{100 * (kept_us / free_us - 1):+.0f}"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    head = ["network", "model, MB", "any size, MB", "limited, MB", "first variant, any size, ms", "limited, ms", "%", "cpu, any size, ms",
            "limited, ms", "%"]
    beyond = []
    with tempfile.TemporaryDirectory() as folder:
        for device in options.devices.split(","):
            rows = []
            for network in NETWORKS:
                free = compiled(options, folder, network, device, ["--max-weights=none"])
                kept = compiled(options, folder, network, device, [])
                if kept["plan"]["weight_bytes"] > kept["plan"]["weight_limit_bytes"]:
                    beyond.append(f"{network} for {device}")
                rows.append(row_of(network, free, kept))
                print(device, *rows[-1], flush=True)
            markdown.write_section(options.out, device, [f"## {device}", "", *markdown.table(head, rows)])
    print("beyond the limit: " + (", ".join(beyond) or "none"))
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
