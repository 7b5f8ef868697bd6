#!/usr/bin/env python3
"""Runs ONNX's backend node tests through the compiler and the runtime.

  run_node_tests.py [TESTS] [--bin build/release/bin] [--only GLOB] [--every N] [--modes 2] [--jobs N]
                    [--rates FILE.json] [--verbose]

TESTS holds one folder per test: model.onnx, in_0.npy ..., out_0.npy ..., tol.txt (rtol atol); by default all tests
of the pinned onnx package, written to build/onnx_node_tests. Each runs in some modes of run_cases (device, strategy,
split). Outcomes:
  passed   in all of these modes every output has the right type and dims and is within the tolerance
  refused  the compiler ends with exit code 2 and a reason
  known    another result than the test's; known.txt says why
  wrong    a result is off
  broken   anything else: a crash, a hang, exit code 1 or 70 for a valid model

scope.txt says which tests codl is meant to pass. Prints what did not pass and the rate in scope and over all; exits 1
if a test is wrong or broken, or if fewer than 97 % in scope pass. Needs the Python packages of
test/differential/requirements.txt; without them it makes a virtual environment in build/differential.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DIFFERENTIAL = os.path.join(ROOT, "test", "differential")
sys.path[:0] = [HERE, DIFFERENTIAL, os.path.join(ROOT, "test", "support")]
NEEDED = 0.97  # share of the tests in scope
WORST = ["passed", "refused", "known", "wrong", "broken"]  # the worst mode of a test counts


def patterns_of(path):
    """Returns [(pattern, reason)] of the lines "pattern | reason"."""
    with open(path, encoding="utf-8") as file:
        lines = (line.strip() for line in file)
        return [tuple(line.split(" | ", 1)) for line in lines if line and not line.startswith("#")]


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
    """Returns the names of all operators, including those of subgraphs, with their domain if they have one."""
    names = set()
    for node in graph.node:
        names.add(f"{node.domain}.{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            for subgraph in [attribute.g, *attribute.graphs]:
                names |= operators_of(subgraph)
    return names


def types_of(model):
    import onnx
    names = set()
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type":
            names.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type))
        else:
            names.add(kind or "none")
    return names


class Outcome:
    def __init__(self, folder, scope):
        import onnx
        self.name = os.path.basename(folder)
        model = onnx.load(os.path.join(folder, "model.onnx"))
        self.operators = operators_of(model.graph)
        for function in model.functions:
            self.operators |= operators_of(function)
        self.in_scope = scope.has(self.name, self.operators, types_of(model))
        self.result, self.reason = "broken", "nothing came of it"
        self.modes = 0

    def add(self, result, reason):
        """Adds the result of one more mode."""
        if self.modes == 0 or WORST.index(result) > WORST.index(self.result):
            self.result, self.reason = result, reason
        self.modes += 1


def run_tests(folders, flags):
    """Returns [(verdict, name, reason)], one per test and mode."""
    from differential import Runner
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        runners = [Runner(flags, i) for i in range(flags.jobs)]
        shares = [folders[i::flags.jobs] for i in range(flags.jobs)]
        lines = [line for share in pool.map(lambda r, s: r.run(s), runners, shares) for line in share]
    results = []
    for line in lines:
        verdict, folder, rest = line.split(" ", 2)
        results.append((verdict, os.path.basename(folder), rest.replace(folder + "/", "")))
    return results


def rates_of(outcomes):
    rates = collections.defaultdict(lambda: [0, 0])
    for outcome in outcomes:
        for operator in outcome.operators:
            rates[operator][0] += outcome.result == "passed"
            rates[operator][1] += 1
    return dict(sorted(rates.items()))


def write_rates(outcomes, path):
    lines = (f"  {json.dumps(name)}: {json.dumps(rate)}" for name, rate in rates_of(outcomes).items())
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def report(outcomes, verbose):
    """Prints the tests that did not pass, and the rates; true if that is good enough."""
    for outcome in outcomes:
        listed = outcome.in_scope or outcome.result not in ("passed", "refused") or verbose
        if outcome.result != "passed" and listed:
            where = "" if outcome.in_scope else " (outside the scope)"
            print(f"{outcome.result:8} {outcome.name}{where}: {outcome.reason}")
    counts = collections.Counter(outcome.result for outcome in outcomes)
    inside = [outcome for outcome in outcomes if outcome.in_scope]
    passed_inside = sum(outcome.result == "passed" for outcome in inside)
    print(f"in scope: {passed_inside} of {len(inside)} passed ({100 * passed_inside / max(1, len(inside)):.1f} %)")
    print(f"all: {counts['passed']} of {len(outcomes)} passed ({100 * counts['passed'] / max(1, len(outcomes)):.1f} %), "
          + ", ".join(f"{counts[result]} {result}" for result in WORST[1:]))
    return bool(outcomes) and not counts["wrong"] and not counts["broken"] and passed_inside >= NEEDED * len(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", nargs="?")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--only", default="*")
    parser.add_argument("--every", type=int, default=1, help="run each N-th test only, in the order of their names")
    parser.add_argument("--modes", type=int, default=2, help="modes drawn for a test")
    parser.add_argument("--seed", type=int, default=0, help="draws the modes")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rates", help="write {operator: [passed, tests]}")
    parser.add_argument("--verbose", action="store_true", help="list what is refused out of scope too")
    flags = parser.parse_args()
    if flags.tests is None:
        from node_tests import write_node_tests
        flags.tests = os.path.join(ROOT, "build", "onnx_node_tests")
        write_node_tests(flags.tests)
    scope = Scope(os.path.join(HERE, "scope.txt"))
    folders = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(flags.tests, "*", "model.onnx")))
    folders = [f for f in folders if fnmatch.fnmatch(os.path.basename(f), flags.only)][::flags.every]
    outcomes = {os.path.basename(folder): Outcome(folder, scope) for folder in folders}
    known = patterns_of(os.path.join(HERE, "known.txt"))
    for result, name, reason in run_tests(folders, flags):
        if result == "wrong":
            why = next((why for pattern, why in known if fnmatch.fnmatch(name, pattern)), None)
            if why is not None:
                result, reason = "known", f"{reason}; {why}"
        outcomes[name].add(result, reason)
    if flags.rates:
        write_rates(outcomes.values(), flags.rates)
    return 0 if report(outcomes.values(), flags.verbose) else 1


if __name__ == "__main__":
    from wheels import use_wheels
    use_wheels(["numpy", "onnx"], [["-r", os.path.join(DIFFERENTIAL, "requirements.txt")]], "differential")
    sys.exit(main())
