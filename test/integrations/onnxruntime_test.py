#!/usr/bin/env python3
"""Plans in ONNX Runtime: the models of `codlc --ep-context` under the execution provider, against codl-run.

Usage: onnxruntime_test.py --build build/release [--network FILE.onnx]... [unittest arguments]

It needs the Python packages onnxruntime (1.23 or newer) and onnx, and a build with -DONNXRUNTIME_INCLUDE_DIR=; where one
of them is missing it says so and exits with code 77. Networks with fixed dims can be added to those of examples/models.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = os.path.join(ROOT, "examples", "models")
TINY = os.path.join(MODELS, "tiny_resnet.onnx")
PROVIDER = "CodlExecutionProvider"
BIN = LIBRARY = None
NETWORKS = [TINY, os.path.join(MODELS, "super_resolution.onnx")]


def run(tool, *arguments, code=0):
    result = subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True)
    if result.returncode != code:
        raise AssertionError(f"{tool} {arguments}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def inputs_of(session, seed=0):
    rng = numpy.random.default_rng(seed)
    inputs = {}
    for value in session.get_inputs():
        kind = value.type[len("tensor("):-1]
        shape = tuple(value.shape)
        if kind in ("float", "double", "float16"):
            dtype = {"float": "f4", "double": "f8", "float16": "f2"}[kind]
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            inputs[value.name] = rng.integers(0, 2, shape).astype(kind)
    return inputs


class ProviderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        onnxruntime.register_execution_provider_library("codl", LIBRARY)
        cls.devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]

    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.work)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def compile(self, network=TINY, *flags, name="net"):
        """Returns the path of the model, whose plan is NAME.codl."""
        model = self.path(name + ".onnx")
        run("codlc", network, "-q", "-o", self.path(name + ".codl"), f"--ep-context={model}", *flags)
        return model

    def session(self, model, context_path=None, **options):
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        if context_path:
            settings.add_session_config_entry("ep.context_file_path", context_path)
        settings.add_provider_for_devices(self.devices, {key: str(value) for key, value in options.items()})
        return onnxruntime.InferenceSession(model, settings, enable_fallback=0)  # 1.23 would try again without codl

    def refused(self, model, *texts, **options):
        with self.assertRaises(Exception) as caught:
            self.session(model, **options)
        for text in texts:
            self.assertIn(text, str(caught.exception))

    def edit(self, model, name=None, **attributes):
        """Writes a copy of the model with other attributes."""
        proto = onnx.load(model)
        for attribute in proto.graph.node[0].attribute:
            if attribute.name in attributes:
                value = attributes[attribute.name]
                attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, value))
        path = self.path(name or "edited.onnx")
        with open(path, "wb") as file:
            file.write(proto.SerializeToString())
        return path

    def run_codl(self, plan, inputs, *flags):
        folder = tempfile.mkdtemp(dir=self.work)
        given = []
        for i, (name, array) in enumerate(inputs.items()):
            numpy.save(os.path.join(folder, f"{i}.npy"), array)
            given.append(f"--input={name}={os.path.join(folder, f'{i}.npy')}")
        out = os.path.join(folder, "out")
        os.mkdir(out)
        run("codl-run", plan, *given, f"--output-dir={out}", *flags)
        return [numpy.load(os.path.join(out, name)) for name in sorted(os.listdir(out))]

    def expect_same(self, session, found, expected):
        names = sorted(range(len(found)), key=lambda i: session.get_outputs()[i].name)
        self.assertEqual(len(found), len(expected))
        for i, array in zip(names, expected):
            self.assertEqual(found[i].shape, array.shape)
            self.assertEqual(found[i].tobytes(), array.tobytes(), session.get_outputs()[i].name)

    def test_the_provider_has_the_cpu(self):
        self.assertEqual(len(self.devices), 1)
        self.assertEqual(self.devices[0].ep_vendor, "codl")
        self.assertEqual(self.devices[0].device.type, onnxruntime.OrtHardwareDeviceType.CPU)

    def test_results_are_those_of_codl_run(self):
        for network in NETWORKS:
            model = self.compile(network, "--variants=gpu,cpu")
            onnx.checker.check_model(model)
            for variant, threads in (("cpu", 1), ("cpu", 2), ("", 0)):
                with self.subTest(os.path.basename(network), variant=variant, threads=threads):
                    options = {"variant": variant} if variant else {}
                    flags = [f"--variant={variant}"] if variant else []
                    if threads:
                        flags.append(f"--num-threads={threads}")
                    session = self.session(model, threads=threads, **options)
                    inputs = inputs_of(session)
                    expected = self.run_codl(self.path("net.codl"), inputs, *flags)
                    for _ in range(2):
                        self.expect_same(session, session.run(None, inputs), expected)
                    self.assertTrue(any(array.any() for array in expected))

    def test_sessions_and_threads_beside_each_other(self):
        model = self.compile(TINY)
        sessions = [self.session(model, variant="cpu", threads=threads) for threads in (1, 2, 1)]
        inputs = [inputs_of(sessions[0], seed) for seed in range(3)]
        expected = [self.run_codl(self.path("net.codl"), x, "--variant=cpu") for x in inputs]
        wrong = []

        def work(session, i):
            for _ in range(20):
                found = session.run(None, inputs[i])
                if any(a.tobytes() != b.tobytes() for a, b in zip(found, expected[i])):
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(sessions[s], i)) for s in range(3) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_plan_is_a_node_among_others(self):
        model = self.compile(TINY)
        proto = onnx.load(model)
        node, given, made = proto.graph.node[0], proto.graph.input[0].name, proto.graph.output[0].name
        node.input[0], node.output[0] = "doubled", "raw"
        proto.graph.node.insert(0, onnx.helper.make_node("Add", [given, given], ["doubled"]))
        proto.graph.node.append(onnx.helper.make_node("Neg", ["raw"], [made]))
        raw = proto.graph.value_info.add()
        raw.CopyFrom(proto.graph.output[0])
        raw.name = "raw"
        onnx.save(proto, self.path("among.onnx"))
        session = self.session(self.path("among.onnx"), variant="cpu")
        inputs = inputs_of(session)
        expected = self.run_codl(self.path("net.codl"), {given: inputs[given] * 2}, "--variant=cpu")
        self.expect_same(session, session.run(None, inputs), [-expected[0]])

    def test_a_model_may_contain_its_plan_or_come_from_memory(self):
        model = self.compile(TINY, "--ep-context-embed", name="embedded")
        onnx.checker.check_model(model)
        os.remove(self.path("embedded.codl"))
        with open(model, "rb") as file:
            session = self.session(file.read(), variant="cpu")
        inputs = inputs_of(session)
        beside = self.compile(TINY)
        expected = self.run_codl(self.path("net.codl"), inputs, "--variant=cpu")
        self.expect_same(session, session.run(None, inputs), expected)
        with open(beside, "rb") as file:
            contents = file.read()
        self.refused(contents, "expected a model that is loaded from its file")
        session = self.session(contents, context_path=beside, variant="cpu")
        self.expect_same(session, session.run(None, inputs), expected)

    def test_what_is_not_the_plan_of_the_model_is_refused(self):
        model = self.compile(TINY)
        self.refused(self.edit(model, hardware_architecture="sd855"),
                     "expected a plan for the device sd855 of the model, found one for ")
        self.refused(self.edit(model, main_context=0), "main_context")
        for path in ("../net.codl", self.path("net.codl"), "a/../../net.codl", ""):
            self.refused(self.edit(model, ep_cache_context=path), "expected a plan in the folder of the model or below it")
        self.refused(self.edit(model, source="other"), "EPContext")
        self.refused(self.edit(model, embed_mode=1), "EPContext: ")
        other = self.path("other.codl")
        run("codlc", NETWORKS[1], "-q", "-o", other)
        self.refused(self.edit(model, ep_cache_context="other.codl"), "expected ")
        proto = onnx.load(model)
        proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 65
        onnx.save(proto, self.path("dims.onnx"))
        self.refused(self.path("dims.onnx"), "expected dims [", "of the plan, found [1, 3, 65, 64]")

    def sum_model(self):
        """Returns the path of a model y = x + h with a dim that is open."""
        values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n"]) for name in ("x", "h", "y")]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "h"], ["y"])], "sum", values[:2], values[2:])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9), self.path("sum.onnx"))
        return self.path("sum.onnx")

    def test_a_plan_of_several_shapes_runs_at_those_of_the_inputs(self):
        model = self.compile(self.sum_model(), "--dim=n:2|3|5")
        onnx.checker.check_model(model)
        session = self.session(model)
        self.assertEqual([value.shape for value in session.get_inputs() + session.get_outputs()], [[None]] * 3)
        for n in (2, 3, 5, 2):
            found = session.run(None, {"x": numpy.arange(n, dtype="f4"), "h": numpy.full(n, n, "f4")})[0]
            self.assertEqual(found.tolist(), [i + n for i in range(n)])
        for x, h in ((4, 4), (2, 3), (0, 0)):
            with self.assertRaises(Exception) as caught:
                session.run(None, {"x": numpy.zeros(x, "f4"), "h": numpy.zeros(h, "f4")})
            self.assertIn("net.codl: ", str(caught.exception))
            self.assertIn("expected ", str(caught.exception))

    def test_a_plan_with_a_state_is_refused(self):
        model = self.compile(self.sum_model(), "--dim=n:2")
        session = self.session(model)
        self.assertEqual(session.run(None, {"x": numpy.array([1, 2], "f4"), "h": numpy.array([3, 5], "f4")})[0].tolist(), [4, 7])
        run("codlc", self.path("sum.onnx"), "-q", "-o", self.path("net.codl"), "--dim=n:2", "--state=y:h")
        self.refused(model, "net.codl: expected a plan without states, found one")

    def test_a_plan_of_other_shapes_than_the_models_is_refused(self):
        model = self.compile(self.sum_model(), "--dim=n:2")
        run("codlc", self.path("sum.onnx"), "-q", "-o", self.path("net.codl"), "--dim=n:2|3")
        self.refused(model, "net.codl: input x: expected dims [3] of the plan, found [2]")

    def test_a_model_says_whether_its_plan_can_be_read(self):
        native = onnxruntime.capi.onnxruntime_pybind11_state
        info = next(prop.value for prop in onnx.load(self.compile(TINY)).metadata_props
                    if prop.key == f"ep_compatibility_info.{PROVIDER}")
        self.assertEqual(info, "codl plan format 3")
        if not hasattr(native, "get_model_compatibility_for_ep_devices"):
            self.skipTest("this onnxruntime does not ask")
        for text, answer in ((info, "EP_SUPPORTED_OPTIMAL"), ("codl plan format 2", "EP_UNSUPPORTED"),
                             (info + "0", "EP_UNSUPPORTED"), ("another", "EP_UNSUPPORTED")):
            found = native.get_model_compatibility_for_ep_devices(self.devices, text)
            self.assertEqual(found, getattr(native.OrtCompiledModelCompatibility, answer), text)

    def test_a_plan_that_is_damaged_or_gone_is_refused(self):
        model, plan = self.compile(TINY), self.path("net.codl")
        with open(plan, "rb") as file:
            contents = file.read()
        damaged = bytearray(contents)
        damaged[100] ^= 0xFF
        for bad, text in ((contents[:-1], "expected "), (contents[:10], "expected "), (b"", "expected "),
                          (b"no plan", "expected "), (bytes(damaged), "expected ")):
            with open(plan, "wb") as file:
                file.write(bad)
            self.refused(model, "codl: ", "net.codl: ", text)
        os.remove(plan)
        self.refused(model, f"codl: {plan}: No such file")

    def test_options_are_checked(self):
        model = self.compile(TINY)
        for options, text in (({"thread": 1}, 'found "thread"'), ({"threads": "2x"}, 'found "2x"'),
                              ({"threads": 65}, 'found "65"'), ({"allow_cpu_fallback": "yes"}, 'found "yes"'),
                              ({"variant": "gpu77"}, "found gpu77")):
            self.refused(model, "codl: ", "expected ", text, **options)
        self.refused(model, "codl: option program_cache: /dev/null/x", program_cache="/dev/null/x")

    def test_the_cpu_stands_in_only_where_it_may(self):
        model = self.compile(TINY, "--strategy=gpu")
        self.refused(model, "codl: ", "OpenCL", opencl_device="no such device")
        session = self.session(model, opencl_device="no such device", allow_cpu_fallback=1)
        inputs = inputs_of(session)
        expected = self.run_codl(self.path("net.codl"), inputs, "--variant=cpu")
        self.expect_same(session, session.run(None, inputs), expected)


def skip(text):
    print(f"[SKIP] onnxruntime: {text}")
    sys.exit(77)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--network", action="append", default=[])
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(os.path.join(options.build, "bin"))
    LIBRARY = os.path.abspath(os.path.join(options.build, "lib", "libcodl_onnxruntime.so"))
    NETWORKS += options.network
    if not os.path.exists(LIBRARY):
        skip("no libcodl_onnxruntime.so (-DONNXRUNTIME_INCLUDE_DIR=)")
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError as error:
        skip(f"no Python package {error.name}")
    if not hasattr(onnxruntime, "register_execution_provider_library"):
        skip("no Python package onnxruntime of version 1.23 or newer")
    unittest.main(argv=[sys.argv[0], *rest])
