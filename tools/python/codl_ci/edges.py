"""Compiles what codl-matrix's cache does not have. Each job, like an edge of Ninja's graph, has a folder of its own, job.work,
with what codlc writes: FILES, RULE and SAID.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time
import typing

from .common import InputError, fail, write_whole

FILES = ("plan.codl", "report.html", "report.json")
RULE, RULE_TARGET = "rule", "plan"  # a depfile; its target has no colon, as a path may
SAID = "said"  # codlc's stderr, and a last line with its exit code
NINJA = "build.ninja"


def codlc_arguments(model, device, options, folder):
    """Returns the arguments of a compilation whose files go to `folder`."""
    plan, *reports = (os.path.join(folder, name) for name in FILES)
    return [model, f"--device={device}", "-o", plan, *("--report=" + path for path in reports), "-MF", os.path.join(folder, RULE),
            "-MT", RULE_TARGET, *options]


def rule_of(paths):
    return f"{RULE_TARGET}: " + " ".join(re.sub(r"([ #\\])", r"\\\1", path).replace("$", "$$") for path in paths) + "\n"


def split_rule(text):
    """Returns the prerequisites of a depfile's rule for RULE_TARGET, as codlc escapes them."""
    words = re.findall(r"(?:[^\s\\]|\\.)+", text.replace("\\\n", " ").removeprefix(RULE_TARGET + ":"))
    return [re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words]


class Compiled(typing.NamedTuple):
    """Holds what a compilation came to: codlc's exit code, its lines of errors, and (kind, text) of its notes and warnings."""
    exit_code: int
    error: str
    messages: list


def read_said(folder):
    """Returns the Compiled of a job's folder."""
    try:
        with open(os.path.join(folder, SAID), encoding="utf-8", errors="replace") as file:
            said, code = re.fullmatch(r"(.*?)(\d+)\n", file.read(), re.DOTALL).groups()
    except (OSError, AttributeError):  # the shell did not write all of it
        check_space(folder)
        fail(folder, "the exit code of codlc", "none")
    told = re.findall(r"(?m)^codlc: (note|warning): (.*)$", said)
    # Steps of a search, like "3 of 20: prune conv1", show its progress alone.
    messages = [(kind, text) for kind, text in told if not re.match(r"\d+ of \d+: ", text)]
    return Compiled(int(code), re.sub(r"(?m)^codlc: (note|warning): .*\n", "", said).strip(), messages)


def read_inputs(folder):
    """Returns the paths of the files that codlc read."""
    with open(os.path.join(folder, RULE), encoding="utf-8", errors="surrogateescape") as file:
        return [os.path.abspath(path) for path in split_rule(file.read())]


def check_space(folder):
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
    except OSError as error:
        fail(folder, "space to write to", error.strerror)


class Progress:
    """Prints a line for each job that ends, with the time left by the mean of those that ended."""

    def __init__(self, count):
        self.begin, self.count, self.ended = time.monotonic(), count, 0

    def step(self, job):
        self.ended += 1
        left = round((time.monotonic() - self.begin) / self.ended * (self.count - self.ended))
        unit = f", about {left // 60} min {left % 60} s left" if left >= 60 else f", about {left} s left"
        print(f"[{self.ended}/{self.count}{unit if self.ended < self.count else ''}] {job.name} on {job.label}", flush=True)


def ninja_text(program, rule, edges, top=()):
    """Returns a build file. `rule`: the rest of codlc's command, and further lines of the rule. `edges`: (output, inputs, codlc's
    arguments, further lines). `top`: lines before all.
    """
    def name(path):
        return re.sub(r"([$ :])", r"$\1", path)

    def word(text):
        if "\n" in text:  # ends a statement, whatever precedes it
            fail(NINJA, "paths and options without line breaks", repr(text))
        return "'" + text.replace("'", "'\\''").replace("$", "$$") + "'"
    lines = [*top, "rule codlc", f"  command = {word(program)} $arguments {rule[0]}", *("  " + line for line in rule[1:]), ""]
    for out, inputs, arguments, *more in edges:
        lines += [" ".join([f"build {name(out)}: codlc", *map(name, inputs)]), "  arguments = " + " ".join(map(word, arguments)),
                  *("  " + line for line in more)]
    return "\n".join(lines) + "\n"


def find_ninja():
    found = shutil.which("ninja")
    if not found:
        fail("ninja", "it in PATH (Debian's ninja-build, or pip install ninja)", "none")
    return found


def compile_by_ninja(jobs, program, count, folder):
    """Compiles `count` jobs at the same time. Yields (job, None) when one has ended, whatever its exit code; (job, InputError) for
    one that could not be run. `folder` is for Ninja's files.
    """
    ninja = find_ninja()
    path = os.path.join(folder, NINJA)
    # A job without an output is none that failed, because Ninja would not say its exit code.
    write_whole(path, ninja_text(program, (">/dev/null 2>$out; echo $$? >>$out",), [
        (os.path.join(job.work, SAID), (), codlc_arguments(job.path, job.device, job.options, job.work), f"description = {i}")
        for i, job in enumerate(jobs)], ("builddir = " + folder.replace("$", "$$"),)))
    left = dict(enumerate(jobs))
    said = "nothing"  # the last line that tells of no job
    with subprocess.Popen([ninja, "-f", path, "-j", str(count), "-k", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, "NINJA_STATUS": "job "}) as process:
        try:
            for line in process.stdout:
                ended = re.fullmatch(r"job (\d+)\n", line)
                job = left.pop(int(ended.group(1)), None) if ended else None
                if job:
                    yield job, None
                else:
                    said = line.strip()
        finally:
            process.terminate()
    for job in left.values():
        yield job, InputError(f"ninja: expected that it runs codlc, found '{said}'")
