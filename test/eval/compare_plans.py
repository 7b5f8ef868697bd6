#!/usr/bin/env python3
"""Checks that two builds of codlc write the same plans, except for predictions.

    compare_plans.py MODELS --old BUILD/bin --new BUILD/bin [--devices host,sd855] [--jobs 2]

Compiles every .onnx file of the folder MODELS for each device with both builds and holds the plans against each
other: tables and data, without predicted times, profile_hash, checksum and codlc_version. Prints a line for each plan
that differs, with the first place, then the counts and how far the predicted times are apart. Exit 1 if any plan
differs, or one build refuses what the other compiles.

The tables are read by the new build's codl-dump. Files without weights: fill them first.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

# These keys may differ. A plan's times come from the simulator, which other tests check.
UNCOMPARED = ("predicted_us", "profile_hash", "codlc_version", "table_bytes", "file_bytes")
SECONDS = 900  # limit for one compilation


def command(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS)


def without_uncompared(value):
    if isinstance(value, dict):
        return {k: without_uncompared(v) for k, v in value.items() if k not in UNCOMPARED}
    if isinstance(value, list):
        return [without_uncompared(v) for v in value]
    return value


def first_difference(old, new, where="plan"):
    """Returns the first place where two JSON values differ, as text; None if they do not."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                return f"{where}.{key}: in the {'new' if key in new else 'old'} plan only"
            if found := first_difference(old[key], new[key], f"{where}.{key}"):
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{where}: expected {len(old)} items, found {len(new)}"
        for i, pair in enumerate(zip(old, new)):
            if found := first_difference(*pair, f"{where}[{i}]"):
                return found
        return None
    return None if old == new else f"{where}: expected {old}, found {new}"


def data_of(path, table):
    """Returns the data section: the last data_bytes of the file."""
    with open(path, "rb") as file:
        file.seek(-table["data_bytes"], os.SEEK_END) if table["data_bytes"] else file.seek(0, os.SEEK_END)
        return file.read()


def compare(model, device, old_bin, new_bin, folder):
    """Returns (text or None, ratios of predicted times by variant)."""
    plans = []
    for name, binaries in (("old", old_bin), ("new", new_bin)):
        plan = os.path.join(folder, f"{os.path.basename(model)}.{device}.{name}.codl")
        done = command(os.path.join(binaries, "codlc"), model, f"--device={device}", "-q", "-o", plan)
        plans.append((plan, done))
    try:
        (old, old_done), (new, new_done) = plans
        if old_done.returncode or new_done.returncode:
            same = old_done.returncode == new_done.returncode
            return None if same else (f"exit codes {old_done.returncode} and {new_done.returncode}: "
                                      f"{(old_done.stderr + new_done.stderr).strip()}"), []
        dumps = [command(os.path.join(new_bin, "codl-dump"), plan, "--json") for plan in (old, new)]
        for dump in dumps:
            if dump.returncode:
                return f"codl-dump: {dump.stderr.strip()}", []
        tables = [json.loads(dump.stdout) for dump in dumps]
        found = first_difference(*(without_uncompared(table) for table in tables))
        if found is None and data_of(old, tables[0]) != data_of(new, tables[1]):
            found = "the data sections differ"
        ratios = [b["predicted_us"] / a["predicted_us"]
                  for a, b in zip(tables[0]["variants"], tables[1]["variants"]) if a["predicted_us"] > 0]
        return found, ratios
    finally:
        for plan, _ in plans:
            if os.path.exists(plan):
                os.remove(plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", help="a folder of .onnx files")
    parser.add_argument("--old", required=True, help="the folder with codlc and codl-dump to compare with")
    parser.add_argument("--new", required=True, help="the folder with those to be compared")
    parser.add_argument("--devices", default="host,sd855,kirin990,h200-nvidia")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    models = sorted(glob.glob(os.path.join(arguments.models, "*.onnx")))
    if not models:
        sys.exit(f"compare_plans.py: error: {arguments.models}: expected .onnx files, found none")
    different = 0
    ratios = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = {(model, device): pool.submit(compare, model, device, arguments.old, arguments.new, folder)
                 for model in models for device in arguments.devices.split(",")}
        for (model, device), task in tasks.items():
            found, of_plan = task.result()
            ratios += of_plan
            if found:
                different += 1
                print(f"{os.path.basename(model)} {device}: {found}", flush=True)
    print(f"{len(tasks)} plans, {different} differ")
    if ratios:
        print(f"predicted times, new over old: least {min(ratios):.4f}, median {statistics.median(ratios):.4f}, "
              f"most {max(ratios):.4f}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
