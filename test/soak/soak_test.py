#!/usr/bin/env python3
"""Checks that soak finds planted leaks, each in a line of its own, and that soak.sh goes through all plans.

    soak_test.py --bin BUILD/bin
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GREW = 70
BIN = None

# Replaces codlc: the last argument is the plan.
FAKE_CODLC = """#!/usr/bin/env bash
for last; do :; done
case $* in *REFUSED*) echo "codlc: error: refused" >&2; exit 2 ;; esac
echo "$last" > "$last"
"""
FAKE_SOAK = """#!/usr/bin/env bash
echo "soaked ${1##*/}"
case $1 in *FAILING*) echo "soak: internal error: expected no more" >&2; exit 70 ;; esac
"""


class LeakTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plan = os.path.join(cls.folder.name, "plan.codl")
        subprocess.run([os.path.join(BIN, "codlc"), os.path.join(ROOT, "examples/models/tiny_resnet.onnx"), "--device=host",
                        "--strategy=cpu", "--quiet", "-o", cls.plan], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def soak(self, leak):
        return subprocess.run([os.path.join(BIN, "soak"), self.plan, "--creations=20", f"--leak={leak}"], capture_output=True,
                              text=True)

    def counts(self, leak):
        """Returns soak's counts for a planted leak, before and after: [(MB, threads, descriptors, objects)]."""
        done = self.soak(leak)
        self.assertEqual(done.returncode, GREW, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, r"20 sessions: expected no more than .* allocated, .*, found .* allocated")
        found = re.findall(r"([\d.]+) MB allocated, \d+ plans mapped, (\d+) threads, (\d+) descriptors, (\d+) OpenCL objects",
                           done.stderr)
        return [(float(mb), *map(int, others)) for mb, *others in found]

    def test_nothing_is_found_where_nothing_is_planted(self):
        done = self.soak("nothing")
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_grew(self, leak, by):
        (_, *before), (_, *after) = self.counts(leak)
        self.assertEqual(tuple(end - begin for begin, end in zip(before, after)), by)

    # 15 of 20 sessions are compared; memory may grow by 2 MiB.
    def test_memory_is_found(self):
        (before, *others), (after, *others_after) = self.counts("memory")
        self.assertGreater(after - before, 15 * 0.25)
        self.assertEqual(others, others_after)

    def test_threads_are_found(self):
        self.assert_grew("thread", (15, 0, 0))

    def test_descriptors_are_found(self):
        self.assert_grew("descriptor", (0, 15, 0))

    def test_opencl_objects_are_found(self):
        self.assert_grew("object", (0, 0, 15))


class ScriptTest(unittest.TestCase):
    def soak_all(self, codlc=FAKE_CODLC, soak=FAKE_SOAK):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("codlc", codlc), ("soak", soak)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            return subprocess.run([os.path.join(ROOT, "test/soak.sh"), "10s", "1", folder], capture_output=True, text=True)

    def test_all_plans_pass(self):
        done = self.soak_all()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("soaked "), 6)
        self.assertEqual(done.stderr, "")

    def test_a_plan_that_fails_does_not_keep_the_others_from_their_turn(self):
        done = self.soak_all(soak=FAKE_SOAK.replace("FAILING", "host_s"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("soaked "), 6)
        self.assertIn("soak.sh: expected 6 plans without a fault, found 3 with: host_sub_buffer host_separate "
                      "host_separate_images\n", done.stderr)

    def test_a_plan_that_is_not_compiled_is_a_fault(self):
        done = self.soak_all(codlc=FAKE_CODLC.replace("REFUSED", "host_images.json"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("soaked "), 5)
        self.assertIn("found 1 with: host_images\n", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = options.bin
    unittest.main(argv=[sys.argv[0], *rest])
