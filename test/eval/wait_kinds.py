#!/usr/bin/env python3
"""Networks on phones with waits by event, polled and by flag, predicted.

    wait_kinds.py MODELS --bin BIN [--int8 FOLDER] [--phones a,b] [--precisions fp32,fp16] [--search-budget=N] [--jobs N]

Plans every .onnx of MODELS for each phone. An event takes the profile's sync_us in both directions. Polled, the CPU sees
the GPU's step within 10 us; by flag each sees the other's in that. Nobody has published what either takes on a phone:
10 us are assumed for all. FOLDER has the same networks quantised (QDQ), for rows called int8: bytes on the CPU, halves on
the GPU. Prints two tables. The first has milliseconds of the faster processor's plan, then of the default's by each kind: an
asterisk where that plan has one processor, because no plan on both is predicted to be faster; a plus where one is, but not in
nine of ten draws. The second has by phone how many times as fast as the faster processor the plans of each kind are, as
geometric means, and how many of them have both processors and how many a plus.
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

FAST_US = 10
NEVER_US = 1e6
# Microseconds to the CPU and to the GPU, where that is less than an event.
KINDS = {"event": None, "poll": (FAST_US, NEVER_US), "flag": (FAST_US, FAST_US)}
SINGLES = ("cpu", "gpu")


def write_profile(profile, kind, folder):
    """Writes a profile over the phone's own, with waits of a kind, and returns its path."""
    path = os.path.join(folder, f"{profile['name']}_{kind}.json")
    us = {f"flag_to_{to}_us": {"value": value, "origin": "assumed", "source": "fast"} for to, value in zip(("cpu", "gpu"), KINDS[kind])}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format_version": 3, "base": profile["name"], "name": kind, "transfer": us, "sources": {"fast": "memory that both read"}}, file)
    return path


def mark_of(variant):
    reason = variant.get("one_processor_reason", "")
    return "" if not reason else "+" if "is faster only in" in reason else "*"


def rows_of(options, phones, folder):
    """Returns {(network, phone, precision): {strategy or kind: variant}}."""
    profiles = phone_profiles.all_profiles()
    devices = {(phone, kind): write_profile(profiles[phone], kind, folder) if us else phone for phone in phones for kind, us in KINDS.items()}

    def plan(model, device, *flags):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            return phone_kernels.planned(options.bin, model, device, flags, place)

    rows = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for precision in options.precisions.split(",") + (["int8"] if options.int8 else []):
            models = options.int8 if precision == "int8" else options.models
            for model in sorted(glob.glob(os.path.join(models, "*.onnx"))):
                flags = f"--precision={'fp16' if precision == 'int8' else precision}", f"--search-budget={options.search_budget}"
                for phone in phones:
                    rows[os.path.basename(model)[:-len(".onnx")], phone, precision] = {
                        **{name: pool.submit(plan, model, phone, *flags, f"--strategy={name}") for name in SINGLES},
                        **{kind: pool.submit(plan, model, devices[phone, kind], *flags) for kind in KINDS}}
        for key, row in rows.items():
            rows[key] = {name: made.result() for name, made in row.items()}
            print(*key, *(f"{name} {made['predicted_us'] / 1e3:.2f}{mark_of(made)}" for name, made in rows[key].items()), file=sys.stderr, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--int8", metavar="FOLDER")
    parser.add_argument("--phones", default=",".join(phone_kernels.PHONES))
    parser.add_argument("--precisions", default="fp32,fp16")
    parser.add_argument("--search-budget", type=int, default=20000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    phones = options.phones.split(",")
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(options, phones, folder)
    ms = {key: {name: made["predicted_us"] / 1e3 for name, made in row.items()} for key, row in rows.items()}
    single = {key: min(row[name] for name in SINGLES) for key, row in ms.items()}
    lines = [[*key, f"{single[key]:.2f}", *(f"{ms[key][kind]:.2f}{mark_of(row[kind])}" for kind in KINDS)] for key, row in sorted(rows.items())]
    print("\n".join(markdown.table(["network", "phone", "precision", "one", *KINDS], lines)) + "\n")
    lines = []
    for phone in phones:
        for precision in sorted({key[2] for key in rows}, key="fp32 fp16 int8".split().index):
            keys = [key for key in rows if key[1:] == (phone, precision)]
            line = [phone, precision]
            for kind in KINDS:
                marks = [mark_of(rows[key][kind]) for key in keys]
                gain = statistics.geometric_mean(single[key] / ms[key][kind] for key in keys)
                line.append(f"{gain:.2f}; {marks.count('')}, {marks.count('+')}")
            lines.append(line)
    print("\n".join(markdown.table(["phone", "precision", *KINDS], lines)))


if __name__ == "__main__":
    main()
