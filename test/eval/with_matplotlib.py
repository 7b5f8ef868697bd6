"""Debian's matplotlib is for Debian's Python, which need not be the first in PATH."""
import importlib.util
import os
import subprocess
import sys

DEBIAN_PYTHON = "/usr/bin/python3"
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def restart_with_matplotlib(test):
    """Runs this program again with a Python that has matplotlib, or prints on behalf of `test` that there is none."""
    if HAS_MATPLOTLIB:
        return
    asked = [DEBIAN_PYTHON, "-c", "import matplotlib"]
    if os.path.exists(DEBIAN_PYTHON) and not os.path.samefile(sys.executable, DEBIAN_PYTHON) and \
            subprocess.run(asked, capture_output=True).returncode == 0:
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, *sys.argv])
    print(f"[SKIP] {test}: no Python package matplotlib")
