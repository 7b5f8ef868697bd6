#!/usr/bin/env python3
"""Measures what trained networks lose in each precision, on samples that codlc has not seen.

    precision_accuracy.py BIN [--ocr REC.onnx] [--face FACE.onnx] [--pose POSE.onnx] [--selfie SELFIE.onnx] [--photos WHEEL.whl]
                          [--budget PERCENT] --work DIR

Plans each network for a phone's CPU in fp32, fp16, int8 and auto, with calibration data, and runs the plans on test data. The data
are those of smaller_networks.py, and for the digits network (always) its own; poses are those of the photographed person. Prints a
row for each plan: predicted time, megabytes, how many of the convolutions and products multiply bytes, the loss that codlc measured
on its own samples, the relative L2 error of all outputs on the test data from the plan in fp32, and what the network is judged by.
Needs numpy, Pillow and, for the alphabet of OCR, onnx.
"""
import argparse
import json
import os
import shutil

import numpy as np

import results
import smaller_networks
from measured_pairs import run, write_whole

PRECISIONS = ("fp32", "fp16", "int8", "auto")
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits")


class Digits:
    name, metric, flags = "digits", "right", []

    def __init__(self, options):
        self.model = os.path.join(DIGITS, "digits.onnx")
        self.labels = np.load(os.path.join(DIGITS, "test_labels.npy"))

    def write_calibration(self, folder):
        shutil.copytree(os.path.join(DIGITS, "calibration"), folder, dirs_exist_ok=True)

    def test_data(self):
        return np.load(os.path.join(DIGITS, "test_images.npy"))

    def judge(self, outputs, untouched):
        return f"{100 * np.mean([found[0].argmax() for found in outputs] == self.labels):.2f} %"


class Pose(smaller_networks.Selfie):
    name, metric = "pose", "landmarks' distance, % of the width"

    def __init__(self, options):
        super().__init__(options)
        self.model, self.photos = options.pose, self.photos[:3]

    def judge(self, outputs, untouched):
        points = [[next(output for output in found if output.size == 195).reshape(-1, 5)[:, :2] for found in all_outputs]
                  for all_outputs in (outputs, untouched)]
        return f"{100 / self.size * np.mean([np.linalg.norm(a - b, axis=1).mean() for a, b in zip(*points)]):.2f}"


def norm_of(outputs, others=None):
    others = others or [[0.0] * len(found) for found in outputs]
    return np.sqrt(sum(float(((a.astype(np.float64) - b) ** 2).sum()) for found, other in zip(outputs, others)
                       for a, b in zip(found, other)))


def rows_of(network, options):
    folder = os.path.join(options.work, network.name)
    calibration = os.path.join(folder, "calibration")
    os.makedirs(calibration, exist_ok=True)
    if isinstance(network, Digits):
        network.write_calibration(calibration)
        test = network.test_data()
    else:
        np.save(os.path.join(calibration, "samples.npy"), network.data(network.calibration, np.random.default_rng(1)))
        test = network.data(network.test, np.random.default_rng(2))
    rows, untouched = [], None
    for precision in PRECISIONS:
        plan = os.path.join(folder, f"{precision}.codl")
        # int8 and auto ask the same questions.
        log = [f"--search-log={os.path.join(folder, 'search.log')}"] if precision in ("int8", "auto") else []
        run(options.bin, "codlc", network.model, f"--device={options.device}", "--strategy=cpu", "-q", *network.flags, *log,
            f"--precision={precision}", f"--calibration={calibration}", f"--accuracy-budget={options.budget}", "-o", plan,
            f"--report={plan}.json", seconds=7200)
        with open(plan + ".json", encoding="utf-8") as file:
            report = json.load(file)
        found = smaller_networks.outputs_of(options, plan, folder, test)
        untouched = untouched or found
        nodes = report["precision"]["bytes"]
        told = next(choice for choice in report["precision"]["choices"] if choice["is_chosen"]).get("loss")
        rows.append([network.name if precision == "fp32" else "", precision, f"{report['variants'][0]['predicted_us'] / 1e3:.2f}",
                     f"{os.path.getsize(plan) / 1e6:.2f}",
                     f"{sum(node['is_in_bytes'] for node in nodes)} of {len(nodes)}" if nodes else "",
                     "" if told is None else f"{100 * told:.2f}", f"{100 * norm_of(found, untouched) / norm_of(untouched):.2f}",
                     network.judge(found, untouched), network.metric if precision == "fp32" else ""])
        print(" | ".join(rows[-1]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of codlc, codl-dump and codl-run")
    for name in ("ocr", "face", "pose", "selfie"):
        parser.add_argument(f"--{name}", metavar="FILE.onnx")
    parser.add_argument("--photos", metavar="WHEEL", help="scikit-image's, for all but ocr")
    parser.add_argument("--fonts", metavar="DIR", default="/usr/share/fonts")
    parser.add_argument("--device", default="sd855", help="that times are predicted for (default: sd855)")
    parser.add_argument("--budget", default="0.5%", help="codlc's --accuracy-budget (default: 0.5%%)")
    parser.add_argument("--work", required=True, metavar="DIR")
    options = parser.parse_args()
    kinds = [Digits] + [kind for kind, path in ((smaller_networks.Ocr, options.ocr), (smaller_networks.Face, options.face),
                                                (Pose, options.pose), (smaller_networks.Selfie, options.selfie)) if path]
    rows = [row for kind in kinds for row in rows_of(kind(options), options)]
    lines = results.table(["network", "precision", "predicted, ms", "plan, MB", "in bytes", "loss by codlc, %", "loss on test data, %",
                           "found", "which is"], rows)
    write_whole(os.path.join(options.work, "precision_accuracy.md"), "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
