#!/usr/bin/env python3
"""Checks that each program replay_NAME refuses what is no file with one line and an exit code.

    replay_test.py --bin BUILD/bin
"""
import argparse
import glob
import os
import subprocess
import tempfile
import unittest

BIN = None


class ReplayTest(unittest.TestCase):
    def test_what_is_no_file_is_refused(self):
        programs = sorted(glob.glob(os.path.join(BIN, "replay_*")))
        self.assertNotEqual(programs, [])
        with tempfile.TemporaryDirectory() as folder:
            pipe, empty = os.path.join(folder, "pipe"), os.path.join(folder, "empty")
            os.mkfifo(pipe)
            open(empty, "wb").close()
            for program in programs:
                for path in (folder, pipe, "/dev/zero", os.path.join(folder, "missing")):
                    with self.subTest(program=program, path=path):
                        done = subprocess.run([program, path], capture_output=True, text=True, timeout=60)
                        self.assertEqual(done.returncode, 1, done.stderr)
                        self.assertRegex(done.stderr, r"\A\S.*: expected .*[,;] found .*\n\Z")
                        self.assertIn(path, done.stderr)
                with self.subTest(program=program):
                    subprocess.run([program, empty], check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    options, rest = parser.parse_known_args()
    BIN = os.path.abspath(options.bin)
    unittest.main(argv=[__file__, *rest])
