#!/usr/bin/env python3
"""Networks on phones with the GPU kernels of an older build and of this one, predicted by one cost model.

    phone_kernels.py MODELS --bin BIN --before OLD_BIN

Each build plans every .onnx of MODELS with its own kernels, its own counts of their work and its own search; rates of a
phone are the profile's for both. A multiply-add of the old kernels takes the issue slots of BEFORE. A phone that the old tree
does not know needs its chip's facts in that tree's phone_chips.json, without the keys that it does not know either, and then a
profile by that tree's phone_profiles.py --write. Prints a table: milliseconds of
the CPU's plan, then before and after of the GPU's and of the default.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

import phone_profiles

sys.path.insert(0, os.path.join(phone_profiles.ROOT, "test", "support"))
import markdown  # noqa: E402

PHONES = ("sd855", "sd888", "sd8gen2", "sd8elite", "dimensity9300", "sd8elitegen5")
STRATEGIES = {"cpu": ["--strategy=cpu"], "gpu": ["--strategy=gpu"], "both": []}
# Percent, as in phone_profiles.GPU_SLOTS, at a5509bbc. Tiled kernels have those of their largest tile, which spills;
# Mali's depthwise, which Mesa does not get done with, has Adreno's.
BEFORE = {
    "adreno": {"conv2d_f32_cl_image": 54, "depthwise_conv2d_f32_cl_image": 14, "matmul_f32_cl_buffer": 18, "matmul_f32_cl_gemv": 10,
               "matmul_f32_cl_tiled": 62, "batch_matmul_f32_cl_buffer": 12, "batch_matmul_f32_cl_tiled": 42},
    "mali": {"conv2d_f32_cl_quad": 32, "conv2d_f32_cl_buffer": 31, "conv2d_f32_cl_tiled": 24, "conv2d_winograd2_f32_cl_tiled": 18,
             "depthwise_conv2d_f32_cl_buffer": 12, "matmul_f32_cl_buffer": 18, "matmul_f32_cl_gemv": 11, "matmul_f32_cl_tiled": 24,
             "batch_matmul_f32_cl_buffer": 13, "batch_matmul_f32_cl_tiled": 24},
}
SECONDS = 1800  # limit for one program


def old_device(profile, kind, folder):
    """Writes a profile over the old build's own, with today's rates, and returns its path."""
    mace, families = phone_profiles.GPU_SLOTS[kind]["mace"], profile["families"]["gpu"]
    compiled = phone_profiles.gpu_compiled({kernel: mace / percent for kernel, percent in BEFORE[kind].items()}, families)
    path = os.path.join(folder, profile["name"] + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format_version": 3, "base": profile["name"], "name": "before", "families": {"gpu": families},
                   "kernels": profile["kernels"] | compiled, "sources": profile["sources"]}, file)
    return path


def planned(binaries, model, device, flags, folder):
    """Returns what the report says of the first variant."""
    report = os.path.join(folder, "report.json")
    done = subprocess.run([os.path.join(binaries, "codlc"), model, f"--device={device}", *flags, "-q", "-o",
                           os.path.join(folder, "plan.codl"), f"--report={report}"], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"phone_kernels.py: error: {model} for {device}: {done.stderr.strip()}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["variants"][0]


def predicted_ms(binaries, model, device, flags, folder):
    return planned(binaries, model, device, flags, folder)["predicted_us"] / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--before", required=True, metavar="OLD_BIN")
    parser.add_argument("--phones", default=",".join(PHONES))
    options = parser.parse_args()
    phones = options.phones.split(",")
    profiles = phone_profiles.all_profiles()
    chips = phone_profiles.load(phone_profiles.HERE, "data", "phone_chips.json")["chips"]
    rows, gains = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for model in sorted(glob.glob(os.path.join(options.models, "*.onnx"))):
            row = [os.path.basename(model)[:-len(".onnx")]]
            for phone in phones:
                before = old_device(profiles[phone], chips[phone]["gpu"]["kind"], folder)
                old = {name: predicted_ms(options.before, model, before, flags, folder) for name, flags in STRATEGIES.items()}
                new = {name: predicted_ms(options.bin, model, phone, flags, folder) for name, flags in STRATEGIES.items()}
                row.append(f"{new['cpu']:.1f}; " + "; ".join(f"{old[name]:.1f}, {new[name]:.1f}" for name in ("gpu", "both")))
                for name in STRATEGIES:
                    gains.setdefault((phone, name), []).append(new[name] / old[name])
            print("| " + " | ".join(row) + " |", file=sys.stderr, flush=True)
            rows.append(row)
    means = ["after over before, geometric mean"]
    for phone in phones:
        means.append("; ".join(f"{statistics.geometric_mean(gains[phone, name]):.2f}" for name in STRATEGIES))
    print("\n".join(markdown.table(["network", *phones], [*rows, means])))


if __name__ == "__main__":
    main()
