#!/usr/bin/env python3
"""docs/guide/troubleshooting.md: every text on the page is provoked, as a user would meet it.

Usage: troubleshooting_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import argparse
import ctypes
import glob
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import onnx_bytes
from work_folder import WorkFolder

PAGE = os.path.join(ROOT, "docs", "guide", "troubleshooting.md")
MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
INPUT_DIMS = (1, 3, 64, 64)
# Matches placeholders in the page's texts: numbers, names, and arbitrary text.
BLANKS = re.compile(r"\b[NMVWX]\b|\bNAME\b|\.\.\.")
BIN = None


def rows():
    """Returns the first cells of the page's tables."""
    with open(PAGE) as file:
        cells = [re.split(r"(?<!\\) \| ", line.strip("| \n"))[0] for line in file if line.startswith("| ")]
    return [cell for cell in cells if cell != "text"]


def texts_of(cell):
    """Returns patterns of the texts that a cell quotes; names of tools are not texts."""
    quoted = [text for text in re.findall(r"`([^`]+)`", cell) if not re.fullmatch(r"codl[a-z-]*|CODL_[A-Z_]+", text)]
    return [".*".join(map(re.escape, BLANKS.split(text))) for text in quoted]


class TroubleshootingTest(WorkFolder, unittest.TestCase):
    def run_tool(self, tool, *arguments, code=None, env=None, preexec_fn=None):
        """Returns everything that it prints."""
        result = subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True, timeout=300,
                                stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, cwd=self.work,
                                preexec_fn=preexec_fn)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def plan(self, *flags, model=MODEL):
        path = self.path("net.codl")
        self.run_tool("codlc", model, "-q", "-o", path, *flags, code=0)
        return path

    def bytes_of_plan(self):
        with open(self.plan(), "rb") as file:
            return file.read()

    def split_plan(self):
        return self.plan("--device=host-pair", "--place=*=split:h:0.5")

    def model(self, *nodes, dims=(1, 8), elem_type=onnx_bytes.FLOAT, out_type=None, initializers=()):
        return self.write("m.onnx", onnx_bytes.model(
            [onnx_bytes.node(*node) for node in nodes], [onnx_bytes.value_info("x", dims, elem_type)],
            [onnx_bytes.value_info("y", dims, out_type or elem_type)], initializers=initializers))

    def faulty(self, fault):
        shim = self.path("opencl_faults.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, os.path.join(HERE, "opencl_faults.c")], check=True)
        return {"LD_PRELOAD": shim, "CODL_TEST_OPENCL": fault}

    # ---- what provokes each row, by a part of its first cell ----

    def provokers(self):
        return {
            "FILE.json or a device of": lambda: self.run_tool("codlc", MODEL, "--device=sd85", code=1),
            "a number for every dim": lambda: self.run_tool(
                "codlc", self.model(("Relu", ["x"], ["y"], "relu"), dims=("batch", 8)), code=1),
            "list of operators": lambda: self.run_tool(
                "codlc", self.model(("Unique", ["x"], ["y"], "unique")), "--report-support", code=2),
            "external data": lambda: self.run_tool("codlc", self.model(
                ("Add", ["x", "w"], ["y"], "add"),
                initializers=[onnx_bytes.external_tensor("w", (1, 8), "weights.bin")]), code=1),
            "of the multiply-adds": lambda: self.run_tool("codlc", self.model(
                ("MatMulInteger", ["x", "x"], ["y"], "matmul"), dims=(8, 8), elem_type=onnx_bytes.INT8, out_type=onnx_bytes.INT32), "--max-fallback=5%", code=3),
            "are assumed": lambda: self.run_tool("codlc", MODEL, "--device=sd855", "-o", "p", code=0),
            "is the best plan found, not both processors": lambda: self.run_tool("codlc", MODEL, "--device=sd855", "-o", "p", code=0),
            "OpenCL device is the CPU itself": lambda: self.run_tool("codlc", MODEL, "--device=host", "-o", "p", code=0),
            "none of the outputs": self.output_over_input,
            "enough memory": lambda: self.run_tool(
                "codlc", self.large_model(), "--strategy=cpu", code=70,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (60 << 20, 60 << 20))),
            "another folder as TMPDIR": lambda: self.run_tool(
                "codlc", self.large_model(), "--strategy=cpu", code=1, env={"TMPDIR": self.path("nowhere")}),
            "from CMake": self.other_codlc,
            "preset android": self.no_ndk,
            "plan format version": self.other_version,
            "a plan, found": self.no_plans,
            "OpenCL: expected a device": self.no_opencl,
            "has no fine-grained SVM": self.unfitting_device,
            "NAME=FILE.npy": lambda: self.run_tool("codl-run", self.plan(), "--input=nobody=x.npy", code=1),
            "for input NAME": self.wrong_dims,
            "a variant with GPU steps": lambda: self.run_tool(
                "codl-run", self.plan("--strategy=cpu"), "--self-test", code=1),
            "CODL_WRONG_RESULT": self.wrong_driver,
            "waits by flag are by event": lambda: self.run_tool(
                "codl-run", self.plan("--device=" + os.path.join(ROOT, "test", "profiles", "host_flags.json"), "--place=*=split:h:0.5"), code=0),
            "codl_session_cancel": lambda: self.by_two_threads(lambda library, session: library.codl_session_cancel(session)),
            "another thread in a run": lambda: self.by_two_threads(None),
            "warnings generated": self.compiler_warnings,
            "machine is busy": self.busy_profile,
            "of one variant lie": self.busy_rounds,
            "too few samples": lambda: self.run_tool("codl-profile", "--cpu-only", "--time-budget=1s", "-o", "p.json"),
            "predicted to be the fastest": lambda: self.wrong_profile("predicted to be the fastest"),
            "a factor of": lambda: self.wrong_profile("a factor of"),
            "that its profile has as a base": self.other_device,
            "that --measured-on names": self.other_machine,
            "and what was measured are up to": lambda: self.wrong_profile("are up to"),
        }

    def large_model(self):
        """Returns a model with more weights than codlc keeps in memory."""
        dims = (8192, 2304)
        with open(self.path("w.bin"), "wb") as file:
            file.truncate(dims[0] * dims[1] * 4)
        return self.write("large.onnx", onnx_bytes.model(
            [onnx_bytes.node("MatMul", ["x", "w"], ["y"], "matmul")], [onnx_bytes.value_info("x", (1, dims[0]))],
            [onnx_bytes.value_info("y", (1, dims[1]))], initializers=[onnx_bytes.external_tensor("w", dims, "w.bin")]))

    def output_over_input(self):
        shutil.copy(MODEL, self.path("net.onnx"))
        return self.run_tool("codlc", "net.onnx", "-o", "net.onnx", code=1)

    def no_plans(self):
        data = self.bytes_of_plan()
        said = ""
        for name, contents in (("text.codl", b"codl" + b"x" * 1000), ("half.codl", data[:len(data) // 2])):
            said += self.run_tool("codl-run", self.write(name, contents), code=1)
        return said

    def other_version(self):
        data = self.bytes_of_plan()
        return self.run_tool("codl-run", self.write("newer.codl", data[:4] + b"\xff" + data[5:]), code=2)

    def no_opencl(self):
        plan = self.split_plan()
        os.mkdir(self.path("vendors"))
        return self.run_tool("codl-run", plan, env={"OCL_ICD_VENDORS": self.path("vendors")}, code=0) + \
            self.run_tool("codl-run", plan, env=self.faulty("none"), code=0)

    def wrong_dims(self):
        npy.write(self.path("x.npy"), (1, 3, 8, 8), [0.0] * 192)
        return self.run_tool("codl-run", self.plan(), "--input=input=x.npy", code=1)

    def wrong_driver(self):
        plan = self.split_plan()
        said = self.run_tool("codl-run", plan, "--check-every=1", env=self.faulty("wrong"), code=70)
        # The page advises this.
        self.run_tool("codl-run", plan, "--self-test", "--json", "-o", "quirks.json", env=self.faulty("wrong"), code=70)
        avoided = self.path("avoided.codl")
        self.run_tool("codlc", MODEL, "-q", "--device=host-pair", "--avoid=quirks.json", "-o", avoided, code=0)
        with open(self.path("quirks.json")) as file:
            wrong = {quirk["kernel"] for quirk in json.load(file)["quirks"]}
        self.assertTrue(wrong)
        steps = json.loads(self.run_tool("codl-dump", avoided, "--json", code=0))["variants"][0]["steps"]
        self.assertFalse(wrong & {step.get("kernel") for step in steps})
        return said

    def unfitting_device(self):
        return self.run_tool("codl-run", self.split_plan(), "--require-variant", env=self.faulty("no_svm"), code=2)

    def other_codlc(self):
        run = lambda *command: subprocess.run(command, capture_output=True, text=True, timeout=300)
        installed = run("cmake", "--install", os.path.dirname(BIN), "--prefix", self.path("installed"))
        self.assertEqual(installed.returncode, 0, installed.stderr)
        os.makedirs(self.path("other", "bin"))
        fake = self.write("other/bin/codlc", b'#!/bin/sh\necho "codlc 0.0.0 (plan format 1)"\n')
        os.chmod(fake, 0o755)
        self.write("CMakeLists.txt", b"cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nfind_package(codl CONFIG REQUIRED)\n")
        return run("cmake", "-S", self.work, "-B", self.path("b"), f"-DCMAKE_PREFIX_PATH={self.path('installed')}",
                   f"-DCODL_HOST_PREFIX={self.path('other')}").stderr

    def no_ndk(self):
        env = {name: value for name, value in os.environ.items() if name != "ANDROID_NDK_HOME"}
        return subprocess.run(["cmake", "--preset", "android", "-B", self.path("android")], cwd=ROOT, env=env,
                              capture_output=True, text=True).stderr

    # ---- by the C API ----

    def by_two_threads(self, disturb):
        """Returns the message of a run while another thread runs, or while `disturb` acts."""
        plan_path = self.plan(model=os.path.join(ROOT, "examples", "models", "super_resolution.onnx"))
        info = json.loads(self.run_tool("codl-dump", plan_path, "--json"))
        library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(BIN), "lib*", "libcodl.so"))[0])

        class Diag(ctypes.Structure):
            _fields_ = [("message", ctypes.c_char * 256)]

        class Buffer(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]

        def buffers(tensors):
            memory = [ctypes.create_string_buffer(4 * math.prod(tensor["dims"])) for tensor in tensors]
            return memory, (Buffer * len(memory))(*[(ctypes.addressof(one), len(one)) for one in memory])
        plan, session, diag = ctypes.c_void_p(), ctypes.c_void_p(), Diag()
        self.assertEqual(library.codl_plan_open_file(plan_path.encode(), None, ctypes.byref(plan), ctypes.byref(diag)), 0)
        self.assertEqual(library.codl_session_create(plan, None, ctypes.byref(session), ctypes.byref(diag)), 0)
        sides = [buffers(info[key]) for key in ("inputs", "outputs")]

        def run():
            said = Diag()
            status = library.codl_session_run(session, sides[0][1], len(sides[0][1]), sides[1][1], len(sides[1][1]),
                                              ctypes.byref(said))
            if status != 0:
                failures.append(said.message.decode())
        failures, is_over = [], threading.Event()

        def others():
            while not is_over.is_set():
                disturb(library, session) if disturb else run()
        other = threading.Thread(target=others)
        other.start()
        for _ in range(1000):
            run()
            if failures:
                break
        is_over.set()
        other.join()
        library.codl_session_destroy(session)
        library.codl_plan_close(plan)
        return "\n".join(failures)

    # ---- of this machine ----

    def compiler_warnings(self):
        plan = self.split_plan()
        os.mkdir(self.path("cache"))
        said = self.run_tool("codl-run", plan, "--json", env={"POCL_CACHE_DIR": self.path("cache")}, code=0)
        self.assertIn("Portable Computing Language", said)
        return said

    def busy(self):
        """Starts other programs, twice as many as there are cores."""
        for _ in range(2 * os.cpu_count()):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)

    def busy_profile(self):
        self.busy()
        return self.run_tool("codl-profile", "--cpu-only", "--time-budget=2s", "-o", "p.json")

    def busy_rounds(self):
        """Stops it again and again, from its second third on."""
        plan = self.plan("--strategy=gpu", model=os.path.join(ROOT, "examples", "models", "super_resolution.onnx"))
        process = subprocess.Popen([os.path.join(BIN, "codl-bench"), plan, "--all-variants", "--rounds=6", "--num-runs=40"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.work)
        time.sleep(1)
        while process.poll() is None:
            for what in (signal.SIGSTOP, signal.SIGCONT):
                process.send_signal(what)
                time.sleep(0.004)
        return process.communicate()[0]

    def wrong_profile(self, text):
        """Repeats until a busy machine did not spread the times too much for this message."""
        plan = self.plan("--device=h200-nvidia", "--strategy=gpu")
        for _ in range(20):
            said = self.run_tool("codl-bench", plan, "--all-variants", "--rounds=2", "--num-runs=5")
            if text in said:
                break
        return said

    def other_device(self):
        plan, bench = self.plan("--device=sd855", "--strategy=cpu"), self.path("bench.json")
        self.run_tool("codl-bench", plan, "--num-runs=1", "--json", "--steps", "-o", bench, code=0)
        return self.run_tool("codlc", MODEL, "--device=sd865", f"--learn={plan}={bench}", "-o", "p", code=1)

    def other_machine(self):
        plan, bench = self.plan("--device=sd855", "--strategy=gpu"), self.path("bench.json")
        self.run_tool("codl-bench", plan, "--num-runs=1", "--json", "--steps", "-o", bench, code=0)
        return self.run_tool("codlc", MODEL, "--device=sd855", f"--learn={plan}={bench}", "-o", "p", code=1)

    # ---- the page ----

    def test_every_text_is_what_is_said(self):
        provokers = self.provokers()
        found = rows()
        self.assertEqual(len(found), len(provokers))
        for cell in found:
            provoke = [body for part, body in provokers.items() if part in cell]
            self.assertEqual(len(provoke), 1, cell)
            with self.subTest(cell):
                try:
                    said = provoke[0]()
                finally:  # a folder of its own for each
                    self.doCleanups()
                    self.setUp()
                for pattern in texts_of(cell):
                    self.assertRegex(said, pattern)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(options.bin)
    unittest.main(argv=[sys.argv[0], *rest])
