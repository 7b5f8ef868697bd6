#!/usr/bin/env python3
"""codl-matrix --dask against a scheduler and workers on this machine: bytes are those of a run by Ninja, whatever is lost.

Usage: cluster_test.py --bin build/release/bin [unittest arguments]     needs python3-distributed, else exit code 77
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import onnx_bytes
from work_folder import WorkFolder

MODELS = os.path.join(ROOT, "examples", "models")
BIN = None


class ClusterTest(WorkFolder, unittest.TestCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        for name in ("tiny_resnet", "super_resolution"):
            shutil.copy(os.path.join(MODELS, name + ".onnx"), self.path(name + ".onnx"))
        self.program("bin", f'case "$1" in --*) ;; *) echo . >> "{self.path("calls")}"; sleep 0.5;; esac\nexec "{BIN}/codlc" "$@"')
        os.symlink(os.path.join(BIN, "..", "share"), self.path("share"))
        self.write("mine.json", b'{"base": "sd855", "name": "mine"}')
        self.address = None

    def program(self, folder, text):
        """Writes a codlc."""
        os.mkdir(self.path(folder))
        os.chmod(self.write(f"{folder}/codlc", f"#!/bin/sh\n{text}\n".encode()), 0o755)

    def start(self, *arguments, path=None):
        environment = {**os.environ, "PATH": path or os.defpath}
        process = subprocess.Popen([sys.executable, "-m", *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_scheduler(self):
        scheduler = self.start("distributed.cli.dask_scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard",
                               f"--scheduler-file={self.path('scheduler.json')}")
        while not self.address:
            time.sleep(0.1)
            try:
                with open(self.path("scheduler.json")) as file:
                    self.address = json.load(file)["address"]
            except (FileNotFoundError, ValueError):
                pass
        return scheduler

    def start_workers(self, **folders):
        """Starts a worker with one thread for each (name, folder of its codlc), and waits until all are known."""
        workers = [self.start("distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads=1", "--no-dashboard", f"--name={name}",
                              f"--local-directory={self.path(name)}", path=f"{self.path(folder)}:/bin:/usr/bin")
                   for name, folder in folders.items()]
        import distributed
        with distributed.Client(self.address) as client:
            while len(client.scheduler_info()["workers"]) < len(workers):
                time.sleep(0.1)
        return workers

    def models(self, *models, devices=("sd855", "sd865", "mine.json"), options=("--search-budget=200",)):
        self.write("models.json", json.dumps({"models": [{"model": name} for name in models or ("tiny_resnet.onnx", "super_resolution.onnx")],
                                              "devices": devices, "options": options}).encode())

    def command(self, out, *flags):
        return [sys.executable, os.path.join(ROOT, "tools", "python", "codl-matrix"), self.path("models.json"), f"--codlc={self.path('bin/codlc')}",
                f"--out-dir={self.path(out)}", *flags]

    def matrix(self, out, *flags, code=0):
        if os.path.exists(self.path("calls")):
            os.remove(self.path("calls"))
        result = subprocess.run(self.command(out, *flags), capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stderr

    def dask(self, out, code=0):
        return self.matrix(out, f"--dask={self.address}", code=code)

    def calls(self):
        with open(self.path("calls")) as file:
            return len(file.readlines())

    def test_a_lost_worker_costs_its_own_edge(self):
        self.models()
        said = self.matrix("here")
        self.start_scheduler()
        workers = self.start_workers(a="bin", b="bin", c="bin")
        os.remove(self.path("calls"))
        with subprocess.Popen(self.command("there", f"--dask={self.address}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertRegex(process.stdout.readline(), r"\A\[1/6, about \d+ s left\] \w+ on \w+\n\Z")
            workers[0].send_signal(signal.SIGKILL)
            rest, there = process.communicate(timeout=120)
        self.assertEqual((process.returncode, there), (0, said), rest)
        self.assertIn("[6/6] ", rest)
        self.assertEqual(self.tree("there"), self.tree("here"))
        self.assertEqual(len([name for name in self.tree("there") if name.endswith("plan.codl")]), 6)
        self.assertIn(self.calls(), (6, 7))
        # Files that a worker has are not sent again.
        stored = {os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime_ns
                  for worker in "bc" for folder, _, files in os.walk(self.path(worker)) for name in files if re.fullmatch("[0-9a-f]{64}", name)}
        self.assertGreater(len(stored), 2)
        self.models(options=["--strategy=cpu"])
        self.dask("there")
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in stored}, stored)

    def test_workers_that_cannot_compile_are_named_and_left_out(self):
        self.program("other", f'exec "{BIN}/codlc" "$@" ')
        os.mkdir(self.path("empty"))
        self.models(devices=("sd855", "mine.json"))
        self.start_scheduler()
        self.start_workers(b="other", c="empty")
        told = self.dask("none", code=1)
        self.assertEqual(re.findall(r"(?m)^codl-matrix: error: (.*)$", told), [f"--dask: expected a worker that compiles, found none at {self.address}"])
        self.assertRegex(told, r"codl-matrix: warning: worker \S+: codlc: expected that of the sender, found ")
        self.start_workers(a="bin")
        told = self.dask("there")
        self.assertLessEqual(len(re.findall(r"warning: worker \S+: codlc: expected that of the sender, found (?:none in PATH|\S+/other/codlc, )", told)), 2)
        self.matrix("here")
        self.assertEqual(self.tree("there"), self.tree("here"))

    def test_a_worker_without_space_is_left_out(self):
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", self.path("small")], stderr=subprocess.DEVNULL).returncode:
            print("[SKIP] a full disk: mounting a tmpfs is not permitted")
            return
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")], check=True)
        self.models(devices=("sd855", "mine.json"))
        self.start_scheduler()
        self.start_workers(small="bin")
        self.assertRegex(self.dask("none", code=1), r"warning: worker \S+: \S+: expected space to write to, found No space left on device\n"
                         r"codl-matrix: error: --dask: expected a worker that compiles, found none at .*\n\Z")

    def test_what_cannot_be_sent_or_reached_is_one_line(self):
        self.models()
        for flag, text in (("tcp://127.0.0.1:9", "a Dask scheduler at tcp://127.0.0.1:9, found "), ("nowhere", "tcp://HOST:PORT, found 'nowhere'")):
            self.assertRegex(self.matrix("out", f"--dask={flag}", code=1), rf"\Acodl-matrix: error: --dask: expected {text}[^\n]*\n\Z")
        scheduler = self.start_scheduler()
        self.assertEqual(self.dask("out", code=1), f"codl-matrix: error: --dask: expected a worker that compiles, found none at {self.address}\n")
        self.models(options=["--calibration=c"])
        self.assertEqual(self.dask("out", code=1), "codl-matrix: error: --dask: expected options that name no files, found '--calibration=c'\n")
        self.models()
        self.start_workers(a="bin")
        with subprocess.Popen(self.command("out", f"--dask={self.address}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            scheduler.kill()
            told = process.communicate(timeout=120)[1]
        self.assertEqual((process.returncode, told), (1, f"codl-matrix: error: --dask: expected the scheduler at {self.address}, found that it is gone\n"))

    def test_weights_in_other_files_and_errors_arrive(self):
        os.mkdir(self.path("data"))
        self.write("data/w.bin", bytes(range(16)))
        add = onnx_bytes.node("Add", ["x", "w"], ["y"], "add")
        values = [onnx_bytes.value_info(name, [4]) for name in "xy"]
        for name, place in (("net", "data/w.bin"), ("lacks", "data/none.bin")):
            self.write(f"{name}.onnx", onnx_bytes.model([add], values[:1], values[1:],
                                                        initializers=[onnx_bytes.external_tensor("w", [4], place)]))
        self.models("net.onnx", "lacks.onnx", devices=["sd855"])
        said = self.matrix("here", code=1)
        self.assertIn("none.bin", said)
        self.start_scheduler()
        self.start_workers(a="bin")
        self.assertEqual(self.dask("there", code=1), said)
        self.assertEqual(self.tree("there"), self.tree("here"))


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    try:
        import distributed  # noqa: F401
    except ImportError:
        print("[SKIP] cluster: no Python package distributed")
        sys.exit(77)
    unittest.main()
