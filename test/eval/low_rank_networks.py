#!/usr/bin/env python3
"""Shows what codlc --low-rank=RATIO rewrites in trained networks, and what it leaves as it is.

    low_rank_networks.py BIN NETWORKS --golden GOLDEN.zip --work DIR [--device sd855] [--energy 0.95] [--only GLOB]

NETWORKS is a folder of ONNX files, GOLDEN.zip has for each `NAME.npz` with its inputs as `in:INPUT` (shared/models/real). Each
network is calibrated with noise like those inputs (of the same dims, kind and range): deviations are relative errors of the outputs
on half of it, which nothing was fitted to. DIR keeps the plan, the report and what was found of each
network by device and energy: the same command goes on where it was cut off. DIR/low_rank_networks.md. Needs numpy."""
import argparse
import collections
import fnmatch
import io
import json
import os
import re
import zipfile

import numpy as np

import results
from measured_pairs import run, write_whole

SAMPLES = 32
REASONS = {"no form": "left: no form has fewer multiply-adds", "less than": "left: saves less than 0.2 %"}


def like(values, rng):
    """Returns noise with the same dims, type and range."""
    if values.dtype.kind not in "fiu" or values.size <= 1:
        return np.repeat(values[None], SAMPLES, 0)
    dims = (SAMPLES, *(values.shape[1:] if values.shape[0] == 1 else values.shape))
    if values.dtype.kind in "iu":
        return rng.integers(values.min(), values.max() + 1, dims).astype(values.dtype)
    if values.min() >= 0:
        return rng.uniform(values.min(), values.max(), dims).astype(values.dtype)
    return rng.normal(values.mean(), values.std(), dims).astype(values.dtype)


def file_name(text):
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)


def calibrate(inputs, folder):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(1)
    for name, values in inputs.items():
        np.save(os.path.join(folder, file_name(name) + ".npy"), like(values, rng))


def kept_name(name, options):
    """Returns the name for kept results: one per network, device and energy."""
    return file_name(f"{name}_{options.device}_{options.energy}")


def found_of(name, options, golden):
    """Returns the network before and after, as a dictionary."""
    with np.load(io.BytesIO(golden.read(name + ".npz")), allow_pickle=False) as arrays:
        inputs = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in:")}
    calibration = os.path.join(options.work, name, "calibration")
    calibrate(inputs, calibration)
    kept = os.path.join(options.work, kept_name(name, options))
    shapes = [f"--input-shape={key}:{'x'.join(map(str, values.shape))}" for key, values in inputs.items() if values.ndim]
    text = run(options.bin, "codlc", os.path.join(options.networks, name + ".onnx"), f"--device={options.device}", *shapes,
               f"--low-rank={options.energy}", f"--calibration={calibration}", "-o", f"{kept}.codl", seconds=3600)
    write_whole(f"{kept}.txt", text)
    ms = {what: float(time) for what, time in re.findall(r"^  (none|low rank) +(\d+\.\d+) ", text, re.MULTILINE)}
    left = collections.Counter(reason for line in re.findall(r"^  untouched: .*: full rank: (.*)$", text, re.MULTILINE)
                               for reason in REASONS if line.startswith(reason))
    return {"before": ms["none"], "after": ms["low rank"], "left": left,
            "rewritten": len(re.findall(r" of rank .* ms less$", text, re.MULTILINE)),
            "deviation": float(re.search(r"^  low rank .* relative (\S+),", text, re.MULTILINE)[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of codlc")
    parser.add_argument("networks", help="folder of ONNX files")
    parser.add_argument("--golden", required=True, metavar="ZIP")
    parser.add_argument("--work", required=True, metavar="DIR")
    parser.add_argument("--device", default="sd855", help="that times are predicted for (default: sd855)")
    parser.add_argument("--energy", default="0.95", help="of the squares of the weights, kept (default: 0.95)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="networks, by name without .onnx")
    options = parser.parse_args()
    rows = []
    with zipfile.ZipFile(options.golden) as golden:
        for file in sorted(os.listdir(options.networks)):
            name, extension = os.path.splitext(file)
            if extension != ".onnx" or not fnmatch.fnmatch(name, options.only):
                continue
            kept = os.path.join(options.work, kept_name(name, options) + ".json")
            if not os.path.exists(kept):
                write_whole(kept, json.dumps(found_of(name, options, golden)))
            with open(kept, encoding="utf-8") as text:
                found = json.load(text)
            rows.append([name, f"{found['before']:.3f}", f"{found['after']:.3f}",
                         f"{100 * (found['after'] / found['before'] - 1):+.1f} %", str(found["rewritten"]),
                         *(str(found["left"].get(reason, 0)) for reason in REASONS), f"{found['deviation']:.3f}"])
            print(" | ".join(rows[-1]), flush=True)
    lines = ["# Low rank of trained networks", "",
             *results.wrapped(f"`codlc --low-rank={options.energy}`, predicted for {options.device}; deviations on noise. "
                              "`test/eval/low_rank_networks.py`."),
             *results.table(["network", "before, ms", "now, ms", "", "rewritten", *REASONS.values(), "deviation"], rows)]
    write_whole(os.path.join(options.work, "low_rank_networks.md"), "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
