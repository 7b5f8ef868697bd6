"""Compiles codl-matrix's jobs on a Dask cluster. A worker has this codlc in its PATH, and gets models and profiles from here, each
once.
"""
import contextlib
import hashlib
import logging
import mmap
import os
import re
import time
import uuid

from .common import InputError, fail, note_input, say, write_bytes
from .edges import FILES, RULE, SAID, codlc_arguments, rule_of, split_rule

SECONDS_TO_CONNECT = 10
SECONDS_WITHOUT_WORKERS = 60  # one that was lost may come back
# These flags of codlc, and @FILE, name files that would have to be sent, too.
READING = ("--learn", "--calibration", "--measured", "--avoid")


def worker_functions():
    """Returns functions that run on workers. They travel as code and see nothing of this file, because no worker has it."""
    def install_sha(program):
        """Returns SHA-256 of codlc and the profiles that lie with it, which decide what it writes."""
        import glob
        import hashlib
        import os
        top = os.path.dirname(os.path.dirname(os.path.realpath(program)))
        total = hashlib.sha256()
        for path in [program, *sorted(glob.glob(os.path.join(glob.escape(top), "share", "codl", "profiles", "*.json")))]:
            with open(path, "rb") as file:
                total.update(os.path.basename(path).encode() + hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()

    def folder_of_files():
        import os
        from distributed import get_worker
        folder = os.path.join(get_worker().local_directory, "codl")
        os.makedirs(folder, exist_ok=True)
        return folder

    def store(sha, data):
        """Writes a file that compile() lacks; returns why it could not."""
        import os
        try:
            path = os.path.join(folder_of_files(), sha)
            with open(path + ".part", "wb") as file:
                file.write(data)
            os.replace(path + ".part", path)
        except OSError as error:
            return f"{error.filename or path}: expected space to write to, found {error.strerror}"

    def is_whole(path, sha):
        import hashlib
        try:
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == sha
        except FileNotFoundError:
            return False

    def compile(install, files, arguments, names):
        """Runs codlc on `files`: SHA-256, keyed by path. Returns (address, kind, value): ("lacks", files to be sent), ("unusable", why
        this worker compiles nothing), or ("ran", (the folder, exit code, stderr, {name: (SHA-256, bytes)})).
        """
        import hashlib
        import os
        import shutil
        import subprocess
        import tempfile
        from distributed import get_worker
        address = get_worker().address
        try:
            program = shutil.which("codlc")
            if not program or install_sha(program) != install:
                found = f"{program}, which or whose profiles are others" if program else "none in PATH"
                return address, "unusable", f"codlc: expected that of the sender, found {found}"
            stored = folder_of_files()
            lacks = [sha for sha in sorted(set(files.values())) if not is_whole(os.path.join(stored, sha), sha)]
            if lacks:
                return address, "lacks", lacks
            with tempfile.TemporaryDirectory(dir=stored) as folder:
                os.mkdir(os.path.join(folder, "out"))
                for path, sha in files.items():
                    own = os.path.join(folder, path)
                    os.makedirs(os.path.dirname(own), exist_ok=True)
                    os.link(os.path.join(stored, sha), own)
                run = subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE)
                if b"No space left on device" in run.stderr:
                    return address, "unusable", f"{folder}: expected space to write to, found No space left on device"
                made = {}
                for name in names if run.returncode == 0 else ():
                    with open(os.path.join(folder, "out", name), "rb") as file:
                        data = file.read()
                    made[name] = hashlib.sha256(data).hexdigest(), data
            return address, "ran", (folder, run.returncode, run.stderr, made)
        except OSError as error:
            return address, "unusable", f"{error.filename}: expected a file or folder that can be used, found {error.strerror}"
    return install_sha, store, compile


INSTALL_SHA, STORE, COMPILE = worker_functions()


def external_files(path):
    """Returns the names of files with weights that an ONNX model may name, relative to its folder: those of its texts behind the key
    "location" that are files there. codlc itself says what is missing.
    """
    found = set()
    top = os.path.realpath(os.path.dirname(path))
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for entry in re.finditer(rb"\x0a\x08location\x12([\x80-\xff]?)([\x00-\x7f])", data):
            low, high = entry.groups()
            size = (low[0] & 127) + (high[0] << 7) if low else high[0]
            name = os.path.normpath(os.fsdecode(data[entry.end():entry.end() + size]).replace("\0", ""))
            real = os.path.realpath(os.path.join(top, name))
            if not os.path.isabs(name) and real.startswith(top + "/") and os.path.isfile(real):
                found.add(name)
    return sorted(found)


class Order:
    """Says what a worker needs for a job, and where the files of a worker's paths are."""

    def __init__(self, job, hashes):
        for word in job.options:
            if word.startswith("@") or word.split("=")[0] in READING:
                fail("--dask", "options that name no files", f"'{word}'")
        self.job, self.model, device = job, "model/" + os.path.basename(job.path), job.device
        self.paths = {self.model: job.path}
        for name in external_files(job.path):
            self.paths["model/" + name] = os.path.join(os.path.dirname(job.path), name)
        if device.endswith(".json"):
            device = "profile/" + os.path.basename(device)
            self.paths[device] = job.device
        self.files = {own: hashes.of(note(path)) for own, path in self.paths.items()}
        self.arguments = codlc_arguments(self.model, device, job.options, "out")

    def write(self, profiles, folder, code, said, made):
        """Writes what a worker made in its folder to the job's, as codlc does here. `profiles`: the folder of those with names."""
        for name, (sha, data) in made.items():
            if hashlib.sha256(data).hexdigest() != sha:
                fail(f"{self.job.name} on {self.job.label}: {name}", "the bytes that the worker made", "others")
            if name == RULE:
                read = [path.removeprefix(folder + "/") for path in split_rule(data.decode(errors="surrogateescape"))]
                data = rule_of(self.paths.get(path) or os.path.join(profiles, os.path.basename(path)) for path in read).encode(errors="surrogateescape")
            write_bytes(os.path.join(self.job.work, name), data)
        said = said.decode(errors="replace").replace(self.model, self.job.path)
        write_bytes(os.path.join(self.job.work, SAID), f"{said}{code}\n".encode())


def note(path):
    note_input(path)
    return path


def import_distributed():
    global distributed
    try:
        import distributed
    except ImportError as error:
        fail("--dask", "the Python package distributed (Debian's python3-distributed)", error)
    logging.disable()  # this file says once what fails


class Cluster:
    def __init__(self, tool, address, program):
        import_distributed()
        if not re.fullmatch(r"\w+://.+:\d+", address):
            fail("--dask", "tcp://HOST:PORT", f"'{address}'")
        self.tool, self.address, self.install = tool, address, INSTALL_SHA(program)
        self.profiles = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(program))), "share", "codl", "profiles")
        try:
            self.client = distributed.Client(address, timeout=SECONDS_TO_CONNECT)
        except (OSError, ValueError, TypeError) as error:
            fail("--dask", f"a Dask scheduler at {address}", str(error).split("\n")[0])
        self.unusable = set()  # addresses of workers
        self.sent = set()  # (address, SHA-256)
        self.waiting = {}  # (order, what had been sent to whom), keyed by future
        self.last_seen = time.monotonic()

    def close(self):
        """Takes back what is not done yet."""
        with contextlib.suppress(OSError):  # the scheduler may be gone
            self.client.cancel(list(self.waiting), force=True)
            self.client.close()

    def usable(self):
        return set(self.client.scheduler_info()["workers"]) - self.unusable

    def submit(self, order):
        more = {"workers": sorted(self.usable()), "allow_other_workers": True} if self.unusable else {}
        future = self.client.submit(COMPILE, self.install, order.files, order.arguments, (*FILES, RULE), pure=False,
                                    key=f"{order.job.name}-{order.job.label}-{uuid.uuid4()}", **more)
        self.waiting[future] = order, frozenset(self.sent)

    def give_up(self, address, why):
        if address not in self.unusable:
            say(self.tool, "warning", f"worker {address}: {why}")
            self.unusable.add(address)

    def send(self, order, address, lacks):
        for path, sha in order.files.items():
            if sha in lacks and (address, sha) not in self.sent:
                with open(order.paths[path], "rb") as file:
                    data = file.read()
                try:
                    why = self.client.run(STORE, sha, data, workers=[address]).get(address)
                except OSError:  # it was lost
                    return
                if why:
                    self.give_up(address, why)
                    return
                self.sent.add((address, sha))

    def check(self):
        """Fails if nobody is left to wait for."""
        if self.client.status != "running":
            fail("--dask", f"the scheduler at {self.address}", "that it is gone")
        if self.usable():
            self.last_seen = time.monotonic()
        elif self.unusable or time.monotonic() > self.last_seen + SECONDS_WITHOUT_WORKERS:
            fail("--dask", "a worker that compiles", f"none at {self.address}")

    def ended(self):
        """Returns the futures that are done, after a second at most."""
        self.check()
        try:
            return list(distributed.wait(list(self.waiting), timeout=1, return_when="FIRST_COMPLETED").done)
        except (distributed.TimeoutError, distributed.CancelledError, OSError):
            return []

    def compile(self, orders):
        """Yields (job, None) when one has ended, whatever its exit code; (job, InputError) for one that could not be run."""
        if not self.usable():
            fail("--dask", "a worker that compiles", f"none at {self.address}")
        for order in orders:
            self.submit(order)
        while self.waiting:
            for future in self.ended():
                order, sent = self.waiting[future]
                try:
                    address, kind, value = future.result(timeout=SECONDS_WITHOUT_WORKERS)
                except (distributed.TimeoutError, distributed.CancelledError, OSError):  # its worker is lost, or the scheduler
                    self.check()
                    kind = "lost"
                except distributed.KilledWorker:
                    del self.waiting[future]
                    yield order.job, InputError("--dask: expected a worker that survives it, found none")
                    continue
                del self.waiting[future]
                if kind == "ran":
                    order.write(self.profiles, *value)
                    yield order.job, None
                    continue
                if kind == "unusable":
                    self.give_up(address, value)
                elif kind == "lacks" and any((address, sha) in sent for sha in value):
                    self.give_up(address, "expected the files that were sent, found others")
                elif kind == "lacks":
                    self.send(order, address, value)
                self.check()
                self.submit(order)


def compile_by_dask(jobs, tool, address, program, hashes):
    """Does what compile_by_ninja() does."""
    orders = [Order(job, hashes) for job in jobs]
    cluster = Cluster(tool, address, program)
    try:
        yield from cluster.compile(orders)
    finally:
        cluster.close()
