#!/usr/bin/env python3
"""Networks on phones with waits by event, polled and by flag, predicted.

    wait_kinds.py MODELS --bin BIN [--phones a,b] [--precisions fp32,fp16] [--search-budget=N] [--jobs N]

Plans every .onnx of MODELS for each phone. An event takes the profile's sync_us in both directions. Polled, the CPU sees
the GPU's step within 10 us; by flag each sees the other's in that. Nobody has published what either takes on a phone:
10 us are assumed for all. Prints a table: milliseconds of the CPU's plan, then of the default's by each kind, an asterisk
where that plan has the CPU alone.
"""
import argparse
import concurrent.futures
import glob
import json
import os
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


def write_profile(profile, kind, folder):
    """Writes a profile over the phone's own, with waits of a kind, and returns its path."""
    path = os.path.join(folder, f"{profile['name']}_{kind}.json")
    us = {f"flag_to_{to}_us": {"value": value, "origin": "assumed", "source": "fast"} for to, value in zip(("cpu", "gpu"), KINDS[kind])}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format_version": 3, "base": profile["name"], "name": kind, "transfer": us, "sources": {"fast": "memory that both read"}}, file)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("--bin", required=True)
    parser.add_argument("--phones", default=",".join(phone_kernels.PHONES))
    parser.add_argument("--precisions", default="fp32,fp16")
    parser.add_argument("--search-budget", type=int, default=20000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    phones, precisions = options.phones.split(","), options.precisions.split(",")
    profiles = phone_profiles.all_profiles()
    models = sorted(glob.glob(os.path.join(options.models, "*.onnx")))
    with tempfile.TemporaryDirectory() as folder:
        devices = {(phone, kind): write_profile(profiles[phone], kind, folder) if us else phone for phone in phones for kind, us in KINDS.items()}

        def ms(model, device, *flags):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                return phone_kernels.predicted_ms(options.bin, model, device, flags, place)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def row(model, phone, precision):
                flags = f"--precision={precision}", f"--search-budget={options.search_budget}"
                cpu = pool.submit(ms, model, phone, *flags, "--strategy=cpu")
                return cpu, [pool.submit(ms, model, devices[phone, kind], *flags) for kind in KINDS]
            rows = {key: row(*key) for key in ((model, phone, precision) for model in models for phone in phones for precision in precisions)}
            lines = []
            for (model, phone, precision), (cpu, both) in rows.items():
                cpu, both = cpu.result(), [one.result() for one in both]
                lines.append([os.path.basename(model)[:-len(".onnx")], phone, precision, f"{cpu:.2f}",
                              *(f"{one:.2f}{'*' if one == cpu else ''}" for one in both)])
                print(*lines[-1], file=sys.stderr)
    print("\n".join(markdown.table(["network", "phone", "precision", "CPU", *KINDS], lines)))


if __name__ == "__main__":
    main()
