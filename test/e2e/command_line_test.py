#!/usr/bin/env python3
"""The command lines of all six tools: flags as --help lists them, messages, names from hostile files.

Usage: command_line_test.py --bin build/release/bin [unittest arguments]     standard library only
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import npy
import onnx_bytes
from work_folder import WorkFolder

TOOLS = ("codlc", "codl-dump", "codl-sim", "codl-run", "codl-bench", "codl-profile")
MODEL = os.path.join(ROOT, "examples", "models", "tiny_resnet.onnx")
LARGER = os.path.join(ROOT, "examples", "models", "super_resolution.onnx")
PROFILES = os.path.join(ROOT, "profiles")
BIN = None

# Gives a value that each kind of flag takes.
VALUES = {"N": "1", "PERCENT": "1%", "R": "0.5", "LIST": "0", "TIME": "1s", "STAGE|PASS": "graph",
          "PASS": "fold_constants", "FILE.html|.json": "x.html", "RATIO|auto": "auto", "RATIOx|BYTES|none": "none", "BYTES": "1MiB",
          "NODE=WHERE": "a=cpu"}
# Values of flags whose form does not say it.
VALUES_OF = {"strategy": "cpu", "variants": "cpu", "samples-per-kernel": "8"}
NUMBERS = ("N", "PERCENT", "R", "LIST", "TIME")


class Flag:
    """Describes a line of --help-all: '  -o, --output=FILE   the plan (default: ...)'."""

    PATTERN = re.compile(r"^  (?:-(\w+), )?--([a-z-]+)(?:(\[?)=([^\s\]]+)\]?)?(?:  +(.*))?$")

    def __init__(self, lines):
        match = self.PATTERN.match(lines[0])
        self.letter, self.name, bracket, self.form, _ = match.groups()
        self.may_stand_alone = bracket == "["
        self.help = re.sub(r"\s+", " ", " ".join([match.group(5) or "", *lines[1:]])).strip()
        self.repeats = "repeatable" in self.help
        assert self.help.count("repeatable") <= 1, f"--{self.name}: {self.help}"
        self.is_switch = self.form is None

    @property
    def value(self):
        return self.form.split("|")[0] if "|" in self.form and self.form.islower() else VALUES_OF.get(self.name) or VALUES.get(self.form, "x")

    @property
    def argument(self):
        return f"--{self.name}" if self.is_switch else f"--{self.name}={self.value}"


def run(tool, *arguments):
    """Returns a finished process with its output as bytes; never raises for an exit code."""
    return subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=300)


def flags_of(tool):
    flags = []
    lines = run(tool, "--help-all").stdout.decode().split("\n")
    for at, line in enumerate(lines):
        if not Flag.PATTERN.match(line):
            continue
        end = at + 1
        while lines[end].startswith(" " * 20):
            end += 1
        flags.append(Flag(lines[at:end]))
    return flags


def is_hidden(character):
    """True for characters that move the cursor or are hidden: all must be written out."""
    point = ord(character)
    return (point < 0x20 or 0x7F <= point <= 0x9F or point in (0xAD, 0x61C, 0xFEFF) or
            0x200B <= point <= 0x200F or 0x2028 <= point <= 0x202E or 0x2060 <= point <= 0x206F or
            0xE0000 <= point <= 0xE007F)


class CommandLineTest(WorkFolder, unittest.TestCase):
    def run_ok(self, tool, *arguments):
        result = run(tool, *arguments)
        self.assertEqual(result.returncode, 0, f"{tool} {arguments}: {result.stderr}")
        return result.stdout.decode()

    def expect_error(self, tool, arguments, *texts, code=1):
        """Expects one line on stderr, as all tools write it, and nothing on stdout."""
        result = run(tool, *arguments)
        text = result.stderr.decode()
        self.assertEqual(result.returncode, code, text)
        self.assertEqual(result.stdout, b"")
        self.assertRegex(text, rf"\A{tool}: error: [^\n]+: expected [^\n]+, found [^\n]+\n\Z")
        for part in texts:
            self.assertIn(part, text)
        return text

    def compile(self, *flags, model=MODEL, name="plan.codl"):
        self.run_ok("codlc", model, "-q", "-o", self.path(name), *flags)
        return self.path(name)

    def profile(self, name):
        with open(os.path.join(PROFILES, name + ".json")) as file:
            return json.load(file)

    # ---- flags ----

    def each_flag(self):
        for tool in TOOLS:
            for flag in flags_of(tool):
                yield tool, flag

    def test_help_is_grouped_and_tells_defaults(self):
        for tool in TOOLS:
            text = self.run_ok(tool, "--help-all")
            self.assertIn(f"usage: {tool} ", text)
            self.assertGreaterEqual(len(re.findall(r"^[A-Z].*:$", text, re.M)), 2)
            self.assertRegex(text, r"Exit codes: 0 ok, 1 .*")
            self.assertLessEqual(max(map(len, text.split("\n"))), 80)
            names = [flag.name for flag in flags_of(tool)]
            self.assertEqual(len(set(names)), len(names))
            self.assertEqual(names[-3:], ["help", "help-all", "version"])
            self.assertIn("output", names)  # every tool writes something
        for tool, flag in self.each_flag():
            self.assertTrue(flag.help)
            if not flag.is_switch and not flag.repeats and (tool, flag.name) != ("codl-profile", "output"):
                self.assertRegex(flag.help, r"\((default|without a value): [^)]+\)|none|STAGE|stage|pass|profile in place")

    def test_help_is_two_screens_with_an_example_first(self):
        for tool in TOOLS:
            text = self.run_ok(tool, "--help")
            self.assertEqual(self.run_ok(tool, "-h"), text)
            lines = text.split("\n")
            self.assertLessEqual(len(lines), 80, tool)
            self.assertLessEqual(max(map(len, lines)), 80)
            self.assertLess(text.index(f"\n  {tool} "), text.index("\n  --"))
            every = self.run_ok(tool, "--help-all")
            shown = re.findall(r"^  (?:-\w+, )?(--[a-z-]+)", text, re.M)
            self.assertLessEqual(set(shown), set(re.findall(r"--[a-z-]+", every)))
            self.assertIn("--help-all", shown)
        for bar in ("gpu-buffer", "gpu-image", "codl-buffer"):
            self.assertNotIn(bar, self.run_ok("codlc", "--help"))
            self.assertIn(bar, self.run_ok("codlc", "--help-all"))

    def test_manual_pages_and_completions_list_every_flag(self):
        share = os.path.join(os.path.dirname(BIN), "share")
        for tool in TOOLS:
            names = {flag.name for flag in flags_of(tool)}
            for path, pattern in ((f"man/man1/{tool}.1", r"^\.B .*?--([a-z-]+)"),
                                  (f"bash-completion/completions/{tool}", r"[ \"]--([a-z-]+)"),
                                  (f"zsh/site-functions/_{tool}", r"^  '\*?--([a-z-]+)"),
                                  (f"fish/vendor_completions.d/{tool}.fish", r" -l ([a-z-]+)")):
                with open(os.path.join(share, path), encoding="ascii") as file:
                    text = file.read().replace("\\-", "-")
                self.assertEqual({name.rstrip("-") for name in re.findall(pattern, text, re.M)}, names, path)

    def test_bash_completes_flags_and_values(self):
        script = os.path.join(os.path.dirname(BIN), "share", "bash-completion", "completions", "codlc")
        for words, expected in ((["--low"], "--low-rank="), (["--objective", "=", "e"], "energy"), (["--objective", "="], "energy"),
                                (["--qui"], "--quiet"), (["--strategy", "=", "mu"], "mulayer")):
            ask = (f"source {script}; COMP_WORDS=(codlc {' '.join(words)}); COMP_CWORD={len(words)}; _codlc 2>/dev/null; "
                   'printf "%s\\n" "${COMPREPLY[@]}"')
            result = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
            self.assertIn(expected, result.stdout.split("\n"), words)

    def test_version_has_one_home(self):
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            version = re.search(r"project\(codl VERSION ([0-9.]+)", file.read()).group(1)
        for tool in TOOLS:
            self.assertRegex(self.run_ok(tool, "--version"), rf"\A{tool} {re.escape(version)} \(plan format \d+\)")
        with open(os.path.join(ROOT, "runtime", "include", "codl", "codl.h")) as file:
            self.assertNotRegex(file.read(), r"\d+\.\d+\.\d+")

    def test_the_upgrading_page_has_the_numbers_of_this_version(self):
        said = self.run_ok("codlc", "--version")
        with open(os.path.join(ROOT, "docs", "guide", "upgrading.md")) as file:
            page = file.read()
        version, plan_format = re.search(r"codlc (\S+) \(plan format (\d+)\)", said).groups()
        for name, number in (("version", version), ("plan format", plan_format),
                             ("profile format", self.profile("template")["format_version"])):
            self.assertIn(f"\n| {name} | {number} | ", page)

    def test_only_help_is_help(self):
        for tool in TOOLS:
            for flag in ("--h", "--he", "--hlep", "-help", "--helpme", "-hx", "-H", "--hx", "--host", "-?"):
                self.expect_error(tool, [flag], "command line: expected a flag that --help-all lists", flag)
            self.expect_error(tool, ["--hlep"], "(did you mean --help?)")
            self.expect_error(tool, ["--help", "--no-such-flag"])
            self.expect_error(tool, ["--help=all"], "--help: expected no value")
            self.assertEqual(self.run_ok(tool, "operand", "--help"), self.run_ok(tool, "--help"))

    def test_misspelt_flags_get_the_nearest(self):
        for tool, flag in self.each_flag():
            known = {other.name for other in flags_of(tool)}
            swapped = flag.name[:-2] + flag.name[-1] + flag.name[-2]
            for wrong in (flag.name + "x", swapped):
                if wrong not in known:
                    self.expect_error(tool, [f"--{wrong}"], f"found '--{wrong}'", f"(did you mean --{flag.name}?)")
            self.expect_error(tool, [f"-{flag.name}"], f"(did you mean --{flag.name}?)")

    def test_flags_are_given_once(self):
        for tool, flag in self.each_flag():
            if flag.repeats:
                continue
            self.expect_error(tool, [flag.argument, flag.argument], f"--{flag.name}: expected to be given once")
            if flag.letter:
                short = [f"-{flag.letter}"] if flag.is_switch else [f"-{flag.letter}", flag.value]
                self.expect_error(tool, [flag.argument, *short], f"-{flag.letter}: expected to be given once")

    def test_values_are_where_they_belong(self):
        for tool, flag in self.each_flag():
            name = f"--{flag.name}"
            if flag.is_switch:
                self.expect_error(tool, [f"{name}=1"], f"{name}: expected no value, found '1'")
            else:
                self.expect_error(tool, [f"{name}="], f"{name}: expected ", "found nothing")
            if not flag.is_switch and not flag.may_stand_alone:
                self.expect_error(tool, [name], f"{name}: expected ", "found nothing")
                self.expect_error(tool, [name, "--help"], f"{name}: expected ", "found '--help'")
                self.expect_error(tool, [name, ""], f"{name}: expected ", "found an empty argument")
            if not flag.is_switch and "|" in flag.form and flag.form.islower():
                choice = flag.form.split("|")[-1]
                self.expect_error(tool, [f"{name}={choice}x"], f"{name}: expected ", f"(did you mean {choice}?)")

    def test_numbers_are_in_range(self):
        count = 0
        for tool, flag in self.each_flag():
            if flag.form not in NUMBERS:
                continue
            count += 1
            for value in ("-1", "x", "1x", " 1", "nan", "inf", "1e999", "99999999999999999999999", "0x1"):
                self.expect_error(tool, [f"--{flag.name}={value}"], f"--{flag.name}: expected ", f"'{value}'")
        self.assertGreater(count, 20)

    def test_superfluous_operands_are_refused(self):
        for tool in TOOLS:
            self.expect_error(tool, ["one", "two"], "command line: expected ")
            self.expect_error(tool, ["--", "--help", "two"], "command line: expected ")
            self.expect_error(tool, [], "command line: expected ")

    def test_response_files(self):
        deep = self.write("deep", f"@{self.path('deep')}".encode())
        for tool in TOOLS:
            text = self.run_ok(tool, "--version")
            self.assertEqual(self.run_ok(tool, "@" + self.write("flags", b"\n\t --version \n")), text)
            self.assertEqual(self.run_ok(tool, "@" + self.write("outer", f"'@{self.path('flags')}'".encode())), text)
            self.expect_error(tool, ["@" + self.write("wrong", b"--no-such-flag")], "--no-such-flag")
            self.expect_error(tool, ["@" + deep], "at most 8 deep")
            self.expect_error(tool, ["@" + self.path("missing")], "missing: expected a file of arguments")
            self.expect_error(tool, ["@" + self.work], "expected a file of arguments")
            self.expect_error(tool, ["@/dev/zero"], "at most 1048576 bytes")
            self.expect_error(tool, ["@" + self.write("open", b"--version 'x")], "a closing '")
            self.expect_error(tool, ["@" + self.write("zero", b"--version\0")], "a zero byte")
        out = self.path("a b.codl")
        self.run_ok("codlc", "@" + self.write("args", f'"{MODEL}" -q -o "{out}" --strategy=cpu'.encode()))
        self.assertTrue(os.path.exists(out))

    def test_output_is_a_file_or_stdout(self):
        plan = self.compile("--strategy=cpu")
        for tool, arguments in (("codl-dump", [plan]), ("codl-dump", [plan, "--json"]), ("codl-sim", [plan]),
                                ("codl-run", [plan]), ("codl-bench", [plan, "--num-runs=1", "--warmup-runs=0"])):
            for flag in ("-o", "--output"):
                with self.subTest(tool=tool, flag=flag):
                    out = self.path("report")
                    self.assertEqual(self.run_ok(tool, *arguments, flag, out), "")
                    with open(out) as file:
                        written = file.read()
                    # codl-bench says more where a run took longer than predicted.
                    count = 3 if tool == "codl-bench" else None
                    written, shown = (re.sub(r"\d+", "", text).split("\n")[:count] for text in (written, self.run_ok(tool, *arguments)))
                    self.assertEqual(len(written), len(shown))
                    self.assertEqual(written[0], shown[0])
                    os.remove(out)

    # ---- devices ----

    def test_misspelt_devices_get_the_nearest(self):
        plan = self.compile()
        for tool, arguments in (("codlc", [MODEL, "-o", self.path("x.codl")]), ("codl-dump", []), ("codl-sim", [plan])):
            for wrong, right in (("ds855", "sd855"), ("hots", "host"), ("krin-990", "kirin990"), ("tempalte", "template")):
                with self.subTest(tool=tool, device=wrong):
                    self.expect_error(tool, [*arguments, f"--device={wrong}"], f'"{wrong}" (did you mean {right}?)')
            self.expect_error(tool, [*arguments, "--device=kirin-991"], '"kirin-991", which has no profile; others have, like kirin990; ')
            missing = self.path("nosuch.json")
            self.expect_error(tool, [*arguments, f"--device={missing}"], f"{missing}: expected a device profile, found no such file")
            self.expect_error(tool, [*arguments, "--device=sd855.json"], "no such file (did you mean sd855?)")
            os.makedirs(self.path("folder.json"), exist_ok=True)
            self.expect_error(tool, [*arguments, "--device=" + self.path("folder.json")])
            self.expect_error(tool, [*arguments, "--device=zzzzzz"], "sd8elite", 'found "zzzzzz", which has no profile; others have, like ')

    def test_the_list_of_devices_tells_what_they_are(self):
        text = self.run_ok("codlc", "--list-devices")
        sections = re.split(r"\n\n", text)
        self.assertEqual([section.split("\n")[0] for section in sections[:3]], ["phones", "other machines", "templates"])
        rows = {}
        for section in sections[:3]:
            title, heading, *lines = section.split("\n")
            self.assertEqual(heading.split(), ["name", "chip", "GPU", "times", "numbers", "year", "description"])
            for line in lines:
                rows[line.split()[0]] = (title, line)
        shipped = {name[:-5]: self.profile(name[:-5]) for name in os.listdir(PROFILES) if name.endswith(".json")}
        self.assertEqual(set(rows), set(shipped))
        for name, profile in shipped.items():
            with self.subTest(name):
                title, line = rows[name]
                self.assertEqual(title, {"phone": "phones", "machine": "other machines", "template": "templates"}[profile["kind"]])
                self.assertIn(profile["description"], line)
                stands_on = r"  (extrapolated|anchors|samples|CPU \w+, GPU \w+)  "
                self.assertRegex(line, stands_on)
                self.assertIn(profile["gpu"]["name"].split(",")[0], line)
                for key in ("chip_year", "year"):
                    if key in profile:
                        self.assertIn(str(profile[key]), line)
                self.assertRegex(line, r"measured|fitted|published|assumed")
        self.assertIn("  extrapolated  ", rows["tensor_g4"][1])
        self.assertIn("  samples  ", rows["host"][1])
        self.assertRegex(rows["sd855"][1], r"2019 +Adreno 640 +anchors +fitted, published, assumed ")
        self.assertRegex(rows["template"][1], r" assumed +- ")

    def test_a_plan_is_named_after_the_device_that_was_given(self):
        shutil.copy(MODEL, self.path("net.onnx"))
        copy = self.path("mine.json")
        shutil.copy(os.path.join(PROFILES, "sd855.json"), copy)  # "name" is still sd855
        self.run_ok("codlc", self.path("net.onnx"), "--device=sd855", "--strategy=cpu")
        self.assertEqual(sorted(os.listdir(self.work)), ["mine.json", "net.onnx", "net.sd855.codl"])
        before = os.stat(self.path("net.sd855.codl")).st_mtime_ns
        self.run_ok("codlc", self.path("net.onnx"), f"--device={copy}", "--strategy=cpu")
        self.assertEqual(sorted(os.listdir(self.work)), ["mine.json", "net.mine.codl", "net.onnx", "net.sd855.codl"])
        self.assertEqual(os.stat(self.path("net.sd855.codl")).st_mtime_ns, before)

    def test_a_simulation_finds_the_profile_that_the_plan_was_made_with(self):
        plan = self.compile("--device=sd855")
        self.assertEqual(self.run_ok("codl-sim", plan), self.run_ok("codl-sim", plan, "--device=sd855"))
        with open(os.path.join(PROFILES, "sd855.json")) as file:
            text = file.read()
        other = self.write("other.json", text.replace('"Snapdragon', '"Another Snapdragon').encode())
        self.expect_error("codl-sim", [self.compile(f"--device={other}")], "expected --device=FILE.json", "not the one")
        unknown = self.write("unknown.json", text.replace('"name": "sd855"', '"name": "myphone"').encode())
        plan = self.compile(f"--device={unknown}")
        self.expect_error("codl-sim", [plan], "expected --device=FILE.json", "myphone")
        self.run_ok("codl-sim", plan, f"--device={unknown}")

    # ---- what runs and what is reported ----

    def test_a_run_tells_of_random_inputs_and_of_the_plans_device(self):
        plan = self.compile("--device=sd855")
        text = self.run_ok("codl-run", plan)
        self.assertIn("planned for device sd855, on this machine", text)
        self.assertIn("random numbers (--seed=0) for inputs without --input: input\n", text)
        report = json.loads(self.run_ok("codl-run", plan, "--json", "--seed=3"))
        self.assertEqual((report["plan_device"], report["random_inputs"]), ("sd855", ["input"]))
        npy.write(self.path("in.npy"), (1, 3, 64, 64), [0.5] * (3 * 64 * 64))
        given = [plan, f"--input=input={self.path('in.npy')}"]
        self.assertNotIn("random", self.run_ok("codl-run", *given))
        self.assertEqual(json.loads(self.run_ok("codl-run", *given, "--json"))["random_inputs"], [])

    def names_model(self, name, outputs):
        """Returns a model with an Abs of `name` per output name."""
        return self.write("names.onnx", onnx_bytes.model(
            [onnx_bytes.node("Abs", [name], [output], output) for output in outputs],
            [onnx_bytes.value_info(name, [2])], [onnx_bytes.value_info(output, [2]) for output in outputs]))

    def test_outputs_of_any_name_are_written(self):
        for names in (["y" * 300], ["y" * 252], ["y" * 249], ["y" * 300, "y" * 301, "y" * 299 + "z"],
                      ["a/b/../../c"], ["..", "."], ["/etc/passwd"], ["\u00e9" * 200], ["-x"], ["C:\\a b"],
                      ["\u5750\u6807", "\u5f97\u5206"], ["a/b", "a:b", "a_b"]):
            with self.subTest(names):
                plan = self.compile(model=self.names_model("x", names))
                folder = self.path("outputs")
                report = json.loads(self.run_ok("codl-run", plan, f"--output-dir={folder}", "--json"))
                self.assertEqual([output["name"] for output in report["outputs"]], names)
                paths = [output["file"] for output in report["outputs"]]
                self.assertEqual(len(set(paths)), len(names))
                self.assertEqual(sorted(os.listdir(folder)), sorted(map(os.path.basename, paths)))
                for path in paths:
                    self.assertEqual(npy.read(path)[0], (2,))
                shutil.rmtree(folder)

    def test_a_file_keeps_the_letters_of_its_outputs_name(self):
        name = "\u5750\u6807"
        plan = self.compile(model=self.names_model("x", [name]))
        self.run_ok("codl-run", plan, f"--output-dir={self.path('outputs')}")
        self.assertEqual(os.listdir(self.path("outputs")), [name + ".npy"])

    def test_a_variant_without_work_for_the_gpu_gives_a_reason(self):
        no_kernel = self.write("not.onnx", onnx_bytes.model(
            [onnx_bytes.node("Not", ["x"], ["y"], "not")], [onnx_bytes.value_info("x", [4], onnx_bytes.BOOL)],
            [onnx_bytes.value_info("y", [4], onnx_bytes.BOOL)]))
        # The GPU could convert its layout, which is no node of the network.
        doubles = self.write("doubles.onnx", onnx_bytes.model(
            [onnx_bytes.node("Mul", ["x", "x"], ["y"], "mul")], [onnx_bytes.value_info("x", [1, 4, 4, 4], onnx_bytes.DOUBLE)],
            [onnx_bytes.value_info("y", [1, 4, 4, 4], onnx_bytes.DOUBLE)]))
        profile = self.profile("template")
        del profile["gpu"], profile["transfer"]
        profile.pop("kernels", None)
        no_gpu = self.write("no_gpu.json", json.dumps(profile).encode())
        pair = ["--device=host-pair", "--search-budget=50"]
        reason = "  cpu is the best plan found, not both processors: "
        ms = r"\d+\.\d\d ms"
        for model, flags, text in (
                (no_kernel, pair, "the GPU has no kernel for any node of this network\n"),
                (doubles, pair, "the GPU has no kernel for any node of this network\n"),
                (MODEL, ["--device=host"], r"the profile's OpenCL device is the CPU itself \(as with PoCL\), so both would share its cores; "
                 r"--device=host-pair gives each its own cores\n"),
                (MODEL, ["--device=sd855", "--search-budget=50"],
                 rf"of the plans that were judged none on both is better: {ms} on the CPU alone, {ms} on the GPU alone; --search-budget=50 "
                 r"judges fewer plans than the default of \d+\n"),
                (MODEL, ["--device=sd855"],
                 rf"of the plans that were judged none on both is better: {ms} on the CPU alone, {ms} on the GPU alone\n"),
                (MODEL, ["--device=sd855", "--objective=energy"], r"of .*, by --objective=energy\n"),
                (MODEL, ["--device=host-pair", "--search-budget=2000", "--gpu-limit=0%"],
                 rf"because of --gpu-limit: {ms} are predicted, a short search without found {ms}\n"),
                (MODEL, ["--device=sd855", "--search-budget=50", "--max-syncs=0"], "of the plans that were judged "),
                (LARGER, ["--device=sd855", "--search-budget=100", "--max-syncs=0", "--max-arena=1GiB"],
                 rf"because of --max-syncs: {ms} are predicted, a short search without found {ms}\n"),
                (MODEL, [f"--device={no_gpu}"], "the profile of \\w+ has no GPU that can be used\n")):
            with self.subTest(flags):
                said = self.run_ok("codlc", model, *flags, "-o", self.path("x.codl"))
                self.assertIn("GPU   0 % of MACs", said)
                self.assertRegex(said, reason + text)
                self.assertNotIn("coexec", said)
                self.assertNotIn("as fast as the CPU alone", said)
                if "the GPU has no kernel" in text:
                    self.assertNotIn("as fast as the GPU alone", said)
        for flags in (["--device=host-pair", "--place=*=split:h:0.5"], ["--strategy=cpu"]):
            said = self.run_ok("codlc", MODEL, *flags, "-o", self.path("x.codl"))
            self.assertNotIn("not both processors", said)
        # There is no search whose best this would be.
        said = self.run_ok("codlc", MODEL, "--device=sd855", "--strategy=coarse", "-o", self.path("x.codl"))
        self.assertIn("  coarse is the CPU alone, not both processors: --strategy=coarse gives the GPU nothing\n", said)
        # An application that asks every phone for co-execution gets the better plan there.
        plan = self.path("x.codl")
        self.run_ok("codlc", MODEL, "--device=host", "-o", plan)
        for tool, flags in (("codl-run", []), ("codl-bench", ["--num-runs=1"]), ("codl-sim", [])):
            self.assertIn("variant cpu", self.run_ok(tool, plan, "--variant=coexec", *flags))
            self.expect_error(tool, [plan, "--variant=coexe"], "--variant", "cpu")

    def test_the_gain_over_each_processor_is_told(self):
        plan, report = self.path("x.codl"), self.path("x.json")
        for device in ("host-pair", "sd855"):
            flags = [f"--device={device}", *(["--place=*=split:h:0.5"] if device == "host-pair" else [])]
            said = self.run_ok("codlc", MODEL, *flags, "--variants=coexec,cpu,gpu", "-o", plan, f"--report={report}")
            with open(report, encoding="utf-8") as file:
                variants = json.load(file)["variants"]
            us = {variant["name"]: variant["predicted_us"] for variant in variants}
            for name in ("cpu", "gpu"):
                self.assertAlmostEqual(variants[0][f"speedup_over_{name}"], us[name] / variants[0]["predicted_us"], delta=0.001)
            gains = [f"{us[name] / variants[0]['predicted_us']:.2f} times as fast as the {name.upper()} alone ({us[name] / 1e3:.2f} ms)"
                     for name in ("cpu", "gpu") if name != variants[0]["name"]]
            self.assertIn(f"\n  {', '.join(gains)}, as predicted\n", said)
            self.assertNotIn("--max-weights: ", said)

    def test_the_gain_is_over_plans_without_limits(self):
        over_gpu = re.compile(r"times as fast as the GPU alone \(([0-9.]+) ms\), as predicted")
        flags = ["--device=sd855", "--strategy=cpu", "-o", self.path("x.codl")]
        free = over_gpu.search(self.run_ok("codlc", LARGER, *flags)).group(1)
        self.assertEqual(over_gpu.search(self.run_ok("codlc", LARGER, *flags, "--max-gpu-slice=100us")).group(1), free)

    def test_a_variant_that_others_leave_too_few_weights_says_what_it_would_be_alone(self):
        report = self.path("x.json")
        figures = re.compile(r"  gpu +predicted +([0-9.]+) ms .* GPU +(\d+) % of MACs")
        alone = figures.search(self.run_ok("codlc", LARGER, "--device=sd855", "--strategy=gpu", "-o", self.path("x.codl"))).groups()
        said = self.run_ok("codlc", LARGER, "--device=sd855", "--search-budget=50", "--variants=cpu,gpu",
                           "-o", self.path("x.codl"), f"--report={report}")
        beside = figures.search(said).groups()
        self.assertNotEqual(alone, beside)
        short = "only the weights that other variants leave of --max-weights: {} ms with {} % of MACs on the GPU, in place of " \
                "{} ms with {} % of MACs on the GPU (--strategy=gpu)".format(*beside, *alone)
        self.assertIn(f"  gpu has {short}\n", said)
        self.assertIn(f"times as fast as the GPU alone ({alone[0]} ms)", said)
        with open(report, encoding="utf-8") as file:
            variants = json.load(file)["variants"]
        self.assertEqual([variant.get("short_of_weights") for variant in variants if variant["name"] == "gpu"], [short])

    def test_a_larger_budget_keeps_no_worse_plan(self):
        found = []
        for budget in (20, 100, 1000):
            said = self.run_ok("codlc", LARGER, "--device=sd855", f"--search-budget={budget}", "-o", self.path("x.codl"))
            found.append(float(re.search(r"  coexec +predicted +([0-9.]+) ms", said).group(1)))
            judged, asked = re.search(r"  coexec: the best of (\d+) plans that were judged \(--search-budget=(\d+)\)\n", said).groups()
            self.assertLessEqual(int(judged), budget)
            self.assertEqual(int(asked), budget)
        self.assertEqual(found, sorted(found, reverse=True))

    def test_a_plan_with_gpu_steps_is_not_called_cpu(self):
        said = self.run_ok("codlc", LARGER, "--device=host-pair", "--strategy=cpu", "--place=conv3=gpu", "-o", self.path("x.codl"))
        self.assertRegex(said, r"\n  coexec +predicted .* GPU +[1-9]\d* % of MACs")
        self.assertRegex(said, r"\n  cpu +predicted .* GPU +0 % of MACs")

    def test_a_plan_on_the_gpu_alone_is_called_gpu_whatever_it_is_the_best_of(self):
        plan = self.path("x.codl")
        model = os.path.join(os.path.dirname(MODEL), "selfie_segmentation.onnx")
        said = self.run_ok("codlc", model, "--device=sd855", "--objective=energy", "--search-budget=100", "-o", plan)
        self.assertRegex(said, r"\n  gpu +predicted .* GPU +100 % of MACs")
        self.assertRegex(said, r"\n  gpu is the best plan found, not both processors: of .*, by --objective=energy; ")
        self.assertNotIn("coexec", said)
        self.assertRegex(said, r"\n  \d+ % less energy than on the CPU alone \([0-9.]+ mJ\), as predicted\n")
        self.assertNotIn("times as fast", said)
        self.assertIn("variant gpu on sd855", self.run_ok("codl-sim", plan, "--variant=coexec"))

    def test_what_is_wrong_of_a_value_is_told_and_no_more(self):
        self.expect_error("codlc", [MODEL, "--max-weights=x"], "expected a ratio like 1.25x, bytes like 64MiB, or none, found 'x'")
        self.expect_error("codlc", [MODEL, "--max-weights=2000000x"], "expected 0x to 1000000x, found '2000000x'")
        self.expect_error("codlc", [MODEL, "--max-gpu-slice=ms"], "expected a number with its unit, us, ms or s, found 'ms'")
        plan = self.path("x.codl")
        self.run_ok("codlc", MODEL, "--strategy=cpu", "-o", plan)
        self.expect_error("codl-run", [plan, "--input=foo=a.npy"], "expected NAME=FILE.npy with NAME one of input, found 'foo'")

    def test_flags_of_other_tools_are_answered_with_ours(self):
        for tool, given, here in (
                ("codlc", "--fp16", "--precision=fp16"), ("codlc", "--dtype=fp16", "--precision=fp16"),
                ("codlc", "--quantize=int8", "--precision=int8 --calibration=DIR"),
                ("codlc", "--threads=4", "codl-run --num-threads=N, or"), ("codlc", "--num_runs=9", "codl-bench --num-runs=N"),
                ("codlc", "--shape=1,3,224,224", "--input-shape=NAME:DIMS"), ("codlc", "--minShapes=x", "--input-shape=NAME:DIMS"),
                ("codlc", "--target=sd855", "--device=NAME"), ("codlc", "--gpu", "--strategy=gpu"),
                ("codlc", "--output_dir=x", "--out-dir=DIR"), ("codlc", "--overwrite", "no flag, an output replaces "),
                ("codlc", "--max-memory=1", "--max-arena=BYTES"), ("codlc", "--opset=13", "no flag, the model says its opset"),
                ("codlc", "--verbose", "--explain"), ("codl-run", "--threads=4", "--num-threads=N"),
                ("codl-run", "--gpu", "--variant=gpu"), ("codl-run", "--num_runs=9", "codl-bench --num-runs=N"),
                ("codl-run", "--loadEngine=x", "PLAN without a flag"), ("codl-bench", "--fp16", "codlc --precision=fp16"),
                ("codl-bench", "--loop=9", "--num-runs=N"), ("codl-bench", "--output_dir=x", "codl-run --output-dir=DIR"),
                ("codl-bench", "--enable_op_profiling", "--steps"), ("codl-sim", "--num_threads=4", "codl-run --num-threads=N"),
                ("codl-dump", "--model=x", "PLAN without a flag"), ("codl-profile", "--overwrite", "--force"),
                ("codl-profile", "--threads=2", "--num-threads=N"), ("codlc", "--profile=mine.json", "--device=NAME"),
                ("codl-bench", "--profile", "--steps, or"), ("codl-run", "--profile", "codl-bench --steps"),
                ("codlc", "--provider=x", "--strategy=NAME"), ("codl-run", "--execution_provider=x", "--variant=NAME"),
                ("codl-bench", "--delegate=x", "--variant=NAME"), ("codlc", "--use_nnapi", "--strategy=gpu"),
                ("codl-bench", "--nnapi", "--variant=gpu"), ("codlc", "--calib=x", "--calibration=DIR"),
                ("codlc", "--weightQuantBits=8", "--precision=int8 --calibration=DIR"), ("codl-bench", "--cpu_threads=2", "--num-threads=N"),
                ("codl-bench", "--num_warmup=9", "--warmup-runs=N"), ("codl-bench", "--repetitions=9", "--num-runs=N"),
                ("codlc", "--precision=uint8", "--precision=int8 --calibration=DIR"), ("codlc", "--precision=half", "--precision=fp16")):
            with self.subTest(tool=tool, given=given):
                self.expect_error(tool, ["x", given], f"(here: {here}")
        # A flag of this tool in other letters is what is meant, whatever others call so.
        for tool, given, meant in (("codlc", "--input_shape=x", "--input-shape"), ("codl-run", "--output_dir=x", "--output-dir"),
                                   ("codl-bench", "--num_runs=9", "--num-runs"), ("codl-run", "-num_threads=4", "--num-threads")):
            self.expect_error(tool, ["x", given], f"(did you mean {meant}?)")

    def test_the_flags_that_are_answered_exist(self):
        tools = ("codlc", "codl-run", "codl-bench", "codl-sim", "codl-dump", "codl-profile")
        known = {tool: set(re.findall(r"--[a-z-]+", self.run_ok(tool, "--help-all"))) for tool in tools}
        answers = 0
        for tool in tools:
            for name in ("fp16", "int8", "threads", "shapes", "batch", "opset", "target", "gpu", "cpu", "out", "outdir", "overwrite", "model",
                         "inputs", "optimize", "sparsity", "workspace", "runs", "warmup", "duration", "cores", "profiling", "verbose",
                         "profile", "provider", "calib"):
                here = re.search(r"\(here: (.*)\)", run(tool, "x", "--" + name).stderr.decode())
                self.assertTrue(here, (tool, name))
                of = tool
                for word in re.findall(r"codl[a-z-]*|--[a-z-]+", here.group(1)):
                    if word in tools:
                        of = word
                    elif word.startswith("--"):
                        self.assertIn(word, known[of], (tool, name, here.group(1)))
                        answers += 1
        self.assertGreater(answers, 100)

    def test_dumps_name_the_variants(self):
        for stage in ("partition", "schedule", "memory"):
            with self.subTest(stage):
                text = self.run_ok("codlc", MODEL, "-q", "-o", self.path("x.codl"), f"--dump={stage}")
                self.assertEqual(re.findall(r"^variant (\w+)", text, re.M), ["cpu"])

    # ---- names from files ----

    HOSTILE = ("ev\x1b[2J\x1b]0;pwn\x07il\rx\t\u202e\u2066\u200f\u061c\u009b31m\x7f"
               "\ncodlc: error: forged\nforged")

    def expect_shown(self, result, *codes):
        """Expects that all printed text is UTF-8 without anything that a terminal would obey, and without a forged
        line.
        """
        self.assertIn(result.returncode, codes)
        for data in (result.stdout, result.stderr):
            text = data.decode()  # strict
            self.assertEqual([c for c in text if c != "\n" and is_hidden(c)], [])
            self.assertNotRegex(text, r"(?m)^(codlc: error: )?forged")
        return result.stdout.decode() + result.stderr.decode()

    def test_names_from_models_and_plans_are_written_out(self):
        for name in (self.HOSTILE, b"\xff\xfe\x9b31m\xc2", "nul\x00l"):
            hostile = name.encode() if isinstance(name, str) else name
            with self.subTest(name):
                model = self.write("names.onnx", onnx_bytes.model(
                    [onnx_bytes.node("Abs", [hostile], [b"z" + hostile], b"n" + hostile)],
                    [onnx_bytes.value_info(hostile, [2])], [onnx_bytes.value_info(b"z" + hostile, [2])]))
                plan = self.path("plan.codl")
                self.expect_shown(run("codlc", model, "-o", plan), 0)
                for flag in ("--dump=graph", "--dump=partition", "--dump=schedule", "--dump=memory",
                             "--dump=fold_constants", "--report-support", "--report-support=json",
                             "--place=*=split:h:0.5"):
                    self.expect_shown(run("codlc", model, "-o", plan, flag), 0)
                for tool in ("codl-dump", "codl-sim", "codl-run", "codl-bench"):
                    flags = ["--num-runs=1", "--warmup-runs=0"] if tool == "codl-bench" else []
                    text = self.expect_shown(run(tool, plan, *flags), 0)
                    if tool == "codl-dump" and name == self.HOSTILE:
                        self.assertIn("ev\\u001b[2J", text)
                        self.assertIn("\\u202e\\u2066\\u200f\\u061c\\u009b31m\\u007f\\u000acodlc", text)
                    if tool == "codl-dump" and name != self.HOSTILE and name != "nul\x00l":
                        self.assertIn("\\xff\\xfe\\x9b31m\\xc2", text)
                    report = json.loads(self.expect_shown(run(tool, plan, *flags, "--json"), 0))
                    if tool == "codl-run" and name == self.HOSTILE:
                        self.assertEqual(report["random_inputs"], [self.HOSTILE])
                    # The written text may be shown later.
                    outputs = [["-o", self.path("text")]]
                    if tool != "codl-dump":
                        outputs.append([f"--trace={self.path('text')}"])
                        self.expect_shown(run(tool, plan, *flags, "--trace=-"), 0)
                    for output in [*outputs, ["--json", "-o", self.path("text")]]:
                        self.run_ok(tool, plan, *flags, *output)
                        with open(self.path("text"), encoding="utf-8", newline="") as file:
                            self.assertEqual([c for c in file.read() if c != "\n" and is_hidden(c)], [], output)
                self.expect_shown(run("codl-run", plan, "--output-dir=" + self.path("outputs")), 0)
                self.expect_shown(run("codl-run", plan, "--input=nobody=x.npy"), 1)
                if b"\0" in hostile:
                    continue
                wrong = self.path("wrong.npy")
                npy.write(wrong, [3], [0.0] * 3)
                self.expect_shown(run("codl-run", plan, b"--input=" + hostile + b"=" + wrong.encode()), 1)
                for tool in ("codl-run", "codl-bench", "codl-sim"):
                    self.expect_shown(run(tool, plan, b"--variant=" + hostile), 1)
                for flag in (b"--input-shape=" + hostile + b":3", b"--input-value=" + hostile + b":1,2,3",
                             b"--input-shape=q" + hostile + b":3"):
                    self.expect_shown(run("codlc", model, "-o", plan, flag), 0, 1)

    def test_names_in_reports_and_refusals_are_written_out(self):
        refused = self.write("refused.onnx", onnx_bytes.model(
            [onnx_bytes.node(self.HOSTILE, ["x"], ["y"], "n" + self.HOSTILE)],
            [onnx_bytes.value_info("x", [2, self.HOSTILE])], [onnx_bytes.value_info("y", [2])]))
        open_dims = self.write("open.onnx", onnx_bytes.model(
            [onnx_bytes.node("Abs", ["x" + self.HOSTILE], ["y"], "n")],
            [onnx_bytes.value_info("x" + self.HOSTILE, [2, self.HOSTILE])], [onnx_bytes.value_info("y", [2])]))
        declared = self.write("declared.onnx", onnx_bytes.model(
            [onnx_bytes.node("Abs", ["x"], [self.HOSTILE], "n")],
            [onnx_bytes.value_info("x", [2])], [onnx_bytes.value_info(self.HOSTILE, [3])]))
        plain = self.write("plain.onnx", onnx_bytes.model(
            [onnx_bytes.node("ReduceProd", ["x"], ["y"], self.HOSTILE)],
            [onnx_bytes.value_info("x", [100, 100])], [onnx_bytes.value_info("y", [1, 1])]))
        for model, codes in ((refused, (1, 2)), (open_dims, (1,)), (declared, (0,)), (plain, (0,))):
            for flags in ([], ["--report-support"], ["--report-support=json"]):
                self.expect_shown(run("codlc", model, "-o", self.path("x.codl"), *flags), *codes)

    def test_names_from_profiles_replays_and_samples_are_written_out(self):
        profile = self.profile("template")
        profile["description"] = profile["cpu"]["name"] = profile["gpu"]["name"] = self.HOSTILE
        profile["kernel_library"] = self.HOSTILE
        good = self.write("good.json", json.dumps(profile).encode())
        self.expect_shown(run("codl-dump", f"--device={good}"), 0)
        self.expect_shown(run("codlc", MODEL, f"--device={good}", "-o", self.path("x.codl")), 0)
        for change in ({"name": self.HOSTILE}, {self.HOSTILE: 1}, {"base": self.HOSTILE}, {"kind": self.HOSTILE},
                       {"families": {self.HOSTILE: {}}}, {"kernels": {self.HOSTILE: {}}}):
            bad = self.write("bad.json", json.dumps({**profile, **change}, ensure_ascii=False).encode())
            self.expect_shown(run("codlc", MODEL, f"--device={bad}", "-o", self.path("x.codl")), 1)
            self.expect_shown(run("codl-dump", f"--device={bad}"), 1)
            self.expect_shown(run("codl-sim", "--replay=" + bad, "--device=host"), 1)
        self.expect_shown(run("codlc", MODEL, "--device=" + self.write("raw.json", b'{"\x1b[31m\xff'), "-q"), 1)
        samples = self.write("samples.csv", b"#probe,3,0\nunary\x1b[31m_f32_cpu,\xff\xc2\x9bnonsense\n")
        self.expect_shown(run("codl-profile", "-o", self.path("p.json"), "--fit-only", "--samples=" + samples), 1)
        self.expect_shown(run("codl-profile", "-o", self.path("p.json"), "--resume", "--samples=" + samples), 1)

    def test_arguments_are_written_out(self):
        hostile = self.HOSTILE.replace("\0", "").encode() + b"\xff"
        for tool in TOOLS:
            for arguments in ([b"--" + hostile], [hostile], [hostile, hostile], [b"@" + hostile],
                              [b"--output=" + hostile + b"/no/such/folder/x", hostile],
                              ["@" + self.write("flags", b"'--" + hostile + b"'")],
                              [b"--device=" + hostile, hostile], [b"--device=" + hostile + b".json", hostile],
                              [b"--num-threads=" + hostile, hostile]):
                self.expect_shown(run(tool, *arguments), 1)


if __name__ == "__main__":
    place = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    unittest.main(verbosity=2)
