#!/usr/bin/env python3
"""Writes docs/OPERATORS.md: the table of codlc --list-ops with the rate of ONNX's node tests.

  make_operators.py --codlc build/release/bin/codlc [--check]

The rates come from test/onnx/rates.json ({"Relu": [passed, total], ...}), as run_node_tests.py
--rates leaves them; an operator that no test has, or a missing file, leaves the column empty.
--check writes nothing and exits 1 if the file is not current.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "OPERATORS.md")
RATES = os.path.join(ROOT, "test", "onnx", "rates.json")

HEADER = """# Operators

Made by `docs/make_operators.py` from `codlc --list-ops=markdown` and `test/onnx/rates.json`; not to be
edited.

- *opsets*: of the models whose use of the operator is understood. Every attribute of these opsets is
  taken unless `codlc` says otherwise; a form that it cannot take is refused with its reason.
- *becomes*: operators of the graph ([IR.md](IR.md)) that a node turns into in its usual form, beside
  reshapes and casts; empty: the importer resolves it and leaves no node. With operands that only the
  run knows there may be others.
- *CPU*: every operator runs on the CPU, in every element type that it has.
- *GPU*: OpenCL kernels on buffers or images, for float32. *by parts*: some of what the operator
  becomes, or some of its forms, has a kernel; the rest runs on the CPU. `codlc MODEL
  --report-support` says what holds for a model on a device.
- *splits*: dims along which CPU and GPU may share one node: rows (h), output channels (oc).
- *node tests*: passed of those ONNX tests that contain the operator (`test/onnx/run_node_tests.py`).

"""

# What the table cannot say; each rule has its home here.
RULES = """
## NaN and infinities

ONNX says what becomes of a NaN for a few operators; for the others codl does what NumPy does. It is the same on CPU
and GPU, in every layout and split (`test/kernels`, over all kernels of `kernels.def`; family `special_values` of
`test/differential`, against ONNX's evaluator).

- A function of a NaN is a NaN. Where a formula only compares, comparisons with a NaN are false: ThresholdedRelu and
  Shrink make 0 of it, Where and comparisons take it for what it is, IsNaN finds it.
- Max, Min, MaxPool, ReduceMax, ReduceMin, Clip and Relu of a NaN and a number are NaN.
- A sum or product with a NaN is one: a convolution, a product of matrices, an average, a norm. It reaches the outputs
  whose window or line holds it, no others. By Winograd's method (`codlc --no-winograd` does without) it reaches the
  other outputs of its tile of 2x2 or 4x4 pixels too, and so does an infinity, as a NaN.
- Infinities follow float arithmetic. Open is what the order of a sum decides, inf - inf among finite numbers, and what
  0 * inf is where a formula has a weight of 0 (linear Resize) or a mean that is infinite (norms).
- -0 equals 0; the sign of a zero result is not promised where a product or sum makes it.
- Float to integer by Cast is defined for numbers that the integer type holds, cut towards 0. Of others and of a NaN
  ONNX says nothing, and processors differ.
"""


def rates():
    if not os.path.exists(RATES):
        return {}
    with open(RATES, encoding="utf-8") as file:
        return json.load(file)


def page(codlc):
    table = subprocess.run([codlc, "--list-ops=markdown"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    by_name = rates()
    lines = [table[0] + " node tests |", table[1] + "---|"]
    for line in table[2:]:
        passed, total = by_name.get(line.split("|")[1].strip(), (0, 0))
        lines.append(f"{line} {f'{passed} of {total}' if total else ''} |")
    return HEADER + "\n".join(lines) + "\n" + RULES


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codlc", required=True)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = page(arguments.codlc)
    if not arguments.check:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    found = open(PAGE, encoding="utf-8").read() if os.path.exists(PAGE) else ""
    if found == text:
        return 0
    print("docs/OPERATORS.md: expected what docs/make_operators.py writes, found another text",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
