#!/usr/bin/env python3
"""Tests the six tools' files: outputs whole or not at all, never over an input or into a device; inputs
regular and of a known size; no room, no memory, no reader: one line and an exit code.

Usage: files_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import collections
import json
import lzma
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import onnx_bytes
from work_folder import WorkFolder

MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
PROFILE = os.path.join(ROOT, "test", "profiles", "host_separate.json")
REPLAY = os.path.join(ROOT, "test", "fuzz", "corpus", "replays", "two_layers.json")
SAMPLES = os.path.join(ROOT, "test", "eval", "data", "host-2core-zen5-pocl-290s.csv.xz")
TOOLS = ("codlc", "codl-dump", "codl-sim", "codl-run", "codl-bench", "codl-profile")
OLD = b"what was here before"
# A tool that ran out of memory ends with this code: EX_SOFTWARE of sysexits.h.
NO_MEMORY = 70

BIN = None

# A way in which a tool writes or reads a file. command(path) returns its arguments; `name` is the file's name if the
# tool chooses it.
Use = collections.namedtuple("Use", "tool what command name", defaults=(None,))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def limit(what, value):
    """Returns a function for preexec_fn."""
    return lambda: resource.setrlimit(what, (value, value))


class FilesTest(WorkFolder, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="codl_files_")
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.plan = os.path.join(cls.shared, "net.codl")
        subprocess.run([os.path.join(BIN, "codlc"), MODEL, "-q", "-o", cls.plan], check=True)
        # This file has one kernel's samples, and the machine's measurements.
        cls.samples = os.path.join(cls.shared, "here.csv")
        with lzma.open(SAMPLES, "rt") as source, open(cls.samples, "w") as file:
            file.writelines(line for line in source
                            if line.startswith(("#", "unary_f32_cpu,")) and not line.startswith("#needed,"))
        cls.shim = os.path.join(cls.shared, "shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", cls.shim,
                        os.path.join(HERE, "file_faults.c")], check=True)

    def remove(self, path):
        """Returns whether there was such a file."""
        if not os.path.exists(path):
            return False
        os.remove(path)
        return True

    def remove_out(self):
        return self.remove(self.path("out")) or self.remove(self.path("out.json"))

    def sparse(self, name, size):
        self.write(name, b"")
        os.truncate(self.path(name), size)
        return self.path(name)

    def folder(self, name):
        os.makedirs(self.path(name))
        return self.path(name)

    def run_tool(self, tool, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        environment = dict(os.environ, **options.pop("env", {}))
        return subprocess.run([os.path.join(BIN, tool), *arguments], stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, env=environment, timeout=300, cwd=self.work,
                              **options)

    def expect_error(self, result, *texts, code=1):
        """Expects one line `where: expected X, found Y`, the exit code, and no crash."""
        error = result.stderr.decode()
        self.assertEqual(result.returncode, code, error)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertRegex(error, r"^\S.*: expected .*[,;] found .*\n$")
        for text in texts:
            self.assertIn(text, error)

    # ---- the ways ----

    def profiled(self, *flags):
        """Returns arguments for a run of some five seconds that ends with a model."""
        return ["--cpu-only", "--kernels=softmax_f32_cpu", "--time-budget=60s", "--samples-per-kernel=16", *flags]

    def writers(self):
        """Returns every way in which a tool writes a file."""
        folder = os.path.dirname
        return [
            Use("codlc", "-o", lambda path: [MODEL, "-q", "-o", path]),
            Use("codl-dump", "-o", lambda path: [self.plan, "-o", path]),
            Use("codl-sim", "-o", lambda path: [self.plan, "-o", path]),
            Use("codl-sim", "--trace",
                lambda path: [self.plan, "--device=host-pair", f"--trace={path}"]),
            Use("codl-run", "-o", lambda path: [self.plan, "--variant=cpu", "-o", path]),
            Use("codl-run", "--trace", lambda path: [self.plan, "--variant=cpu", f"--trace={path}"]),
            Use("codl-run", "--output-dir",
                lambda path: [self.plan, "--variant=cpu", f"--output-dir={folder(path)}"],
                "output.npy"),
            Use("codl-bench", "-o",
                lambda path: [self.plan, "--variant=cpu", "--num-runs=1", "--warmup-runs=0", "--json", "-o", path]),
            Use("codl-bench", "--trace",
                lambda path: [self.plan, "--variant=cpu", "--num-runs=1", "--warmup-runs=0",
                              f"--trace={path}"]),
            Use("codl-profile", "-o",
                lambda path: ["--fit-only", "--force", f"--samples={self.samples}", "--name=box", "-o", path]),
            Use("codl-profile", "--evaluation",
                lambda path: ["--fit-only", f"--samples={self.samples}", f"--evaluation={path}",
                              "-o", "/dev/null"]),
            Use("codl-profile", "--samples",
                lambda path: self.profiled("--force", f"--samples={path}", "-o", self.path("profile.json"))),
        ]

    def readers(self):
        """Returns every way in which a tool reads a file, with a file that it can read."""
        tensor = self.path("input.npy")
        npy.write(tensor, (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        out = self.path("out")
        run = ["--variant=cpu", f"--trace={out}"]
        bench = [*run, "--num-runs=1", "--warmup-runs=0"]
        quirks, measured = self.path("quirks"), self.path("measured")
        subprocess.run([os.path.join(BIN, "codl-bench"), self.plan, "--variant=cpu", "--num-runs=1", "--json", "--steps", "-o",
                        measured], check=True)
        self.write("quirks", b'{"quirks": [{"kernel": "softmax_f32_cl_buffer"}]}')
        return [
            (Use("codlc", "--avoid", lambda path: [MODEL, "-q", f"--avoid={path}", "-o", out]), quirks),
            (Use("codlc", "--measured",
                 lambda path: [MODEL, "-q", "--report=" + self.path("page.html"), f"--measured={path}", "-o", out]), measured),
            (Use("codlc", "--learn, BENCH",
                 lambda path: [MODEL, "-q", f"--learn={self.plan}={path}", "-o", out]), measured),
            (Use("codlc", "--learn, PLAN",
                 lambda path: [MODEL, "-q", f"--learn={path}={measured}", "-o", out]), self.plan),
            (Use("codlc", "MODEL", lambda path: [path, "-o", out]), MODEL),
            (Use("codlc", "--device", lambda path: [MODEL, f"--device={path}", "-o", out],
                 "profile.json"), PROFILE),
            (Use("codl-dump", "PLAN", lambda path: [path]), self.plan),
            (Use("codl-dump", "--device", lambda path: [f"--device={path}"], "profile.json"), PROFILE),
            (Use("codl-sim", "PLAN", lambda path: [path, "--device=host-pair", f"--trace={out}"]), self.plan),
            (Use("codl-sim", "--device",
                 lambda path: [self.plan, f"--device={path}", f"--trace={out}"], "profile.json"), PROFILE),
            (Use("codl-sim", "--replay",
                 lambda path: ["--device=sd855", f"--replay={path}", f"--trace={out}"]), REPLAY),
            (Use("codl-run", "PLAN", lambda path: [path, *run]), self.plan),
            (Use("codl-run", "--input", lambda path: [self.plan, f"--input=input={path}", *run]), tensor),
            (Use("codl-bench", "PLAN", lambda path: [path, *bench]), self.plan),
            (Use("codl-bench", "--input",
                 lambda path: [self.plan, f"--input=input={path}", *bench]), tensor),
            (Use("codl-profile", "--plan",
                 lambda path: self.profiled("--force", f"--plan={path}", "-o", out + ".json")), self.plan),
            (Use("codl-profile", "--samples",
                 lambda path: ["--fit-only", "--force", f"--samples={path}", "-o", out + ".json"]), self.samples),
            (Use("codl-profile", "--resume",
                 lambda path: self.profiled("--resume", "--force", f"--samples={path}", "-o", out + ".json")), self.samples),
        ]

    def name_of(self, use):
        return use.name or ("out.json" if use.tool == "codl-profile" else "out")

    def for_each_writer(self, check, *excluded):
        """Calls check(use, path) as a subtest for each, with a folder of its own."""
        for number, use in enumerate(self.writers()):
            if (use.tool, use.what) in excluded:
                continue
            with self.subTest(tool=use.tool, what=use.what):
                check(use, os.path.join(self.folder(str(number)), self.name_of(use)))

    SAMPLE_FILE = ("codl-profile", "--samples")
    # Outputs that contain times: JSON differs in each run.
    TIMED = (("codl-run", "--trace"), ("codl-bench", "--trace"), ("codl-bench", "-o"))
    # These tools print nothing besides; codl-bench notes what times that are far off may mean.
    ALONE = (("codlc", "-o"), ("codl-dump", "-o"), ("codl-sim", "-o"), ("codl-run", "-o"), ("codl-bench", "-o"))

    # ---- outputs: whole or not at all ----

    def test_outputs_have_the_mode_of_the_umask_and_nothing_is_left_beside_them(self):
        def check(use, path):
            before = os.umask(0o027)
            try:
                result = self.run_tool(use.tool, *use.command(path))
            finally:
                os.umask(before)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
            self.assertEqual(os.listdir(os.path.dirname(path)), [os.path.basename(path)])
        self.for_each_writer(check)

    def expect_no_output(self, use, path, **options):
        """Expects that the old file stays, and nothing new appears beside it."""
        names = os.listdir(os.path.dirname(path))
        result = self.run_tool(use.tool, *use.command(path), **options)
        self.expect_error(result, path)
        self.assertEqual(read(path), OLD)
        self.assertEqual(os.listdir(os.path.dirname(path)), names)
        return result

    def put_old(self, path):
        with open(path, "wb") as file:
            file.write(OLD)

    def test_without_space_what_was_there_stays(self):
        def check(use, path):
            self.put_old(path)
            # No larger limit is too little for any of the files.
            self.expect_no_output(use, path, preexec_fn=limit(resource.RLIMIT_FSIZE, 64))
            self.expect_no_output(use, path, env=self.faults("write=ENOSPC"))
            self.expect_no_output(use, path, env=self.faults("fsync=EIO"))
            self.expect_no_output(use, path, env=self.faults("rename=ENOSPC"))
        self.for_each_writer(check, self.SAMPLE_FILE)

    def test_on_a_full_disk_what_was_there_stays(self):
        disk = self.folder("disk")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk],
                          stderr=subprocess.DEVNULL).returncode != 0:
            print("[SKIP] a full disk: mounting a tmpfs is not permitted")
            return
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.write("disk/filler", b"x" * 16384)
        for use in self.writers():
            path = os.path.join(disk, self.name_of(use))
            with self.subTest(tool=use.tool, what=use.what):
                self.expect_error(self.run_tool(use.tool, *use.command(path)), path)
                self.assertEqual(os.listdir(disk), ["filler"])

    def test_without_space_for_a_report_there_is_no_new_plan(self):
        model = self.write("model.onnx", onnx_bytes.model(
            [onnx_bytes.node("Relu", ["x"], ["y"], "relu")], [onnx_bytes.value_info("x", [4])],
            [onnx_bytes.value_info("y", [4])]))
        plan, page = self.path("plan"), self.path("page.html")
        arguments = [model, "-q", "--dump=graph", "-o", plan, f"--report={page}"]
        whole = self.run_tool("codlc", *arguments)
        self.assertEqual(whole.returncode, 0, whole.stderr)
        os.remove(page)
        self.put_old(plan)
        # The page is written first.
        result = self.run_tool("codlc", *arguments, preexec_fn=limit(resource.RLIMIT_FSIZE, 4096))
        self.expect_error(result, page)
        self.assertEqual(read(plan), OLD)
        # The text printed until then is kept.
        self.assertIn(b"Relu", whole.stdout.title())
        self.assertEqual(result.stdout, whole.stdout)

    def test_a_plan_with_holes_takes_no_memory(self):
        size = 1 << 30
        head = bytearray(read(self.plan)[:64])
        head[8:16] = size.to_bytes(8, "little")
        self.write("plan", bytes(head))
        os.truncate(self.path("plan"), size)
        for tool in ("codl-dump", "codl-sim"):
            with self.subTest(tool=tool):
                self.expect_error(self.run_tool(tool, self.path("plan"), preexec_fn=limit(resource.RLIMIT_DATA, 256 << 20)),
                                  self.path("plan"))

    def test_samples_that_were_measured_stay_when_the_disk_is_full(self):
        path = self.path("samples.csv")
        result = self.run_tool("codl-profile", *self.profiled("--samples=" + path, "-o", self.path("p.json")),
                               preexec_fn=limit(resource.RLIMIT_FSIZE, 4000))
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 1, error)
        self.assertRegex(error, r"(?m)^codl-profile: error: .*samples.csv: expected space to write to")
        self.assertIn(b"\nsoftmax_f32_cpu,", read(path))
        self.assertEqual(os.listdir(self.work), ["samples.csv"])
        # The line that was cut off is measured again.
        result = self.run_tool("codl-profile", *self.profiled("--resume", "--samples=" + path, "-o", self.path("p.json")))
        self.assertEqual(result.returncode, 0, result.stderr)

    def faults(self, fault):
        return {"LD_PRELOAD": self.shim, "CODL_TEST_FILE_FAULT": fault}

    def test_tools_work_with_one_thread_where_the_system_grants_no_other(self):
        digits = os.path.join(ROOT, "test", "eval", "digits")
        images = read(os.path.join(digits, "calibration", "images.npy"))
        folder = self.folder("calibration")
        self.write(os.path.join(folder, "x.npy"), images[:128 + 20 * 4 * 16 * 16].replace(b"(1437, 1, 16, 16), }", b"(20, 1, 16, 16), }  "))
        plans = []
        for env in ({}, self.faults("pthread_create=EAGAIN")):
            result = self.run_tool("codlc", os.path.join(digits, "digits.onnx"), "--device=host", "--strategy=cpu", "--prune=0.3",
                                   f"--calibration={folder}", "-q", "-o", self.path("plan"), env=env)
            self.assertEqual(result.returncode, 0, result.stderr)
            plans.append(read(self.path("plan")))
        self.assertEqual(plans[0], plans[1])
        for tool in ("codl-run", "codl-bench"):
            result = self.run_tool(tool, self.path("plan"), "--num-threads=2", env=self.faults("pthread_create=EAGAIN"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"1 CPU thread of 2 (the system grants no more)", result.stdout)

    def test_a_killed_run_leaves_what_was_there_and_at_most_a_temporary(self):
        def check(use, path):
            self.put_old(path)
            for moment in ("write=KILL", "fsync=KILL", "rename=KILL"):
                result = self.run_tool(use.tool, *use.command(path), env=self.faults(moment))
                self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr)
                self.assertEqual(read(path), OLD)
                names = set(os.listdir(os.path.dirname(path))) - {os.path.basename(path)}
                self.assertEqual(len(names), 1)
                # It neither blocks the next run, nor does that follow a link that somebody puts there.
                os.remove(os.path.join(os.path.dirname(path), names.pop()))
        self.for_each_writer(check, self.SAMPLE_FILE)

    # ---- outputs: what they may be ----

    def test_links_are_replaced_and_not_followed(self):
        def check(use, path):
            target = self.write("target", OLD)
            for make in (os.symlink,) if use.tool == "codl-profile" else (os.symlink, os.link):  # a profile takes seconds
                make(target, path)
                result = self.run_tool(use.tool, *use.command(path))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertFalse(os.path.islink(path))
                self.assertEqual(read(target), OLD)
                self.assertNotEqual(read(path), OLD)
                os.remove(path)
            os.symlink(self.path("nowhere"), path)
            result = self.run_tool(use.tool, *use.command(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertFalse(os.path.exists(self.path("nowhere")))
            self.assertFalse(os.path.islink(path))
        self.for_each_writer(check)

    def test_an_output_is_a_regular_file(self):
        def check(use, path):
            for make in (os.mkdir, os.mkfifo, self.make_socket, lambda p: os.symlink("/dev/full", p),
                         lambda p: os.symlink("/dev/null", p), lambda p: os.symlink(self.work, p)):
                make(path)
                before = os.lstat(path)
                self.expect_error(self.run_tool(use.tool, *use.command(path)), path)
                self.assertEqual(os.lstat(path).st_ino, before.st_ino)
                os.rmdir(path) if stat.S_ISDIR(before.st_mode) else os.remove(path)
            if use.name:
                return  # the name of its file is not free
            for device in ("/dev/full", "/dev/zero", "/dev/stdout", "/dev/stderr"):
                self.expect_error(self.run_tool(use.tool, *use.command(device)), device)
            self.expect_error(self.run_tool(use.tool, *use.command(self.path("none", "out"))))
        self.for_each_writer(check)

    def make_socket(self, path):
        listener = socket.socket(socket.AF_UNIX)
        before = os.getcwd()
        os.chdir(os.path.dirname(path))
        try:
            listener.bind(os.path.basename(path))
        finally:
            os.chdir(before)
            listener.close()

    def test_the_null_device_is_an_output_and_stays_one(self):
        for use in self.writers():
            if use.name or (use.tool, use.what) == self.SAMPLE_FILE:
                continue
            with self.subTest(tool=use.tool, what=use.what):
                result = self.run_tool(use.tool, *use.command("/dev/null"))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_an_output_on_stdout_is_alone_there(self):
        def check(use, path):
            if use.name:
                return
            self.assertEqual(self.run_tool(use.tool, *use.command(path)).returncode, 0)
            result = self.run_tool(use.tool, *use.command("-"))
            self.assertEqual(result.returncode, 0, result.stderr)
            if (use.tool, use.what) in self.TIMED:
                json.loads(result.stdout)
                self.assertEqual(result.stdout.count(b"\n"), read(path).count(b"\n"))
            else:
                self.assertEqual(result.stdout, read(path))
            said = [line for line in result.stderr.splitlines() if not line.startswith(b"codl-bench: note: ")]
            self.assertEqual(said == [], (use.tool, use.what) in self.ALONE, result.stderr)
            self.assertEqual(os.listdir(self.work).count("-"), 0)
        self.for_each_writer(check, self.SAMPLE_FILE)

    def test_what_is_printed_on_closed_streams_is_in_no_file(self):
        def close(descriptors):
            for descriptor in descriptors:
                os.close(descriptor)
        def check(use, path):
            self.assertEqual(self.run_tool(use.tool, *use.command(path)).returncode, 0)
            usual = read(path)
            # A profile takes seconds.
            cases = ((0, 1, 2),) if use.tool == "codl-profile" else ((0,), (1,), (2,), (1, 2), (0, 1, 2))
            for closed in cases:
                os.remove(path)
                result = self.run_tool(use.tool, *use.command(path), preexec_fn=lambda: close(closed))
                # A report that nobody gets is an error.
                is_lost = 1 in closed and ((use.tool, use.what) not in self.ALONE)
                self.assertEqual(result.returncode, 1 if is_lost else 0)
                data = read(path)
                if (use.tool, use.what) == self.SAMPLE_FILE:
                    strange = [l for l in data.splitlines() if not l.startswith((b"#", b"softmax_f32_cpu,"))]
                    self.assertEqual(strange, [])
                elif (use.tool, use.what) in self.TIMED:
                    json.loads(data)
                else:
                    self.assertEqual(data, usual)
        self.for_each_writer(check)

    def test_a_compiler_without_profiles_beside_it_says_where_it_looked(self):
        alone = os.path.join(self.work, "alone", "bin")
        os.makedirs(alone)
        shutil.copy(os.path.join(BIN, "codlc"), alone)
        done = subprocess.run([os.path.join(alone, "codlc"), MODEL, "--device=sd855", "-o", os.path.join(self.work, "net.codl")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--device: expected FILE.json, as " + os.path.join(self.work, "alone", "share", "codl", "profiles") +
                      " has no profiles, found \"sd855\"", done.stderr)

    def test_reports_are_not_named_as_what_they_are_not(self):
        for name in ("mine.txt", "mine", "json"):
            self.expect_error(self.run_tool("codl-profile", *self.profiled("-o", self.path(name))),
                              "-o: expected a name that ends in .json", f"'{self.path(name)}'")
        tensor = self.path("x.npy")
        self.expect_error(self.run_tool("codl-run", self.plan, "--variant=cpu", "-o", tensor), "--output-dir=DIR", tensor)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_profile_on_stdout_needs_a_name(self):
        result = self.run_tool("codl-profile", "--fit-only", f"--samples={self.samples}", "-o", "-")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn(b"-o: expected --name and --samples", result.stderr)
        # The null device has no folder to put samples into, either.
        self.expect_error(self.run_tool("codl-profile", *self.profiled("-o", "/dev/null")), "-o: expected --samples")
        self.assertFalse(os.path.exists("/dev/null.samples.csv"))

    # ---- outputs and inputs ----

    def test_no_output_is_an_input(self):
        """The output is the input, or another name of it."""
        def both(tool, what, source, command, name="file"):
            return Use(tool, what, command, name), source
        run = ["--variant=cpu", "--num-runs=1", "--warmup-runs=0"]
        tensor = self.path("input.npy")
        npy.write(tensor, (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        for use, source in (
                both("codl-dump", "PLAN", self.plan, lambda i, o: [i, "-o", o]),
                both("codl-dump", "--device", PROFILE, lambda i, o: [f"--device={i}", "-o", o], "p.json"),
                both("codl-sim", "PLAN -o", self.plan, lambda i, o: [i, "-o", o]),
                both("codl-run", "PLAN -o", self.plan, lambda i, o: [i, "--variant=cpu", "-o", o]),
                both("codl-run", "--input -o", tensor,
                     lambda i, o: [self.plan, "--variant=cpu", f"--input=input={i}", "-o", o]),
                both("codl-bench", "PLAN -o", self.plan, lambda i, o: [i, *run, "-o", o]),
                *(both(tool, "@FILE", self.write(tool, " ".join(arguments).encode()),
                       lambda i, o, tool=tool: [f"@{i}", "-o", o], "file.json" if tool == "codl-profile" else "file")
                  for tool, arguments in {
                      "codlc": [MODEL, "--strategy=cpu"], "codl-dump": [self.plan], "codl-sim": [self.plan],
                      "codl-run": [self.plan, "--variant=cpu"], "codl-bench": [self.plan, *run],
                      "codl-profile": ["--fit-only", f"--samples={self.samples}", "--name=box"]}.items()),
                both("codlc", "MODEL", MODEL, lambda i, o: [i, "-o", o]),
                both("codlc", "--device", PROFILE, lambda i, o: [MODEL, f"--device={i}", "-o", o], "p.json"),
                both("codl-sim", "PLAN", self.plan, lambda i, o: [i, "--device=host-pair", f"--trace={o}"]),
                both("codl-sim", "--device", PROFILE,
                     lambda i, o: [self.plan, f"--device={i}", f"--trace={o}"], "p.json"),
                both("codl-sim", "--replay", REPLAY,
                     lambda i, o: [f"--replay={i}", "--device=sd855", f"--trace={o}"]),
                both("codl-run", "PLAN", self.plan, lambda i, o: [i, "--variant=cpu", f"--trace={o}"]),
                both("codl-run", "--input", tensor,
                     lambda i, o: [self.plan, "--variant=cpu", f"--input=input={i}", f"--trace={o}"]),
                both("codl-bench", "PLAN", self.plan, lambda i, o: [i, *run, f"--trace={o}"]),
                both("codl-bench", "--input", tensor,
                     lambda i, o: [self.plan, *run, f"--input=input={i}", f"--trace={o}"]),
                both("codl-profile", "--samples", self.samples,
                     lambda i, o: ["--fit-only", f"--samples={i}", "-o", o], "file.json"),
                both("codl-profile", "--samples --evaluation", self.samples,
                     lambda i, o: ["--fit-only", f"--samples={i}", f"--evaluation={o}", "-o", self.path("out.json")]),
                both("codl-profile", "--resume", self.samples,
                     lambda i, o: self.profiled("--resume", f"--samples={i}", "-o", o), "file.json"),
                both("codl-profile", "--plan", self.plan,
                     lambda i, o: self.profiled(f"--plan={i}", "-o", o), "file.json"),
                both("codl-profile", "--plan --samples", self.plan,
                     lambda i, o: self.profiled(f"--plan={i}", f"--samples={o}", "-o", self.path("out.json")))):
            folder = self.folder(f"{use.tool}{use.what}")
            one = os.path.join(folder, use.name)
            shutil.copy(source, one)
            soft, hard = os.path.join(folder, "soft.json"), os.path.join(folder, "hard.json")
            os.symlink(use.name, soft)
            os.link(one, hard)
            names = sorted(os.listdir(folder))
            for i, o in ((one, one), (one, soft), (soft, one), (soft, soft), (one, hard), (hard, soft),
                         (one, os.path.join(folder, ".", "..", os.path.basename(folder), use.name))):
                with self.subTest(tool=use.tool, what=use.what, input=i, output=o):
                    self.expect_error(self.run_tool(use.tool, *use.command(i, o)), "input", "output")
                    self.assertEqual(read(one), read(source))
                    self.assertTrue(os.path.islink(soft))
                    self.assertEqual(sorted(os.listdir(folder)), names)

    def test_a_tensor_that_is_read_is_not_written(self):
        tensor = self.path("output.npy")
        npy.write(tensor, (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        before = read(tensor)
        self.expect_error(self.run_tool("codl-run", self.plan, "--variant=cpu",
                                        f"--input=input={tensor}", f"--output-dir={self.work}"))
        self.assertEqual(read(tensor), before)

    def test_external_data_and_inherited_profiles_are_inputs(self):
        self.write("weights", b"\0" * 1024)
        model = self.write("model.onnx", onnx_bytes.model(
            [onnx_bytes.node("Add", ["x", "w"], ["y"], "add")], [onnx_bytes.value_info("x", [256])],
            [onnx_bytes.value_info("y", [256])],
            initializers=[onnx_bytes.external_tensor("w", [256], "weights")]))
        for output in ("weights", "hard", "soft"):
            if output == "hard":
                os.link(self.path("weights"), self.path("hard"))
            if output == "soft":
                os.symlink("weights", self.path("soft"))
            with self.subTest(output):
                self.expect_error(self.run_tool("codlc", model, "-o", self.path(output)), "weights")
                self.assertEqual(read(self.path("weights")), b"\0" * 1024)
        self.assertEqual(self.run_tool("codlc", model, "-o", self.path("plan")).returncode, 0)

        # This codlc finds its profiles in a writable folder.
        shutil.copytree(os.path.join(ROOT, "profiles"), self.path("share", "codl", "profiles"))
        os.mkdir(self.path("bin"))
        base = self.path("share", "codl", "profiles", "sd855.json")
        derived = self.write("mine.json", b'{"format_version": 3, "base": "sd855", "name": "mine"}')
        for tool, arguments in (("codlc", [MODEL, "-o", base]),
                                ("codl-sim", [self.plan, f"--trace={base}"])):
            shutil.copy(os.path.join(BIN, tool), self.path("bin", tool))
            for device in ("sd855", derived):
                with self.subTest(tool=tool, device=device):
                    result = subprocess.run([self.path("bin", tool), *arguments, f"--device={device}"],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    self.expect_error(result, "sd855.json")
                    self.assertEqual(read(base), read(os.path.join(ROOT, "profiles", "sd855.json")))

    def test_no_two_outputs_are_one_file(self):
        out = self.path("out.json")
        for tool, arguments in (
                ("codl-sim", [self.plan, f"--trace={out}"]),
                ("codl-run", [self.plan, f"--trace={out}"]),
                ("codl-bench", [self.plan, f"--trace={out}"]),
                ("codl-profile", ["--fit-only", f"--samples={self.samples}", f"--evaluation={out}"]),
                ("codl-profile", self.profiled(f"--samples={out}"))):
            with self.subTest(arguments):
                self.expect_error(self.run_tool(tool, *arguments, "-o", out), out)
                self.assertEqual(os.listdir(self.work), [])
        tensor = self.path("output.npy")
        self.expect_error(self.run_tool("codl-run", self.plan, f"--output-dir={self.work}", f"--trace={tensor}"), "output.npy")
        for tool in ("codl-sim", "codl-run", "codl-bench"):
            self.expect_error(self.run_tool(tool, self.plan, "--trace=-", "-o", "-"), "one output on stdout")

    # ---- inputs ----

    def test_inputs_are_regular_files(self):
        for use, source in self.readers():
            folder = self.folder(use.tool + use.what)
            path = os.path.join(folder, use.name or "file")
            shutil.copy(source, path)
            with self.subTest(tool=use.tool, what=use.what):
                if use.what != "--resume":  # the file is from another machine
                    result = self.run_tool(use.tool, *use.command(path))
                    self.assertEqual(result.returncode, 0, result.stderr)
                os.remove(path)
                for make in (os.mkdir, os.mkfifo, self.make_socket, lambda p: os.symlink("/dev/zero", p),
                             lambda p: os.symlink("/dev/tty", p), lambda p: os.symlink("none", p)):
                    make(path)
                    result = self.run_tool(use.tool, *use.command(path))
                    self.expect_error(result)
                    os.rmdir(path) if os.path.isdir(path) else os.remove(path)
                if use.name is None:
                    self.expect_error(self.run_tool(use.tool, *use.command("/dev/zero")), "/dev/zero")

    def test_a_file_larger_than_its_format_allows_is_refused_before_it_is_read(self):
        for use, source in self.readers():
            path = os.path.join(self.folder(use.tool + use.what), use.name or "file")
            with open(path, "wb") as file:
                file.write(read(source)[:4096])
            os.truncate(path, 1 << 40)
            is_model = use.what == "MODEL"
            with self.subTest(tool=use.tool, what=use.what):
                self.expect_error(self.run_tool(use.tool, *use.command(path),
                                                preexec_fn=limit(resource.RLIMIT_DATA, 1 << 30)),
                                  path, code=2 if is_model else 1)

    # ---- stdout, memory ----

    def test_a_full_stdout_is_an_error(self):
        runs = {
            "codlc": [[MODEL, "-o", self.path("out")], ["--list-devices"], ["--list-ops"],
                      ["--list-ops=markdown"], [MODEL, "--report-support"],
                      [MODEL, "--report-support=json"],
                      [MODEL, "-q", "--dump=graph", "-o", self.path("out")],
                      [MODEL, "-q", "--dump=schedule", "-o", self.path("out")],
                      [MODEL, "-q", "-o", "-"]],
            "codl-dump": [[self.plan], [self.plan, "--json"], ["--device=sd855"]],
            "codl-sim": [[self.plan, "--device=host-pair"], [self.plan, "--device=host", "--json"],
                         [self.plan, "--device=host-pair", "--trace=-"]],
            "codl-run": [[self.plan, "--variant=cpu"], [self.plan, "--variant=cpu", "--json"],
                         [self.plan, "--variant=cpu", "--trace=-"]],
            "codl-bench": [[self.plan, "--variant=cpu", "--num-runs=1", *flags]
                           for flags in ([], ["--json"], ["--trace=-"])],
            "codl-profile": [["--fit-only", "--force", f"--samples={self.samples}", "--name=box", "-o", path]
                             for path in (self.path("out.json"), "-")],
        }
        self.assertEqual(set(runs), set(TOOLS))
        for tool, commands in runs.items():
            for arguments in [*commands, ["--help"], ["--version"]]:
                with self.subTest(tool=tool, arguments=arguments), open("/dev/full", "wb") as full:
                    result = self.run_tool(tool, *arguments, stdout=full)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    last = result.stderr.decode().splitlines()[-1]
                    self.assertRegex(last, r"stdout: expected space to write to, found .*$")

    def test_without_memory_there_is_a_line_and_an_exit_code(self):
        out = self.path("out")
        for tool, arguments in (
                ("codlc", [MODEL, "-q", "-o", out]), ("codlc", [MODEL, "-q", "--report-support=json"]),
                ("codlc", [MODEL, "-q", "--dump=schedule", "-o", out]), ("codlc", ["--list-devices"]),
                ("codl-dump", [self.plan]), ("codl-dump", [self.plan, "--json"]),
                # A profile of many numbers makes a document whose destructor asks for memory.
                ("codl-dump", ["--device=h200-nvidia"]),
                ("codl-sim", [self.plan, "--device=host-pair"]), ("codl-sim", [self.plan, "--json"]),
                ("codl-run", [self.plan, "--variant=cpu", "--num-threads=1"]),
                ("codl-bench", [self.plan, "--variant=cpu", "--num-threads=1", "--num-runs=1"]),
                ("codl-profile", ["--fit-only", "--force", f"--samples={self.samples}", "-o", out + ".json"])):
            # Limits go from where the tool starts to where it has enough.
            codes = []
            for megabytes in self.limits_of(tool, arguments):
                with self.subTest(tool=tool, megabytes=megabytes):
                    result = self.run_tool(tool, *arguments,
                                           preexec_fn=limit(resource.RLIMIT_AS, int(megabytes * 1e6)))
                    codes.append(result.returncode)
                    was_written = self.remove_out()
                    self.assertIn(result.returncode, (0, NO_MEMORY), result.stderr)
                    if result.returncode == NO_MEMORY:
                        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
                        self.assertIn(b"memory", result.stderr)
                        self.assertFalse(was_written)
            self.assertIn(NO_MEMORY, codes, tool)

    def test_memory_and_plans_are_bounded_by_a_models_own_bytes(self):
        count = 4 << 20
        self.sparse("weights", 4 * count)
        def compile(nodes, initializers, output, megabytes, dims=(count,), most=17 << 20, device="host"):
            model = self.write("model.onnx", onnx_bytes.model(
                nodes, [onnx_bytes.value_info("x", dims)], [onnx_bytes.value_info(output, dims)],
                initializers=initializers))
            result = self.run_tool("codlc", model, f"--device={device}", "-q", "-o", self.path("plan"),
                                   preexec_fn=limit(resource.RLIMIT_DATA, megabytes << 20))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertLess(os.path.getsize(self.path("plan")), most)
        # Weights of one range exist once, mapped; the plan is in memory once.
        compile([onnx_bytes.node("Add", ["x" if i == 0 else f"y{i - 1}", f"w{i}"], [f"y{i}"], f"add{i}")
                 for i in range(40)],
                [onnx_bytes.external_tensor(f"w{i}", [count], "weights") for i in range(40)], "y39", 64)
        # Two constants of a chain are held at a time, where they are folded and where an operator asks for them.
        row = [onnx_bytes.node("Neg", ["w" if i == 0 else f"n{i - 1}"], [f"n{i}"], f"neg{i}") for i in range(15)]
        compile(row + [onnx_bytes.node("Add", ["x", "n14"], ["y"], "add")],
                [onnx_bytes.external_tensor("w", [count], "weights")], "y", 128)
        compile(row + [onnx_bytes.node("MatMul", ["x", "n14"], ["y"], "product")],
                [onnx_bytes.external_tensor("w", [2048, 2048], "weights")], "y", 128, (1, 2048))
        # Folding stores computed forms of one weight up to the weight's bytes plus 64 MiB; the others are computed in
        # the run.
        compile([onnx_bytes.node(op, ["w"], [f"form{i}"], f"form{i}") for i, op in
                 enumerate(("Neg", "Abs", "Exp", "Sin", "Cos", "Tanh", "Sqrt", "Ceil", "Floor", "Round", "Erf"))] +
                [onnx_bytes.node("Add", ["x" if i == 0 else f"y{i - 1}", f"form{i}"], [f"y{i}"], f"add{i}")
                 for i in range(11)],
                [onnx_bytes.external_tensor("w", [count], "weights")], "y10", 256, most=97 << 20)
        # Masks without effect, in a model without weights.
        compile([node for i in range(60) for node in
                 (onnx_bytes.node("Dropout", ["x" if i == 0 else f"y{i - 1}"], [f"d{i}", f"m{i}"], f"dropout{i}"),
                  onnx_bytes.node("Where", [f"m{i}", f"d{i}", "x"], [f"y{i}"], f"where{i}"))], [], "y59", 192,
                most=65 << 20)
        # Maps have as many rows as there can be cuts.
        self.sparse("filter", 64)
        compile([onnx_bytes.node("Conv", ["x" if i == 0 else f"y{i - 1}", "w"], [f"y{i}"], f"conv{i}") for i in range(4)],
                [onnx_bytes.external_tensor("w", [4, 4, 1, 1], "filter")], "y3", 256, (1, 4, 400000, 1), device="sd855")

    def test_calibration_data_are_read_by_samples(self):
        width = 16384
        model = self.write("model.onnx", onnx_bytes.model(
            [onnx_bytes.node("MatMul", ["x", "w"], ["h"], "first"), onnx_bytes.node("MatMul", ["h", "v"], ["y"], "second")],
            [onnx_bytes.value_info("x", [1, width])], [onnx_bytes.value_info("y", [1, 4])],
            initializers=[onnx_bytes.external_tensor("w", [width, 8], "w"), onnx_bytes.external_tensor("v", [8, 4], "v")]))
        self.sparse("w", 4 * 8 * width)
        self.sparse("v", 4 * 32)

        def shrink(dims, data_bytes):
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {dims}, }}".ljust(117).encode() + b"\n"
            path = self.write(os.path.join(self.folder(f"data{len(os.listdir(self.work))}"), "x.npy"),
                              b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            os.truncate(path, 128 + data_bytes)
            return self.run_tool("codlc", model, "--device=host", "--prune=0.5", f"--calibration={os.path.dirname(path)}", "-q", "-o",
                                 self.path("plan"), preexec_fn=limit(resource.RLIMIT_DATA, 128 << 20))
        result = shrink((4096, width), 4096 * width * 4)  # 256 MiB, all of it a hole
        self.assertEqual(result.returncode, 0, result.stderr)
        # The file's bytes do not back these counts; there are more samples than a search could run.
        self.expect_error(shrink((1 << 62, 0, 4), 0), "dims with a product of bytes below 2^63")
        self.expect_error(shrink((1 << 40, 0), 0), f"expected float32[samples,{width}]")
        self.expect_error(shrink((65535, width), 65535 * width * 4 + (1 << 20)), "expected a file of at most 4294967296 bytes")

    def test_memory_is_bounded_where_weights_become_floats(self):
        side = 2048
        spill = self.folder("spill")
        self.write("scale", b"\0\0\0\x3f")
        scale = onnx_bytes.external_tensor("scale", [], "scale")
        external = []
        for i in range(8):
            self.write(f"w{i}", bytes([i]) * (side * side))
            external.append(onnx_bytes.external_tensor(f"w{i}", [side, side], f"w{i}", onnx_bytes.INT8))
        typed = [onnx_bytes.uint8_tensor(f"w{i}", [side, side], bytes([i]) * (side * side)) for i in range(8)]
        nodes = [node for i in range(8) for node in
                 (onnx_bytes.node("DequantizeLinear", [f"w{i}", "scale"], [f"f{i}"], f"dequantize{i}"),
                  onnx_bytes.node("MatMul", ["x" if i == 0 else f"y{i - 1}", f"f{i}"], [f"y{i}"], f"product{i}"))]
        dims = [1, side]
        for weights in (external, typed):
            model = self.write("model.onnx", onnx_bytes.model(
                nodes, [onnx_bytes.value_info("x", dims)], [onnx_bytes.value_info("y7", dims)],
                initializers=[*weights, scale]))
            # 32 MiB become 128, in constants and in the plan: twice the model, and 64 MiB.
            def compile(folder):
                return self.run_tool("codlc", model, "-q", "-o", self.path("plan"), env={"TMPDIR": folder},
                                     preexec_fn=limit(resource.RLIMIT_DATA, 128 << 20))
            result = compile(spill)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(os.path.getsize(self.path("plan")), 128 << 20)
            self.assertEqual(os.listdir(spill), [])
            os.remove(self.path("plan"))
            self.expect_error(compile(self.path("none")), self.path("none"), "TMPDIR")
            self.assertFalse(os.path.exists(self.path("plan")))

    def limits_of(self, tool, arguments):
        """Yields megabytes of address space from what the tool needs for --version to what it needs for its work."""
        def works(megabytes, arguments):
            result = self.run_tool(tool, *arguments,
                                   preexec_fn=limit(resource.RLIMIT_AS, int(megabytes * 1e6)))
            self.remove_out()
            return result.returncode == 0
        def least(arguments):
            low, high = 0, 4096
            while high - low > 0.25:
                middle = (low + high) / 2
                low, high = (low, middle) if works(middle, arguments) else (middle, high)
            return high
        first, last = least(["--version"]), least(arguments)
        return [first + (last - first) * i / 32 for i in range(1, 33)]


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    unittest.main(verbosity=2)
