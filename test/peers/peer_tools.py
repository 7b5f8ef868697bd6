"""Holds what the comparisons with other runtimes share: their wheels, and running codl's tools."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import wheels


def use_wheels(modules, requirements):
    """Makes the other runtimes' wheels available, in build/peers; paths in `requirements` are of this folder."""
    wheels.use_wheels(modules, [[os.path.join(HERE, word) if word.endswith(".txt") else word
                                 for word in arguments] for arguments in requirements], "peers")


def run(*command):
    """Returns the command's stdout; raises RuntimeError if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])}: exit {result.returncode}: "
                           f"{result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def file_name(tensor):
    """Returns codl-run's name for an output's file."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in tensor) + ".npy"


# ONNX Runtime's Sigmoid has this error.
SIGMOID_ERROR = 2e-7


def relative_error(found, expected, absolute=0.0):
    """Returns the relative L2 error of the elements that differ by more than `absolute`, infinite if it is not a
    number.
    """
    import numpy as np
    a, b = found.astype(np.float64), expected.astype(np.float64)
    off = np.where(np.abs(a - b) <= absolute, 0, a - b)
    if absolute and not off.any():
        return 0.0
    error = np.linalg.norm(off) / np.linalg.norm(b)
    return error if np.isfinite(error) else np.inf
