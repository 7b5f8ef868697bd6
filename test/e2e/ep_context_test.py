#!/usr/bin/env python3
"""codlc --ep-context: the ONNX file that stands for a plan, field by field, and what is refused.

Usage: ep_context_test.py --bin build/release/bin [unittest arguments]     standard library only

test/integrations/onnxruntime_test.py has ONNX's checker read such files and ONNX Runtime run them.
"""
import os
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import onnx_bytes
from onnx_bytes import BOOL, FLOAT, FLOAT16, INT64
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
BIN = None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def fields(message):
    """Returns {number: [value, ...]} of a protobuf message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            value = message[at:at + size]
            at += size
        found.setdefault(key >> 3, []).append(value)
    return found


def value_infos(messages):
    """Returns [(name, type, dims), ...]."""
    infos = []
    for message in messages:
        info = fields(message)
        tensor = fields(fields(info[2][0])[1][0])
        dims = [fields(dim).get(1, [None])[0] for dim in fields(tensor[2][0]).get(1, [])]
        infos.append((info[1][0].decode(), tensor[1][0], dims))
    return infos


class Context:
    """A model of one node."""

    def __init__(self, data):
        self.model = fields(data)
        self.graph = fields(self.model[7][0])
        self.inputs, self.outputs = value_infos(self.graph[11]), value_infos(self.graph[12])
        [node] = self.graph[1]
        self.node = fields(node)
        self.attributes = {}
        for message in self.node[5]:
            attribute = fields(message)
            kind = attribute[20][0]
            self.attributes[attribute[1][0].decode()] = attribute[3][0] if kind == 2 else attribute[4][0]
        self.opsets = {}
        for message in self.model[8]:
            opset = fields(message)
            self.opsets[opset.get(1, [b""])[0].decode()] = opset[2][0]


class EpContextTest(WorkFolder, unittest.TestCase):
    def codlc(self, *arguments, code=0):
        result = subprocess.run([os.path.join(BIN, "codlc"), *arguments, "-q"], capture_output=True, text=True, cwd=self.work,
                                stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def refused(self, code, text, *arguments):
        """Expects one line and no file."""
        before = sorted(os.listdir(self.work))
        told = self.codlc(*arguments, code=code)
        self.assertEqual(told.count("\n"), 1, told)
        self.assertIn(text, told)
        self.assertEqual(sorted(os.listdir(self.work)), before)

    def test_the_node_stands_for_the_plan(self):
        self.codlc(MODEL, "--device=sd855", "-o", "net.codl", "--ep-context=net.onnx")
        data = read(self.path("net.onnx"))
        context = Context(data)
        self.assertEqual(context.inputs, [("input", FLOAT, [1, 3, 64, 64])])
        self.assertEqual(context.outputs, [("output", FLOAT, [1, 10])])
        self.assertEqual((context.node[4], context.node[7]), ([b"EPContext"], [b"com.microsoft"]))
        self.assertEqual((context.node[1], context.node[2]), ([b"input"], [b"output"]))
        version = subprocess.run([os.path.join(BIN, "codlc"), "--version"], capture_output=True, text=True).stdout.split()
        self.assertEqual(context.attributes, {
            "main_context": 1, "embed_mode": 0, "ep_cache_context": b"net.codl", "source": b"codl",
            "ep_sdk_version": version[1].encode(), "hardware_architecture": b"sd855"})
        self.assertEqual(context.opsets["com.microsoft"], 1)
        [metadata] = context.model[14]
        plan_format = struct.unpack_from("<I", read(self.path("net.codl")), 4)[0]
        self.assertEqual(fields(metadata), {1: [b"ep_compatibility_info.CodlExecutionProvider"],
                                            2: [f"codl plan format {plan_format}".encode()]})
        self.codlc(MODEL, "--device=sd855", "-o", "net.codl", "--ep-context=net.onnx")
        self.assertEqual(read(self.path("net.onnx")), data)

    def test_the_plan_may_lie_below_or_inside(self):
        os.makedirs(self.path("a", "b"))
        for plan, model, found in (("a/b/p.codl", "m.onnx", b"a/b/p.codl"), ("a/b/p.codl", "a/m.onnx", b"b/p.codl"),
                                   ("a/../p.codl", "./m.onnx", b"p.codl"), (self.path("p.codl"), "m.onnx", b"p.codl")):
            self.codlc(MODEL, "-o", plan, f"--ep-context={model}")
            self.assertEqual(Context(read(self.path(model))).attributes["ep_cache_context"], found)
        self.codlc(MODEL, "-o", "a/p.codl", "--ep-context=a/b/m.onnx", "--ep-context-embed")
        attributes = Context(read(self.path("a", "b", "m.onnx"))).attributes
        self.assertEqual(attributes["embed_mode"], 1)
        self.assertEqual(attributes["ep_cache_context"], read(self.path("a", "p.codl")))

    def test_types_and_dims_are_those_of_the_plan(self):
        model = self.write("types.onnx", onnx_bytes.model(
            [onnx_bytes.node("Not", ["b"], ["nb"], "not"), onnx_bytes.node("Neg", ["h"], ["nh"], "neg"),
             onnx_bytes.node("Add", ["i", "i"], ["ii"], "add")],
            [onnx_bytes.value_info("b", [2, 3], BOOL), onnx_bytes.value_info("h", ["n"], FLOAT16), onnx_bytes.value_info("i", [], INT64)],
            [onnx_bytes.value_info("nb", [2, 3], BOOL), onnx_bytes.value_info("ii", [], INT64), onnx_bytes.value_info("nh", ["n"], FLOAT16)]))
        self.codlc(model, "-o", "types.codl", "--input-shape=h:5", "--ep-context=out.onnx")
        context = Context(read(self.path("out.onnx")))
        self.assertEqual(context.inputs, [("b", BOOL, [2, 3]), ("h", FLOAT16, [5]), ("i", INT64, [])])
        self.assertEqual(context.outputs, [("nb", BOOL, [2, 3]), ("ii", INT64, []), ("nh", FLOAT16, [5])])

    def test_dims_that_differ_among_a_plans_shapes_are_open(self):
        model = self.write("shapes.onnx", onnx_bytes.model(
            [onnx_bytes.node("Neg", ["x"], ["y"], "neg")], [onnx_bytes.value_info("x", ["n", 4])], [onnx_bytes.value_info("y", ["n", 4])]))
        self.codlc(model, "-o", "net.codl", "--dim=n:2|3", "--ep-context=out.onnx")
        context = Context(read(self.path("out.onnx")))
        self.assertEqual((context.inputs, context.outputs), ([("x", FLOAT, [None, 4])], [("y", FLOAT, [None, 4])]))

    def test_what_cannot_be_expressed_is_refused(self):
        context = "--ep-context=out.onnx"
        self.refused(1, "--ep-context: expected it with one device, found 2", MODEL, "--device=sd855,sd865", "--out-dir=.", context)
        self.refused(1, "--ep-context: expected the plan in the folder of the model or below it", MODEL, "-o", "net.codl",
                     "--ep-context=/dev/null")
        self.refused(1, "--ep-context: expected the plan in the folder", MODEL, "-o", "-", context)
        self.refused(1, "--ep-context: expected a plan to be written (-o), found none", MODEL, "--report-support", context,
                     "--ep-context-embed")
        self.refused(1, "--ep-context-embed: expected --ep-context beside it, found none", MODEL, "-o", "net.codl", "--ep-context-embed")
        self.refused(1, "net.codl: ", MODEL, "-o", "net.codl", "--ep-context=net.codl")
        state = self.write("state.onnx", onnx_bytes.model(
            [onnx_bytes.node("Add", ["x", "h"], ["hn"], "add")], [onnx_bytes.value_info("x", [2]), onnx_bytes.value_info("h", [2])],
            [onnx_bytes.value_info("hn", [2])]))
        self.refused(1, "--ep-context: expected it without --state", state, "-o", "net.codl", "--state=hn:h", context)
        shapes = self.write("shapes.onnx", onnx_bytes.model(
            [onnx_bytes.node("Squeeze", ["x"], ["y"], "squeeze")], [onnx_bytes.value_info("x", ["n", 2])], [onnx_bytes.value_info("y", ["n", 2])]))
        self.refused(2, '--ep-context: expected values of one rank in all shapes, found "y"', shapes, "-o", "net.codl", "--dim=n:2|1", context)
        found = self.write("found.onnx", onnx_bytes.model(
            [onnx_bytes.node("NonZero", ["x"], ["where"], "find")], [onnx_bytes.value_info("x", [4])],
            [onnx_bytes.value_info("where", [1, "n"], INT64)]))
        self.refused(2, '--ep-context: expected outputs of fixed dims, found "where", whose dims data decide', found, "-o", "net.codl", context)
        same = self.write("same.onnx", onnx_bytes.model(
            [onnx_bytes.node("Neg", ["x"], ["y"], "neg")], [onnx_bytes.value_info("x", [4])],
            [onnx_bytes.value_info("y", [4]), onnx_bytes.value_info("x", [4])]))
        self.refused(2, '--ep-context: expected outputs with names of their own, found another value "x"', same, "-o", "net.codl", context)
        settled = self.write("settled.onnx", onnx_bytes.model(
            [onnx_bytes.node("Neg", ["x"], ["y"], "neg")], [onnx_bytes.value_info("x", [2])], [onnx_bytes.value_info("y", [2])]))
        self.refused(2, "--ep-context: expected a network with an input", settled, "-o", "net.codl", "--input-value=x:1,2", context)

    def test_the_file_is_whole_or_as_it_was(self):
        self.write("out.onnx", b"of before")
        os.mkdir(self.path("plan"))
        flags = ["--device=sd855", "--ep-context=out.onnx"]
        self.codlc(MODEL, "-o", "net.codl", *flags, "--max-syncs=0", "--place=*=split:h:0.5", code=3)
        self.codlc(MODEL, "-o", "plan", *flags, code=1)
        self.assertEqual(read(self.path("out.onnx")), b"of before")
        self.assertEqual(sorted(os.listdir(self.work)), ["out.onnx", "plan"])


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[sys.argv.index("--bin") + 1])
    del sys.argv[sys.argv.index("--bin"):sys.argv.index("--bin") + 2]
    unittest.main()
