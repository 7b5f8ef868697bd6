"""What codl-matrix and codl-diff share: messages, files, command lines. Rules: docs/reference/command_line.md."""
import argparse
import json
import os
import stat
import sys
import tempfile


class InputError(Exception):
    """One line for the user: where, what was expected, what was found."""


def fail(where, expected, found):
    raise InputError(f"{where}: expected {expected}, found {found}")


def printable(text):
    """As tools/printable.h: nothing that a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(tool, kind, text):
    print(f"{tool}: {kind}: {printable(text)}", file=sys.stderr)


# As kMaxTextBytes of tools/files.h.
MAX_TEXT_BYTES = 64 << 20


def kind_of(mode):
    for is_kind, kind in ((stat.S_ISDIR, "a folder"), (stat.S_ISCHR, "a character device"), (stat.S_ISBLK, "a block device"),
                          (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if is_kind(mode):
            return kind
    return "no regular file"


def stat_regular(path):
    """Of a file that may be read: a pipe would be waited for, and a device never ends. OSError without a file."""
    entry = os.stat(path)
    if not stat.S_ISREG(entry.st_mode):
        fail(path, "a regular file", kind_of(entry.st_mode))
    return entry


def read_json(path):
    try:
        size = stat_regular(path).st_size
        if size > MAX_TEXT_BYTES:
            fail(path, f"at most {MAX_TEXT_BYTES} bytes", f"{size} bytes")
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        fail(path, "a file that can be read", error.strerror)
    except (ValueError, RecursionError) as error:
        fail(path, "JSON", error)


def write_whole(path, text):
    """As write_bytes(). Equal bytes are left untouched. What is no regular file is not replaced, and the null device takes
    everything."""
    data = text.encode()
    if os.path.exists(path) and not os.path.isfile(path):
        if os.path.samefile(path, os.devnull):
            return
        fail(path, "a regular file or /dev/null to write to", kind_of(os.stat(path).st_mode))
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except OSError:
        pass
    write_bytes(path, data)


def write_bytes(path, data):
    """Under another name first: nobody sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".codl-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        fail(path, "space to write to", error.strerror)


def copy_whole(source, path):
    """As write_bytes(), of a file's bytes."""
    with open(source, "rb") as file:
        write_bytes(path, file.read())


def json_text(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


class Parser(argparse.ArgumentParser):
    """Flags written out; a wrong one is an input error like any other."""

    def __init__(self, tool, **words):
        super().__init__(prog=tool, allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter, **words)

    def error(self, message):
        raise InputError(f"command line: {message} (see --help)")


# Exit codes, as of the other tools.
NO_MEMORY = 70
INTERRUPTED = 130


def end(tool, body):
    """The exit code of a tool's body."""
    try:
        code = body()
        sys.stdout.flush()
        return code
    except InputError as error:
        say(tool, "error", str(error))
    except OSError as error:
        # Only stdout is written to without a name.
        where, expected = (error.filename, "a file or folder that can be used") if error.filename else ("stdout", "space to write to")
        say(tool, "error", f"{where}: expected {expected}, found {error.strerror}")
        if not error.filename:  # nor is the rest of it tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        say(tool, "error", "memory: expected enough of it, found none left")
        return NO_MEMORY
    except KeyboardInterrupt:
        return INTERRUPTED
    return 1
