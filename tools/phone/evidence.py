#!/usr/bin/env python3
"""Turns what `phone.sh evidence` brought back into a device profile and a table of measured against predicted times.

  evidence.py EVIDENCE.zip --name=NAME [--out-dir=DIR] [--bin=DIR]

Writes DIR/NAME.json, for codlc --device=NAME.json, and prints the table as Markdown: the plans' variants on this phone, as
measured and as the profile of the phone predicts them. Standard library only. The file is somebody else's: only the members that
phone.sh writes are read, each of limited size.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

MEMBER = re.compile(r"profile\.json|device\.txt|temperature_(before|after)\.txt|faults\.txt|[\w-]+\.(codl|bench\.json|self_test\.json)")
MAX_BYTES = 64 << 20


class InputError(Exception):
    pass


def fail(where, expected, found):
    raise InputError(f"{where}: expected {expected}, found {found}")


def unpack(path, folder):
    """Unpacks the members that are known."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not MEMBER.fullmatch(member.filename):
                    continue
                if member.file_size > MAX_BYTES:
                    fail(f"{path}: {member.filename}", f"at most {MAX_BYTES} bytes", member.file_size)
                with archive.open(member) as source, open(os.path.join(folder, member.filename), "wb") as target:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        fail(path, "a file that can be read", error.strerror)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        fail(path, "a ZIP archive of phone.sh evidence", error)


def read_json(path, what):
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except OSError:
        return None
    except (ValueError, RecursionError) as error:
        fail(what, "JSON", error)
    if not isinstance(value, dict):
        fail(what, "an object of JSON", "another value")
    return value


def predictions(plan, profile, sim):
    """Returns predicted microseconds by variant."""
    run = subprocess.run([sim, plan, f"--device={profile}", "--json"], capture_output=True, text=True)
    if run.returncode:
        fail(os.path.basename(plan), "a plan that codl-sim runs", run.stderr.strip().split("\n")[-1])
    return {run["name"].removeprefix("variant "): run["wall_us"] for run in json.loads(run.stdout)["runs"]}


def rows(folder, profile, sim):
    """Yields the cells of the table."""
    for name in sorted(name.removesuffix(".codl") for name in os.listdir(folder) if name.endswith(".codl")):
        bench = read_json(os.path.join(folder, name + ".bench.json"), name + ".bench.json")
        if bench is None:
            continue
        predicted = predictions(os.path.join(folder, name + ".codl"), profile, sim)
        tested = read_json(os.path.join(folder, name + ".self_test.json"), name + ".self_test.json") or {}
        try:
            for variant in bench["variants"]:
                measured = float(variant["median_us"])
                ratio = f"{measured / predicted[variant['variant']]:.2f}"
                yield name, variant["variant"], f"{measured / 1e3:.2f}", f"{predicted[variant['variant']] / 1e3:.2f}", ratio, verdict(tested)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            fail(name + ".bench.json", "a report of codl-bench --all-variants about this plan", "another")


def verdict(tested):
    wrong = tested.get("quirks")
    return "not tested" if not isinstance(wrong, list) else "right" if not wrong else f"{len(wrong)} wrong"


def run(flags):
    sim = shutil.which(os.path.join(flags.bin, "codl-sim") if flags.bin else "codl-sim")
    if not sim:
        fail("codl-sim", "it in PATH or --bin=DIR", "none")
    if not re.fullmatch(r"[A-Za-z0-9_-][\w.-]*", flags.name, re.ASCII):
        fail("--name", "a name of the characters A-Z, a-z, 0-9, '_', '-', '.'", f"'{flags.name}'")
    with tempfile.TemporaryDirectory(prefix="codl-evidence-") as folder:
        unpack(flags.evidence, folder)
        profile = read_json(os.path.join(folder, "profile.json"), "profile.json")
        if profile is None:
            fail(flags.evidence, "a profile.json (its faults.txt may say why)", "none")
        profile["name"] = flags.name
        path = os.path.join(flags.out_dir, flags.name + ".json")
        try:
            os.makedirs(flags.out_dir, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(profile, file, indent=2)
                file.write("\n")
        except OSError as error:
            fail(path, "a file that can be written", error.strerror)
        table = list(rows(folder, path, sim))
    if not table:
        fail(flags.evidence, "times of plans", "none")
    print("| plan | variant | measured, ms | predicted, ms | measured / predicted | GPU steps |\n|---|---|---|---|---|---|")
    for row in table:
        print("| " + " | ".join(row) + " |")
    return 0


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise InputError(f"command line: {message} (see --help)")


def main():
    parser = Parser(prog="evidence.py", description="Turns the file of phone.sh evidence into a profile, and measured against predicted times.")
    parser.add_argument("evidence", metavar="EVIDENCE.zip")
    parser.add_argument("--name", required=True, help="of the device")
    parser.add_argument("--out-dir", metavar="DIR", default=".", help="where NAME.json goes")
    parser.add_argument("--bin", metavar="DIR", help="where codl-sim lies")
    try:
        return run(parser.parse_args())
    except InputError as error:
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(error))
        print(f"evidence.py: error: {text}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
