"""Runs the programs inside the package."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(HERE, "install", "bin")


def program(name: str) -> str:
    return os.path.join(BIN, name)


def environment() -> dict[str, str]:
    """Returns a program's environment: the programs of this Python, Ninja among them, are found last."""
    return {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + os.pathsep + os.path.dirname(sys.executable)}


def main() -> None:
    """All console scripts call this, which becomes the program of that name."""
    command = [program(os.path.basename(sys.argv[0])), *sys.argv[1:]]
    with open(command[0], "rb") as file:
        if file.read(2) == b"#!":  # a script finds the packages of this environment
            command.insert(0, sys.executable)
    os.execve(command[0], command, environment())
