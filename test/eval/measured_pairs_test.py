#!/usr/bin/env python3
"""measured_pairs.py with programs that only say what they would have measured."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# A build whose programs note their arguments in $CALLS. codlc's plan is its own arguments; $TIMES has a plan's times:
# by network and variant, microseconds and the prediction.
PROGRAM = """#!{python}
import json, os, sys
tool, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps([tool, *arguments]) + "\\n")
times = json.load(open(os.environ["TIMES"]))
flags = dict(a.split("=", 1) for a in arguments if a.startswith("--") and "=" in a)
if tool in ("codl-profile", "codlc"):
    open(arguments[arguments.index("-o") + 1], "w").write(json.dumps(arguments))
    sys.exit()
words = json.load(open(arguments[0]))
network = times[os.path.basename(words[0])[:-len(".onnx")]]
names = ["gpu", "cpu"] if "--strategy=gpu" in words else ["coexec", "cpu"]
def us_of(name):
    if name == "coexec" and not network["split"]:
        name = "cpu"
    return network[name]
if tool == "codl-dump":
    def steps_of(name):
        queues = ["cpu", "gpu"] if name == "coexec" and network["split"] else ["gpu"] if name == "gpu" else ["cpu"]
        return [{{"kind": "kernel", "queue": queue}} for queue in queues]
    print(json.dumps({{"variants": [{{"name": name, "steps": steps_of(name)}} for name in names]}}))
elif "--all-variants" in arguments:
    report = json.dumps({{"missing": [], "variants": [
        {{"variant": name, "predicted_us": 0.9 * us_of(name), "rounds_us": [us_of(name)] * int(flags["--rounds"])}}
        for name in names]}})
    if "-o" in arguments:
        open(arguments[arguments.index("-o") + 1], "w").write(report)
    print(report)
else:
    us = us_of(flags["--variant"])
    print(json.dumps({{"predicted_us": 0.9 * us, "median_us": us}}))
"""

FAST = {"split": True, "coexec": 800, "cpu": 1200, "gpu": 1600}
SLOW = {"split": True, "coexec": 1300, "cpu": 1200, "gpu": 1600}
ALONE = {"split": False, "cpu": 1200, "gpu": 1600}


class MeasuredPairsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for tool in ("codl-profile", "codlc", "codl-dump", "codl-bench"):
            with open(self.path("bin", tool), "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(python=sys.executable))
            os.chmod(file.name, 0o755)

    def path(self, *names):
        path = os.path.join(self.folder.name, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def run_script(self, networks, *flags):
        with open(self.path("times.json"), "w", encoding="utf-8") as file:
            json.dump(networks, file)
        for name in networks:
            open(self.path("models", name + ".onnx"), "w", encoding="utf-8").close()
        return subprocess.run(
            [sys.executable, os.path.join(HERE, "measured_pairs.py"), self.path("bin"), self.path("models"),
             "--work", self.path("work"), "--networks=" + ",".join(networks), *flags], capture_output=True, text=True,
            env=dict(os.environ, CALLS=self.path("calls"), TIMES=self.path("times.json")))

    def calls(self, tool):
        with open(self.path("calls"), encoding="utf-8") as file:
            return [call for call in map(json.loads, file) if call[0] == tool]

    def results(self):
        with open(self.path("work", "results.json"), encoding="utf-8") as file:
            return json.load(file)["conditions"]

    def test_plans_that_are_the_cpus_to_the_byte_hold(self):
        done = self.run_script({"fast": FAST, "alone": ALONE}, "--conditions=unpinned")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 are the CPU plan to the byte; the slowest runs at 1.500 times", done.stdout)
        self.assertIn(": met.", done.stdout)
        pins = [flag for call in self.calls("codl-profile") + self.calls("codl-bench") for flag in call
                if "-cores" in flag or "--num-threads" in flag]
        self.assertEqual(pins, [])

    def test_a_plan_slower_than_the_cpus_fails(self):
        done = self.run_script({"fast": FAST, "slow": SLOW}, "--conditions=unpinned")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("MISSED", done.stdout)
        self.assertRegex(done.stdout, r"slow \|.* NO \|")

    def test_pinned_counts_splits_and_errors(self):
        done = self.run_script({"fast": FAST, "alone": ALONE}, "--conditions=pinned", "--cpu-cores=2", "--gpu-cores=3")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("1 of 2 networks are split (target 70%); S is 1.250 in the mean", done.stdout)
        self.assertIn("10.0 % off in the median", done.stdout)
        for call in self.calls("codl-profile") + self.calls("codl-bench"):
            self.assertIn("--cpu-cores=2", call)
            self.assertIn("--gpu-cores=3", call)
        self.assertEqual(self.run_script({"fast": FAST}, "--work=" + self.path("other"), "--conditions=pinned").returncode, 0)

    def test_what_is_there_is_not_measured_again(self):
        networks = {"fast": FAST, "alone": ALONE}
        done = self.run_script(networks, "--conditions=unpinned", "--time-budget=0s")
        self.assertEqual((done.returncode, self.results()["unpinned"]["networks"]), (3, {}), done.stderr)
        self.assertFalse(os.path.exists(self.path("calls")))
        self.assertEqual(self.run_script(networks, "--conditions=unpinned").returncode, 0)
        before = len(self.calls("codl-bench"))
        self.assertEqual(self.run_script(networks, "--conditions=unpinned").returncode, 0)
        self.assertEqual((len(self.calls("codl-bench")), len(self.calls("codl-profile"))), (before, 1))

    def test_another_build_runs_in_the_same_rounds(self):
        done = self.run_script({"fast": FAST}, "--conditions=pinned", "--old", self.path("bin"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("S of the other build is 1.500 in the mean", done.stdout)
        times = self.results()["pinned"]["networks"]["fast"]["times"]
        self.assertEqual(len(times["old coexec"]["rounds_us"]), len(times["coexec"]["rounds_us"]))
        # S = 1200 / 800, S* = 1 + 1200 / 1600.
        self.assertIn("ideal gain, (S - 1) / (S* - 1), this build's plans reach 0.67 in the mean of 1 networks, 0.67 "
                      "at least: 0.00 more than the other build's", done.stdout.replace("\n", " "))

    def test_plans_learn_from_those_before(self):
        done = self.run_script({"fast": FAST}, "--conditions=pinned", "--learn=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        learned = [[flag for flag in call if flag.startswith("--learn=")] for call in self.calls("codlc")]
        self.assertEqual([len(flags) for flags in learned], [0, 0, 2, 3])
        times = self.results()["pinned"]["networks"]["fast"]["times"]
        self.assertEqual(len(times["learned coexec"]["rounds_us"]), len(times["coexec"]["rounds_us"]))
        self.assertIn("those that learned reach 0.67", done.stdout)
        self.assertIn("| 0.67 | 0.80 | -10.0 | 0.67 |", done.stdout)

    def test_a_program_that_fails_ends_it_with_its_words(self):
        with open(self.path("bin", "codlc"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'codlc: error: of no use' >&2\nexit 1\n")
        done = self.run_script({"fast": FAST})
        self.assertEqual(done.returncode, 1)
        self.assertIn("codlc: error: of no use", done.stderr)
        done = self.run_script({}, "--networks=none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected none.onnx, found no such file", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
