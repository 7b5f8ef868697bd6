#!/usr/bin/env python3
"""Writes the table of docs/reference/operators.md: that of codlc --list-ops with the rates of ONNX's node tests. The
text around it stays as it is.

  make_operators.py --codlc build/release/bin/codlc [--check]

The rates come from test/onnx/rates.json ({"Relu": [passed, total], ...}), as run_node_tests.py
--rates leaves them; an operator that no test has, or a missing file, leaves the column empty.
--check writes nothing and exits 1 if the table is not current.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "reference", "operators.md")
RATES = os.path.join(ROOT, "test", "onnx", "rates.json")
TABLE = re.compile(r"^\| operator \|.*?\n(?!\|)", re.DOTALL | re.MULTILINE)


def rates():
    if not os.path.exists(RATES):
        return {}
    with open(RATES, encoding="utf-8") as file:
        return json.load(file)


def table(codlc):
    rows = subprocess.run([codlc, "--list-ops=markdown"], check=True, capture_output=True, text=True).stdout.splitlines()
    by_name = rates()
    lines = [rows[0] + " node tests |", rows[1] + "---|"]
    for line in rows[2:]:
        passed, total = by_name.get(line.split("|")[1].strip(), (0, 0))
        lines.append(f"{line} {f'{passed} of {total}' if total else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codlc", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        found = file.read()
    text = TABLE.sub(lambda _: table(arguments.codlc), found, count=1)
    if not arguments.check:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    if found == text:
        return 0
    print("docs/reference/operators.md: expected the table that docs/make_operators.py writes, found another",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
