#!/usr/bin/env python3
"""Makes the profiles of measured machines again from their samples.

    fit_profiles.py --codl-profile build/release/bin/codl-profile [NAME ...]

Of every test/eval/data/NAME.csv.xz that has a profiles/NAME.json: `codl-profile --fit-only` with the name and the
description that the profile has. After it: family_shares.py, if counts or terms have changed, and after that phone_networks.py --write.
"""
import argparse
import json
import lzma
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = os.path.join(HERE, "..", "..", "profiles")


def fit(tool, name):
    with lzma.open(os.path.join(HERE, "data", name + ".csv.xz"), "rt") as file:
        samples = file.read()
    path = os.path.join(PROFILES, name + ".json")
    with open(path) as file:
        description = json.load(file)["description"]
    with tempfile.TemporaryDirectory() as folder:
        csv = os.path.join(folder, "samples.csv")
        with open(csv, "w") as file:
            file.write(samples)
        threads = re.findall("^#fact,threads,([0-9]+)", samples, re.MULTILINE)[-1]
        subprocess.run([tool, "-o", path, "--samples=" + csv, "--fit-only", "--force", "--cpu-only",
                        "--num-threads=" + threads, "--name=" + name,
                        "--description=" + description], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codl-profile", required=True)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or sorted(
        file[:-len(".csv.xz")] for file in os.listdir(os.path.join(HERE, "data"))
        if file.endswith(".csv.xz") and
        os.path.exists(os.path.join(PROFILES, file[:-len(".csv.xz")] + ".json")))
    for name in names:
        fit(options.codl_profile, name)
        print(name, os.path.getsize(os.path.join(PROFILES, name + ".json")), "bytes", flush=True)


if __name__ == "__main__":
    main()
