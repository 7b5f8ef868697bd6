#!/usr/bin/env python3
"""codlc as a step of a build: depfiles, outputs that stay untouched, several devices in one call.

Usage: build_step_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import onnx_bytes
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
PROFILES = os.path.join(ROOT, "profiles")
BIN = None


def codlc(*arguments):
    return subprocess.run([os.path.join(BIN, "codlc"), *arguments], capture_output=True, text=True, timeout=300)


class BuildStepTest(WorkFolder, unittest.TestCase):
    def run_ok(self, *arguments):
        result = codlc(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def rule(self, name):
        """Returns the target and prerequisites of a depfile with one rule and simple names."""
        target, rest = self.read(name).decode().replace("\\\n", " ").split(":")
        return target, rest.split()

    def external_model(self):
        self.write("weights.bin", bytes(8))
        return self.write("net.onnx", onnx_bytes.model(
            [onnx_bytes.node("Add", ["x", "w"], ["y"], "add")], [onnx_bytes.value_info("x", [2])],
            [onnx_bytes.value_info("y", [2])], initializers=[onnx_bytes.external_tensor("w", [2], "weights.bin")]))

    def test_a_depfile_names_all_that_was_read(self):
        model = self.external_model()
        profile = self.write("mine.json", b'{"base": "sd855", "name": "mine"}')
        flags = self.write("flags", f"--device={profile}".encode())
        plan = self.path("net.codl")
        self.run_ok(model, "@" + flags, "-q", "-o", plan, "-MF", self.path("d"))
        target, prerequisites = self.rule("d")
        self.assertEqual(target, plan)
        self.assertEqual(sorted(map(os.path.basename, prerequisites)),
                         sorted(["flags", "mine.json", "sd855.json", "template.json", "net.onnx", "weights.bin"]))
        self.run_ok(model, "-q", "-o", plan, "-MF", self.path("d"), "-MT", "other")
        self.assertEqual(self.rule("d")[0], "other")

    def test_a_failed_compilation_writes_no_depfile(self):
        self.assertEqual(codlc(self.write("no.onnx", b"x"), "-o", self.path("p"), "-MF", self.path("d")).returncode, 1)
        self.assertFalse(os.path.exists(self.path("d")))
        result = codlc(MODEL, "--report-support", "-MF", self.path("d"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("--depfile: expected a plan to be written", result.stderr)

    def test_a_plan_with_equal_bytes_is_left_untouched(self):
        plan = self.path("net.codl")
        self.run_ok(MODEL, "-q", "-o", plan)
        before = os.stat(plan)
        self.run_ok(MODEL, "-q", "-o", plan)
        after = os.stat(plan)
        self.assertEqual((before.st_mtime_ns, before.st_ino), (after.st_mtime_ns, after.st_ino))
        self.run_ok(MODEL, "-q", "-o", plan, "--device=sd855")
        self.assertNotEqual(os.stat(plan).st_mtime_ns, before.st_mtime_ns)

    def test_several_devices_give_the_plans_of_one_call_each(self):
        devices = ("sd855", "sd865", "kirin990")
        shutil.copy(MODEL, self.path("net.onnx"))
        out = self.path("new/folder")
        result = self.run_ok(self.path("net.onnx"), f"--device={','.join(devices)}", f"--out-dir={out}", "-MF", self.path("d"))
        self.assertEqual(sorted(os.listdir(out)), sorted(f"net.{device}.codl" for device in devices))
        os.mkdir(self.path("like mkdir"))  # the umask takes rights away
        self.assertEqual(os.stat(self.path("new")).st_mode, os.stat(self.path("like mkdir")).st_mode)
        self.assertIn("codlc: note: 3 of 3: ", result.stderr)
        plans = [line.split(": ")[0] for line in result.stdout.split("\n") if ".codl: " in line]
        self.assertEqual(plans, [f"{out}/net.{device}.codl" for device in devices])  # in the devices' order
        rules = self.read("d").decode()
        for device in devices:
            self.run_ok(self.path("net.onnx"), "-q", f"--device={device}", "-o", self.path("one.codl"))
            self.assertEqual(self.read("one.codl"), self.read(f"new/folder/net.{device}.codl"))
            self.assertIn(f"{out}/net.{device}.codl: \\\n", rules)
        self.assertEqual(rules.count("profiles/sd865.json"), 1)

    def test_a_device_that_fails_does_not_lose_the_others(self):
        shutil.copy(MODEL, self.path("net.onnx"))
        result = codlc(self.path("net.onnx"), "--device=sd855,nosuch,kirin990", f"--out-dir={self.path('out')}", "-q",
                       "-MF", self.path("d"), "--jobs=1")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'\Acodlc: error: nosuch: --device: expected [^\n]+ found "nosuch"[^\n]*\n\Z')
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["net.kirin990.codl", "net.sd855.codl"])
        self.assertFalse(os.path.exists(self.path("d")))

    def test_flags_that_contradict_each_other_are_refused(self):
        for flags, text in ((["--device=sd855,sd865", "-o", self.path("p")], "--output: expected --out-dir with several"),
                            (["--out-dir=" + self.work, "-o", self.path("p")], "--output: expected it without --out-dir"),
                            (["--device=sd855,sd865", "-MT", "x"], "--depfile-target: expected it with one device"),
                            (["--device=sd855,sd855", "--out-dir=" + self.work], "outputs that are different files"),
                            (["--out-dir=" + MODEL], "found Not a directory"),
                            (["-o", self.path("p"), "-MF", self.path("p")], "outputs that are different files")):
            with self.subTest(flags):
                result = codlc(MODEL, *flags)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assertIn(text, result.stderr)
        self.assertEqual(os.listdir(self.work), [])


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv[sys.argv.index("--bin") + 1])
    del sys.argv[sys.argv.index("--bin"):sys.argv.index("--bin") + 2]
    unittest.main()
