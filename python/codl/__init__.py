"""codl compiles ONNX models to plans for a phone's CPU and GPU, and runs them on numpy arrays.

    import codl
    plan = codl.compile("net.onnx", device="host")  # its path; plan.report has what codlc predicts
    session = codl.load(plan)
    outputs = session.run({"input": array})        # {name: array}

The command-line tools (codlc, codl-bench ...) are on the PATH of the environment that has this package.
"""
import glob
import json
import os
import re
import reprlib
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from numbers import Integral, Number
from typing import Any

from ._library import CodlError, Session, Tensor, version
from ._tools import HERE, environment, program

__all__ = ["CodlError", "Plan", "Session", "Tensor", "compile", "load", "onnxruntime_library", "version"]
__version__ = version()
# With these flags codlc prints something in place of making a plan.
ANSWERED_FLAGS = ("--help", "-h", "--help-all", "--version", "--list-devices", "--list-ops")


Path = str | os.PathLike[str]


class Plan(str):
    """The path of a plan's file. report: codlc's report of it (docs/reference/report.md)."""

    report: dict[str, Any]

    def read(self) -> bytes:
        """Returns the plan."""
        with open(self, "rb") as file:
            return file.read()


def compile(model: Path, device: Path = "host", output: Path | None = None, options: Sequence[Path] = ()) -> Plan:
    """Compiles an ONNX file with codlc and returns the Plan.

    device: a name that codlc knows, like "sd855" or "Pixel 7", or a profile's file. output: the plan's path; None:
    MODEL.DEVICE.codl beside the model, as codlc names it. options: more flags of codlc. codlc's notes and warnings become
    warnings. Raises CodlError with codlc's text and, as exit_code, 1 for a wrong input, 2 for an unsupported model, 3 if a
    limit is not met; TypeError, ValueError.
    """
    model = path_of("model", model)
    device = path_of("device", device, "a device's name or a profile's path")
    flags = "a list of codlc's flags, like ['--precision=fp16']"
    expect_type("options", options, (list, tuple), flags)
    words = [path_of("options", option, flags) for option in options]
    for option in words:
        if option.split("=")[0] in ANSWERED_FLAGS:
            raise ValueError(f"options: expected flags for making a plan, found {option!r}")
    if not device.endswith(".json"):
        device = profile_of(device)
    if output is None:
        output = f"{model.removesuffix('.onnx')}.{os.path.basename(device).removesuffix('.json')}.codl"
    plan = Plan(path_of("output", output))
    with tempfile.TemporaryDirectory(prefix="codl-") as folder:
        report = os.path.join(folder, "report.json")
        _, messages = codlc(f"--device={device}", f"--output={plan}", f"--report={report}", *words, "--", model)
        with open(report, encoding="utf-8") as file:
            plan.report = json.load(file)
    for message in messages:
        warnings.warn(f"{plan}: {message}", stacklevel=2)
    return plan


def codlc(*arguments: str) -> tuple[str, list[str]]:
    """Returns codlc's stdout, and the texts of its notes and warnings. Raises CodlError with its errors."""
    run = subprocess.run([program("codlc"), *arguments], capture_output=True, text=True, env=environment())
    if run.returncode != 0:
        raise CodlError(re.sub(r"(?m)^codlc: (note|warning): .*\n", "", run.stderr).strip(), run.returncode)
    # Steps of a search, like "3 of 20: prune conv1", show its progress alone.
    return run.stdout, re.findall(r"(?m)^codlc: (?:note|warning): (?!\d+ of \d+: )(.*)$", run.stderr)


def profile_of(device: str) -> str:
    """Returns the name of a device's profile, after which plans are named, whatever name it is given by."""
    table, _ = codlc("--list-devices", f"--device={device}")
    names = [row.split()[0] for row in table.splitlines()[1:]]
    if len(names) != 1:
        raise ValueError(f"device: expected one device, found {device!r}")
    return names[0]


def path_of(name: str, value: object, expected: str = "a path") -> str:
    expect_type(name, value, (str, os.PathLike), expected)
    path = os.fspath(value)  # type: ignore[call-overload]  # it was looked at
    expect_type(name, path, str, expected)
    return str(path)


def expect_type(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    if not isinstance(value, kinds):
        is_short = value is None or isinstance(value, (str, Number, list, tuple, dict))
        raise TypeError(f"{name}: expected {expected}, found {reprlib.repr(value) if is_short else type(value).__name__}")


def load(plan: Path, variant: str | None = None, threads: int = 0, requires_variant: bool = False, adapts: bool = False,
         seed: int = 0) -> Session:
    """Returns a session of a plan's file.

    variant: "coexec", "cpu" ...; None: the plan's first. threads: CPU workers; 0: as many as the plan was made for.
    requires_variant: raises an error if the GPU cannot be used, instead of taking the variant for the CPU, and if nothing
    would run on it though no variant for the CPU is named. adapts: the session moves among the plan's variants by the
    times of its runs. seed: decides the numbers of RandomNormal and its like, from 0 to 2^64 - 1. A variant that is asked for and replaced by another becomes a warning. Raises CodlError, TypeError.
    """
    expect_type("variant", variant, (str, type(None)), "a variant's name, or None")
    expect_type("threads", threads, Integral, "a number of threads")
    plan = path_of("plan", plan)
    for name, value in (("requires_variant", requires_variant), ("adapts", adapts)):
        expect_type(name, value, bool, "True or False")
    expect_type("seed", seed, Integral, "a number")
    if not 0 <= seed < 2**64:
        raise TypeError(f"seed: expected a number from 0 to 2^64 - 1, found {seed}")
    return Session(plan, variant, threads, requires_variant, adapts, seed)


def onnxruntime_library() -> str:
    """Returns the path of the execution provider for onnxruntime.register_execution_provider_library(). Raises FileNotFoundError
    where the wheel was built without it.
    """
    found = glob.glob(os.path.join(HERE, "install", "lib*", "**", "libcodl_onnxruntime.so"), recursive=True)
    if not found:
        raise FileNotFoundError("expected a wheel of a build with -DONNXRUNTIME_INCLUDE_DIR=, which has libcodl_onnxruntime.so, found none")
    return found[0]
