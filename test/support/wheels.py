"""Makes Python packages that a test needs besides the standard library, in a virtual environment under build/."""
import os
import subprocess
import sys
import venv
from importlib.util import find_spec

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def use_wheels(modules, requirements, folder):
    """Goes on if the modules can be found; else starts the program anew in the environment build/`folder`.

    `requirements`: arguments of `pip install`, a list per call. They are not dependencies of codl, so they stay
    in that environment (python3-venv, network).
    """
    missing = [name for name in modules if find_spec(name) is None]
    if not missing:
        return
    place = os.path.join(ROOT, "build", folder, "venv")
    python = os.path.join(place, "bin", "python")
    if sys.prefix == place and os.environ.get("CODL_WHEELS_STARTED"):
        raise ModuleNotFoundError(f"expected {', '.join(missing)} in {place}")
    if not os.path.exists(python):
        print(f"no {', '.join(missing)} here: making a virtual environment in {place}", flush=True)
        venv.create(place, with_pip=True)
    for arguments in requirements:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True)
    os.environ["CODL_WHEELS_STARTED"] = "1"
    os.execv(python, [python, os.path.abspath(sys.argv[0])] + sys.argv[1:])
