#!/usr/bin/env python3
"""Checks that pages show the tools' real output, and that every flag is on a page.

Usage: pages_test.py --bin build/release/bin [--write] [unittest arguments]     standard library only

--write: puts what codl-sim says today into docs/reference/simulator.md.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import onnx_bytes
from work_folder import WorkFolder

TOOLS = ("codlc", "codl-dump", "codl-sim", "codl-run", "codl-bench", "codl-profile")
SIMULATOR = os.path.join(ROOT, "docs", "reference", "simulator.md")
COMMAND_LINE = os.path.join(ROOT, "docs", "reference", "command_line.md")
BIN = None
WRITES = False


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks_of(path):
    """Returns the fenced blocks of a page, without their fences."""
    return re.findall(r"^```\w*\n(.*?)^```$", text_of(path), re.DOTALL | re.MULTILINE)


class PagesTest(WorkFolder, unittest.TestCase):
    def run_line(self, line, cwd, code=0):
        """Returns the output of a page's command line, whose tool is the tested one."""
        tool, *arguments = shlex.split(line)
        result = subprocess.run([os.path.join(BIN, tool), *arguments], capture_output=True, text=True, cwd=cwd,
                                stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(result.returncode, code, line + "\n" + result.stderr)
        return result.stdout + result.stderr if code else result.stdout

    # ---- examples/quickstart.sh ----

    def test_the_quickstart_says_what_it_shows_and_how_long_it_takes_without_warnings(self):
        script = text_of(os.path.join(ROOT, "examples", "quickstart.sh"))
        self.assertRegex(script, r'(?s)echo "What this shows: .*second core.*One thread on each.*minutes.*\n\nstep\(\)')
        plan = self.path("plan.codl")
        model = os.path.join(ROOT, "examples", "models", "super_resolution.onnx")
        subprocess.run([os.path.join(BIN, "codlc"), model, "-q", "-o", plan, "--device=host-pair", "--strategy=cpu", "--place=conv3=gpu"], check=True)
        # Runs as on a machine where OpenCL programs are built for the first time.
        env = {**os.environ, **dict(re.findall(r"^export (\w+)=(\S+)$", script, re.MULTILINE)), "HOME": self.work, "XDG_CACHE_HOME": self.work,
               "POCL_CACHE_DIR": self.path("kernels")}
        result = subprocess.run([os.path.join(BIN, "codl-run"), plan], capture_output=True, text=True, env=env, timeout=300)
        self.assertEqual((result.returncode, re.findall(r".*warning.*", result.stdout + result.stderr)), (0, []))

    # ---- docs/reference/simulator.md ----

    def test_the_simulators_page_shows_what_its_commands_print(self):
        commands, shown, shown_json = blocks_of(SIMULATOR)[:3]
        os.symlink(os.path.join(ROOT, "examples"), self.path("examples"))
        compiling, simulating = commands.strip().split("\n")
        self.run_line(compiling + " -q", self.work)
        printed = self.run_line(simulating, self.work)
        printed_json = self.run_line(simulating + " --json", self.work)
        if WRITES:
            page = text_of(SIMULATOR).replace(shown, printed)
            broken = printed_json.replace(', "busy_us"', ',\n "busy_us"').replace(',"busy_us"', ',\n "busy_us"')
            with open(SIMULATOR, "w", encoding="utf-8") as file:
                file.write(page.replace(shown_json, broken))
            return
        self.assertEqual(printed, shown, "pages_test.py --write puts it there")
        self.assertEqual(json.loads(printed_json), json.loads(shown_json), "pages_test.py --write puts it there")
        self.assertEqual(re.findall(r"\.\d{4,}", printed_json), [])

    # ---- docs/reference/command_line.md ----

    def test_the_messages_that_are_shown_are_those_of_the_tools(self):
        shown = [line for block in blocks_of(COMMAND_LINE) for line in block.split("\n") if re.match(r"codl\S*: \w+: ", line)]
        wrong_dims = onnx_bytes.model([onnx_bytes.node("Relu", ["x"], ["y"], "relu")],
                                      [onnx_bytes.value_info("x", [2, 3])], [onnx_bytes.value_info("y", [2, 4])])
        self.write("dims.onnx", wrong_dims)
        said = [self.run_line("codlc model.onnx", self.work, code=1),
                self.run_line("codlc --ouptut=net.codl", self.work, code=1),
                subprocess.run([os.path.join(BIN, "codlc"), "dims.onnx", "--strategy=cpu"], cwd=self.work, text=True,
                               capture_output=True).stderr]
        self.assertEqual(len(shown), len(said))
        for line in shown:
            self.assertTrue(any(line in text.split("\n") for text in said), line)

    # ---- all pages ----

    def test_every_flag_of_every_tool_is_on_a_page(self):
        pages = ""
        for folder in ("docs", "python", "examples", "test"):
            for base, _, names in os.walk(os.path.join(ROOT, folder)):
                pages += "".join(text_of(os.path.join(base, name)) for name in names if name.endswith(".md"))
        pages += text_of(os.path.join(ROOT, "README.md"))
        for tool in TOOLS:
            for name in re.findall(r"^  (?:-\w+, )?--([a-z-]+)", self.run_line(tool + " --help", self.work), re.MULTILINE):
                with self.subTest(tool=tool, flag=name):
                    self.assertTrue(re.search(rf"(?<![\w-])--{name}(?![\w-])", pages), f"expected --{name} on a page, found it nowhere")


if __name__ == "__main__":
    index = sys.argv.index("--bin")
    BIN = os.path.abspath(sys.argv[index + 1])
    del sys.argv[index:index + 2]
    if "--write" in sys.argv:
        WRITES = True
        sys.argv.remove("--write")
        sys.argv[1:] = ["PagesTest.test_the_simulators_page_shows_what_its_commands_print"]
    unittest.main()
