#!/usr/bin/env python3
"""codl-matrix and codl-diff on small networks.

Usage: matrix_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
from work_folder import WorkFolder

MODELS = os.path.join(ROOT, "examples", "models")
TOOLS = os.path.join(ROOT, "tools", "python")
BIN = None
DEVICES = ["sd855", "sd865", "kirin990"]


def sha256sums(folder):
    return subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True).returncode


class MatrixTest(WorkFolder, unittest.TestCase):
    def setUp(self):
        super().setUp()
        for name in ("tiny_resnet", "super_resolution"):
            shutil.copy(os.path.join(MODELS, name + ".onnx"), self.path(name + ".onnx"))

    def models(self, models=("tiny_resnet.onnx", "super_resolution.onnx"), devices=DEVICES, options=("--search-budget=200",), **more):
        """Writes the list of models. The budget is small because no test here is about how good a plan is."""
        listed = {"models": [{"model": name} for name in models], "devices": devices, "options": list(options), **more}
        return self.write("models.json", json.dumps(listed).encode())

    def matrix(self, *flags, code=0, out="out", path=None):
        result = subprocess.run([os.path.join(TOOLS, "codl-matrix"), path or self.path("models.json"), f"--out-dir={self.path(out)}",
                                 f"--codlc={self.codlc()}", *flags], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def codlc(self):
        """Counts its calls that compile."""
        script = self.path("codlc")
        if not os.path.exists(script):
            self.write("codlc", f'#!/bin/sh\ncase "$1" in --version|--list-devices);; *) echo . >> "{self.path("calls")}";; esac\n'
                                f'exec "{os.path.join(BIN, "codlc")}" "$@"\n'.encode())
            os.chmod(script, 0o755)
        return script

    def calls(self):
        """Returns the compilations since the last question."""
        if not os.path.exists(self.path("calls")):
            return 0
        with open(self.path("calls")) as file:
            count = len(file.readlines())
        os.remove(self.path("calls"))
        return count

    def manifest(self, out="out"):
        with open(self.path(out, "manifest.json")) as file:
            return json.load(file)["entries"]

    def bad_files(self):
        """Returns files that must be refused: path, and their name in an error."""
        os.mkdir(self.path("a_folder"))
        os.mkfifo(self.path("a_pipe"))
        os.symlink("/dev/zero", self.path("a_device"))
        return [(self.path("a_folder"), "a folder"), (self.path("a_pipe"), "a pipe"),
                (self.path("a_device"), "a character device"), (self.path("missing"), "No such file")]

    def expect_refusal(self, result, path, found):
        self.assertRegex(result.stderr, rf"(?m)^codl-matrix: error: {path}: expected .*, found .*{found}")

    def test_what_is_no_file_is_neither_read_nor_replaced(self):
        self.models(models=("tiny_resnet.onnx",), devices=["sd855"])
        self.matrix()
        for path, found in self.bad_files():
            with self.subTest(found):
                self.expect_refusal(self.matrix(path=path, code=1), path, found)
                self.expect_refusal(self.matrix(f"--baseline={path}", "--fail-if=latency>+3%", code=1), path, found)
                if os.path.exists(path):
                    before = os.lstat(path)
                    self.expect_refusal(self.matrix(f"--junit={path}", code=1), path, found)
                    self.assertEqual(os.lstat(path).st_ino, before.st_ino)
        before = os.stat(os.devnull).st_ino
        self.matrix(f"--junit={os.devnull}")
        self.assertEqual(os.stat(os.devnull).st_ino, before)
        self.write("empty", b"")
        self.expect_refusal(self.matrix(path=self.path("empty"), code=1), self.path("empty"), "an empty file")
        os.symlink("nowhere", self.path("a_link"))
        for path, found in (("/dev/full", "a character device"), (self.path("empty"), "a file"), (self.path("a_link"), "a link that leads nowhere")):
            for flags in ({"out": path}, {"flag": f"--cache-dir={path}"}):
                with self.subTest(flags):
                    told = self.matrix(flags.get("flag", "--jobs=1"), out=flags.get("out", "out"), code=1).stderr
                    self.assertEqual(told, f"codl-matrix: error: {path}: expected a folder, found {found}\n")

    def sparse(self, name, size):
        self.write(name, b"")
        os.truncate(self.path(name), size)
        return self.path(name)

    def test_huge_files_are_refused_unread(self):
        huge = self.sparse("huge", 20 << 30)
        self.expect_refusal(self.matrix(path=huge, code=1), huge, "21474836480 bytes")
        self.models(models=("huge", "tiny_resnet.onnx"), devices=["sd855"])
        result = self.matrix(code=1)
        self.assertIn("huge: expected at most 2147483647 bytes, found 21474836480 bytes", result.stderr)
        self.assertEqual([e["job_status"] for e in self.manifest()], ["Failed", "Passed"])

    def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(self):
        self.models(models=("tiny_resnet.onnx",), devices=["sd855"])
        os.mkdir(self.path("disk"))
        for size in ("16k", "100k", "300k", "700k"):  # from a limit that fits nothing to one that fits nearly all
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.path("disk")],
                              stderr=subprocess.DEVNULL).returncode != 0:
                print("[SKIP] a full disk: mounting a tmpfs is not permitted")
                return
            try:
                with self.subTest(size):
                    result = self.matrix(out="disk/out", code=1)
                    self.assertRegex(result.stderr, r"\A(codl-matrix: error: [^\n]*: expected [^\n]*, found [^\n]*No space left on device\n)+\Z")
                    for folder, _, files in os.walk(self.path("disk/out")):
                        for name in files:
                            self.assertFalse(name.startswith(".codl-"), name)
                            if name in ("plan.codl", "report.json"):
                                self.assertGreater(os.path.getsize(os.path.join(folder, name)), 1000)
            finally:
                subprocess.run(["umount", self.path("disk")], check=True)

    def test_stdout_that_takes_nothing_is_an_error(self):
        self.models(models=("tiny_resnet.onnx",), devices=["sd855"])
        self.compile("a")
        for tool, arguments in (("codl-matrix", [self.path("models.json"), "--emit=github", f"--codlc={self.codlc()}"]),
                                ("codl-diff", [self.path("a"), self.path("a"), f"--codl-dump={os.path.join(BIN, 'codl-dump')}"])):
            with self.subTest(tool), open("/dev/full", "w") as full:
                result = subprocess.run([os.path.join(TOOLS, tool), *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual((result.returncode, result.stderr),
                                 (1, f"{tool}: error: stdout: expected space to write to, found No space left on device\n"))

    def test_an_interrupt_ends_it_without_a_word(self):
        self.models(models=("tiny_resnet.onnx",), devices=["sd855"])
        self.write("codlc", b"#!/bin/sh\ncase \"$1\" in --*) exec " + os.path.join(BIN, "codlc").encode() + b" \"$@\";; esac\necho . >> " + self.path("calls").encode() + b"\nexec sleep 60\n")
        os.chmod(self.path("codlc"), 0o755)
        process = subprocess.Popen([os.path.join(TOOLS, "codl-matrix"), self.path("models.json"), f"--out-dir={self.path('out')}",
                                    f"--codlc={self.path('codlc')}"], stderr=subprocess.PIPE, text=True, start_new_session=True)
        while not os.path.exists(self.path("calls")):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual((process.communicate(timeout=60)[1], process.returncode), ("", 130))
        self.assertEqual([name for name in os.listdir(self.path("out")) if name != ".cache"], [])

    def test_a_model_that_is_no_file_loses_itself_alone(self):
        for number, (path, found) in enumerate(self.bad_files()):
            with self.subTest(found):
                self.models(models=(os.path.basename(path), "tiny_resnet.onnx"), devices=["sd855"])
                result = self.matrix(code=1, out=f"out{number}")
                self.assertIn(found, result.stderr)
                self.assertEqual([e["job_status"] for e in self.manifest(f"out{number}")], ["Failed", "Passed"])

    def test_every_pair_has_a_folder_and_an_entry(self):
        self.models()
        self.matrix()
        entries = self.manifest()
        self.assertEqual([(e["model"], e["device"]) for e in entries],
                         [(m, d) for m in ("tiny_resnet", "super_resolution") for d in DEVICES])
        for entry in entries:
            folder = self.path("out", entry["model"], entry["device"])
            self.assertEqual(sorted(os.listdir(folder)), ["SHA256SUMS", "plan.codl", "report.html", "report.json"])
            self.assertEqual(sha256sums(folder), 0)
            with open(os.path.join(folder, "report.json")) as file:
                report = json.load(file)
            self.assertEqual(entry["inference_time"], report["variants"][0]["predicted_us"])
            self.assertEqual(entry["plan_bytes"], os.path.getsize(os.path.join(folder, "plan.codl")))
            low, high = entry["inference_time_interval"]
            self.assertLess(low, high)

    def test_from_empty_twice_is_byte_identical_and_from_the_cache_nothing_is_compiled(self):
        self.models()
        self.matrix()
        self.matrix("--jobs=1", out="again")
        self.assertEqual(self.tree("out"), self.tree("again"))
        self.assertEqual(sum(name.endswith("plan.codl") for name in self.tree("out")), 6)
        self.assertEqual(self.calls(), 12)
        before = self.tree("out")
        self.matrix()
        self.matrix("--rehash")
        self.assertEqual(self.calls(), 0)
        self.assertEqual(self.tree("out"), before)
        # A copy elsewhere has the same contents.
        shutil.rmtree(self.path("out", "tiny_resnet"))
        self.matrix()
        self.assertEqual((self.calls(), self.tree("out")), (0, before))

    def test_what_changed_is_compiled_again(self):
        profile = self.write("mine.json", b'{"base": "sd855", "name": "mine"}')
        self.models(devices=["sd865", "mine.json"])
        self.matrix()
        self.assertEqual(self.calls(), 4)
        with open(profile, "w") as file:
            file.write('{"base": "sd855", "name": "mine", "description": "another"}')
        self.matrix()
        self.assertEqual(self.calls(), 2)
        self.models(devices=["sd865", "mine.json"], options=["--strategy=cpu"])
        self.matrix()
        self.assertEqual(self.calls(), 4)
        self.assertEqual(self.manifest()[1]["device"], "mine")

    def test_what_plans_have_in_common_is_stored_once(self):
        shutil.copy(self.path("tiny_resnet.onnx"), self.path("copy.onnx"))
        self.models(["tiny_resnet.onnx", "copy.onnx"], ["sd855", "sd865"])
        self.matrix()
        size = {}
        for kind in ("parts", "plans"):
            folder = self.path("out", ".cache", kind)
            size[kind] = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]
        plans = [entry["plan_bytes"] for entry in self.manifest()]
        self.assertEqual(len(size["plans"]), 2)  # the copy says the same
        self.assertLess(sum(size["parts"]), 0.4 * sum(plans))
        self.assertEqual(sha256sums(self.path("out", "copy", "sd865")), 0)

    def test_a_cache_that_lost_something_is_made_whole_or_refused(self):
        self.models(["tiny_resnet.onnx"], ["sd855"])
        self.matrix()
        before = self.tree("out")
        self.calls()
        parts = self.path("out", ".cache", "parts")
        name = sorted(os.listdir(parts))[0]
        os.remove(os.path.join(parts, name))
        shutil.rmtree(self.path("out", "tiny_resnet"))
        self.matrix()
        self.assertEqual((self.calls(), self.tree("out")), (1, before))
        self.write(os.path.join(parts, name), b"other")
        os.remove(self.path("out", "tiny_resnet", "sd855", "plan.codl"))
        self.assertIn("expected parts of the plan (empty the cache), found others", self.matrix(code=1).stderr)
        # A damaged record of files is made anew.
        for text in (b"x", b"[]", b'{"a": 3}'):
            self.write("out/.cache/files.json", text)
            shutil.rmtree(self.path("out", "tiny_resnet"), ignore_errors=True)
            self.write(os.path.join(parts, name), b"other")
            self.assertIn("expected parts of the plan", self.matrix(code=1).stderr)
        # A file that somebody changed is written again.
        shutil.rmtree(self.path("out", ".cache"))
        self.write(self.path("out", "tiny_resnet", "sd855", "plan.codl"), b"changed")
        self.matrix()
        self.assertEqual(self.tree("out"), before)

    def test_a_broken_model_does_not_lose_the_others(self):
        self.write("broken.onnx", b"x")
        self.models(["broken.onnx", "tiny_resnet.onnx", "missing.onnx"], ["sd855"])
        result = self.matrix(f"--junit={self.path('j.xml')}", code=1)
        self.assertIn("codl-matrix: error: broken on sd855: codlc: error: ", result.stderr)
        self.assertIn("missing.onnx: expected a file that can be read", result.stderr)
        self.assertEqual([e["job_status"] for e in self.manifest()], ["Failed", "Passed", "Failed"])
        self.assertTrue(os.path.exists(self.path("out", "tiny_resnet", "sd855", "plan.codl")))
        suites = xml.parse(self.path("j.xml")).getroot()
        self.assertEqual([(s.get("name"), s.get("errors"), s.get("failures")) for s in suites],
                         [("broken", "1", "0"), ("missing", "1", "0"), ("tiny_resnet", "0", "0")])

    def test_limits_and_regressions_are_exit_code_3(self):
        self.models(["tiny_resnet.onnx"], ["sd855"])
        self.matrix("--fail-if=latency>1s", "--fail-if=memory>1000MB")
        result = self.matrix("--fail-if=latency>0.001ms", f"--junit={self.path('j.xml')}", code=3)
        self.assertRegex(result.stderr, r"expected latency at most 0\.001 ms \(latency>0\.001ms\), found [0-9.]+ ms\n")
        self.assertEqual(xml.parse(self.path("j.xml")).getroot()[0].get("failures"), "1")
        entries = self.manifest()
        baseline = self.path("base.json")
        for factor, code in ((1, 0), (1.02, 0), (0.9, 3)):
            entry = {**entries[0], "inference_time": entries[0]["inference_time"] * factor}
            self.write("base.json", json.dumps({"entries": [entry]}).encode())
            self.matrix(f"--baseline={baseline}", "--fail-if=latency>+3%", code=code)
        self.write("base.json", json.dumps({"entries": [{**entries[0], "variant": "gpu"}]}).encode())
        self.assertRegex(self.matrix(f"--baseline={baseline}", "--fail-if=latency<+3%", code=3).stderr, r"ms \(variant gpu before, cpu now\)\n")
        self.matrix("--fail-if=latency>+3%", code=1)
        self.matrix("--fail-if=speed>1", code=1)
        for limit, units in (("latency>3", "latency with its unit, ms or us or s,"), ("memory>64", "memory with its unit, MB or B or kB or "),
                             ("size>1ms", "size with its unit, MB or B or "), ("gpu_share<0.5", "gpu_share with its unit, %,"),
                             ("latency>+3", "a change of latency with its unit, %,"), ("latency>+3ms", "a change of latency with its unit, %,")):
            self.assertIn(f"--fail-if: expected {units}", self.matrix(f"--fail-if={limit}", code=1).stderr)
        for flag in ("--fail-if=latency>1.2.3ms", "--jobs=0", "--jobs=-1", "--jobs=few"):
            self.assertRegex(self.matrix(flag, code=1).stderr, r"\Acodl-matrix: error: [^\n]+\n\Z")
        for text in ("[]", "{}", "3", '{"entries": [3]}', '{"entries": [{"job_status": "Passed", "model": "m", "device": "d"}]}'):
            self.write("base.json", text.encode())
            self.assertIn("expected a manifest.json of codl-matrix", self.matrix(f"--baseline={baseline}", "--fail-if=latency>+3%", code=1).stderr)

    def test_without_ninja_there_is_one_line(self):
        self.models(["tiny_resnet.onnx"], ["sd855"])
        os.mkdir(self.path("few"))
        os.symlink("/bin/sh", self.path("few", "sh"))
        result = subprocess.run([sys.executable, os.path.join(TOOLS, "codl-matrix"), self.path("models.json"), f"--out-dir={self.path('out')}",
                                 f"--codlc={self.codlc()}"], env={**os.environ, "PATH": self.path("few")}, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (
            1, "codl-matrix: error: ninja: expected it in PATH (Debian's ninja-build, or pip install ninja), found none\n"))
        self.matrix()
        self.assertRegex(self.matrix("--rehash", out="b").stdout, r"\A\[1/1\] tiny_resnet on sd855\n")

    def test_work_can_be_handed_to_other_systems(self):
        self.models(["tiny_resnet.onnx"])
        pairs = json.loads(self.matrix("--emit=github").stdout)["include"]
        self.assertEqual(pairs, [{"model": "tiny_resnet", "device": device} for device in DEVICES])
        for wanted, told in (("tiny_resnet:sd88", "tiny_resnet:sd8[0-9]+, tiny_resnet:[a-z0-9]+, tiny_resnet:[a-z0-9]+"), ("x", "tiny_resnet:.*")):
            self.assertRegex(self.matrix(f"--only={wanted}", code=1).stderr,
                             rf"--only: expected a MODEL:DEVICE of \S*models.json, like {told}, found '{wanted}'\n\Z")
        self.models(["tiny_resnet.onnx", "super_resolution.onnx"], [*DEVICES, "sd888"])
        self.assertRegex(self.matrix("--only=tiny_resnet:sd88", code=1).stderr, "like tiny_resnet:sd888, .*, [^,]* or 2 more, found")
        self.models(["tiny_resnet.onnx"])
        self.matrix("--emit=ninja", out="ninja")
        self.matrix("--only=tiny_resnet:sd865")
        self.assertEqual([e["device"] for e in self.manifest()], ["sd865"])
        for expected in (3, 0):
            self.calls()
            subprocess.run(["ninja", "-C", self.path("ninja"), "-f", "build.ninja"], check=True, capture_output=True)
            self.assertEqual(self.calls(), expected)
        name = os.path.join("tiny_resnet", "sd865", "plan.codl")
        self.assertEqual(self.tree("ninja")[name], self.tree("out")[name])

    def test_an_ai_pack_has_a_group_for_each_phone_and_one_for_the_others(self):
        self.models(["tiny_resnet.onnx"])
        pack = self.path("pack")
        result = self.matrix(f"--ai-pack={pack}")
        self.assertIn("kirin990: the profile has no soc names", result.stderr)
        assets = os.path.join(pack, "src", "main", "assets")
        self.assertEqual(sorted(os.listdir(assets)), ["model#group_other", "model#group_sd855", "model#group_sd865"])
        config = xml.parse(os.path.join(pack, "device_targeting_configuration.xml")).getroot()
        space = "{http://schemas.android.com/apk/config}"
        self.assertEqual(config.tag, space + "device-targeting-config")
        self.assertEqual([group.get(space + "name") for group in config], ["sd855", "sd865"])
        self.assertEqual({(soc.get(space + "manufacturer"), soc.get(space + "model")) for soc in config[0][0]},
                         {("QTI", "SM8150"), ("Qualcomm", "SM8150")})
        dump = subprocess.run([os.path.join(BIN, "codl-dump"), os.path.join(assets, "model#group_other", "tiny_resnet.codl"), "--json"],
                              capture_output=True, text=True, check=True)
        self.assertEqual([variant["name"] for variant in json.loads(dump.stdout)["variants"]], ["cpu"])

    def test_an_ai_pack_has_this_runs_plans_and_says_what_it_lacks(self):
        pack = self.path("pack")
        assets = os.path.join(pack, "src", "main", "assets")
        other = os.path.join(assets, "model#group_other")
        self.models(["super_resolution.onnx"], ["sd855", "sd865"], options=["--strategy=cpu"])
        self.matrix(f"--ai-pack={pack}")
        self.assertEqual(sha256sums(pack), 0)
        self.write("pack/src/main/assets/mine.txt", b"")
        # Options about the GPU are not for phones without one.
        self.models(["tiny_resnet.onnx"], ["sd855"], options=[
            "--strategy=gpu", "--variants", "gpu", "--max-fallback=90%", "--objective", "latency", "--avoid=winograd"])
        self.matrix(f"--ai-pack={pack}")
        self.assertEqual(sorted(os.listdir(assets)), ["mine.txt", "model#group_other", "model#group_sd855"])
        self.assertEqual(os.listdir(other), ["tiny_resnet.codl"])
        os.remove(self.codlc())
        self.write("codlc", f'#!/bin/sh\ncase "$*" in *--device=template*) echo none >&2; exit 2;; esac\n'
                            f'exec "{os.path.join(BIN, "codlc")}" "$@"\n'.encode())
        os.chmod(self.path("codlc"), 0o755)
        result = self.matrix(f"--ai-pack={pack}", code=2)
        self.assertIn("codl-matrix: error: tiny_resnet for other phones: none", result.stderr)
        self.assertEqual(os.listdir(other), [])

    def test_an_ai_pack_keeps_what_is_not_its_own(self):
        pack = self.path("pack")
        assets = os.path.join(pack, "src", "main", "assets")
        self.models(["tiny_resnet.onnx"], ["sd855", "sd865"], options=["--strategy=cpu"])
        self.matrix(f"--ai-pack={pack}")
        for name in ("model#group_mine/a.codl", "model#group_sd865/mine.txt", "model#group_other/tiny_resnet.codl"):
            os.makedirs(os.path.dirname(os.path.join(assets, name)), exist_ok=True)
            self.write(os.path.join(assets, name), b"mine")
        self.write("outside.codl", b"mine")
        os.symlink(self.work, os.path.join(assets, "model#group_link"))
        with open(os.path.join(pack, "SHA256SUMS"), "a") as file:  # another list does not remove it, either
            sha = hashlib.sha256(b"mine").hexdigest()
            for name in ("src/main/assets/model#group_sd865/mine.txt", "src/main/assets/model#group_other/../../../../../outside.codl"):
                file.write(f"{sha}  {name}\n")
        self.models(["super_resolution.onnx"], ["sd855"], options=["--strategy=cpu"])
        result = self.matrix(f"--ai-pack={pack}")
        found = sorted(os.path.relpath(os.path.join(folder, name), assets) for folder, _, files in os.walk(assets) for name in files)
        self.assertEqual(found, ["model#group_mine/a.codl", "model#group_other/super_resolution.codl", "model#group_other/tiny_resnet.codl",
                                 "model#group_sd855/super_resolution.codl", "model#group_sd865/mine.txt"])
        self.assertTrue(os.path.exists(self.path("outside.codl")))
        for group in ("mine", "sd865"):
            self.assertIn(f"model#group_{group}: the pack has no such group", result.stderr)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def profile(self, name, **changes):
        """Writes a profile with sd855 as its base."""
        return self.write(name, json.dumps({"base": "sd855", "name": name.removesuffix(".json"), **changes}).encode())

    def test_devices_that_an_ai_pack_cannot_tell_apart_are_refused(self):
        self.profile("sd_855.json")
        self.profile("sd-855.json")
        self.models(["tiny_resnet.onnx"], ["sd-855.json", "sd_855.json"])
        self.assertIn("--ai-pack: expected devices whose groups have different names, found 'sd_855' and 'sd-855'",
                      self.matrix(f"--ai-pack={self.path('pack')}", code=1).stderr)
        self.assertFalse(os.path.exists(self.path("out")) or os.path.exists(self.path("pack")))

    def test_a_device_has_a_name_that_can_be_a_folder(self):
        self.profile("other.json")
        self.profile("sd855.json")
        os.mkdir(self.path("out"))
        self.write("out/mine", b"mine")
        for device in ("", "/", "..", "profiles/..", "sd855/", "sd855,sd865", "other", "other.json", "a\tb.json", "/.json"):
            with self.subTest(device):
                self.models(["tiny_resnet.onnx"], ["sd855", device])
                result = self.matrix(code=1)
                self.assertRegex(result.stderr, r"\Acodl-matrix: error: [^\n]*/models.json: devices: expected [^\n]*, found [^\n]*\n\Z")
                self.assertEqual(self.tree("out"), {"mine": b"mine"})
        self.write("models.json", json.dumps({"models": [{"model": "tiny_resnet.onnx"}, {"model": "super_resolution.onnx", "devices": [
            "sd855.json"]}], "devices": ["sd855"]}).encode())
        self.assertRegex(self.matrix(code=1).stderr, "expected devices whose names differ, found 'sd855' and '.*/sd855.json'")
        self.assertEqual(self.tree("out"), {"mine": b"mine"})

    def test_names_that_would_be_rows_of_a_table_are_refused(self):
        row = "Adreno 640\nevil\tQTI\tSM8150\tAdreno 640"
        with open(os.path.join(ROOT, "profiles", "sd855.json")) as file:
            gpu = json.load(file)["gpu"]
        for change in ({"gpu": {**gpu, "name": row}}, {"soc": {"manufacturer": ["a\tb"], "model": ["m"], "origin": "assumed", "source": "pattern"}},
                       {"soc": {"manufacturer": ["a"], "model": ["m|n"], "origin": "assumed", "source": "pattern"}}):
            with self.subTest(change):
                self.profile("mine.json", **change)
                self.models(["tiny_resnet.onnx"], ["sd865", "mine.json"], options=["--strategy=cpu"])
                self.assertIn("names of the GPU and the SoC without control characters and '|'", self.matrix(code=1).stderr)
                self.assertEqual([line.split(b"\t")[0] for line in self.tree("out")["devices.tsv"].splitlines()], [b"sd865"])
        self.models(["tiny_resnet.onnx"], ["sd855"], options=["--place=a\nbuild x: y=cpu"])
        self.assertIn("without line breaks", self.matrix("--emit=ninja", code=1).stderr)

    def test_outputs_replace_no_inputs(self):
        self.profile("mine.json")
        self.models(["tiny_resnet.onnx"], ["mine.json"], options=["--strategy=cpu"])
        self.matrix()
        before = {name: self.read(name) for name in ("tiny_resnet.onnx", "mine.json", "models.json")}
        os.link(self.path("tiny_resnet.onnx"), self.path("link.onnx"))
        for name in [*before, "link.onnx"]:
            self.assertRegex(self.matrix(f"--junit={self.path(name)}", code=1).stderr, "expected an output that is none of the inputs, found the file")
        self.assertIn("outputs that are different files", self.matrix(f"--junit={self.path('out', 'manifest.json')}", code=1).stderr)
        self.assertIn("an output that is none of the inputs",
                      self.matrix(f"--baseline={self.path('out', 'manifest.json')}", "--fail-if=latency>+3%", code=1).stderr)
        for model in ("plan.codl", "report.html"):  # the model has the name of an output
            self.write("models.json", json.dumps({"models": [{"model": f"m/mine/{model}", "name": "m"}], "devices": ["mine.json"]}).encode())
            os.makedirs(self.path("m", "mine"), exist_ok=True)
            shutil.copy(self.path("tiny_resnet.onnx"), self.path("m", "mine", model))
            self.assertIn("an output that is none of the inputs", self.matrix(out="", code=1).stderr)
            self.assertEqual(self.read("m", "mine", model), before["tiny_resnet.onnx"])
        self.models(["tiny_resnet.onnx"], ["mine.json"], options=[f"--emit-onnx={self.path('super_resolution.onnx')}"])
        self.assertIn("none that write files beside the plan", self.matrix(code=1).stderr)
        self.models(["tiny_resnet.onnx"], ["mine.json"], options=["--strategy=cpu"])
        self.assertEqual({name: self.read(name) for name in before}, before)

    def test_a_model_that_fails_takes_its_own_files_along_and_no_others(self):
        self.models(["tiny_resnet.onnx"], ["sd855", "sd865"], options=["--strategy=cpu"])
        self.matrix()
        self.write("out/tiny_resnet/sd865/mine.txt", b"mine")
        self.write("tiny_resnet.onnx", b"x")
        self.matrix(code=1)
        self.assertEqual(sorted(self.tree("out")), ["devices.tsv", "manifest.json", "tiny_resnet/sd865/mine.txt"])
        self.assertEqual(os.listdir(self.path("out", "tiny_resnet")), ["sd865"])

    def test_devices_by_the_names_that_people_know(self):
        names = ["Snapdragon 855", "Pixel 7", "SM8250"]
        self.models(["tiny_resnet.onnx"], names, options=["--strategy=cpu"])
        result = self.matrix()
        self.assertEqual([entry["device"] for entry in self.manifest()], ["sd855", "tensor_g2", "sd865"])
        self.assertIn("codl-matrix: note: the profile of Pixel 7 is tensor_g2\n", result.stderr)
        self.matrix("--only=tiny_resnet:Pixel 7")
        self.assertEqual([entry["device"] for entry in self.manifest()], ["tensor_g2"])
        for device, answer in (("Pixel 8", 'found "Pixel 8", which has no profile; others have, like '), ("sd885", "sd855"),
                               ("snapdargon 855", "(did you mean Snapdragon 855 (sd855)?)"), ("SM8150", "sd855 twice for tiny_resnet")):
            with self.subTest(device):
                self.models(["tiny_resnet.onnx"], ["sd855", device])
                self.assertRegex(self.matrix(code=1).stderr, rf"\Acodl-matrix: (note: .*\ncodl-matrix: )?error: .*/models.json: .*{re.escape(answer)}")

    def test_the_reason_of_no_gain_stands_beside_it(self):
        self.models(["tiny_resnet.onnx"], ["sd855"], options=["--search-budget=100"])
        line = self.matrix().stdout
        with open(self.path("out", "tiny_resnet", "sd855", "report.json")) as file:
            reason = json.load(file)["variants"][0]["one_processor_reason"]
        self.assertRegex(line, rf" ms, 1\.00 times as fast as the CPU alone, [0-9.]+ as the GPU alone \(not both processors: {re.escape(reason)}\)  memory")
        self.assertEqual(self.manifest()[0]["one_processor_reason"], reason)
        self.models(["tiny_resnet.onnx"], ["sd855"], options=["--strategy=cpu"])
        self.assertIn("(not both processors: the options ask for CPU alone)", self.matrix().stdout)
        self.models(["tiny_resnet.onnx"], ["sd855"], options=["--place=*=split:h:0.5"])
        self.assertNotIn("not both processors", self.matrix().stdout)

    def test_codlcs_warnings_and_notes_are_told_of_each_job_and_recorded(self):
        npy.write(self.path("calibration.npy"), (16, 3, 64, 64), [i % 7 / 7 for i in range(16 * 3 * 64 * 64)])
        os.mkdir(self.path("calibration"))
        os.rename(self.path("calibration.npy"), self.path("calibration", "input.npy"))
        self.models(["tiny_resnet.onnx"], ["sd855", "sd8gen2"], options=[
            "--strategy=cpu", "--prune=0.9", f"--calibration={self.path('calibration')}"])
        told = self.matrix().stderr
        for device in ("sd855", "sd8gen2"):
            self.assertRegex(told, rf"(?m)^codl-matrix: warning: tiny_resnet on {device}: pruning loses [0-9.]+ % ")
        self.assertEqual(self.matrix().stderr, told)  # from the cache
        self.assertEqual(self.calls(), 2)
        lines = [f"codl-matrix: {kind}: {entry['model']} on {entry['device']}: {text}\n"
                 for entry in self.manifest() for kind in ("note", "warning") for text in entry[kind + "s"]]
        self.assertEqual("".join(lines), told)
        # A search's progress is no note, and an error has none.
        self.write("codlc", b"""#!/bin/sh
case "$1" in --*) exec CODLC "$@";; esac
echo 'codlc: note: 1 of 2: prune conv1' >&2
echo 'codlc: note: y is [2]' >&2
case "$*" in *--device=sd855*) exec CODLC "$@";; esac
echo 'codlc: error: z: expected x, found y' >&2
exit 1
""".replace(b"CODLC", os.path.join(BIN, "codlc").encode()))
        self.models(["tiny_resnet.onnx"], ["sd855", "sd865"], options=["--strategy=cpu"])
        self.assertEqual(self.matrix(code=1).stderr, "codl-matrix: note: tiny_resnet on sd855: y is [2]\n"
                         "codl-matrix: error: tiny_resnet on sd865: codlc: error: z: expected x, found y\n")

    def test_the_version_is_that_of_the_program_that_a_tool_runs(self):
        for tool, program in (("codl-matrix", "codlc"), ("codl-diff", "codl-dump")):
            path = os.path.join(BIN, program)
            told, own = (subprocess.run(command, capture_output=True, text=True, check=True).stdout
                         for command in ([os.path.join(TOOLS, tool), f"--{program}={path}", "--version"], [path, "--version"]))
            self.assertRegex(told, rf"\A{tool} [0-9.]+ \(plan format \d+\)\n\Z")
            self.assertTrue(own.startswith(program + told.removeprefix(tool).strip("\n")), own)

    def test_files_of_another_kind_and_flags_of_other_tools_are_answered(self):
        self.models(["tiny_resnet.onnx"], ["sd855"])
        plan = self.compile("a")
        for path, found in ((self.path("tiny_resnet.onnx"), "an ONNX model (codlc compiles it)"), (plan, "a plan (codl-run runs it, codl-diff compares two)"),
                            (self.write("latin.json", b'{"models": "\xe9"}'), "no text")):
            self.assertEqual(self.matrix(path=path, code=1).stderr, f"codl-matrix: error: {path}: expected JSON with models and devices, found {found}\n")
        shutil.copy(self.path("models.json"), self.path("list.onnx"))
        self.models(["list.onnx"], ["sd855"])
        self.assertIn("list.onnx: expected an ONNX model, found JSON (codl-matrix reads lists of models, ", self.matrix(code=1).stderr)
        for flag, hint in (("--device=sd855", "(here: devices in MODELS.json)"), ("--output_dir=x", "(here: --out-dir=DIR)"),
                           ("--jbos=3", "(did you mean --jobs?)"), ("--strategy=cpu", "(codlc's flags are options in MODELS.json)"),
                           ("--fp16", "(codlc's flags are options in MODELS.json: --precision=fp16)")):
            with self.subTest(flag):
                self.assertEqual(self.matrix(flag, code=1).stderr, "codl-matrix: error: command line: expected a flag that --help lists, found "
                                 f"'{flag.split('=')[0]}' {hint}\n")
        self.assertIn("found 'more'", self.matrix("more", code=1).stderr)

    def test_folders_may_have_a_colon(self):
        self.models(["tiny_resnet.onnx"], ["sd855"], options=["--strategy=cpu"])
        result = self.matrix(f"--cache-dir={self.path('ca:che')}", out="o:ut")
        self.assertEqual(result.stderr, "")
        self.matrix(f"--cache-dir={self.path('ca:che')}", out="o:ut")
        self.assertEqual(self.calls(), 1)

    def test_wrong_lists_of_models_are_refused(self):
        for text, wanted in (("x", "expected JSON"), ('{"devices": ["a"], "devices": ["b"]}', 'expected each key once, found key "devices" twice'), ("[]", "an object of models"), ('{"models": [], "devices": ["sd855"]}', "/models"),
                             ('{"models": [{"model": "a.onnx"}]}', "/devices"), ('{"models": [{"name": "a"}], "devices": ["x"]}', "/models/0"),
                             ('{"models": [{"model": "a.onnx", "name": "../a"}], "devices": ["x"]}', "/models/0/name"),
                             ('{"models": [{"model": "a.onnx", "name": 3}], "devices": ["x"]}', "/models/0/name"),
                             ('{"models": [{"model": "a.onnx", "options": 3}], "devices": ["x"]}', "options"),
                             ('{"models": [{"model": "a.onnx", "devices": {"x": 1}}], "devices": ["x"]}', "devices"),
                             ('{"models": [{"model": "a.onnx"}, {"model": "b/a.onnx"}], "devices": ["x"]}', "/models/1/name")):
            with self.subTest(text):
                result = self.matrix(path=self.write("wrong.json", text.encode()), code=1)
                self.assertRegex(result.stderr, r"\Acodl-matrix: error: [^\n]*: expected [^\n]*, found [^\n]*\n\Z")
                self.assertIn(wanted, result.stderr)
        self.matrix(path=self.path("missing.json"), code=1)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_phone_finds_its_plan_by_what_it_says_of_itself(self):
        profiles = {}
        for name in sorted(name for name in os.listdir(os.path.join(ROOT, "profiles")) if name.endswith(".json")):
            with open(os.path.join(ROOT, "profiles", name)) as file:
                profile = json.load(file)
            if profile.get("kind") == "phone":
                profiles[name[:-5]] = profile
        self.models(["tiny_resnet.onnx"], list(profiles), options=["--strategy=cpu"])
        self.matrix()
        program = self.path("select_plan")
        source = os.path.join(ROOT, "examples", "select_plan")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, os.path.join(source, "main.c"),
                        os.path.join(source, "select_plan.c")], check=True)

        def chosen(*phone):
            return subprocess.run([program, self.path("out", "devices.tsv"), *phone], capture_output=True, text=True,
                                  check=True).stdout.strip()
        gpus = {}
        for name, profile in profiles.items():
            gpus.setdefault(profile["gpu"]["name"], name)
        told = 0
        for name, profile in profiles.items():
            soc = profile.get("soc", {"manufacturer": [], "model": []})
            for manufacturer in soc["manufacturer"]:
                for model in soc["model"]:
                    told += 1
                    found = chosen(manufacturer, model, "no such GPU", "")
                    self.assertEqual(profiles[found]["soc"]["model"], soc["model"], name)
                    self.assertEqual(chosen(manufacturer.upper(), model.lower(), "", ""), found)
                    self.assertEqual(chosen(manufacturer, model + "9", "", ""), "other")
            gpu = profile["gpu"]["name"]
            for spelt in (gpu, gpu.replace(" ", " (TM) ") + " r0p0", gpu.upper()):
                self.assertEqual(profiles[chosen("", "", spelt, "")]["gpu"]["name"], gpu, (name, spelt))
        self.assertGreater(told, 20)
        self.assertEqual(chosen("QTI", "SM8150", "QUALCOMM Adreno(TM)", "OpenCL 2.0 V@0502", "OpenCL 2.0 V@0502"), "other")
        self.assertEqual(chosen("QTI", "SM8150", "", "OpenCL 2.0 V@0615", "OpenCL 2.0 V@0502"), "sd855")
        self.assertEqual(chosen("", "", "", ""), "other")
        self.assertEqual(chosen("Other", "X1", "Adreno 9999", ""), "other")
        # Rows that codl-matrix does not write are not believed, nor are cut rows.
        for row in ("../x\tQTI\tX1\t\n", "\tQTI\tX1\t\n", "x y\tQTI\tX1\t\n", "x\tQTI\tX1\n", "x\tQTI\tX1\t\tmore\n", "x\tQTI\tX1\t"):
            self.write("out/devices.tsv", row.encode())
            self.assertEqual(chosen("QTI", "X1", "", ""), "other", row)
        self.write("out/devices.tsv", b"x\tQTI\tX1\t\n")
        self.assertEqual(chosen("QTI", "X1", "", ""), "x")
        self.write("out/devices.tsv", b"x\tQTI\tX1\t\n" + b"a\tb\tc\td\n" * 10000)
        result = subprocess.run([program, self.path("out", "devices.tsv")], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (1, ""))

    # ---- codl-diff ----

    def diff(self, *arguments, code=0):
        result = subprocess.run([os.path.join(TOOLS, "codl-diff"), f"--codl-dump={os.path.join(BIN, 'codl-dump')}", *arguments],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def compile(self, name, *flags, model="tiny_resnet.onnx"):
        subprocess.run([os.path.join(BIN, "codlc"), self.path(model), "-q", "-o", self.path(name), *flags], check=True, capture_output=True)
        return self.path(name)

    def test_a_diff_tells_what_runs_elsewhere(self):
        quarter, half = (self.compile(name, "--device=sd855", f"--place=*=split:h:{name}") for name in ("0.25", "0.5"))
        self.assertEqual(self.diff(half, half, "--fail-if=any"), "no difference\n")
        text = self.diff(quarter, half)
        self.assertRegex(text, r"\(Conv2d\): cpu \w+ height \[.*\), gpu \w+ height \[.*\) \([0-9.]+ ms\) to cpu \w+ height \[")
        self.diff(quarter, half, "--fail-if=any", code=3)
        result = json.loads(self.diff(quarter, half, "--json"))
        self.assertEqual([v["name"] for v in result["variants"]], ["coexec", "cpu"])
        self.assertEqual((result["variants"][1]["changed"], result["made_from"]), ([], {}))

    def test_a_diff_compares_variants_of_one_name(self):
        cpu, split = self.compile("a", "--device=sd855", "--strategy=cpu"), self.compile("b", "--device=sd855", "--place=*=split:h:0.5")
        gpu = self.compile("c", "--device=sd855", "--strategy=gpu", "--variants=gpu")
        result = json.loads(self.diff(cpu, split, "--json"))
        self.assertEqual([(v["name"], v["changed"], v["predicted_us"][0] == v["predicted_us"][1]) for v in result["variants"]], [("cpu", [], True)])
        self.assertEqual((result["variants_removed"], result["variants_added"]), ([], ["coexec"]))
        self.assertEqual([v["name"] for v in result["first_variants"]], ["cpu", "coexec"])
        text = self.diff(cpu, split)
        for line in ("variant coexec: only in B, compared with none", "variant cpu of A and of B: predicted [0-9.]+ ms, as before; .*",
                     r"a session begins with variant cpu \([0-9.]+ ms\) in A, coexec \([0-9.]+ ms\) in B: --fail-if is about these"):
            self.assertRegex(text, f"(?m)^{line}$")
        self.assertIn("no variant is in both plans: nothing else is compared\n", self.diff(cpu, gpu))
        # Limits are of what a session begins with, and say of which variants.
        self.diff(split, cpu, "--fail-if=latency>+3%")
        self.assertRegex(self.diff(cpu, split, "--fail-if=latency>+3%", code=3), r"found [0-9.]+ ms \(variant cpu before, coexec now\)\n\Z")

    def test_names_of_nodes_are_no_difference_in_what_runs_where(self):
        with open(self.path("tiny_resnet.onnx"), "rb") as file:
            data = file.read()
        name = json.loads(subprocess.run([os.path.join(BIN, "codl-dump"), self.compile("a"), "--json"], capture_output=True,
                                         check=True).stdout)["variants"][0]["steps"][1]["name"].encode()
        self.write("renamed.onnx", data.replace(name, b"z" * len(name)))
        result = json.loads(self.diff(self.path("a"), self.compile("b", model="renamed.onnx"), "--json"))
        self.assertEqual(list(result["made_from"]), ["model_hash"])
        for variant in result["variants"]:
            self.assertEqual((variant["changed"], variant["removed"], variant["added"]), ([], [], []))

    def test_a_diff_of_no_plans_is_an_input_error(self):
        self.diff(self.compile("a"), self.path("tiny_resnet.onnx"), code=1)
        self.diff(self.path("a"), self.path("missing"), code=1)


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    unittest.main()
