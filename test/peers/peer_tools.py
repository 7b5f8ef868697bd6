"""What the comparisons with other runtimes share: their wheels, and running codl's tools."""
import os
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def use_wheels(modules, requirements):
    """Goes on if the modules can be found; else starts the program anew in a virtual environment.

    `requirements`: arguments of `pip install`, a list per call. The other runtimes are not
    dependencies of codl, so the environment is build/peers (python3-venv, network).
    """
    from importlib.util import find_spec
    missing = [name for name in modules if find_spec(name) is None]
    if not missing:
        return
    place = os.path.join(ROOT, "build", "peers")
    python = os.path.join(place, "bin", "python")
    if sys.prefix == place and os.environ.get("CODL_PEERS_STARTED"):
        raise ModuleNotFoundError(f"expected {', '.join(missing)} in {place}")
    if not os.path.exists(python):
        print(f"no {', '.join(missing)} here: making a virtual environment in {place}", flush=True)
        venv.create(place, with_pip=True)
    for arguments in requirements:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True, cwd=HERE)
    os.environ["CODL_PEERS_STARTED"] = "1"
    os.execv(python, [python, os.path.abspath(sys.argv[0])] + sys.argv[1:])


def run(*command):
    """The command's stdout; RuntimeError if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])}: exit {result.returncode}: "
                           f"{result.stderr.strip() or result.stdout.strip()}")
    return result.stdout


def file_name(tensor):
    """As codl-run names an output's file."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in tensor) + ".npy"


def relative_error(found, expected):
    """Relative L2 error, infinite if it is not a number."""
    import numpy as np
    a, b = found.astype(np.float64), expected.astype(np.float64)
    error = np.linalg.norm(a - b) / np.linalg.norm(b)
    return error if np.isfinite(error) else np.inf
