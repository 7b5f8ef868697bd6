#!/usr/bin/env python3
"""Makes the wheel `codl` of a build folder: make_wheel.py BUILD --out DIR.

The install tree goes in as it is, with the libraries that codlc links and that are not in every Linux system. One wheel
serves every Python 3 (ctypes, no extension) on the machine's architecture. Needs setuptools and wheel.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# PEP 600 lets a wheel expect these libraries of a system, and the loader.
SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so")
SETUP = """
from setuptools import setup
try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

class AnyPython(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]

setup(name="codl", version={version!r}, description="Ahead-of-time CPU+GPU co-execution compiler for phones",
      license="Apache-2.0", packages=["codl"], package_data={{"codl": {files!r}}}, include_package_data=False,
      install_requires=["numpy", "ninja"], python_requires=">=3.11", cmdclass={{"bdist_wheel": AnyPython}},
      entry_points={{"console_scripts": [f"{{tool}} = codl._tools:main" for tool in {tools!r}]}})
"""


def libraries_of(program):
    """Returns the paths of the shared libraries that a program needs and a system may lack."""
    found = []
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split("\n"):
        match = re.match(r"\s*(\S+) => (/\S+)", line)
        if match and not SYSTEM.match(match.group(1)) and not match.group(1).startswith("libcodl"):
            found.append((match.group(1), match.group(2)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="a build folder of cmake --preset release")
    parser.add_argument("--out", default=".", help="where the wheel goes")
    flags = parser.parse_args()
    with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
        version = re.search(r"project\(codl VERSION ([0-9.]+)", file.read()).group(1)
    with tempfile.TemporaryDirectory() as work:
        package = os.path.join(work, "codl")
        shutil.copytree(os.path.join(HERE, "codl"), package, ignore=shutil.ignore_patterns("__pycache__"))
        install = os.path.join(package, "install")
        for component in ("compiler", "device-tools", "runtime"):
            subprocess.run(["cmake", "--install", flags.build, "--prefix", install, "--strip", "--component", component],
                           check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(os.path.join(install, "share", "doc"), ignore_errors=True)
        os.makedirs(os.path.join(package, "libs"))
        for name, path in libraries_of(os.path.join(install, "bin", "codlc")):
            shutil.copyfile(path, os.path.join(package, "libs", name))
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
        files = [os.path.relpath(os.path.join(folder, name), package) for part in ("install", "libs")
                 for folder, _, names in os.walk(os.path.join(package, part)) for name in names]
        with open(os.path.join(work, "setup.py"), "w") as file:
            file.write(SETUP.format(version=version, files=["py.typed", *files], tools=sorted(os.listdir(os.path.join(install, "bin")))))
        shutil.copy(os.path.join(ROOT, "LICENSE"), work)
        subprocess.run([sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", os.path.abspath(flags.out)],
                       cwd=work, check=True)


if __name__ == "__main__":
    main()
