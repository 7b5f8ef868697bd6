#!/usr/bin/env python3
"""tools/phone/phone.sh against an adb and an ssh that are a folder of this machine.

Usage: phone_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import onnx_bytes
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
BIN = None

# adb's `shell`, `push` and `pull`: the shell's command line is one text.
ADB = """#!/bin/sh
[ "$1" = -s ] && { [ "$2" = fake ] || exit 1; shift 2; }
case $1 in
  shell) shift; exec sh -c "$*" ;;
  push | pull) exec cp -r "$2" "$3" ;;
esac
exit 1
"""
SSH = """#!/bin/sh
[ "$1" = board ] || { echo "no such host" >&2; exit 255; }
shift; cd "$FAKE_HOME" && exec sh -c "$*"
"""
SCP = """#!/bin/sh
for last; do :; done
while [ $# -gt 2 ]; do shift; done
cd "$FAKE_HOME" && exec cp -r "${1#board:}" "${2#board:}"
"""


class PhoneTest(WorkFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        for folder in ("kit/bin", "kit/lib", "fake", "home"):
            os.makedirs(self.path(folder))
        for name, text in (("adb", ADB), ("ssh", SSH), ("scp", SCP)):
            os.chmod(self.write(f"fake/{name}", text.encode()), 0o755)
        for tool in ("codl-run", "codl-bench", "codl-profile"):
            shutil.copy(os.path.join(BIN, tool), self.path("kit/bin"))
        shutil.copy(os.path.join(BIN, "..", "lib", "libcodl.so.0"), self.path("kit/lib"))
        shutil.copy(os.path.join(BIN, "..", "phone-kit", "phone.sh"), self.path("kit"))
        self.plan = self.path("net.codl")
        subprocess.run([os.path.join(BIN, "codlc"), MODEL, "-q", "-o", self.plan], check=True)

    def phone(self, *arguments, code=0, **more):
        env = {**os.environ, "PATH": self.path("fake") + ":" + os.environ["PATH"], "FAKE_HOME": self.path("home"),
               "CODL_PHONE_DIR": self.path("on device"), **more}
        result = subprocess.run([self.path("kit/phone.sh"), *arguments], capture_output=True, text=True, env=env, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.printed = result.stdout
        return result.stderr

    def check_bench_and_run(self, *flags, **more):
        said = self.phone(*flags, "bench", self.plan, self.path("bench.json"), "--num-runs=1", **more)
        with open(self.path("bench.json")) as file:
            bench = json.load(file)
        self.assertTrue(bench["steps"])
        self.assertEqual(said, "".join(f"codl-bench: note: {line}\n" for line in bench["advice"]))
        self.assertEqual(self.printed, f"variant cpu: median {bench['median_us'] / 1000:.3f} ms\n")
        self.phone(*flags, "bench", self.plan, self.path("bench.json"), "--adaptive", "--num-runs=1", **more)
        self.assertRegex(self.printed, r"\Avariant cpu: median \d+\.\d{3} ms\n\Z")
        self.phone(*flags, "bench", self.plan, self.path("bench.json"), "--all-variants", "--rounds=1", "--num-runs=1", **more)
        self.assertRegex(self.printed, r"\Avariant cpu: median \d+\.\d{3} ms\n\Z")
        npy.write(self.path("x.npy"), (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        self.phone(*flags, "run", self.plan, self.path("outputs"), f"input={self.path('x.npy')}", **more)
        self.assertEqual(len(os.listdir(self.path("outputs"))), 1)
        # A second run replaces the first one's files.
        os.remove(os.path.join(self.path("outputs"), os.listdir(self.path("outputs"))[0]))
        self.phone(*flags, "run", self.plan, self.path("outputs"), f"input={self.path('x.npy')}", **more)
        self.assertEqual([name for name in os.listdir(self.path("outputs")) if not name.endswith(".npy")], [])
        self.assertEqual(len(os.listdir(self.path("outputs"))), 1)

    def test_over_adb(self):
        self.check_bench_and_run("--serial=fake")

    def test_over_ssh(self):
        self.check_bench_and_run("--ssh=board", CODL_PHONE_DIR="codl")

    def evidence(self, *arguments, code=0):
        result = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "phone", "evidence.py"), f"--bin={BIN}", f"--out-dir={self.path('made')}",
                                 *arguments], capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_evidence_becomes_a_profile_and_a_table(self):
        # A profile that was measured before: the test is not about codl-profile, which takes ten minutes.
        self.write("kit/bin/codl-profile", f"#!/bin/sh\necho \"$@\" > flags\ncp {ROOT}/profiles/template.json profile.json\n"
                   "echo '#fact,CL_DEVICE_NAME,x' > profile.json.samples.csv\n".encode())
        out = self.path("evidence.zip")
        self.assertIn("kit/plans: expected plans ", self.phone("evidence", out, code=1))
        os.mkdir(self.path("kit/plans"))
        model = self.write("neg.onnx", onnx_bytes.model([onnx_bytes.node("Neg", ["x"], ["y"], "neg")], [onnx_bytes.value_info("x", [256])],
                                                        [onnx_bytes.value_info("y", [256])]))
        subprocess.run([os.path.join(BIN, "codlc"), model, "-q", "--device=template", "--strategy=gpu", "--variants=gpu,cpu",
                        "-o", self.path("kit/plans/net.codl")], check=True)
        self.phone("evidence", out, "--num-threads=2")
        with open(self.path("on device/work/flags")) as file:
            self.assertEqual(file.read(), "-o profile.json --force --time-budget=10m --num-threads=2\n")
        with zipfile.ZipFile(out) as archive:
            listed = {line.split()[0] for line in self.printed.splitlines()[1:]}
            for name in archive.namelist():
                self.assertTrue(any(re.fullmatch(text.replace("*", ".*"), name) for text in listed | {"README.txt"}), name)
            self.assertEqual(sorted(archive.namelist()), sorted([
                "README.txt", "device.txt", "net.bench.json", "net.codl", "net.self_test.json", "profile.json", "profile.json.samples.csv",
                "temperature_after.txt", "temperature_before.txt"]))
            told = b"".join(map(archive.read, archive.namelist())).decode(errors="replace")
            for personal in ("serial", os.uname().nodename, os.path.expanduser("~") + "/"):
                self.assertNotIn(personal, told)
        table = self.evidence(out, "--name=mine")
        self.assertRegex(table, r"\A\| plan \| variant .*\n\|---.*\n(\| net \| (gpu|cpu) \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| right \|\n){2}\Z")
        subprocess.run([os.path.join(BIN, "codlc"), MODEL, "-q", f"--device={self.path('made/mine.json')}", "-o", self.path("mine.codl")], check=True)

    def test_evidence_of_a_phone_that_fails_says_what(self):
        self.write("kit/bin/codl-profile", b"#!/bin/sh\nexit 70\n")
        os.mkdir(self.path("kit/plans"))
        shutil.copy(self.plan, self.path("kit/plans/net.codl"))
        out = self.path("evidence.zip")
        told = self.phone("evidence", out, code=1)
        self.assertIn("exit code 70", told)
        self.assertIn(f"phone.sh: error: {out}: expected all that --help tells of, found faults, which faults.txt in it lists\n", told)
        self.assertIn("expected a profile.json (its faults.txt may say why), found none", self.evidence(out, "--name=mine", code=1))
        with open(out, "rb") as file:
            whole = file.read()
        for name, contents in (("cut.zip", whole[:200]), ("empty.zip", b""), ("text.zip", b"text"), ("missing.zip", None)):
            if contents is not None:
                self.write(name, contents)
            self.assertRegex(self.evidence(self.path(name), "--name=mine", code=1), r"\Aevidence.py: error: [^\n]+: expected [^\n]+, found [^\n]+\n\Z")
        self.assertIn("--name: expected a name", self.evidence(out, "--name=../x", code=1))

    def test_outputs_replace_no_inputs(self):
        os.link(self.plan, self.path("link.codl"))
        for out in ("net.codl", "link.codl"):
            self.assertIn("expected an output that is none of the inputs", self.phone("bench", self.plan, self.path(out), code=1))
        name = os.path.basename(self.phone_output())
        npy.write(self.path(name), (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        size = os.path.getsize(self.path(name))
        self.assertIn("expected an output that is none of the inputs",
                      self.phone("run", self.plan, self.work, f"input={self.path(name)}", code=1))
        self.assertEqual(os.path.getsize(self.path(name)), size)
        self.assertEqual([name for name in os.listdir(self.work) if name.startswith(".part")], [])

    def phone_output(self):
        """Returns the file of a run's only output."""
        self.phone("run", self.plan, self.path("outputs"))
        return self.path("outputs", os.listdir(self.path("outputs"))[0])

    def test_the_tools_exit_codes_come_back(self):
        self.assertIn("codl-bench: error: ", self.phone("bench", MODEL, self.path("b.json"), code=1))
        self.assertFalse(os.path.exists(self.path("b.json")))
        self.phone("bench", self.plan, self.path("b.json"), "--no-such-flag", code=1)

    def test_what_did_not_come_back_whole_is_not_there(self):
        self.write("fake/adb", ADB.replace('exec cp -r "$2" "$3"', '[ $1 = push ] && exec cp -r "$2" "$3"; echo part > "$3"; exit 1').encode())
        out = self.write("b.json", b"old")
        self.assertIn("expected all of the device's bench.json", self.phone("bench", self.plan, out, "--num-runs=1", code=1))
        with open(out) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.work) if name.startswith("b.json.")], [])

    def test_what_is_wrong_is_said(self):
        for arguments, text in (([], "expected push, profile, bench, run or evidence"), (["fly"], "'fly'"), (["--x"], "a flag"),
                                (["bench", self.plan], "expected PLAN.codl OUT.json"),
                                (["bench", self.path("none"), "o"], "expected a plan's file"),
                                (["run", self.plan, "o", "input=none.npy"], "expected NAME=FILE.npy"),
                                (["bench", self.plan, self.path("no/such.json")], "expected a folder that can be written to"),
                                (["profile", self.path("fake")], "expected a file's name"),
                                (["--serial=other", "push"], "expected a device that can be reached"),
                                (["--ssh=nowhere", "push"], "expected a device that can be reached")):
            with self.subTest(arguments):
                self.assertIn(text, self.phone(*arguments, code=1).split("\n")[-2])
        self.assertEqual(self.phone("--help"), "")
        self.phone("--version")
        tool = subprocess.run([os.path.join(BIN, "codl-run"), "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.printed, f"phone.sh {tool.split()[1]}\n")
        os.mkdir(self.path("few"))
        for tool in ("bash", "dirname", "env"):
            os.symlink(shutil.which(tool), self.path("few", tool))
        for flags, program in ((), "adb"), (("--ssh=board",), "ssh"):
            self.assertEqual(self.phone(*flags, "push", code=1, PATH=self.path("few")),
                             f"phone.sh: error: PATH: expected {program}, found none\n")


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    unittest.main()
