#!/usr/bin/env python3
"""Writes docs/reference/operators.md: the table of codlc --list-ops with the rate of ONNX's node tests.

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
PAGE = os.path.join(ROOT, "docs", "reference", "operators.md")
RATES = os.path.join(ROOT, "test", "onnx", "rates.json")

HEADER = """# Operators

Made by `docs/make_operators.py` from `codlc --list-ops=markdown` and `test/onnx/rates.json`; not to be
edited.

- *opsets*: of the models whose use of the operator is understood. Every attribute of these opsets is
  taken unless `codlc` says otherwise; a form that it cannot take is refused with its reason.
- *becomes*: operators of the graph ([ir.md](../design/ir.md)) that a node turns into in its usual form, beside
  reshapes and casts; empty: the importer resolves it and leaves no node. With operands that only the
  run knows there may be others.
- *CPU*: every operator runs on the CPU, in every element type that it has. *fast*: float32 has a
  vectorised kernel in the usual form; *plain*: the reference kernel's loops over elements. Other
  element types and unusual forms run on plain loops: `codlc` warns where they take a notable share
  of the predicted time, and `--report-support` lists the nodes.
- *GPU*: OpenCL kernels on buffers or images, for float32. *by parts*: some of what the operator
  becomes, or some of its forms, has a kernel; the rest runs on the CPU. `codlc MODEL
  --report-support` says what holds for a model on a device.
- *splits*: dims along which CPU and GPU may share one node: rows (h), output channels (oc).
- *node tests*: passed of those ONNX tests that contain the operator (`test/onnx/run_node_tests.py`).

"""

# Rules that the table cannot express; this is their only place.
RULES = """
## NaN and infinities

ONNX says what becomes of a NaN for a few operators; for the others codl does what NumPy does. It is the same on CPU
and GPU, in every layout and split: `test/kernels` holds all kernels of `kernels.def` to plain loops, and family
`special_values` of `test/differential` those and the importer to ONNX's evaluator.

| operators | of a NaN | of infinities and zeros |
|---|---|---|
| functions of one element | NaN | as the formula of the definition: -inf * sigmoid(-inf) of Swish is NaN, and so for HardSwish, Gelu, Mish, Softsign; Sign of -0 is 0; odd functions, Ceil, Round, Sqrt keep -0 |
| ThresholdedRelu, Shrink | 0: they only compare | |
| Relu, Clip, HardSigmoid | NaN | Clip without a bound leaves infinities; a bound that is a NaN makes all NaN; the sign of a zero that meets a bound of 0 is open |
| Max, Min, MaxPool, ReduceMax, ReduceMin, Scatter with max or min | NaN | |
| Equal, Less ..., Where, PRelu | comparisons with it are false | PRelu leaves -0 |
| Pow, Mod | C's pow and fmod | pow(-inf, 0.5) is inf |
| ArgMax, ArgMin, Hardmax | the first (or last) NaN of a line is taken | |
| TopK | greater than all numbers | |
| Add ... Div, convolutions, products, sums, averages, norms, Softmax | NaN in the outputs that it enters, in no others | float arithmetic: inf - inf, 0 * inf, a Softmax of inf are NaN; the sign of a zero sum is open |
| Cast to bool, to integers | true, 0 | true; the nearest number that the type has (ONNX leaves NaN and what is out of range open) |
| Cast to float16, float32 | NaN | what is too large is infinite |
| IsNaN, IsInf | found | found |
| DynamicQuantizeLinear | | of zeros alone: scale 1/255 |

A NaN or an infinity reaches more outputs than its windows where the work is arranged so that zero weights multiply it:

| where | reaches |
|---|---|
| 3x3 convolutions by Winograd's method (`codlc --avoid=winograd` does without) | the other outputs of its tile, 2x2 or 4x4 pixels; an infinity as a NaN |
| ConvTranspose with strides | the outputs of the filter's extent rounded up to a multiple of the stride |
| LRN | the other channels of its pixel |
| linear and cubic Resize, GridSample, RoiAlign | neighbours whose weight is 0 |

Open is what becomes of a weight of a convolution that is a NaN or infinite where it meets padding. On PoCL 3.1, Sin, Cos
and Tan are wrong beside an infinity or a number of 1e30 in the same 16 elements; that is PoCL's.

## Numbers that float32 does not have

Integers are computed as integers, modulo 2^bits: sums of ConvInteger and QLinearConv too. Pow of integers is exact where
the exponent is an integer, whatever its type; with other exponents it goes through double, as in ONNX Runtime.

A double of the model stays one through Cast, Constant, functions of single elements, comparisons, Where, reductions,
running sums, TopK, and all that only moves elements: int64 to double and back is the number itself up to 2^53. These run
on the CPU. The first operator of another kind computes in float32, and what is made of its result is float32 up to an
output, which has the model's type. One line on stderr says that a model has doubles.

## Indices

Known when compiling and outside of the data: an error that names the node (Gather, GatherElements, GatherND, the Scatters,
MaxUnpool, TensorScatter, ReverseSequence, RoiAlign, positions of RotaryEmbedding, classes of the losses). Known to the run
only, there is no error: a Gather takes the nearest element inside, a Scatter drops the update, and OneHot has no 1 there.
Nothing else changes.

MaxUnpool with `output_shape`: indices count in the map that MaxPool read, where codl sees that MaxPool; else in the map
without `output_shape`, as in ONNX's node test (ONNX Runtime: always in `output_shape`).

## Values without elements

A dim may be 0 in the model, and by `--input-shape=past:1x2x0x8`: a decoder's cache before the first token. The value's
elements are none, its dims go on through the network, `codl-run` takes and writes `.npy` files of them. Sums over nothing
are 0, products 1, a maximum is the least and a minimum the greatest number of its type (infinite for floats), a mean is NaN
(0 for integers), and a matrix product over nothing is 0.

## Resize

Where ONNX leaves the result open, or exporters mean something else, codl follows PyTorch, TensorFlow and ONNX Runtime.
The rule for positions and its sources are in [resize.h](../../kernels/resize/resize.h); CPU and GPU find the same elements.

| where | what codl does |
|---|---|
| `scales` | positions are computed in float32, in ONNX's order of operations, as in ONNX Runtime: 6 / 1.2 is 5. What is within 10^-6 of half an element is half |
| `sizes` | positions are exact fractions: 28 elements to 4, asymmetric, takes 0, 7, 14, 21 (ONNX Runtime: 0, 6, 13, 21) |
| align_corners, tf_crop_and_resize | with `scales` that the model holds, corners are aligned over the whole output length, as exporters mean it: 7 elements by 1.5 are 10. With `scales` that the run computes it is 10.5, as in ONNX's text and node tests |
| `scales` that change no dim | x itself, in any mode but tf_crop_and_resize |
| antialias | an axis whose dim does not change is left as it is |
| integers | antialias: one axis after the other, the last one first, each rounded to integers (halves away from 0) inside the type's range; cubic: rounded once; linear: cut, as ONNX Runtime does |
| nearest of opset 10 | the element below; the one above along an axis whose scale is less than 1 |
| Upsample | asymmetric, the element below |
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
    print("docs/reference/operators.md: expected what docs/make_operators.py writes, found another text",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
