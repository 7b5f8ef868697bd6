"""Holds what codl-matrix, codl-diff and codl-check share: messages, files, command lines. Its rules are those of
docs/reference/command_line.md."""
import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile


class InputError(Exception):
    """Writes one line for the user: where, what was expected, and what was found."""


def fail(where, expected, found):
    raise InputError(f"{where}: expected {expected}, found {found}")


def printable(text):
    """Works like tools/printable.h: the result has nothing that a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(tool, kind, text):
    print(f"{tool}: {kind}: {printable(text)}", file=sys.stderr)


# Equals kMaxTextBytes of tools/files.h.
MAX_TEXT_BYTES = 64 << 20


def kind_of(mode):
    for is_kind, kind in ((stat.S_ISREG, "a file"), (stat.S_ISDIR, "a folder"), (stat.S_ISCHR, "a character device"), (stat.S_ISBLK, "a block device"),
                          (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if is_kind(mode):
            return kind
    return "another kind of file"


def stat_regular(path):
    """Returns os.stat() of a file that may be read: a pipe would block, and a device never ends. OSError if there is
    no file.
    """
    entry = os.stat(path)
    if not stat.S_ISREG(entry.st_mode):
        fail(path, "a regular file", kind_of(entry.st_mode))
    return entry


def contents_of(path):
    """Returns that the file is empty, or which other file that codl reads it is, as tools/files.h tells them apart, and
    the tool for it; or None.
    """
    with open(path, "rb") as file:
        begin = file.read(4)
    if not begin:
        return "an empty file"
    if begin == b"CODL":
        return "a plan (codl-run runs it, codl-diff compares two)"
    if re.match(rb"\x08[\x01-\x1f]", begin):
        return "an ONNX model (codlc compiles it)"
    return None


def read_json(path, expected="JSON"):
    """`expected`: what the JSON is, for the user."""
    def object_of(pairs):
        value = {}
        for key, member in pairs:
            if key in value:
                fail(path, "each key once", f"key {json.dumps(key)[:60]} twice")
            value[key] = member
        return value
    try:
        size = stat_regular(path).st_size
        if size > MAX_TEXT_BYTES:
            fail(path, f"at most {MAX_TEXT_BYTES} bytes", f"{size} bytes")
        with open(path, encoding="utf-8") as file:
            return json.load(file, object_pairs_hook=object_of)
    except OSError as error:
        fail(path, "a file that can be read", error.strerror)
    except (ValueError, RecursionError) as error:
        fail(path, expected, contents_of(path) or ("no text" if isinstance(error, UnicodeDecodeError) else error))


# ---- names ----

def is_name(text):
    """True if the text can be the name of a folder or file, a cell of a table and a word of a command line."""
    return isinstance(text, str) and re.fullmatch(r"[\w+-][\w.+-]*", text) is not None


# ---- inputs and outputs, as in tools/files.h: an output is none of the inputs, and no other output ----

INPUTS = {}  # paths, keyed by device and inode
OUTPUTS = {}  # paths, keyed by the path without links


def note_input(path):
    """No output may be this file afterwards. Returns its os.stat()."""
    entry = stat_regular(path)
    INPUTS.setdefault((entry.st_dev, entry.st_ino), path)
    return entry


def is_null(path):
    return os.path.exists(path) and os.path.samefile(path, os.devnull)


def check_output(path):
    """Fails if the path is an input's, or leads to something other than a regular file. The null device takes
    everything.
    """
    if not os.path.exists(path) or is_null(path):
        return
    entry = os.stat(path)
    if not stat.S_ISREG(entry.st_mode):
        fail(path, "a regular file or /dev/null to write to", kind_of(entry.st_mode))
    if (entry.st_dev, entry.st_ino) in INPUTS:
        fail(path, "an output that is none of the inputs", f"the file of input {INPUTS[entry.st_dev, entry.st_ino]}")


def claim_output(path):
    """Call it for each output, before long work and before anything is written."""
    check_output(path)
    folder = os.path.dirname(path) or "."
    if os.path.isdir(folder) and not os.access(folder, os.W_OK) and not is_null(path):
        fail(path, "a folder that can be written to", "another")
    real = os.path.realpath(path)
    if real in OUTPUTS and not is_null(path):
        fail(path, "outputs that are different files", f"the file of output {OUTPUTS[real]}")
    OUTPUTS[real] = path


SUMS = "SHA256SUMS"


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder, sums):
    """Lists files that this tool made, because remove_own() removes no others. `sums`: SHA-256, keyed by the path in
    `folder`.
    """
    write_whole(os.path.join(folder, SUMS), "".join(f"{sha}  {name}\n" for name, sha in sorted(sums.items())))


def remove_own(folder, pattern):
    """Removes the files that write_sums() listed, and folders that become empty. Files that somebody changed stay,
    and names that do not match `pattern`, which describes this tool's files.
    """
    sums = os.path.join(folder, SUMS)
    if not os.path.isfile(sums):
        return
    with open(sums, encoding="utf-8", errors="surrogateescape") as file:
        listed = re.findall(r"(?m)^([0-9a-f]{64})  (.+)$", file.read(MAX_TEXT_BYTES))
    for sha, name in listed:
        path = os.path.join(folder, name)
        if re.fullmatch(pattern, name) and os.path.isfile(path) and sha256_of(path) == sha:
            remove(path)
            remove_if_empty(os.path.dirname(path), folder)
    remove(sums)
    remove_if_empty(folder, folder)


def remove(path):
    check_output(path)
    os.unlink(path)


def remove_if_empty(path, top):
    """Removes the folder if it is empty, and those around it up to and including `top`."""
    while not os.path.islink(path) and not os.listdir(path):
        os.rmdir(path)
        if path == top:
            return
        path = os.path.dirname(path)


# ---- writing ----

def write_whole(path, text):
    """Works like write_bytes(), but leaves equal bytes untouched; the null device takes everything."""
    check_output(path)
    if is_null(path):
        return
    data = text.encode()
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except OSError:
        pass
    write_bytes(path, data)


def write_bytes(path, data):
    """Writes under another name first, so that nobody sees half a file."""
    check_output(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".codl-")
    except OSError as error:
        fail(path, "a folder to write to", error.strerror)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        fail(path, "space to write to", error.strerror)


def copy_whole(source, path):
    """Copies a file with write_bytes()."""
    with open(source, "rb") as file:
        write_bytes(path, file.read())


def json_text(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


# ---- the program that a tool runs ----

def program_of(tool, name, given):
    """Returns the path of codlc or codl-dump, `name`, for the path or name that was given."""
    found = shutil.which(given)
    if not found:
        fail(name, f"a program beside {tool}, in PATH or --{name}", "none")
    return found


def version_of(program, name):
    """Returns (version, plan format), like ("0.1.0", 2)."""
    result = subprocess.run([program, "--version"], capture_output=True, text=True)
    match = re.match(rf"{name} (\S+) \(plan format (\d+)\)", result.stdout)
    if not match:
        fail(program, name, (result.stdout or result.stderr).split("\n")[0])
    return match.group(1), int(match.group(2))


# ---- command lines ----

class PrintVersion(argparse.Action):
    """Prints the tool's version, which is that of the program that it runs, and exits."""

    def __call__(self, parser, flags, values, option_string=None):
        given = getattr(flags, self.const.replace("-", "_"))
        version, plan_format = version_of(program_of(parser.prog, self.const, given), self.const)
        print(f"{parser.prog} {version} (plan format {plan_format})")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Flags must be written out; a wrong one is an input error like any other, with a hint."""

    def __init__(self, tool, program, program_help, others=None, hint_of=lambda flags, flag: None, **words):
        """`program`: the one that the tool runs, from beside it or from PATH if no flag says another. `others`: what to use in
        place of flags of other tools, keyed by their names, which have blanks between. `hint_of(flags, flag)` may say more
        of a flag that is not there.
        """
        super().__init__(prog=tool, allow_abbrev=False, formatter_class=argparse.ArgumentDefaultsHelpFormatter, **words)
        self.others, self.hint_of = others or {}, hint_of
        beside = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), program)
        self.add_argument(f"--{program}", metavar="FILE", default=beside if os.path.exists(beside) else program, help=program_help)
        self.add_argument("--version", action=PrintVersion, nargs=0, const=program, default=argparse.SUPPRESS,
                          help="print the version, and exit")

    def error(self, message):
        raise InputError(f"command line: {message} (see --help)")

    def parse_args(self, *arguments):
        flags, unknown = self.parse_known_args(*arguments)
        for word in unknown:
            if word.startswith("-"):
                fail("command line", "a flag that --help lists", f"'{word.split('=')[0]}'{self.hint(flags, word)}")
        if unknown:
            fail("command line", "no more than --help shows", f"'{unknown[0]}'")
        return flags

    def hint(self, flags, word):
        bare = word.split("=")[0].lstrip("-").replace("_", "-")
        for names, here in self.others.items():
            if bare in names.split():
                return f" (here: {here})"
        known = [text for action in self._actions for text in action.option_strings]
        if near := difflib.get_close_matches("--" + bare, known, 1, 0.8):
            return f" (did you mean {near[0]}?)"
        return f" ({hint})" if (hint := self.hint_of(flags, word)) else ""


# Exit codes are those of the other tools.
NO_MEMORY = 70
INTERRUPTED = 130


def end(tool, body):
    """Returns the exit code of a tool's body."""
    try:
        code = body()
        sys.stdout.flush()
        return code
    except InputError as error:
        say(tool, "error", str(error))
    except FileExistsError as error:  # only making a folder raises it
        found = kind_of(os.stat(error.filename).st_mode) if os.path.exists(error.filename) else "a link that leads nowhere"
        say(tool, "error", f"{error.filename}: expected a folder, found {found}")
    except OSError as error:
        # Only stdout is written without a name.
        where, expected = (error.filename, "a file or folder that can be used") if error.filename else ("stdout", "space to write to")
        say(tool, "error", f"{where}: expected {expected}, found {error.strerror}")
        if not error.filename:  # so that the rest is not tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        say(tool, "error", "memory: expected enough of it, found none left")
        return NO_MEMORY
    except KeyboardInterrupt:
        return INTERRUPTED
    return 1
