"""The programs inside of the package, and how they find their libraries."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(HERE, "install", "bin")


def program(name):
    return os.path.join(BIN, name)


def environment():
    """Of a program: the libraries that were packed with it are found first."""
    path = os.path.join(HERE, "libs")
    given = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": path + (os.pathsep + given if given else "")}


def main():
    """Of all console scripts: becomes the program of that name."""
    path = program(os.path.basename(sys.argv[0]))
    os.execve(path, [path, *sys.argv[1:]], environment())
