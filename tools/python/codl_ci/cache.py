"""Stores what codl-matrix compiled before, keyed by the contents of all inputs. Standard library only."""
import hashlib
import json
import os

from .common import InputError, check_output, copy_whole, fail, json_text, read_json, sha256_of, stat_regular, write_bytes, write_whole


class Hashes:
    """Computes SHA-256 of files. A file with the recorded device, inode, size and time of change is not read again."""

    def __init__(self, records, rehash):
        self.known = {} if rehash else records
        self.used = {}

    def of(self, path):
        path = os.path.abspath(path)
        if path not in self.used:
            entry = stat_regular(path)
            stamp = [entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns]
            known = self.known.get(path)
            if known and known["stamp"] == stamp:
                self.used[path] = known
            else:
                self.used[path] = {"stamp": stamp, "sha256": sha256_of(path)}
        return self.used[path]["sha256"]

    def forget(self, path):
        """Call it after the file was written anew."""
        self.used.pop(os.path.abspath(path), None)
        self.known.pop(os.path.abspath(path), None)


def read_record(path):
    """Reads the record of Hashes; empty if the file is none."""
    try:
        record = read_json(path)
        return record if all(isinstance(known["stamp"], list) and isinstance(known["sha256"], str) for known in record.values()) else {}
    except (InputError, KeyError, TypeError, AttributeError):
        return {}


PAGE_BYTES = 4096  # weights begin at multiples of this: docs/reference/plan_format.md
PAGES_IN_PART = 32  # on average


def parts_of(data):
    """Cuts the data into stretches of pages, at places that a page's own bytes decide. So the common part of two
    plans, wherever it lies, has the same stretches except for the first and the last.
    """
    begin = 0
    for end in range(PAGE_BYTES, len(data) + PAGE_BYTES, PAGE_BYTES):
        if end >= len(data) or hashlib.sha256(data[end - PAGE_BYTES:end]).digest()[0] % PAGES_IN_PART == 0:
            yield data[begin:end]
            begin = end


class Cache:
    """Stores objects by the SHA-256 of their bytes, and results by the key of their inputs. A plan is a list of
    parts, because the plans of a model's devices have most of their weights in common.
    """

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        for name in ("objects", "plans", "parts", "results", "inputs"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def path(self, kind, key):
        return os.path.join(self.folder, kind, key)

    def get(self, kind, key):
        try:
            with open(self.path(kind, key), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def put(self, kind, key, value):
        write_whole(self.path(kind, key), json_text(value))

    def has(self, name, sha):
        if name != "plan.codl":
            return os.path.exists(self.path("objects", sha))
        parts = self.get("plans", sha)
        return parts is not None and all(os.path.exists(self.path("parts", part)) for part in parts)

    def add(self, name, path):
        """Takes the file, and returns its SHA-256."""
        if name == "plan.codl":
            return self.add_plan(path)
        sha = sha256_of(path)
        target = self.path("objects", sha)
        if not os.path.exists(target):
            os.chmod(path, 0o444)  # many links lead to the file, so nobody may change it
            os.replace(path, target)
        return sha

    def add_plan(self, path):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        sha = hashlib.sha256(data).hexdigest()
        parts = []
        for part in parts_of(data):
            parts.append(hashlib.sha256(part).hexdigest())
            if not os.path.exists(self.path("parts", parts[-1])):
                write_bytes(self.path("parts", parts[-1]), part)
        self.put("plans", sha, parts)
        return sha

    def place(self, name, sha, path, hashes):
        """Puts the file at a user's path: a plan is joined from its parts, another file is a hard link if the file
        system allows.
        """
        if name == "plan.codl":
            if not os.path.exists(path) or hashes.of(path) != sha:
                data = bytearray()
                for part in self.get("plans", sha):
                    with open(self.path("parts", part), "rb") as file:
                        data += file.read()
                if hashlib.sha256(data).hexdigest() != sha:
                    fail(self.path("plans", sha), "parts of the plan (empty the cache)", "others")
                write_bytes(path, data)
                hashes.forget(path)
                hashes.of(path)
            return
        source = self.path("objects", sha)
        if os.path.exists(path):
            if os.path.samefile(source, path):
                return
            check_output(path)
            os.unlink(path)
        try:
            os.link(source, path)
        except OSError:
            copy_whole(source, path)
