#!/usr/bin/env python3
"""Networks on phones in floats and in halves, predicted for each processor alone and for both.

    precision_gains.py MODELS --bin BIN [--phones a,b] [--jobs N]

Plans every .onnx of MODELS for each phone with fp32, fp16 and auto. Prints two tables: milliseconds of the plans of the
CPU, the GPU and both; and gains in halves, as geometric means of the networks: both over the faster processor and over
the GPU, with the profile's synchronisations and with such as take 10 us.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import statistics
import sys
import tempfile

import phone_kernels
import phone_profiles

sys.path.insert(0, os.path.join(phone_profiles.ROOT, "test", "support"))
import markdown  # noqa: E402

SYNC_US = 10
PRECISIONS = ("fp32", "fp16")
# Each has the precision, the flags of the strategy and whether synchronisations are fast.
PLANS = {(precision, name, False): [f"--precision={precision}", *flags]
         for precision in PRECISIONS for name, flags in phone_kernels.STRATEGIES.items()}
PLANS["auto", "both", False] = ["--precision=auto"]
PLANS |= {(precision, "both", True): [f"--precision={precision}"] for precision in PRECISIONS}


def write_fast(profile, folder):
    """Writes a profile over the phone's own, with fast synchronisations, and returns its path."""
    path = os.path.join(folder, profile["name"] + "_fast.json")
    origin = {"value": SYNC_US, "origin": "assumed", "source": "fast"}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format_version": 3, "base": profile["name"], "name": "fast", "transfer": profile["transfer"] | {"sync_us": origin},
                   "sources": profile["sources"] | {"fast": "polled memory"}}, file)
    return path


def all_ms(options, phones, folder):
    """Returns {(network, phone, plan): ms}."""
    profiles = phone_profiles.all_profiles()
    fast = {phone: write_fast(profiles[phone], folder) for phone in phones}

    def ms(model, phone, plan):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            return phone_kernels.predicted_ms(options.bin, model, fast[phone] if plan[2] else phone, PLANS[plan], place)

    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for model in sorted(glob.glob(os.path.join(options.models, "*.onnx"))):
            network = os.path.basename(model)[:-len(".onnx")]
            for phone in phones:
                for plan in PLANS:
                    found[network, phone, plan] = pool.submit(ms, model, phone, plan)
        return {key: future.result() for key, future in found.items()}


def gain(ms, network, phone, precision, is_fast, over):
    singles = [ms[network, phone, (precision, name, False)] for name in over]
    return min(singles) / ms[network, phone, (precision, "both", is_fast)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--phones", default=",".join(phone_kernels.PHONES))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    phones = options.phones.split(",")
    with tempfile.TemporaryDirectory() as folder:
        ms = all_ms(options, phones, folder)
    networks = sorted({network for network, _, _ in ms})

    def of_plans(network, phone):
        halves = [", ".join(f"{ms[network, phone, (precision, name, False)]:.1f}" for precision in PRECISIONS) for name in ("cpu", "gpu", "both")]
        return "; ".join([*halves, f"{ms[network, phone, ('auto', 'both', False)]:.1f}"])

    print("\n".join(markdown.table(["network", *phones], [[network, *(of_plans(network, phone) for phone in phones)] for network in networks])))
    print()
    kinds = {"faster processor": ("cpu", "gpu"), "GPU": ("gpu",)}
    rows = []
    for precision in PRECISIONS:
        for is_fast in (False, True):
            for kind, over in kinds.items():
                means = [statistics.geometric_mean(gain(ms, network, phone, precision, is_fast, over) for network in networks) for phone in phones]
                rows.append([precision, f"{SYNC_US} us" if is_fast else "the profile's", f"both over the {kind}", *(f"{mean:.2f}" for mean in means)])
    across = [statistics.geometric_mean(ms[network, phone, ("fp32", "both", False)] / ms[network, phone, ("fp16", "both", False)]
                                        for network in networks) for phone in phones]
    rows.append(["fp16", "the profile's", "over both in fp32", *(f"{mean:.2f}" for mean in across)])
    print("\n".join(markdown.table(["precision", "synchronisation", "gain", *phones], rows)))


if __name__ == "__main__":
    main()
