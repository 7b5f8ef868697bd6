#!/usr/bin/env python3
"""Runs ONNX's backend node tests through codlc and codl-run, as a user would.

  run_node_tests.py TESTS [--bin build/release/bin] [--only GLOB] [--strategy cpu|gpu|auto]
                    [--jobs N] [--rates FILE.json] [--verbose]

TESTS holds one folder per test: model.onnx, in_0.npy ..., out_0.npy ..., tol.txt (rtol atol). Outcomes:
  passed   every output has the right type and shape and is within the tolerance
  refused  codlc ended with exit code 2 and gave a reason
  rounded  every output that is off has a 16-bit float type, and no element of it is off by more than two
           units in the last place of that type. Not passed, and not wrong: codl computes in float32 and
           rounds once, at the output, where ONNX's reference rounds after every operation
  wrong    it ran and a result is off
  broken   anything else: a crash, a hang (20 s), exit code 1 or 70 of a valid model

scope.txt says which tests codl is meant to pass. Prints what did not pass, the rate of each operator (the
share of the tests in which it occurs), in scope and over all. Exits 1 if a test is wrong or broken, or if
fewer than 97 % in scope pass. Needs Python with numpy and onnx (to read the models' names only).
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SECONDS = 20
NEEDED = 0.97  # of the tests in scope
ROUNDED_UNITS = 2  # in the last place: the most that roundings in between make in ONNX's own tests


class Scope:
    def __init__(self, path):
        self.words = collections.defaultdict(set)
        for line in open(path, encoding="utf-8"):
            words = line.split("#")[0].split()
            if words:
                self.words[words[0]].update(words[1:])

    def has(self, name, operators, types):
        outside = any(fnmatch.fnmatch(name, pattern) for pattern in self.words["outside"])
        return not outside and operators <= self.words["operator"] and types <= self.words["type"]


def operators_of(graph):
    """Names of all operators, those of subgraphs and with their domain if they have one."""
    names = set()
    for node in graph.node:
        names.add(f"{node.domain}.{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            for subgraph in [attribute.g, *attribute.graphs]:
                names |= operators_of(subgraph)
    return names


def types_of(model):
    names = set()
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type":
            names.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type))
        else:
            names.add(kind or "none")
    return names


def as_numbers(array, elem_type):
    """The array as the numbers it stands for: bfloat16 comes as raw 16-bit words, or as float32."""
    if elem_type == onnx.TensorProto.BFLOAT16 and array.dtype != np.float32:
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array


def ordinals(numbers, elem_type):
    """Elements of a 16-bit float type as integers in the order of the numbers: neighbours differ by 1."""
    if elem_type == onnx.TensorProto.BFLOAT16:
        words = (numbers.view(np.uint32) >> 16).astype(np.int64)
    else:
        words = numbers.view(np.uint16).astype(np.int64)
    return np.where(words & 0x8000, -(words & 0x7FFF), words)


def units_apart(found, expected, elem_type):
    """The largest difference in units in the last place; infinite if it is no 16-bit float type."""
    if elem_type not in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        return np.inf
    nan = np.isnan(expected)
    if not np.array_equal(nan, np.isnan(found)):
        return np.inf
    apart = np.abs(ordinals(found, elem_type) - ordinals(expected, elem_type))
    return np.max(apart[~nan], initial=0)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "(no message)"


class Outcome:
    def __init__(self, name, model, scope):
        self.name = name
        self.operators = operators_of(model.graph)
        for function in model.functions:
            self.operators |= operators_of(function)
        self.in_scope = scope.has(name, self.operators, types_of(model))
        self.result = "broken"
        self.reason = ""


def compare(folder, model, output_dir, rtol, atol):
    """passed, rounded or wrong, and the first difference of that kind in words."""
    rounded = ""
    for i, output in enumerate(model.graph.output):
        path = os.path.join(output_dir, output.name.replace("/", "_") + ".npy")
        if not os.path.exists(path):
            return "wrong", f"{output.name}: no file written"
        elem_type = output.type.tensor_type.elem_type
        expected = as_numbers(np.load(os.path.join(folder, f"out_{i}.npy")), elem_type)
        found = as_numbers(np.load(path), elem_type)
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return "wrong", (f"{output.name}: expected {expected.dtype}{list(expected.shape)}, "
                             f"found {found.dtype}{list(found.shape)}")
        if not np.issubdtype(expected.dtype, np.floating):
            if not np.array_equal(found, expected):
                count = np.count_nonzero(found != expected)
                return "wrong", f"{output.name}: {count} elements differ"
        elif not np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True):
            with np.errstate(all="ignore"):
                off = np.nanmax(np.abs(found.astype(np.float64) - expected.astype(np.float64)))
            reason = f"{output.name}: off by up to {off:.3g}"
            units = units_apart(found, expected, elem_type)
            if units > ROUNDED_UNITS:
                return "wrong", reason
            rounded = rounded or f"{reason}, {units} unit(s) in the last place"
    return ("rounded", rounded) if rounded else ("passed", "")


def run_test(folder, tools, strategy, scope):
    model = onnx.load(os.path.join(folder, "model.onnx"))
    outcome = Outcome(os.path.basename(folder), model, scope)
    rtol, atol = map(float, open(os.path.join(folder, "tol.txt"), encoding="utf-8").read().split())
    with tempfile.TemporaryDirectory() as scratch:
        plan = os.path.join(scratch, "plan.codl")
        try:
            compiled = run([tools["codlc"], os.path.join(folder, "model.onnx"), "-q",
                            f"--strategy={strategy}", "-o", plan])
            if compiled.returncode == 2 and compiled.stderr.strip():
                outcome.result, outcome.reason = "refused", last_line(compiled.stderr)
                return outcome
            if compiled.returncode != 0:
                outcome.reason = f"codlc exit {compiled.returncode}: {last_line(compiled.stderr)}"
                return outcome
            inputs = [f"--input={value.name}={os.path.join(folder, f'in_{i}.npy')}"
                      for i, value in enumerate(model.graph.input)
                      if os.path.exists(os.path.join(folder, f"in_{i}.npy"))]
            ran = run([tools["codl-run"], plan, *inputs, f"--output-dir={scratch}"])
            if ran.returncode != 0:
                outcome.reason = f"codl-run exit {ran.returncode}: {last_line(ran.stderr)}"
                return outcome
        except subprocess.TimeoutExpired as late:
            outcome.reason = f"{os.path.basename(late.cmd[0])} took more than {SECONDS} s"
            return outcome
        outcome.result, outcome.reason = compare(folder, model, scratch, rtol, atol)
    return outcome


def rates_of(outcomes):
    rates = collections.defaultdict(lambda: [0, 0])
    for outcome in outcomes:
        for operator in outcome.operators:
            rates[operator][0] += outcome.result == "passed"
            rates[operator][1] += 1
    return dict(sorted(rates.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--only", default="*")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rates", help="write {operator: [passed, tests]}")
    parser.add_argument("--verbose", action="store_true", help="list the tests out of scope too")
    flags = parser.parse_args()

    tools = {name: os.path.join(flags.bin, name) for name in ("codlc", "codl-run")}
    scope = Scope(os.path.join(HERE, "scope.txt"))
    folders = sorted(os.path.dirname(path)
                     for path in glob.glob(os.path.join(flags.tests, "*", "model.onnx")))
    folders = [f for f in folders if fnmatch.fnmatch(os.path.basename(f), flags.only)]
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        outcomes = list(pool.map(lambda f: run_test(f, tools, flags.strategy, scope), folders))

    for outcome in outcomes:
        listed = outcome.in_scope or outcome.result in ("rounded", "wrong", "broken") or flags.verbose
        if outcome.result != "passed" and listed:
            where = "" if outcome.in_scope else " (outside the scope)"
            print(f"{outcome.result:8} {outcome.name}{where}: {outcome.reason}")
    rates = rates_of(outcomes)
    print("\noperator: passed of tests")
    for operator, (passed, count) in rates.items():
        print(f"  {operator:32} {passed:4} of {count:4}")
    if flags.rates:
        with open(flags.rates, "w", encoding="utf-8") as file:
            lines = (f"  {json.dumps(name)}: {json.dumps(rate)}" for name, rate in rates.items())
            file.write("{\n" + ",\n".join(lines) + "\n}\n")

    counts = collections.Counter(outcome.result for outcome in outcomes)
    inside = [outcome for outcome in outcomes if outcome.in_scope]
    passed_inside = sum(outcome.result == "passed" for outcome in inside)
    print(f"\nin scope: {passed_inside} of {len(inside)} passed "
          f"({100 * passed_inside / max(1, len(inside)):.1f} %)")
    print(f"all: {counts['passed']} of {len(outcomes)} passed "
          f"({100 * counts['passed'] / max(1, len(outcomes)):.1f} %), {counts['refused']} refused, "
          f"{counts['rounded']} rounded, {counts['wrong']} wrong, {counts['broken']} broken")
    failed = counts["wrong"] or counts["broken"] or passed_inside < NEEDED * len(inside)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
