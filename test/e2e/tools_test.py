#!/usr/bin/env python3
"""The command-line tools as a user meets them: exit codes, messages, files, modes, determinism.

Usage: tools_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import array
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from random import Random

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import onnx_bytes
import plan_facts
import trace_rules
from plan_facts import MODES
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
PROFILES = os.path.join(ROOT, "test", "profiles")
INPUT_DIMS = (1, 3, 64, 64)
OUTPUT = "output.npy"
# Two ways to run one network, which add up float32 sums in another order, may differ by this relative L2 error.
BOUND = 1e-4

BIN = None


def run(tool, *arguments, env=None):
    """Returns a finished process; never raises for an exit code."""
    environment = dict(os.environ, **(env or {}))
    return subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=environment, timeout=300)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class ToolsTest(WorkFolder, unittest.TestCase):
    def run_ok(self, tool, *arguments, env=None):
        result = run(tool, *arguments, env=env)
        self.assertEqual(result.returncode, 0, f"{tool} {arguments}: {result.stderr}")
        return result.stdout

    def expect_error(self, code, result, *texts):
        """Expects one line `tool: error: where: expected X, found Y`, the exit code, and no crash."""
        self.assertEqual(result.returncode, code, result.stderr)
        lines = result.stderr.strip().split("\n")
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], r"^codl[a-z-]*: error: \S.*: .*")
        for text in texts:
            self.assertIn(text, lines[0])

    def compile(self, *flags, name="plan.codl", env=None):
        self.run_ok("codlc", MODEL, "-o", self.path(name), *flags, env=env)
        return self.path(name)

    def input_file(self):
        # The input is a fixed pattern instead of random numbers: values in [-1, 1].
        count = INPUT_DIMS[1] * INPUT_DIMS[2] * INPUT_DIMS[3]
        npy.write(self.path("input.npy"), INPUT_DIMS, [(i * 37 % 201) / 100 - 1 for i in range(count)])
        return self.path("input.npy")

    def output_of(self, plan, *flags, env=None):
        directory = tempfile.mkdtemp(dir=self.work)
        self.run_ok("codl-run", plan, f"--input=input={self.input_file()}",
                    f"--output-dir={directory}", *flags, env=env)
        dims, values = npy.read(os.path.join(directory, OUTPUT))
        self.assertEqual(dims, (1, 10))
        return values

    def facts_of(self, plan):
        return plan_facts.read(self.run_ok("codl-dump", plan, "--json"))

    # ---- what the tools say of themselves ----

    def test_every_tool_has_help_and_version(self):
        for tool in ("codlc", "codl-dump", "codl-run", "codl-bench", "codl-sim", "codl-profile"):
            for flag in ("--help", "--version"):
                self.assertIn(tool, self.run_ok(tool, flag))

    def test_lists(self):
        self.assertIn("host", self.run_ok("codlc", "--list-devices").split())
        self.assertIn("sd855", self.run_ok("codlc", "--list-devices").split())
        self.assertIn("Conv2d", self.run_ok("codlc", "--list-ops"))
        self.assertIn("ONNX opset 7 to 28", self.run_ok("codlc", "--version"))
        self.assertRegex(self.run_ok("codlc", "--list-ops=markdown"), r"\| Relu \| 7-\d+ \| Unary \|")
        self.expect_error(1, run("codlc", "--list-ops=html"))

    # ---- bad input ----

    def test_codlc_rejects_wrong_input_and_leaves_no_file(self):
        garbage = self.write("garbage.onnx", b"this is not a model")
        cut_off = self.write("cut_off.onnx", read(MODEL)[:100000])
        dynamic = self.write("dynamic.onnx", onnx_bytes.model(
            [onnx_bytes.node("Relu", ["x"], ["y"], "relu")],
            [onnx_bytes.value_info("x", ["batch", 8])], [onnx_bytes.value_info("y", ["batch", 8])]))
        bad_profile = self.write("profile.json", b'{"name": "x"}')
        out = self.path("out.codl")
        for arguments in (
                [self.path("missing.onnx")], [garbage], [cut_off], [dynamic],
                [MODEL, "--device=no_such_device"], [MODEL, f"--device={bad_profile}"],
                [MODEL, "--no-such-flag"], [MODEL, "--strategy=fastest"], [MODEL, "--precision=half"], [MODEL, "--place=*=split:w:0.5"],
                [MODEL, "--place=*=split:h:1.5"], [MODEL, "--place=*=cpu"],
                [MODEL, "--dump=no_such_pass"], [],
                [MODEL, "--report-support=xml"], [MODEL, "--max-fallback=101%"],
                [MODEL, "--max-fallback=few"], [MODEL, "--max-syncs=-1"], [MODEL, "--objective=speed"],
                [MODEL, "--gpu-limit=101%"], [MODEL, "--gpu-limit=half"], [MODEL, "--max-gpu-slice=4"], [MODEL, "--max-gpu-slice=0ms"],
                [MODEL, "--max-arena=64"], [MODEL, "--gpu-limit=50"], [MODEL, "--max-fallback=5"], [MODEL, "--accuracy-budget=1"],
                [MODEL, "--max-gpu-slice=ms"], [MODEL, "--max-arena=64MiBs"], [MODEL, "--max-arena=-1"], [MODEL, "--place=cpu"],
                [MODEL, "--max-weights=x"], [MODEL, "--max-weights=1.25"], [MODEL, "--max-weights=-1x"], [MODEL, "--max-weights=some"],
                [MODEL, "--place=a=npu"], [MODEL, "--place=a=split:h:1"], [MODEL, "--place=a=split:w:0.5"],
                [MODEL, "--place=no_such_node=cpu"], [MODEL, "--objective=energy"],
                [MODEL, "--input-shape=input"], [MODEL, "--input-shape=nobody:1x3"],
                [MODEL, "--input-shape=input:1xax64x64"]):
            with self.subTest(arguments):
                self.expect_error(1, run("codlc", *arguments, "-o", out))
                self.assertFalse(os.path.exists(out))
        self.assertEqual([n for n in os.listdir(self.work) if n.startswith("out")], [])

    def test_codlc_names_every_unsupported_node_at_once(self):
        model = self.write("unsupported.onnx", onnx_bytes.model(
            [onnx_bytes.node("Unique", ["x"], ["a"], "first_node"),
             onnx_bytes.node("Relu", ["x"], ["b"], "fine_node"),
             onnx_bytes.node("StringNormalizer", ["b"], ["y"], "second_node")],
            [onnx_bytes.value_info("x", [1, 8])],
            [onnx_bytes.value_info("a", [2, 8]), onnx_bytes.value_info("y", [2, 8])]))
        out = self.path("out.codl")
        result = run("codlc", model, "-o", out)
        self.assertEqual(result.returncode, 2, result.stderr)
        for text in ("Unique", "first_node", "StringNormalizer", "second_node"):
            self.assertIn(text, result.stderr)
        self.assertNotIn("fine_node", result.stderr)
        self.assertFalse(os.path.exists(out))

    # ---- what a device makes of a model ----

    def test_the_support_report_comes_before_a_plan(self):
        out = self.path("out.codl")
        shutil.copy(MODEL, self.path("net.onnx"))
        text = self.run_ok("codlc", self.path("net.onnx"), "--report-support")
        self.assertIn("Conv2d", text)
        self.assertEqual(os.listdir(self.work), ["net.onnx"])
        report = json.loads(self.run_ok("codlc", MODEL, "--report-support=json"))
        convs = [op for op in report["operators"] if op["op"] == "Conv2d"][0]
        self.assertEqual(convs["node_count"], convs["gpu_count"])
        self.assertEqual(convs["node_count"],
                         convs["cpu_placed"] + convs["gpu_placed"] + convs["split_placed"])
        self.assertGreater(convs["height_split_count"], 0)
        self.assertGreater(convs["macs"], 0.9 * report["macs"])
        self.assertEqual(report["fallback_share"], 0)
        self.assertLess(report["plain_loops"]["share"], 0.05)
        self.run_ok("codlc", MODEL, "--report-support", "-o", out)
        self.assertTrue(os.path.exists(out))

    def test_nodes_without_a_fast_kernel_are_warned_of(self):
        model = self.write("sums.onnx", onnx_bytes.model(
            [onnx_bytes.node("ReduceProd", ["x"], ["y"], "slow_node")],
            [onnx_bytes.value_info("x", [1000, 1000])], [onnx_bytes.value_info("y", [1, 1])]))
        out = self.path("out.codl")
        result = run("codlc", model, "-o", out)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"(?m)^codlc: warning: 1 node without a fast kernel: .* slow_node \(Reduce of f32\)")
        self.assertEqual(run("codlc", model, "-q", "-o", out).stderr, "")
        report = json.loads(run("codlc", model, "--report-support=json").stdout)["plain_loops"]
        self.assertEqual([node["name"] for node in report["nodes"]], ["slow_node"])
        self.assertRegex(run("codlc", model, "--report-support").stdout, r"% .* ms  Reduce f32: slow_node")
        steps = json.loads(self.run_ok("codl-dump", out, "--json"))["variants"][0]["steps"]
        self.assertEqual([step["name"] for step in steps if step.get("is_reference")], ["slow_node"])
        self.assertNotIn("fast kernel", run("codlc", MODEL, "-o", out).stderr)

    def test_limits_that_are_not_met_leave_no_file(self):
        out = self.path("out.codl")
        split = [MODEL, "-o", out, *MODES["h"]]
        self.expect_error(3, run("codlc", *split, "--max-syncs=0"), "--max-syncs", "found ")
        # The GPU has no kernel for bools.
        cpu_only = self.write("cpu_only.onnx", onnx_bytes.model(
            [onnx_bytes.node("Not", ["x"], ["a"], "not"), onnx_bytes.node("Not", ["a"], ["y"], "not2")],
            [onnx_bytes.value_info("x", [4], onnx_bytes.BOOL)],
            [onnx_bytes.value_info("y", [4], onnx_bytes.BOOL)]))
        self.expect_error(3, run("codlc", cpu_only, "-o", out, "--max-fallback=99%"),
                          "--max-fallback", "found 100.0 %")
        self.assertFalse(os.path.exists(out))
        self.run_ok("codlc", cpu_only, "-o", out, "--max-fallback=100%")
        self.run_ok("codlc", MODEL, "-o", out, "--max-fallback=0%", "--max-syncs=1000")

    def test_plans_keep_to_limits_or_say_the_best_there_is(self):
        out, report = self.path("out.codl"), self.path("report.json")

        def first_variant(*flags):
            self.run_ok("codlc", MODEL, "-o", out, "--device=sd855", f"--report={report}", "--search-budget=200", *flags)
            return json.loads(read(report))["variants"][0]

        free = first_variant("--place=*=split:h:0.5")
        self.assertGreater(free["gpu_share"], 0)
        self.assertEqual(free["max_ahead_us"], 0)
        cut = first_variant("--place=*=split:h:0.5", "--max-gpu-slice=100us")
        self.assertLessEqual(cut["longest_slice_us"], 100)
        self.assertGreater(cut["max_ahead_us"], 0)
        self.assertGreater(len(cut["steps"]), len(free["steps"]))
        limit = int(0.8 * free["arena_bytes"])
        self.assertLessEqual(first_variant(f"--max-arena={limit}B")["arena_bytes"], limit)
        self.assertEqual(first_variant("--gpu-limit=0%")["gpu_share"], 0)
        for flags in (["--max-arena=1kB"], ["--max-weights=1kB"], ["--strategy=gpu", "--gpu-limit=1%"], ["--strategy=gpu", "--max-gpu-slice=1us"],
                      ["--variants=coexec,gpu", "--gpu-limit=1%"]):
            with self.subTest(flags):
                os.remove(out)
                said = run("codlc", MODEL, "-o", out, "--device=sd855", "--search-budget=200", *flags)
                self.expect_error(3, said, flags[-1].split("=")[0], "at best")
                self.assertFalse(os.path.exists(out))
                first_variant()
        text = self.run_ok("codlc", MODEL, "-o", out, "--device=sd855", "--search-budget=50")
        self.assertRegex(text, r"cpu: GPU busy \d+ % of the time, longest slice [\d.]+ ms, .* energy [\d.]+ mJ \(power fitted\)")

    def test_a_refused_model_gets_reasons_and_suggestions(self):
        model = self.write("refused.onnx", onnx_bytes.model(
            [onnx_bytes.node("Unique", ["x"], ["a"], "first_node"),
             onnx_bytes.node("MaxRoiPool", ["x"], ["y"], "second_node")],
            [onnx_bytes.value_info("x", [1, 8])],
            [onnx_bytes.value_info("a", [2, 8]), onnx_bytes.value_info("y", [2, 8])]))
        result = run("codlc", model, "--report-support")
        self.expect_error(2, result, "Unique", "MaxRoiPool")
        self.assertRegex(result.stdout, r"(?s)first_node.*second_node.*suggestion: .*RoiAlign")
        result = run("codlc", model, "--report-support=json")
        refused = json.loads(result.stdout)["refused"]
        self.assertEqual([problem["nodes"] for problem in refused], [["first_node"], ["second_node"]])
        self.assertTrue(all(problem["reason"] and problem["suggestion"] for problem in refused))

    def test_dims_that_a_model_leaves_open_are_given_by_a_flag(self):
        model = self.write("dynamic.onnx", onnx_bytes.model(
            [onnx_bytes.node("Relu", ["x"], ["y"], "relu")],
            [onnx_bytes.value_info("x", ["batch", 8])], [onnx_bytes.value_info("y", ["batch", 8])]))
        out = self.path("out.codl")
        self.expect_error(1, run("codlc", model, "-o", out), "x", "--input-shape")
        self.run_ok("codlc", model, "-o", out, "--input-shape=x:3x8")
        self.assertIn("float32[3,8]", self.run_ok("codl-run", out))

    def test_declared_dims_that_are_wrong_are_one_note(self):
        relu = [onnx_bytes.node("Relu", ["x"], ["y"], "relu")]
        for declared in ([3, 4], [4], [], [2, 2, 1], [2, "n", 2]):
            with self.subTest(declared):
                model = self.write("declared.onnx", onnx_bytes.model(
                    relu, [onnx_bytes.value_info("x", [2, 2])], [onnx_bytes.value_info("y", declared)]))
                out = self.path("out.codl")
                # The profile is measured, so there is no warning.
                result = run("codlc", model, "--device=host-2core-pocl", "-o", out)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertRegex(result.stderr, r"^codlc: note: declared dims .*'y' \[.*\] is \[2,2\]$")
                self.assertEqual(run("codlc", model, "-q", "-o", out).stderr, "")
                self.assertIn("y float32[2,2]", self.run_ok("codl-run", out))

    def test_open_dims_without_a_name_have_nothing_in_common(self):
        for name in ("?", ""):
            with self.subTest(name):
                model = self.write("unnamed.onnx", onnx_bytes.model(
                    [onnx_bytes.node("Transpose", ["x"], ["y"], "transpose")],
                    [onnx_bytes.value_info("x", [name, name])],
                    [onnx_bytes.value_info("y", [name, name])]))
                out = self.path("out.codl")
                self.assertEqual(run("codlc", model, "-q", "-o", out, "--input-shape=x:2x3").stderr, "")
                self.assertIn("y float32[3,2]", self.run_ok("codl-run", out))

    # ---- several shapes in one plan ----

    def shapes_model(self):
        weights = array.array("f", ((i * 37 % 101) / 50 - 1 for i in range(16 * 3 * 3 * 3))).tobytes()
        return self.write("shapes.onnx", onnx_bytes.model(
            [onnx_bytes.node("Conv", ["x", "w"], ["c"], "conv"), onnx_bytes.node("Relu", ["c"], ["y"], "relu")],
            [onnx_bytes.value_info("x", [1, 3, "height", "width"])], [onnx_bytes.value_info("y", [1, 16, "h", "w"])],
            initializers=[onnx_bytes.tensor("w", [16, 3, 3, 3], onnx_bytes.FLOAT, weights)]))

    def test_a_plan_of_several_shapes_goes_through_all_tools(self):
        model, plan, widths = self.shapes_model(), self.path("all.codl"), (16, 64, 32)
        flags = ["--device=host-pair", "--variants=coexec,cpu,gpu", "--search-budget=20"]
        self.run_ok("codlc", model, "-o", plan, *flags, "--dim=height:8", "--dim=width:16|64|32",
                    f"--report={self.path('report.json')}", f"--report={self.path('report.html')}")
        names = [f"width={width}" for width in widths]
        dumped = json.loads(self.run_ok("codl-dump", plan, "--json"))
        self.assertEqual([entry["name"] for entry in dumped["entries"]], names)
        self.assertEqual([entry["inputs"][0]["dims"] for entry in dumped["entries"]], [[1, 3, 8, width] for width in widths])
        self.assertNotIn("variants", dumped)
        self.assertIn("\nentry width=64\ninput x f32[1,3,8,64]\n", self.run_ok("codl-dump", plan))
        report = json.loads(read(self.path("report.json")))
        self.assertEqual([entry["entry"] for entry in report["entries"]], names)
        self.assertEqual([entry["plan"]["bytes"] for entry in report["entries"]], [os.path.getsize(plan)] * 3)
        self.assertIn(b"width=64", read(self.path("report.html")))
        for width in widths:
            with self.subTest(width):
                one = self.path("one.codl")
                self.run_ok("codlc", model, "-o", one, *flags, f"--input-shape=x:1x3x8x{width}")
                # Weights are stored once, whatever the shapes.
                self.assertEqual(json.loads(self.run_ok("codl-dump", one, "--json"))["data_bytes"], dumped["data_bytes"])
                npy.write(self.path("x.npy"), (1, 3, 8, width), [(i * 37 % 201) / 100 - 1 for i in range(24 * width)])
                for variant in ("coexec", "cpu", "gpu"):
                    found = []
                    for each in (plan, one):
                        self.run_ok("codl-run", each, f"--input=x={self.path('x.npy')}", f"--output-dir={self.work}",
                                    f"--variant={variant}")
                        found.append(read(self.path("y.npy")))
                    self.assertEqual(*found)
        npy.write(self.path("x.npy"), (1, 3, 8, 17), [0.0] * 24 * 17)
        self.expect_error(1, run("codl-run", plan, f"--input=x={self.path('x.npy')}"),
                          "float32[1,3,8,16] or float32[1,3,8,64] or float32[1,3,8,32]", "found float32[1,3,8,17]")
        for tool in ("codl-run", "codl-bench", "codl-sim"):
            self.expect_error(1, run(tool, plan, "--entry=width=33"), "--entry", "width=16 or width=64 or width=32")
            self.expect_error(1, run(tool, one, "--entry=width=33"), "--entry", "several input shapes")
        self.assertEqual(json.loads(self.run_ok("codl-run", plan, "--entry=width=64", "--json"))["outputs"][0]["dims"],
                         [1, 16, 6, 62])
        runs = json.loads(self.run_ok("codl-sim", plan, "--json"))["runs"]
        self.assertEqual([run_["name"] for run_ in runs if " gpu " in run_["name"]],
                         [f"variant gpu of {name}" for name in names])
        self.assertEqual(len(json.loads(self.run_ok("codl-sim", plan, "--entry=width=64", "--variant=cpu", "--json"))["runs"]), 1)
        bench = self.path("bench.json")
        self.run_ok("codl-bench", plan, "--entry=width=64", "--all-variants", "--rounds=1", "--num-runs=2", "--json", "--steps",
                    "-o", bench)
        self.assertEqual(json.loads(read(bench))["entry"], "width=64")
        self.run_ok("codlc", model, "-o", self.path("learnt.codl"), *flags, "--dim=height:8", "--dim=width:16|64",
                    f"--learn={plan}={bench}", "-q")
        self.expect_error(1, run("codl-bench", plan, "--adaptive"), "policy", "one input shape")

    def test_lists_of_shapes_that_do_not_fit_are_refused(self):
        model, out = self.shapes_model(), self.path("out.codl")
        many = "|".join(str(i) for i in range(1, 66))
        for flags, text in ((["--dim=height:8"], "--input-shape"), (["--dim=hight:8"], "did you mean height?"),
                            (["--dim=height:8|9", "--dim=width:1|2|3"], "expected 2 numbers"),
                            (["--dim=height:8", f"--dim=width:{many}"], "at most 64 shapes, found 65"),
                            (["--dim=height:8", "--dim=width:8|x"], "expected NAME:N"), (["--dim=height"], "expected NAME:N"),
                            (["--dim=height:8", "--dim=height:9"], "each dim once"),
                            (["--dim=height:8", "--dim=width:8|8"], "width=8 twice"),
                            (["--input-shape=x:1x3x8|9x8|9|10"], "expected 2 numbers"),
                            (["--dim=height:8|9|8", "--dim=width:7|8|7"], "found height=8,width=7 twice"),
                            (["--dim=width:9", "--input-shape=x:1x3x8x8"], "as --dim=width says"),
                            (["--input-shape=x:1x3x8x8|16", "--prune=0.5", "--unchecked"], "--prune"),
                            (["--input-shape=x:1x3x8x8|16", f"--emit-onnx={self.path('x.onnx')}"], "--emit-onnx"),
                            (["--input-shape=x:1x3x8x8|16", f"--calibration={self.work}"], "--calibration"),
                            (["--input-shape=x:1x3x8x8|16", "--report-support=json"], "--report-support")):
            with self.subTest(flags):
                self.expect_error(1, run("codlc", model, "-q", "-o", out, *flags), text)
                self.assertFalse(os.path.exists(out))
        # The lists of several flags go together.
        self.run_ok("codlc", model, "-o", out, "--input-shape=x:1x3x8|9x16|32")
        self.assertEqual([entry["name"] for entry in json.loads(self.run_ok("codl-dump", out, "--json"))["entries"]],
                         ["x=1x3x8x16", "x=1x3x9x32"])
        self.run_ok("codlc", model, "-o", out, "--dim=height:8|9", "--dim=width:16|32", "--precision=fp16")
        self.assertEqual([entry["name"] for entry in json.loads(self.run_ok("codl-dump", out, "--json"))["entries"]],
                         ["height=8,width=16", "height=9,width=32"])
        self.assertRegex(self.run_ok("codlc", model, "-o", out, "--dim=height:8", "--dim=width:8|9", "--dump=partition"),
                         r"(?s)\Aentry width=9\n.*\nentry width=8\n")

    def test_sizes_that_the_data_decides_in_one_shape_only_are_refused(self):
        branch = lambda op: onnx_bytes.graph(
            [onnx_bytes.node(op, ["x"], [op], op)], [], [onnx_bytes.value_info(op, ["n"], onnx_bytes.INT64)])
        model = self.write("sizes.onnx", onnx_bytes.model(
            [onnx_bytes.node("Shape", ["x"], ["s"], "shape"), onnx_bytes.node("Greater", ["s", "four"], ["c"], "greater"),
             onnx_bytes.node("If", ["c"], ["y"], "if", {"then_branch": branch("NonZero"), "else_branch": branch("Shape")})],
            [onnx_bytes.value_info("x", ["n"])], [onnx_bytes.value_info("y", ["m"], onnx_bytes.INT64)],
            initializers=[onnx_bytes.tensor("four", [1], onnx_bytes.INT64, (4).to_bytes(8, "little"))]))
        self.expect_error(2, run("codlc", model, "-q", "-o", self.path("out.codl"), "--dim=n:3|9"),
                          "found 0 such sizes in n=3 and 1 in n=9")

    def test_values_of_inputs_are_given_by_a_flag(self):
        by_setting = self.write("reshape.onnx", onnx_bytes.model(
            [onnx_bytes.node("Reshape", ["x", "size:s"], ["y"], "reshape")],
            [onnx_bytes.value_info("x", [6]), onnx_bytes.value_info("size:s", [2], onnx_bytes.INT64)],
            [onnx_bytes.value_info("y", ["h", "w"])]))
        branch = lambda op, operands, dims: onnx_bytes.graph(
            [onnx_bytes.node(op, operands, [op], op)], [], [onnx_bytes.value_info(op, dims)])
        by_branch = self.write("if.onnx", onnx_bytes.model(
            [onnx_bytes.node("If", ["c"], ["y"], "if", {
                "then_branch": branch("Relu", ["x"], [6]), "else_branch": branch("Size", ["x"], [])})],
            [onnx_bytes.value_info("x", [6]), onnx_bytes.value_info("c", [], onnx_bytes.BOOL)],
            [onnx_bytes.value_info("y", ["n"])]))
        out = self.path("out.codl")
        for model, flag, dims in ((by_setting, "--input-value=size:s:2,3", "2,3"),
                                  (by_setting, "--input-value=size:s:6,1", "6,1"),
                                  (by_branch, "--input-value=c:true", "6")):
            with self.subTest(flag):
                self.expect_error(2, run("codlc", model, "-o", out), flag[:flag.rindex(":") + 1] + "VALUE")
                self.assertFalse(os.path.exists(out))
                self.run_ok("codlc", model, "-q", "-o", out, flag)
                plan = json.loads(self.run_ok("codl-dump", out, "--json"))
                self.assertEqual([entry["name"] for entry in plan["inputs"]], ["x"])
                self.assertIn(f"y float32[{dims}]", self.run_ok("codl-run", out))
                os.remove(out)
        for flag in ("nobody:1", "size:s:2", "size:s:2,3,1", "size:s:2,x", "size:s:2,3.5", "size:s:2,",
                     "size", ":1"):
            with self.subTest(flag):
                self.expect_error(1, run("codlc", by_setting, "-o", out, f"--input-value={flag}"),
                                  "--input-value")
        self.expect_error(1, run("codlc", by_setting, "-o", out, "--input-value=size:s:2,3",
                                 "--input-value=size:s:3,2"), "once")
        # 4 and 4 are 16: the model does not fit this value.
        self.expect_error(1, run("codlc", by_setting, "-o", out, "--input-value=size:s:4,4"), "reshape")
        self.assertFalse(os.path.exists(out))

    def test_an_output_is_kept_as_an_input_of_the_next_run(self):
        model = self.write("sum.onnx", onnx_bytes.model(
            [onnx_bytes.node("Add", ["x", "h:0"], ["y"], "add"), onnx_bytes.node("Neg", ["y"], ["hn"], "neg"),
             onnx_bytes.node("Identity", ["n0"], ["nn"], "same"), onnx_bytes.node("Shape", ["x"], ["s"], "shape")],
            [onnx_bytes.value_info("x", [2]), onnx_bytes.value_info("h:0", [2]), onnx_bytes.value_info("n0", [3])],
            [onnx_bytes.value_info("y", [2]), onnx_bytes.value_info("hn", [2]), onnx_bytes.value_info("nn", [3]),
             onnx_bytes.value_info("s", [1], onnx_bytes.INT64)]))
        plan, folder = self.path("sum.codl"), self.path("out")
        self.run_ok("codlc", model, "-q", "-o", plan, "--state=nn:n0", "--state=hn:h:0")
        dumped = json.loads(self.run_ok("codl-dump", plan, "--json"))
        self.assertEqual(dumped["states"], [{"input": 1, "output": 1}, {"input": 2, "output": 2}])
        self.assertIn("state h:0 of hn\n", self.run_ok("codl-dump", plan))
        x, h = self.path("x.npy"), self.path("h.npy")
        npy.write(x, [2], [1, 2])
        npy.write(h, [2], [10, 20])
        told = self.run_ok("codl-run", plan, f"--input=x={x}", f"--input=h:0={h}", f"--output-dir={folder}")
        self.assertNotIn("random", told)
        found = {name: list(npy.read(os.path.join(folder, name))[1]) for name in os.listdir(folder)}
        self.assertEqual(found, {"h_0.npy": [-11, -22], "n0.npy": [0, 0, 0], "s.npy": [2], "y.npy": [11, 22]})
        # Without a file a state is zero.
        self.assertIn("h:0 float32[2] min=-2 max=-1", self.run_ok("codl-run", plan, f"--input=x={x}"))
        self.run_ok("codl-bench", plan, "--num-runs=2")
        for states, words in ((["hn"], "no such pair"), (["y:n0"], "of the input's type f32[3], found f32[2]"),
                              (["hn:h"], "output (y, hn, nn, s) and an input (x, h:0, n0)"),
                              (["s:x"], "type f32[2]"), (["hn:h:0", "y:h:0"], "each output and input in one state"),
                              (["hn:x", "hn:h:0"], "each output and input in one state")):
            with self.subTest(states):
                os.remove(plan) if os.path.exists(plan) else None
                self.expect_error(1, run("codlc", model, "-o", plan, *(f"--state={state}" for state in states)),
                                  f"--state={states[-1]}: ", words)
                self.assertFalse(os.path.exists(plan))

    def test_a_state_is_one_for_all_shapes_of_a_plan(self):
        model = self.write("sums.onnx", onnx_bytes.model(
            [onnx_bytes.node("ReduceSum", ["x"], ["sum"], "sum"), onnx_bytes.node("Add", ["h", "sum"], ["hn"], "add"),
             onnx_bytes.node("Relu", ["x"], ["kept"], "relu"), onnx_bytes.node("Neg", ["hn"], ["y"], "neg")],
            [onnx_bytes.value_info("x", ["n"]), onnx_bytes.value_info("h", [2]), onnx_bytes.value_info("past", ["n"])],
            [onnx_bytes.value_info("y", [2]), onnx_bytes.value_info("hn", [2]), onnx_bytes.value_info("kept", ["n"])]))
        plan, h = self.path("sums.codl"), self.path("h.npy")
        self.run_ok("codlc", model, "-q", "-o", plan, "--dim=n:3|5", "--state=hn:h")
        dumped = json.loads(self.run_ok("codl-dump", plan, "--json"))
        self.assertEqual([entry["states"] for entry in dumped["entries"]], 2 * [[{"input": 1, "output": 1}]])
        npy.write(h, [2], [10, 20])
        for count in (3, 5):
            x, past, folder = self.path("x.npy"), self.path("past.npy"), self.path(f"out{count}")
            npy.write(x, [count], count * [2])
            npy.write(past, [count], count * [0])
            self.run_ok("codl-run", plan, f"--input=x={x}", f"--input=past={past}", f"--input=h={h}", f"--output-dir={folder}")
            self.assertEqual(list(npy.read(os.path.join(folder, "h.npy"))[1]), [10 + 2 * count, 20 + 2 * count])
        self.expect_error(1, run("codlc", model, "-o", self.path("none.codl"), "--dim=n:3|5", "--state=kept:past"),
                          "--state: expected states of the same dims at all input shapes, found f32[3] and f32[5] of 'past'")

    # ---- element types and extents ----

    def run_model(self, nodes, inputs, outputs, arrays, opset=13):
        """Returns {name: (descr, dims, values)} of the outputs; arrays: name -> (descr, dims, values)."""
        model = self.write("model.onnx", onnx_bytes.model(
            nodes, [onnx_bytes.value_info(*i) for i in inputs],
            [onnx_bytes.value_info(*o) for o in outputs], opset))
        self.run_ok("codlc", model, "-q", "-o", self.path("model.codl"))
        flags = []
        for name, (descr, dims, values) in arrays.items():
            npy.write(self.path(name + ".in.npy"), dims, values, descr)
            flags.append(f"--input={name}={self.path(name + '.in.npy')}")
        self.run_ok("codl-run", self.path("model.codl"), f"--output-dir={self.work}", *flags)
        found = {}
        for output in outputs:
            path = self.path(output[0] + ".npy")
            dims, values = npy.read(path)
            found[output[0]] = (npy.descr_of(path), dims, list(values))
        return found

    def test_element_types_come_in_and_go_out_as_declared(self):
        relu = [onnx_bytes.node("Relu", ["x"], ["y"], "relu")]
        bits = {-1.5: 0xBFC0, 2.0: 0x4000}  # bfloat16
        for elem_type, descr, values, out_descr in (
                (onnx_bytes.FLOAT16, "<f2", [-1.5, 2.0], "<f2"),
                (onnx_bytes.DOUBLE, "<f8", [-1.5, 2.0], "<f8"),
                (onnx_bytes.BFLOAT16, "<f4", [-1.5, 2.0], "<f4"),
                (onnx_bytes.BFLOAT16, "|V2", [bits[-1.5], bits[2.0]], "<f4"),
                (onnx_bytes.BFLOAT16, "<u2", [bits[-1.5], bits[2.0]], "<f4")):
            with self.subTest(elem_type=elem_type, descr=descr):
                found = self.run_model(relu, [("x", [2], elem_type)], [("y", [2], elem_type)],
                                       {"x": (descr, [2], values)}, opset=14)
                self.assertEqual(found["y"], (out_descr, (2,), [0.0, 2.0]))
        found = self.run_model([onnx_bytes.node("Not", ["x"], ["y"], "not")],
                               [("x", [], onnx_bytes.BOOL)], [("y", [], onnx_bytes.BOOL)],
                               {"x": ("|b1", [], [1])})
        self.assertEqual(found["y"], ("|b1", (), [0]))
        npy.write(self.path("wrong.npy"), [], [1], "|u1")
        self.expect_error(1, run("codl-run", self.path("model.codl"),
                                 f"--input=x={self.path('wrong.npy')}"), "bool[]", "uint8[]")

    def test_a_plan_in_halves_has_the_size_of_halves(self):
        weights = {"w1": [128, 128, 3, 3], "w2": [256, 128, 3, 3], "w3": [256, 1024], "table": [2048, 64]}
        random = Random(1)
        sizes, results = {}, {}
        # Halves hold them exactly.
        elements = {name: [random.randrange(-512, 512) / 65536 for _ in range(math.prod(dims))]
                    for name, dims in weights.items()}
        npy.write(self.path("x.npy"), [1, 128, 12, 12], [random.randrange(256) / 256 for _ in range(128 * 144)])
        npy.write(self.path("i.npy"), [4], [3, 2047, 0, 1024], "<i8")
        nodes = [onnx_bytes.node("Conv", ["h", "w1"], ["a"], "conv1"), onnx_bytes.node("Relu", ["a"], ["b"], "relu1"),
                 onnx_bytes.node("Conv", ["b", "w2"], ["c"], "conv2"),
                 onnx_bytes.node("GlobalAveragePool", ["c"], ["d"], "pool"),
                 onnx_bytes.node("Flatten", ["d"], ["e"], "flatten"),
                 onnx_bytes.node("MatMul", ["e", "w3"], ["y.h"], "product"),
                 onnx_bytes.node("Gather", ["table", "i"], ["g"], "gather"),
                 onnx_bytes.node("Relu", ["g"], ["z.h"], "relu2")]
        to_float = [onnx_bytes.node("Cast", [f"{name}.h"], [name], name, numbers={"to": onnx_bytes.FLOAT})
                    for name in ("y", "z")]
        for elem_type, letter in ((onnx_bytes.FLOAT, "f"), (onnx_bytes.FLOAT16, "e")):
            model = self.write(f"{letter}.onnx", onnx_bytes.model(
                [onnx_bytes.node("Cast", ["x"], ["h"], "in", numbers={"to": elem_type}), *nodes, *to_float],
                [onnx_bytes.value_info("x", [1, 128, 12, 12]), onnx_bytes.value_info("i", [4], onnx_bytes.INT64)],
                [onnx_bytes.value_info("y", [1, 1024]), onnx_bytes.value_info("z", [4, 64])],
                initializers=[onnx_bytes.tensor(name, dims, elem_type,
                                                struct.pack(f"<{len(elements[name])}{letter}", *elements[name]))
                              for name, dims in weights.items()]))
            plan = self.path(f"{letter}.codl")
            self.run_ok("codlc", model, "-q", "--device=sd855", "--precision=fp16", "-o", plan)
            sizes[letter] = os.path.getsize(plan) / os.path.getsize(model)
            self.run_ok("codl-run", plan, "--variant=cpu", f"--input=x={self.path('x.npy')}",
                        f"--input=i={self.path('i.npy')}", f"--output-dir={self.work}")
            results[letter] = [read(self.path(f"{name}.npy")) for name in ("y", "z")]
        self.assertLess(sizes["f"], 0.6)
        self.assertLess(sizes["e"], 1.2)
        # Casts between float and half vanish: the networks are one.
        self.assertEqual(results["f"], results["e"])

    def test_an_output_is_written_as_large_as_the_data_made_it(self):
        nonzero = [onnx_bytes.node("NonZero", ["x"], ["y"], "nonzero")]
        for values, expected in (([0, 3, 0, 4], ((2, 2), [0, 1, 1, 1])), ([0, 0, 0, 0], ((2, 0), [])),
                                 ([1, 1, 1, 1], ((2, 4), [0, 0, 1, 1, 0, 1, 0, 1]))):
            with self.subTest(values):
                found = self.run_model(nonzero, [("x", [2, 2])], [("y", [2, "n"], onnx_bytes.INT64)],
                                       {"x": ("<f4", [2, 2], values)})
                self.assertEqual(found["y"], ("<i8", *expected))

    def test_a_dim_of_0_is_a_decoders_cache_before_the_first_token(self):
        model = self.write("cache.onnx", onnx_bytes.model(
            [onnx_bytes.node("Identity", ["past"], ["kept"], "kept"), onnx_bytes.node("Add", ["past", "x"], ["y"], "add")],
            [onnx_bytes.value_info("past", ["n", 2]), onnx_bytes.value_info("x", [1, 2])],
            [onnx_bytes.value_info(name, ["n", 2]) for name in ("kept", "y")]))
        self.run_ok("codlc", model, "-q", "-o", self.path("model.codl"), "--input-shape=past:0x2")
        npy.write(self.path("none.npy"), [0, 2], [])
        npy.write(self.path("x.npy"), [1, 2], [1.0, 2.0])
        self.run_ok("codl-run", self.path("model.codl"), f"--input=past={self.path('none.npy')}",
                    f"--input=x={self.path('x.npy')}", f"--output-dir={self.work}")
        for name in ("kept", "y"):
            self.assertEqual(npy.read(self.path(name + ".npy"))[0], (0, 2))

    def test_outputs_keep_their_names_whatever_they_share(self):
        x = ("<f4", [2], [1.0, -2.0])
        for names in (["p"], ["p", "p"], ["y", "p"], ["y", "y"], ["y", "z", "p", "y"]):
            with self.subTest(names):
                found = self.run_model(
                    [onnx_bytes.node("Abs", ["p"], ["y"], "abs"),
                     onnx_bytes.node("Identity", ["y"], ["z"], "identity")],
                    [("p", [2])], [(name, [2]) for name in names], {"p": x})
                expected = {"p": ("<f4", (2,), [1.0, -2.0]), "y": ("<f4", (2,), [1.0, 2.0])}
                expected["z"] = expected["y"]
                self.assertEqual(found, {name: expected[name] for name in names})
                plan = json.loads(self.run_ok("codl-dump", self.path("model.codl"), "--json"))
                self.assertEqual([entry["name"] for entry in plan["outputs"]], names)

    def test_an_output_that_cannot_be_written_is_an_input_error(self):
        self.expect_error(1, run("codlc", MODEL, "-o", self.path("no/such/folder/out.codl")))

    def test_damaged_plans_are_refused(self):
        plan = self.compile()
        data = read(plan)
        damaged = {
            "empty": b"",
            "head": data[:64],
            "half": data[:len(data) // 2],
            "last_byte": data[:-1],
            "text": b"codl" + b"x" * 1000,
            "magic": b"XODL" + data[4:],
            "table": data[:70] + bytes(b ^ 0xFF for b in data[70:80]) + data[80:],
        }
        for name, contents in damaged.items():
            path = self.write(name + ".codl", contents)
            for tool in ("codl-run", "codl-bench", "codl-dump"):
                with self.subTest(name=name, tool=tool):
                    self.expect_error(1, run(tool, path), path)
        newer = self.write("newer.codl", data[:4] + b"\xff" + data[5:])
        for tool in ("codl-run", "codl-bench", "codl-dump"):
            with self.subTest(name="newer", tool=tool):
                self.expect_error(2, run(tool, newer), newer)

    def test_codl_run_rejects_wrong_tensors_and_flags(self):
        plan = self.compile()
        npy.write(self.path("small.npy"), (1, 3, 8, 8), [0.0] * 192)
        text = self.write("text.npy", b"not a tensor")
        for flags in ([f"--input=input={self.path('small.npy')}"], [f"--input=input={text}"],
                      [f"--input=input={self.path('missing.npy')}"],
                      [f"--input=nobody={self.input_file()}"], ["--variant=nobody"],
                      ["--no-such-flag"], ["--cpu-cores=first"]):
            with self.subTest(flags):
                self.expect_error(1, run("codl-run", plan, *flags))

    # ---- right input ----

    def test_default_output_is_beside_the_model(self):
        shutil.copy(MODEL, self.path("net.onnx"))
        self.run_ok("codlc", self.path("net.onnx"))
        self.assertTrue(os.path.exists(self.path("net.host.codl")))

    def test_equal_input_gives_equal_bytes(self):
        first = read(self.compile(name="a.codl", env={"LC_ALL": "C"}))
        second = read(self.compile(name="b.codl", env={"LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}))
        self.assertEqual(first, second)
        qemu = shutil.which("qemu-x86_64")
        if qemu is None:
            print("[SKIP] determinism: qemu-x86_64 is not installed")
            return
        # Uses another instruction set (no AVX-512): folding and packing must not depend on it.
        subprocess.run([qemu, "-cpu", "Nehalem", os.path.join(BIN, "codlc"), MODEL, "-o",
                        self.path("c.codl")], check=True, capture_output=True, timeout=300)
        self.assertEqual(first, read(self.path("c.codl")))

    def test_functions_are_folded_to_the_same_bytes_whatever_the_instruction_set(self):
        """exp, sin and similar functions of constants: the C library has other versions for processors with FMA."""
        count = 2048
        ranges = {"Exp": (-4, 4), "Log": (0.01, 4), "Sqrt": (0, 4), "Sin": (-4, 4), "Cos": (-4, 4), "Tan": (-1.5, 1.5),
                  "Asin": (-1, 1), "Acos": (-1, 1), "Atan": (-4, 4), "Sinh": (-4, 4), "Cosh": (-4, 4), "Asinh": (-4, 4),
                  "Acosh": (1, 4), "Atanh": (-0.99, 0.99), "Erf": (-3, 3), "Sigmoid": (-4, 4), "Tanh": (-4, 4),
                  "Softplus": (-4, 4), "Elu": (-4, 4), "Selu": (-4, 4), "Softmax": (-4, 4), "LogSoftmax": (-4, 4)}
        random = Random(1)
        nodes, weights, last = [], [], "x"
        for op, (low, high) in ranges.items():
            self.write(op, array.array("f", (random.uniform(low, high) for _ in range(count))).tobytes())
            weights.append(onnx_bytes.external_tensor(f"{op}_of", [1, count], op))
            nodes.append(onnx_bytes.node(op, [f"{op}_of"], [f"{op}_folded"], op))
            nodes.append(onnx_bytes.node("Add", [last, f"{op}_folded"], [f"{op}_sum"], f"{op}_add"))
            last = f"{op}_sum"
        model = self.write("fold.onnx", onnx_bytes.model(
            nodes, [onnx_bytes.value_info("x", [1, count])], [onnx_bytes.value_info(last, [1, count])], initializers=weights))
        masks = {"as it is": "", "without AVX-512": "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ", "without FMA": "-FMA,-AVX2_Usable,"
                 "-AVX2,-AVX512F", "of 2008": "-AVX512F,-AVX2,-AVX,-FMA,-FMA4,-AVX_Usable,-SSE4_1,-SSE4_2,-SSSE3,-ERMS,-FSRM"}
        plans = {}
        for name, mask in masks.items():
            self.run_ok("codlc", model, "-q", "-o", self.path("plan"), env={"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + mask})
            plans[name] = read(self.path("plan"))
        self.assertGreater(len(plans["as it is"]), 4 * count * len(ranges))  # folded, indeed
        for name, plan in plans.items():
            self.assertEqual(plan, plans["as it is"], name)

    def test_modes_do_what_they_say_and_agree(self):
        reference = self.output_of(self.compile(*MODES["cpu"]), "--variant=cpu")
        for device in ("host-pair", "sd855", os.path.join(PROFILES, "host_sub_buffer.json"),
                       os.path.join(PROFILES, "host_separate.json")):
            for mode, flags in MODES.items():
                with self.subTest(device=device, mode=mode):
                    plan = self.compile(f"--device={device}", *flags)
                    self.assertEqual(self.facts_of(plan).faults(mode, ratio=0.5), [])
                    error = npy.relative_l2(self.output_of(plan), reference)
                    self.assertLessEqual(error, BOUND)

    def test_waits_by_flag_and_recordings_give_the_bits_of_waits_by_event(self):
        plan = self.compile("--device=" + os.path.join(PROFILES, "host_flags.json"), *MODES["h"])
        variant = json.loads(self.run_ok("codl-dump", plan, "--json"))["variants"][0]
        self.assertTrue(variant["is_recorded"])
        steps = variant["steps"]
        kinds = [kind for step in steps for kind in step.get("wait_kinds", [])]
        self.assertEqual(set(kinds), {"flag"})
        self.assertEqual(len(kinds), sum(len(step["waits"]) for step in steps))
        report = lambda *flags: json.loads(self.run_ok("codl-run", plan, "--json", "--num-threads=1", *flags))
        self.assertIn("expected cores of its own", report()["flag_refusal"])
        by_event = self.output_of(plan, "--num-threads=1")
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2 or not os.path.exists("/etc/OpenCL/vendors/pocl.icd"):
            self.skipTest("two cores and PoCL")
        pinned = (f"--cpu-cores={cores[0]}", f"--gpu-cores={cores[1]}", f"--program-cache={self.path('programs')}")
        for _ in range(2):  # the second session takes what the first one has found out
            told = report(*pinned)
            self.assertEqual((told["flag_refusal"], told["recording_refusal"]), ("", ""))
        for _ in range(3):
            self.assertEqual(self.output_of(plan, "--num-threads=1", *pinned), by_event)

    def test_sim_shows_queues_clocks_and_energy_where_power_is_known(self):
        plan = self.compile("--device=sd855", *MODES["h"])
        trace = self.path("sim.json")
        run_of = lambda *flags: json.loads(self.run_ok(
            "codl-sim", plan, "--variant=coexec", "--json", *flags))["runs"][0]
        alone = run_of("--device=sd855", f"--trace={trace}")
        self.assertGreater(alone["wall_us"], alone["codl_clock_us"])  # sd855 has launch_us
        self.assertGreater(alone["energy_mj"], 0)
        self.assertNotIn("energy_mj", run_of("--device=sd865"))
        self.assertGreater(run_of("--device=sd855", "--cpu-load=50%")["wall_us"], alone["wall_us"])
        self.assertGreater(run_of("--device=sd855", "--frame-load=50%")["wall_us"], alone["wall_us"])
        self.assertTrue(trace_rules.read(trace))
        text = self.run_ok("codl-sim", plan, "--device=sd855")
        for word in ("wall time", "CoDL's clock", "busy", "idle", "energy", "variant cpu"):
            self.assertIn(word, text)
        self.assertIn("power base_w", self.run_ok("codl-dump", "--device=sd855"))

    def test_sim_rejects_wrong_input(self):
        plan = self.compile("--device=sd855", *MODES["h"])
        bad_replay = self.write("replay.json", b'{"format_version": 1, "name": "x"}')
        for arguments in ([], [plan, "--device=no_such_device"],
                          [plan, "--device=sd855", "--variant=nobody"],
                          [plan, "--device=sd855", "--cpu-load=91%"],
                          [plan, "--device=sd855", f"--replay={bad_replay}"],
                          ["--device=sd855", f"--replay={bad_replay}"],
                          ["--device=sd855", "--replay=" + self.path("missing.json")]):
            with self.subTest(arguments):
                self.expect_error(1, run("codl-sim", *arguments))
        # A run that takes no time never ends beside a display, and a plan's time must fit a float.
        with open(os.path.join(ROOT, "profiles", "sd855.json"), encoding="utf-8") as file:
            profile = json.load(file)
        free = {"value": 0, "origin": "assumed", "source": next(iter(profile["sources"]))}
        profile["gpu"]["launch_us"] = free
        profile["transfer"] = {name: free for name in profile["transfer"]}
        replay = os.path.join(ROOT, "test", "fuzz", "corpus", "replays", "two_layers.json")
        def say(share):
            known = {"level": "facts", "origin": "assumed", "source": next(iter(profile["sources"])), "interval": [1, 1],
                     "shares": {"compute": share}}
            profile["families"] = {"cpu": {}, "gpu": {}}
            profile["kernels"] = {name: known for name in kernels}
            return self.write("made.json", json.dumps(profile).encode())
        with open(os.path.join(ROOT, "schema", "kernels.def"), encoding="utf-8") as file:
            kernels = re.findall(r"\b\w+_f32_(?:cpu|cl)\w*\b", file.read())
        made = say(0)
        self.assertRegex(self.run_ok("codl-sim", f"--device={made}", f"--replay={replay}"), r"wall time +0\.000 ms")
        result = run("codl-sim", f"--device={made}", f"--replay={replay}", "--display=fifo")
        self.expect_error(1, result)
        self.assertIn("--display: expected runs of 0.001 ms or more", result.stderr)
        self.assertIn("/shares/compute: expected a number from 0 to 10^6", run("codlc", MODEL, f"--device={say(1e9)}").stderr)
        self.expect_error(1, run("codl-dump", plan, "--device=sd855"))
        self.expect_error(1, run("codl-dump", "--device=no_such_device"))

    # ---- codl-profile ----

    def profile_says(self, *arguments):
        """Returns the stderr of a run that makes a profile."""
        result = run("codl-profile", *arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        return result.stderr

    PROFILED = ["--cpu-only", "--kernels=unary_f32_cpu", "--time-budget=60s", "--samples-per-kernel=32"]

    def test_profiling_can_be_interrupted_and_resumed(self):
        profile = self.path("here.json")
        samples = profile + ".samples.csv"
        process = subprocess.Popen(
            [os.path.join(BIN, "codl-profile"), *self.PROFILED, "-o", profile], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with process:
            said = ""
            while "samples: " not in said:  # progress after the first batch
                said += process.stderr.read(1)
            process.send_signal(signal.SIGINT)
            said += process.stderr.read()
        self.assertEqual(process.returncode, 130, said)
        self.assertRegex(said, r"(?m)^codl-profile: error: .*interrupted, --resume goes on")
        self.assertFalse(os.path.exists(profile))
        before = read(samples)
        self.assertGreater(before.count(b"\nunary_f32_cpu,"), 0)

        # The samples look as if the run was killed in the middle of a line.
        with open(samples, "ab") as file:
            file.write(b"unary_f32_cpu,cut o")
        self.run_ok("codl-profile", *self.PROFILED, "--resume", "-o", profile)
        after = read(samples)
        self.assertEqual(after[:len(before)], before)
        self.assertNotIn(b"cut o", after)
        self.assertEqual(list(json.loads(read(profile))["kernels"]), ["unary_f32_cpu"])
        self.compile(f"--device={profile}")

        again = self.path("again.json")
        self.run_ok("codl-profile", "--fit-only", f"--samples={samples}", "--name=here", "-o", again)
        self.assertEqual(read(again), read(profile))

    def test_a_profile_is_not_replaced_unasked(self):
        samples = self.write("here.csv", self.SHORT_SAMPLES)
        fit = ["--fit-only", f"--samples={samples}", "--name=here"]
        profile = self.path("here.json")
        self.run_ok("codl-profile", *fit, "-o", profile)
        made = read(profile)
        old = self.write("old.json", b"of an hour")
        link = self.path("link.json")
        os.symlink(old, link)
        broken = self.path("broken.json")
        os.symlink(self.path("none"), broken)
        for output in (old, link, broken):
            with self.subTest(output):
                self.expect_error(1, run("codl-profile", *fit, "-o", output),
                                  f"{output}: expected no such file, or --force to replace it")
                self.expect_error(1, run("codl-profile", *self.PROFILED, "-o", output,
                                         "--samples=" + self.path("new.csv")), f"{output}: expected no such file")
                self.assertEqual(read(old), b"of an hour")
                self.assertFalse(os.path.exists(self.path("new.csv")))
        self.run_ok("codl-profile", *fit, "-o", link, "--force")
        self.assertEqual((read(link), read(old)), (made, b"of an hour"))
        # The samples took the time.
        new = self.path("new.json")
        for flags in ([f"--samples={samples}"], ["--samples=" + old], ["--samples=" + broken]):
            with self.subTest(flags):
                self.expect_error(1, run("codl-profile", *self.PROFILED, *flags, "-o", new),
                                  flags[0][len("--samples="):] + ": expected no such file", "--resume", "--force")
        default = self.write("new.json.samples.csv", b"of a day")
        self.expect_error(1, run("codl-profile", *self.PROFILED, "-o", new), default, "--resume")
        self.assertEqual((read(samples), read(old), read(default)), (self.SHORT_SAMPLES, b"of an hour", b"of a day"))
        self.assertFalse(os.path.exists(new))
        # A run that continues with the samples still must not replace the profile.
        self.expect_error(1, run("codl-profile", *self.PROFILED, "--resume", f"--samples={samples}", "-o", profile),
                          profile, "--force")
        self.assertEqual((read(samples), read(profile)), (self.SHORT_SAMPLES, made))
        self.run_ok("codl-profile", *self.PROFILED, "--force", "-o", new)
        self.assertIn(b"\nunary_f32_cpu,", read(default))
        self.assertNotIn(b"of a day", read(default))

    # These lines describe a machine with a CPU only: a run without OpenCL.
    MACHINE = b"".join(
        b"#machine,cpu,%s,assumed\n" % fact for fact in
        (b"ghz,3", b"vector_lanes,8", b"fma_per_cycle,2", b"loads_per_cycle,2", b"l1_kb,32", b"l2_kb,512",
         b"last_level_kb,8192", b"l2_gb_per_s,90", b"last_level_gb_per_s,50", b"memory_gb_per_s,10",
         b"memory_all_gb_per_s,10", b"fork_join_us,0"))
    SHORT_SAMPLES = MACHINE + b"".join(
        b"unary_f32_cpu,1,%d,1,5,0,0 0 0,7 0 1086324736,1:1:0:%d:%d:1x8x%dx8 1:1:0:%d:%d:1x8x%dx8\n"
        % (n, n, 256 * n, n, n, 256 * n, n) for n in range(1, 13))

    def test_kernels_that_time_was_too_short_for_are_as_their_family(self):
        profile = self.path("here.json")
        samples = profile + ".samples.csv"
        said = self.profile_says("--cpu-only", "--time-budget=1s", "-o", profile)
        named = re.search(r"(?m)^codl-profile: warning: too few samples, for want of time, of (\d+) kernels, "
                          r"which are predicted as others of their families \(--resume goes on with them\): (.*)$", said)
        names = named.group(2).split(", ")
        self.assertEqual(len(names), int(named.group(1)))
        for name in ("conv2d_f32_cpu", "softmax_f32_cpu"):
            self.assertIn(name, names)
        self.assertEqual([name for name in names if "_cl_" in name], [])
        self.compile(f"--device={profile}")
        # The samples say it, whoever fits them, and tests of one kernel do not hide the rest.
        measured = read(samples)
        said = self.profile_says("--fit-only", "--force", "-o", profile)
        self.assertIn(f"of {len(names)} kernels", said)
        self.assertEqual(read(samples), measured)
        only = ["--cpu-only", "--kernels=softmax_f32_cpu", "--samples-per-kernel=16", "--time-budget=60s"]
        self.run_ok("codl-profile", *only, "--resume", "--force", "-o", profile)
        self.assertIn("softmax_f32_cpu", json.loads(read(profile))["kernels"])
        self.assertTrue(read(samples).startswith(measured))
        said = self.profile_says("--fit-only", "--force", "-o", profile)
        self.assertIn("conv2d_f32_cpu", said)
        self.assertNotIn("softmax_f32_cpu", said)

    def test_facts_alone_are_a_profile_that_samples_refine(self):
        profile = self.path("here.json")
        said = self.profile_says("--cpu-only", "--facts-only", "-o", profile)
        self.assertRegex(said, r"(?m)^codl-profile: note: a profile of the machine's facts alone")
        facts = json.loads(read(profile))
        self.assertEqual((facts["kernels"], facts["families"]["cpu"]), ({}, {}))
        self.assertEqual(facts["cpu"]["threads"], min(len(os.sched_getaffinity(0)), 64))
        self.compile(f"--device={profile}")
        self.run_ok("codl-profile", *self.PROFILED, "--resume", "--force", "-o", profile)
        refined = json.loads(read(profile))
        self.assertEqual(list(refined["kernels"]), ["unary_f32_cpu"])
        self.assertEqual(refined["cpu"]["machine"], facts["cpu"]["machine"])

    def test_cores_that_are_not_there_are_refused(self):
        for flag in ("--cpu-cores", "--gpu-cores"):
            with self.subTest(flag):
                self.expect_error(1, run("codl-profile", flag + "=1000", "-o", self.path("p.json")), flag,
                                  "cores that this process may use, found 1000")
        self.assertEqual(os.listdir(self.work), [])

    def test_samples_without_facts_of_the_machine_are_no_profile(self):
        profile = self.path("here.json")
        for text in (b"", b"#probe,3,0\n#fact,cpu_name,box\n"):
            with self.subTest(text):
                samples = self.write("s.csv", text)
                self.expect_error(1, run("codl-profile", "--fit-only", f"--samples={samples}", "-o", profile),
                                  "#machine lines")
                self.assertFalse(os.path.exists(profile))

    def test_assumed_kernels_are_warned_of(self):
        out, fast = self.path("out.codl"), "--search-budget=20"
        text = r"^codlc: warning: profile {}: the times of (\d+) of the (\d+) kernels that this network could use " \
               r"are assumed, not measured: \S.* \(codl-profile .*\)$"
        for device in ("template", "sd855", "kirin990"):
            with self.subTest(device):
                said = run("codlc", MODEL, f"--device={device}", fast, "-o", out).stderr
                self.assertEqual(said.count("assumed"), 1, said)
                counts = re.search(text.format(device), said, re.M)
                self.assertLessEqual(int(counts.group(1)), int(counts.group(2)), said)
                self.assertLess(len(said), 300)
                self.assertEqual(run("codlc", MODEL, "-q", f"--device={device}", fast, "-o", out).stderr, "")
        for device in ("host", "host-2core-pocl", "host-2core-zen4-pocl", "host-2core-avx512-pocl", "h200-nvidia"):
            self.assertEqual(run("codlc", MODEL, f"--device={device}", fast, "-o", out).stderr, "")
        # The profile has one kernel; only other machines say something about the rest.
        samples = self.write("s.csv", self.SHORT_SAMPLES)
        profile = self.path("one.json")
        self.run_ok("codl-profile", "--fit-only", f"--samples={samples}", "-o", profile)
        said = run("codlc", MODEL, f"--device={profile}", "-o", out).stderr
        self.assertRegex(said, text.format("one"))
        self.assertIn("conv2d_f32_cpu", said)
        self.assertNotIn("unary_f32_cpu", said)

    def test_profile_rejects_wrong_input(self):
        profile = self.path("here.json")
        bad_line = self.write("line.csv", b"#probe,3,0\nunary_f32_cpu,nonsense\n")
        elsewhere = self.write("elsewhere.csv", b"#probe,3,0\n#fact,cpu_name,2 thread(s) of an abacus\n")
        not_ours = self.write("photo.csv", b"\x89PNG without a line's end")
        for arguments in ([], ["-o", profile, "stray"], ["-o", profile, "--layout=tree"],
                          ["-o", profile, "--time-budget=soon"], ["-o", profile, "--fit-only"],
                          ["-o", profile, "--resume"],
                          ["-o", profile, "--fit-only", f"--samples={bad_line}"],
                          ["-o", profile, "--resume", f"--samples={elsewhere}"],
                          ["-o", profile, "--resume", f"--samples={not_ours}"],
                          ["-o", profile, "--force", f"--samples={not_ours}", "--resume"],
                          ["-o", profile, "--name=a b"], ["-o", profile, "--name=.b"], ["-o", profile, "--name=a/b"],
                          ["-o", self.path("a b.json")], ["-o", profile, "--kernels=no_such_kernel"],
                          ["-o", profile, "--cpu-only", "--samples=" + self.path("no/such/folder")]):
            with self.subTest(arguments):
                self.expect_error(1, run("codl-profile", *arguments))
                self.assertFalse(os.path.exists(profile))
        self.assertEqual(read(not_ours), b"\x89PNG without a line's end")

    def test_without_opencl_the_cpu_variant_runs_and_says_why(self):
        plan = self.compile(*MODES["h"])
        nowhere = {"OCL_ICD_VENDORS": self.path("no_vendors"), "OCL_ICD_FILENAMES": ""}
        expected = self.output_of(plan, "--variant=cpu")
        self.assertEqual(self.output_of(plan, env=nowhere), expected)
        report = json.loads(self.run_ok("codl-run", plan, "--json", env=nowhere))
        self.assertEqual(report["variant"], "cpu")
        self.assertNotEqual(report["fallback_reason"], "")

    def test_bench_reports_numbers_and_a_trace_with_a_track_per_queue(self):
        plan = self.compile(*MODES["h"])
        trace = self.path("trace.json")
        report = json.loads(self.run_ok("codl-bench", plan, "--num-runs=5", "--warmup-runs=1",
                                        "--json", f"--trace={trace}", "--probe-cores=0"))
        self.assertEqual(report["variant"], "coexec")
        self.assertGreater(report["median_us"], 0)
        self.assertGreater(report["probe_us"], 0)
        # The machine decides how much the queues overlap (on a busy one they miss each other), but not more than the
        # less busy one works, and neither is busy for longer than the run.
        run = report["recorded_run"]
        busy_us = [queue["busy_us"] for queue in run["queues"]]
        self.assertEqual([queue["queue"] for queue in run["queues"]], ["cpu", "gpu"])
        self.assertGreater(min(busy_us), 0)
        self.assertLessEqual(run["overlap_us"], min(busy_us))
        self.assertLessEqual(max(busy_us), run["wall_us"])
        tracks = {event["tid"] for event in trace_rules.read(trace) if event["ph"] == "X"}
        self.assertGreaterEqual(len(tracks), 2)

    def test_bench_compares_all_variants_in_turns(self):
        plan = self.compile(*MODES["h"])
        flags = ("--all-variants", "--rounds=3", "--num-runs=2", "--warmup-runs=0", "--steps")
        report = json.loads(self.run_ok("codl-bench", plan, *flags, "--json"))
        self.assertEqual([variant["variant"] for variant in report["variants"]], ["coexec", "cpu"])
        medians = {variant["variant"]: variant["median_us"] for variant in report["variants"]}
        self.assertIn(report["fastest"], (report["predicted_fastest"], min(medians, key=medians.get)))
        for variant in report["variants"]:
            self.assertEqual(sorted(variant["rounds_us"])[1], variant["median_us"])
            self.assertGreater(sum(step["predicted_us"] for step in variant["steps"]), 0)
        # If another variant than the predicted one is faster, or rounds differ much, there is something to do.
        if report["fastest"] != report["predicted_fastest"]:
            self.assertIn("codl-profile", " ".join(report["advice"]))
        text = self.run_ok("codl-bench", plan, *flags)
        self.assertRegex(text, r"(coexec|cpu) is [0-9.]+ times as fast as (coexec|cpu) \(|(coexec|cpu) took [0-9.]+ to [0-9.]+ times as long as ")
        for other in ("--variant=cpu", "--min-ms=5", "--probe-cores=0", f"--trace={self.path('t.json')}"):
            with self.subTest(other):
                self.expect_error(1, run("codl-bench", plan, "--all-variants", other))
        self.expect_error(1, run("codl-bench", plan, "--rounds=3"))

    def test_bench_does_not_call_a_schedule_faster_than_itself(self):
        plan = self.compile("--device=host-pair", "--strategy=cpu", "--variants=cpu,busy")
        text = self.run_ok("codl-bench", plan, "--all-variants", "--rounds=3", "--num-runs=2", "--warmup-runs=0")
        self.assertIn("cpu and busy are the same schedule: ", text)
        self.assertNotIn("as fast as", text)

    def test_bench_says_how_far_off_a_prediction_is(self):
        with open(os.path.join(ROOT, "profiles", "sd855.json"), encoding="utf-8") as file:
            slow = json.load(file)
        slow["cpu"]["machine"]["ghz"]["value"] = 0.01  # every machine is faster by far
        for device in ("sd855", self.write("slow.json", json.dumps(slow).encode())):
            with self.subTest(device):
                plan = self.compile(f"--device={device}", "--strategy=cpu", name="phone.codl")
                report = json.loads(self.run_ok("codl-bench", plan, "--num-runs=3", "--num-threads=1", "--json"))
                factor = max(report["median_us"] / report["predicted_us"], report["predicted_us"] / report["median_us"])
                self.assertEqual(len(report["advice"]), int(factor > 2), report)
        self.assertGreater(factor, 2)
        self.assertIn(" ms were predicted, a factor of ", self.run_ok("codl-bench", plan, "--num-runs=3", "--num-threads=1"))

    def test_bench_says_on_stderr_what_a_report_advises_that_is_read_later(self):
        plan = self.compile("--device=h200-nvidia", *MODES["gpu"])  # far faster than the machine of this test
        command = ["codl-bench", plan, "--num-runs=1", "--warmup-runs=0", "--recorded-runs=1"]
        for more in ([], ["--all-variants", "--rounds=1"]):
            with self.subTest(more):
                told = run(*command, *more, "--json")
                advice = json.loads(told.stdout)["advice"]
                self.assertTrue(advice)
                notes = [line.removeprefix("codl-bench: note: ") for line in told.stderr.splitlines() if ": note: " in line]
                self.assertEqual([line for line in notes if not line.startswith("not run: ")], advice)
        self.assertIn("codl-bench: note: ", run(*command, "-o", self.path("text")).stderr)
        self.assertNotIn("codl-bench: note: ", run(*command).stderr)  # the text has them

    def test_what_cannot_be_tested_is_refused(self):
        cpu = self.compile("--strategy=cpu", "--variants=cpu", name="cpu.codl")
        both = self.compile(*MODES["h"])
        nowhere = {"OCL_ICD_VENDORS": self.path("no_vendors"), "OCL_ICD_FILENAMES": ""}
        for tool, more in (("codl-run", []), ("codl-bench", ["--num-runs=1"]), ("codl-bench", ["--num-runs=1", "--all-variants"])):
            for flags, text in ((["--require-variant", "--opencl-platform=Qualcomm"], "--opencl-platform with --require-variant: expected "),
                                (["--require-variant", "--opencl-device=Adreno"], "--opencl-device with --require-variant: expected "),
                                (["--check-every=1"], "--check-every: expected ")):
                with self.subTest(tool=tool, more=more, flags=flags):
                    self.expect_error(1, run(tool, cpu, *more, *flags), text)
                    self.expect_error(2, run(tool, both, *more, *flags, env=nowhere))
        self.expect_error(1, run("codl-run", cpu, "--self-test"), "--self-test: expected a variant with GPU steps, found cpu, which has none")
        for flags in ([], ["--variant=coexec"]):
            self.expect_error(1, run("codl-run", cpu, "--require-variant", *flags),
                              "--require-variant: expected a variant with GPU steps, found cpu, which has none")
        self.run_ok("codl-run", cpu, "--require-variant", "--variant=cpu")
        for tool, more in (("codl-run", []), ("codl-bench", ["--num-runs=1"])):
            told = run(tool, cpu, "--variant=coexec", *more)
            self.assertEqual((told.returncode, told.stderr), (0, f"{tool}: note: the plan has no variant coexec: its first, cpu, runs\n"))
        self.run_ok("codl-bench", both, "--all-variants", "--rounds=1", "--num-runs=1", "--check-every=1")

    def test_measurements_of_another_device_are_refused(self):
        flags = ("--strategy=cpu", "--variants=cpu")
        other = self.compile("--device=sd855", *flags, name="sd855.codl")
        bench = self.path("sd855.json")
        self.run_ok("codl-bench", other, "--num-runs=1", "--json", "--steps", "-o", bench)
        architecture = json.loads(read(bench))["cpu_architecture"]
        told = [f"--measured-on={architecture}"]  # all that is known where no step is on a GPU
        learn, measured = [f"--learn={other}={bench}", *told], [f"--report={self.path('r.json')}", f"--measured={bench}", *told]
        command = ["codlc", MODEL, "-q", "-o", self.path("new.codl"), *flags]
        for device, also in (("sd855", learn), ("sd855", measured)):
            self.run_ok(*command, f"--device={device}", *also)
            result = run(*command, "--device=host-pair", *also)
            self.expect_error(1, result, f'{bench}: /plan_device: expected device "host-pair", or one that its profile has as a '
                              'base, found "sd855"')
        # A profile over another one is of a device that runs the other's plans.
        with open(self.path("mine.json"), "w") as file:
            file.write('{"base": "sd855", "name": "mine"}')
        for also in (learn, measured):
            self.run_ok(*command, f"--device={self.path('mine.json')}", *also)
        self.expect_error(1, run("codlc", MODEL, *told), "--measured-on: expected --learn or --measured beside it, found neither")

    def test_measurements_of_another_machine_are_refused_unless_it_is_named(self):
        plan = self.compile("--device=sd855", "--place=*=split:oc:0.5", name="both.codl")
        for name, more in (("one", []), ("all", ["--all-variants", "--rounds=1"])):
            bench = self.path(name + ".json")
            self.run_ok("codl-bench", plan, "--num-runs=1", "--json", "--steps", "-o", bench, *more)
            machine = json.loads(read(bench))["opencl_device"]
            command = ["codlc", MODEL, "--device=sd855", "--strategy=cpu", "-q", "-o", self.path("new.codl"), f"--learn={plan}={bench}"]
            self.expect_error(1, run(*command), f'{bench}: /opencl_device: expected "Adreno 640" of device sd855, or one that '
                              f'--measured-on names, found "{machine}"')
            self.run_ok(*command, f"--measured-on={machine}")
            self.expect_error(1, run(*command, "--measured-on=Mali"), 'expected text that has "Mali", as --measured-on says, found ')

    def test_a_plan_learns_from_one_that_ran(self):
        flags = ("--device=host-pair", "--search-budget=50")
        first = self.compile(*flags, "--variants=coexec,cpu,gpu", name="first.codl")
        bench, depfile = self.path("bench.json"), self.path("second.d")
        self.run_ok("codl-bench", first, "--all-variants", "--rounds=1", "--num-runs=2", "--warmup-runs=1", "--json",
                    "--steps", "-o", bench)
        learn = f"--learn={first}={bench}"
        result = run("codlc", MODEL, *flags, learn, "-o", self.path("second.codl"), "-MF", depfile,
                     f"--report={self.path('report.json')}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"note: [1-9][0-9]* steps learned: what was measured is [0-9.]+ of what")
        self.assertRegex(result.stderr, r"predicts on the CPU, [0-9.]+ on the GPU\n")
        alone = self.compile("--device=host-pair", "--variants=cpu", name="alone.codl")
        self.run_ok("codl-bench", alone, "--num-runs=1", "--json", "--steps", "-o", self.path("alone.json"))
        result = run("codlc", MODEL, *flags, f"--learn={alone}={self.path('alone.json')}", "-o", self.path("cpu.codl"))
        self.assertRegex(result.stderr, r"predicts on the CPU, of the GPU nothing was\n")
        rule = read(depfile).decode()
        self.assertIn(bench, rule)
        self.assertIn(first, rule)
        levels = {row["level"] for row in json.loads(read(self.path("report.json")))["variants"][0]["stands_on"]}
        self.assertIn("learned", levels)
        # The same measurements give the same, right plan, once or twice.
        self.run_ok("codlc", MODEL, *flags, learn, "-q", "-o", self.path("again.codl"))
        self.assertEqual(read(self.path("again.codl")), read(self.path("second.codl")))
        self.assertLess(npy.relative_l2(self.output_of(self.path("second.codl")), self.output_of(first)), BOUND)
        self.run_ok("codlc", MODEL, *flags, learn, learn, "-q", "-o", self.path("third.codl"))
        self.assertEqual(read(self.path("third.codl")), read(self.path("second.codl")))
        self.run_ok("codlc", MODEL, *flags, learn, "--avoid=winograd", "--explain", "-q")
        # The profile alone judges rewrites: times that favour other ones change none.
        with open(bench) as file:
            odd = json.load(file)
        for variant in odd["variants"]:
            max(variant["steps"], key=lambda step: step["predicted_us"])["median_us"] *= 20
        with open(self.path("odd.json"), "w") as file:
            json.dump(odd, file)
        pruned = [MODEL, *flags, "--prune=0.5", "--unchecked", "-q", "-o", self.path("pruned.codl")]
        self.run_ok("codlc", *pruned, f"--emit-onnx={self.path('plain.onnx')}")
        self.run_ok("codlc", *pruned, f"--learn={first}={self.path('odd.json')}", f"--emit-onnx={self.path('odd.onnx')}")
        self.assertEqual(read(self.path("odd.onnx")), read(self.path("plain.onnx")))
        # If a session moves among variants, the steps are at the top, beside a list of variants without steps.
        adaptive = self.path("adaptive.json")
        self.run_ok("codl-bench", first, "--adaptive", "--num-runs=4", "--warmup-runs=0", "--json", "--steps", "-o", adaptive)
        self.assertIn("variants", json.loads(read(adaptive)))
        self.run_ok("codlc", MODEL, *flags, f"--learn={first}={adaptive}", "-q", "-o", self.path("fourth.codl"))
        other = self.compile(*MODES["h"], name="other.codl")
        for code, arguments, text in (
                (1, [learn, "-o", first], "expected another plan than the one that is written"),
                (1, [f"--learn={first}", "-o", self.path("none")], "expected PLAN=BENCH.json"),
                (1, [f"--learn={other}={bench}", "-o", self.path("none")], "bench.json: expected "),
                (1, [learn, "--device=host-pair,sd855"], "expected it with one device")):
            with self.subTest(text):
                device = [] if "--device" in arguments[-1] else flags
                self.expect_error(code, run("codlc", MODEL, *device, *arguments), text)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_several_variants_go_through_all_tools(self):
        names = ["coexec", "cpu", "gpu", "gpu40", "busy"]
        plan = self.compile("--device=host-pair", f"--variants={','.join(names)}", "--search-budget=50",
                            f"--report={self.path('report.html')}", "--report=" + self.path("report.json"))
        dumped = json.loads(self.run_ok("codl-dump", plan, "--json"))["variants"]
        self.assertEqual([variant["name"] for variant in dumped], names)
        with open(self.path("report.json")) as file:
            self.assertEqual([variant["name"] for variant in json.load(file)["variants"]], names)
        expected = self.output_of(plan, "--variant=cpu")
        for name in names:
            with self.subTest(name):
                self.run_ok("codl-sim", plan, "--device=host-pair", f"--variant={name}")
                for x, y in zip(self.output_of(plan, f"--variant={name}"), expected):
                    self.assertAlmostEqual(x, y, delta=1e-3 * max(abs(y), 1))
        report = json.loads(self.run_ok("codl-bench", plan, "--all-variants", "--rounds=1", "--num-runs=1", "--json"))
        self.assertEqual([variant["variant"] for variant in report["variants"]], names)

    def test_variants_that_there_are_not_are_refused_with_the_nearest(self):
        for given, texts in (("coexec,busi", ["busi", "did you mean busy?"]), ("gpu0", ["gpu0"]), ("gpu100", ["gpu100"]),
                             ("", ["found nothing"]), ("cpu,", ['""']), ("cpu,cpu", ["cpu twice"]), ("gpu50x", ["gpu50x"])):
            with self.subTest(given):
                self.expect_error(1, run("codlc", MODEL, f"--variants={given}", "-o", self.path("no.codl")), "--variants",
                                  *texts)
                self.assertFalse(os.path.exists(self.path("no.codl")))

    def test_flags_that_choose_a_gpu_say_so_where_none_computes(self):
        cpu = self.compile("--strategy=cpu", "--variants=cpu", name="cpu.codl")
        both = self.compile(*MODES["h"])
        flags = ["--opencl-platform=Qualcomm", "--opencl-device=Adreno", "--gpu-cores=0", f"--program-cache={self.path('programs')}"]
        names = ", ".join(flag.partition("=")[0] for flag in flags)
        for tool, *more in (("codl-run",), ("codl-bench", "--num-runs=1"), ("codl-bench", "--num-runs=1", "--all-variants"),
                            ("codl-bench", "--num-runs=1", "--adaptive")):
            runs_all = more[1:] != []
            with self.subTest(tool=tool, more=more):
                told = run(tool, cpu, *more, *flags)
                self.assertEqual((told.returncode, told.stderr), (0, f"{tool}: note: {names}: no effect, because "
                                 f"{'no variant has' if runs_all else 'variant cpu has no'} GPU steps\n"))
                self.assertEqual(run(tool, cpu, *more).stderr, "")
                self.assertEqual("" if runs_all else f"{tool}: note: --gpu-cores: no effect, because variant cpu has no GPU steps\n",
                                 run(tool, both, *more, *([] if runs_all else ["--variant=cpu"]), "--gpu-cores=0").stderr)

    def test_devices_by_the_names_that_people_know(self):
        for name, profile in (("Snapdragon 8 Gen 2", "sd8gen2"), ("SM8150", "sd855"), ("Pixel 7", "tensor_g2")):
            result = run("codlc", MODEL, "--search-budget=1", f"--device={name}", f"--out-dir={self.path('named')}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"codlc: note: the profile of {name} is {profile}\n", result.stderr)
            self.assertTrue(os.path.exists(self.path("named", f"tiny_resnet.{profile}.codl")))
            self.run_ok("codlc", MODEL, "-q", "--strategy=cpu", f"--device={name}", "-o", self.path("p"), "-MF", self.path("rule"))
            self.assertEqual(set(re.findall(rb"(\w+)\.json", read(self.path("rule")))), {profile.encode(), b"template"})
            self.assertIn(profile, self.run_ok("codl-dump", f"--device={name}"))
        self.expect_error(1, run("codlc", MODEL, "--device=Pixel 8"), 'found "Pixel 8", which has no profile; others have, like Pixel 5 (sd765g), ')
        self.expect_error(1, run("codlc", MODEL, "--device=Nokia 3310"), "like sd8elitegen5, dimensity9400, ", "codl-profile on the device itself makes one")
        mine = self.write("mine.txt", b"{}")
        self.expect_error(1, run("codlc", MODEL, f"--device={mine}"), f'--device: expected a profile whose name ends in .json, found "{mine}"')
        rows = self.run_ok("codlc", "--list-devices", "--device=Pixel 7,host,SM8150").splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["name", "tensor_g2", "host", "sd855"])

    def test_a_file_of_the_other_kind_says_what_it_is(self):
        plan = self.compile()
        for tool in ("codl-run", "codl-bench", "codl-sim", "codl-dump"):
            self.expect_error(1, run(tool, MODEL), "expected a plan, found an ONNX model (codlc makes a plan of it)")
            for contents, found in ((b'{"num_runs": 1}', "JSON"), (b"", "an empty file"), (b"\x80" * 99, "a file of another kind")):
                self.expect_error(1, run(tool, self.write("other.codl", contents)), f"expected a plan, found {found}")
            half = os.path.getsize(plan) // 2
            self.expect_error(1, run(tool, self.write("half.codl", read(plan)[:half])), "bytes as the plan's head says",
                              f"found {half} (the file is cut off)")
        self.expect_error(1, run("codlc", plan), "expected an ONNX model, found a plan (codl-run runs it)")
        self.expect_error(1, run("codlc", self.write("net.json", b' {"models": []}')), "expected an ONNX model, found JSON (codl-matrix reads ")

    def eight_bit_network(self, zero_point):
        scale = onnx_bytes.tensor("s", [], onnx_bytes.FLOAT, struct.pack("<f", 0.0625))
        zero = onnx_bytes.tensor("z", [], onnx_bytes.INT8, struct.pack("b", zero_point))
        weights = onnx_bytes.tensor("w8", [64, 64, 3, 3], onnx_bytes.INT8,
                                    struct.pack("36864b", *(i * 37 % 255 - 127 for i in range(36864))))
        nodes = [onnx_bytes.node("DequantizeLinear", ["w8", "ws"], ["w"], "weights")]
        initializers = [scale, zero, weights, onnx_bytes.tensor("ws", [], onnx_bytes.FLOAT, struct.pack("<f", 0.00213))]
        value = "x"
        for i in range(3):
            nodes += [onnx_bytes.node("QuantizeLinear", [value, "s", "z"], [f"q{i}"], f"round{i}"),
                      onnx_bytes.node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"], f"expand{i}"),
                      onnx_bytes.node("Conv", [f"d{i}", "w"], [f"y{i}"], f"conv{i}")]
            value = f"y{i}"
        return self.write(f"eight{zero_point}.onnx", onnx_bytes.model(
            nodes, [onnx_bytes.value_info("x", [1, 64, 16, 16])], [onnx_bytes.value_info("y2", [1, 64, 10, 10])],
            initializers=initializers))

    def test_eight_bit_networks_are_computed_with_bytes(self):
        plan = self.path("eight.codl")
        for zero_point in (-3, -128):
            model = self.eight_bit_network(zero_point)
            said = self.run_ok("codlc", model, "--device=sd855", "--strategy=cpu", "-o", plan)
            self.assertRegex(said, r"cpu: [0-9]+ of [0-9]+ tensors of real numbers are bytes")
            self.assertEqual(self.run_ok("codl-dump", plan).count(" cpu conv2d_q8_cpu "), 3)
            self.assertLess(os.path.getsize(plan), 4 * 36864)  # floats would be more
            self.run_ok("codl-run", plan, f"--output-dir={self.path('bytes')}")
            for strategy in ("gpu", "mulayer"):
                self.run_ok("codlc", model, "--device=sd855", f"--strategy={strategy}", "-o", plan)
                if (strategy, zero_point) == ("gpu", -128):  # where the GPU has nothing to convert
                    self.assertRegex(self.run_ok("codl-dump", plan), r"\nimage [0-9]+ [0-9]+x[0-9]+ i8\n")
                self.run_ok("codl-run", plan, f"--output-dir={self.path(strategy)}")
                _, expected = npy.read(self.path("bytes", "y2.npy"))
                _, found = npy.read(self.path(strategy, "y2.npy"))
                # Sums next to a tie may be rounded to the other side.
                self.assertLess(npy.relative_l2(found, expected), 5e-3)

    def test_bench_adapts_and_lists_its_runs(self):
        plan = self.compile(*MODES["h"])
        report = json.loads(self.run_ok("codl-bench", plan, "--adaptive", "--list-runs", "--num-runs=30", "--json"))
        self.assertEqual(sorted(variant["variant"] for variant in report["variants"]), ["coexec", "cpu"])
        # The first run and five warm-up runs are not timed.
        self.assertEqual(sum(variant["run_count"] for variant in report["variants"]), 36)
        self.assertEqual(len(report["runs"]), 30)
        starts = [run["start_ns"] for run in report["runs"]]
        self.assertEqual(starts, sorted(starts))
        used = [run["variant"] for run in report["runs"]]
        self.assertEqual(report["switch_count"], sum(a != b for a, b in zip(used, used[1:])))
        self.assertGreater(report["switch_us"], 0)
        self.assertRegex(self.run_ok("codl-bench", plan, "--adaptive", "--num-runs=3"), "ms to switch, of 1000 switches")
        for other in ("--adaptive", "--list-runs"):
            with self.subTest(other):
                self.expect_error(1, run("codl-bench", plan, "--all-variants", other))

    def test_bench_lists_the_slices_of_recorded_runs(self):
        plan = self.compile(*MODES["h"], "--max-gpu-slice=4ms")
        steps = json.loads(self.run_ok("codl-dump", plan, "--json"))["variants"][0]["steps"]
        kernels = [step for step in steps if step["queue"] == "gpu" and step["kind"] == "kernel"]
        self.assertTrue(kernels)
        flags = ("--num-runs=1", "--warmup-runs=0", "--recorded-runs=4")
        report = json.loads(self.run_ok("codl-bench", plan, *flags, "--list-slices", "--json"))
        self.assertEqual(len(report["slices_us"]), 4 * len(kernels))
        self.assertGreater(min(report["slices_us"]), 0)
        self.assertNotIn("slices_us", json.loads(self.run_ok("codl-bench", plan, *flags, "--json")))
        self.assertRegex(self.run_ok("codl-bench", plan, *flags), r"(?s)gpu slices, .* of 4 recorded runs.*p99 .*longest [\d.]+ ms")
        self.assertNotIn("gpu slices", self.run_ok("codl-bench", plan, *flags, "--variant=cpu"))
        self.expect_error(1, run("codl-bench", plan, "--all-variants", "--list-slices"))

    def test_bench_says_which_variant_did_not_run(self):
        plan = self.compile(*MODES["h"])
        nowhere = {"OCL_ICD_VENDORS": self.path("no_vendors"), "OCL_ICD_FILENAMES": ""}
        report = json.loads(self.run_ok("codl-bench", plan, "--all-variants", "--rounds=1", "--num-runs=1", "--json",
                                        env=nowhere))
        self.assertEqual([variant["variant"] for variant in report["variants"]], ["cpu"])
        self.assertRegex(report["missing"][0], "^coexec: .* found no platform \\(no OpenCL driver is installed\\)$")
        told = run("codl-bench", plan, "--all-variants", "--rounds=1", "--num-runs=1", "--json", env=nowhere)
        self.assertIn("codl-bench: note: not run: " + report["missing"][0] + "\n", told.stderr)

    def test_a_session_holds_the_arenas_and_weights_that_codlc_prints(self):
        plan, report = self.path("plan.codl"), self.path("report.json")
        said = self.run_ok("codlc", MODEL, "--device=host-pair", "-o", plan, f"--report={report}", *MODES["h"])
        for variant in json.loads(read(report))["variants"]:
            with self.subTest(variant["name"]):
                both = variant["arena_bytes"] + variant["weight_bytes"]
                self.assertRegex(said, rf"  {variant['name']} .*  memory +{both / 1e6:.1f} MB ")
                held = json.loads(self.run_ok("codl-bench", plan, f"--variant={variant['name']}", "--json", "--num-runs=1"))
                arenas = sum(held[kind + "_bytes"] for kind in ("host", "shared", "device", "image"))
                self.assertAlmostEqual(arenas, variant["arena_bytes"], delta=0.02 * arenas)
                self.assertLessEqual(variant["weight_bytes"], held["weight_bytes"])
                text = self.run_ok("codl-bench", plan, f"--variant={variant['name']}", "--num-runs=1")
                for kind in ("host arena", "weights", "tables"):
                    self.assertIn(f"  {kind} ", text)


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    unittest.main(verbosity=2)
