"""codl compiles ONNX models to plans for a phone's CPU and GPU, and runs them on numpy arrays.

    import codl
    plan = codl.compile("net.onnx", device="host")
    session = codl.load(plan)
    outputs = session.run({"input": array})        # {name: array}

The command-line tools (codlc, codl-bench ...) are on the PATH of the environment that has this package.
"""
import os
import subprocess
from numbers import Integral

from ._library import CodlError, Session, version
from ._tools import environment, program

__all__ = ["CodlError", "Session", "compile", "load", "version"]
__version__ = version()


def compile(model, device="host", output=None, options=()):
    """Compiles an ONNX file with codlc and returns the plan's path.

    device: a name of `codlc --list-devices`, or a profile's file. output: the plan's path; None: MODEL.DEVICE.codl
    beside the model. options: more flags of codlc. Raises CodlError with codlc's text and, as exit_code, 1 for a wrong
    input, 2 for an unsupported model, 3 if a limit is not met; TypeError.
    """
    model = os.fspath(model)
    flags = "a list of codlc's flags, like ['--precision=fp16']"
    expect_type("options", options, (list, tuple), flags)
    for option in options:
        expect_type("options", option, (str, os.PathLike), flags)
    if output is None:
        label = os.path.basename(os.fspath(device)).removesuffix(".json")
        output = f"{model.removesuffix('.onnx')}.{label}.codl"
    output = os.fspath(output)
    run = subprocess.run([program("codlc"), "--quiet", f"--device={os.fspath(device)}", f"--output={output}", *options, "--", model],
                         capture_output=True, text=True, env=environment())
    if run.returncode != 0:
        raise CodlError(run.stderr.strip(), run.returncode)
    return output


def expect_type(name, value, kinds, expected):
    if not isinstance(value, kinds):
        raise TypeError(f"{name}: expected {expected}, found {value!r}")


def load(plan, variant=None, threads=0, requires_variant=False, adapts=False):
    """Returns a session of a plan's file.

    variant: "coexec", "cpu" ...; None: the plan's first. threads: CPU workers; 0: as many as the plan was made for.
    requires_variant: raises an error if the GPU cannot be used, instead of taking the variant for the CPU, and if nothing
    would run on it though no variant for the CPU is named. adapts: the session moves among the plan's variants by the
    times of its runs. Raises CodlError, TypeError.
    """
    expect_type("variant", variant, (str, type(None)), "a variant's name, or None")
    expect_type("threads", threads, Integral, "a number of threads")
    for name, value in (("requires_variant", requires_variant), ("adapts", adapts)):
        expect_type(name, value, bool, "True or False")
    return Session(os.fspath(plan), variant, threads, requires_variant, adapts)
