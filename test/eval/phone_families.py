#!/usr/bin/env python3
"""The CPU's families in the phones' profiles: what kernels reach on measured machines, slower.

    phone_families.py [--write]    says whether the profiles have them, or writes them

Shares of compiler/cost/family_shares.inc (family_shares.py), those of arithmetic times ARITHMETIC, those of memory times
MEMORY; waking and the fixed part stay. Chosen so that CPU plans of sd855 come near published latencies of four threads
(profiles/README.md has which, and how near). Run it again when family_shares.inc has changed.
"""
import argparse
import json
import os
import re
import sys

import family_shares

ARITHMETIC = 1.2
MEMORY = 2
INTERVAL = [0.7, 1.7]  # assumed: as wide as the farthest of the published latencies
MEMORY_TERMS = {"l2", "last_level", "memory", "read", "written", "weights", "cold"}
FIXED_TERMS = {"start", "step"}
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# The anchors are of sd855; of the others they are taken to be the same.
PHONES = {"sd855": ("anchors", "fitted", "ncnn"), "sd865": ("facts", "assumed", "ncnn_sd865"),
          "sd888": ("facts", "assumed", "ncnn_sd888"), "kirin990": ("facts", "assumed", "ncnn_kirin990")}


def factor(term):
    return MEMORY if term in MEMORY_TERMS else 1 if term in FIXED_TERMS else ARITHMETIC


def cpu_families():
    """By family: shares by term, those that are 0 left out."""
    with open(os.path.join(ROOT, "compiler", "cost", "family_shares.inc"), encoding="utf-8") as file:
        rows = re.findall(r"SHARES\(Cpu, (\w+), [^,]*, [^,]*, ([^)]*)\)", file.read())
    families = {}
    for name, numbers in rows:
        shares = dict(zip(family_shares.TERMS, (float(number) for number in numbers.split(","))))
        families[name.lower()] = {term: float(f"{share * factor(term):.3g}") for term, share in shares.items() if share > 0}
    del families["loops"]  # plain loops are as slow everywhere, as far as is known
    return families


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    is_writing = parser.parse_args().write
    is_same = True
    for phone, (level, origin, source) in PHONES.items():
        path = os.path.join(ROOT, "profiles", phone + ".json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, begin, rest = text.partition('"families": {\n    "cpu": {\n')
        _, end, tail = rest.partition("\n    }")
        lines = [f'      "{name}": ' + json.dumps({"level": level, "origin": origin, "source": source, "shares": shares,
                                                  "interval": INTERVAL})
                 for name, shares in cpu_families().items()]
        new = head + begin + ",\n".join(lines) + end + tail
        is_same &= new == text
        print(phone, "as made" if new == text else "written" if is_writing else "differs")
        if is_writing:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    return 0 if is_same or is_writing else 1


if __name__ == "__main__":
    sys.exit(main())
