"""Gives each test of a unittest.TestCase a folder of its own, which is removed after it."""
import os
import shutil
import tempfile


class WorkFolder:
    """Mixed into a TestCase, before it: self.work is the folder."""

    def setUp(self):
        super().setUp()
        self.work = tempfile.mkdtemp(prefix="codl_test_")
        self.addCleanup(shutil.rmtree, self.work)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def write(self, name, data):
        """Writes a file of these bytes; returns its path."""
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def tree(self, folder):
        """Returns the bytes of all files in a folder by path, without those of codl-matrix's cache."""
        found = {}
        for parent, folders, files in os.walk(self.path(folder)):
            folders[:] = [name for name in folders if name != ".cache"]
            for name in files:
                with open(os.path.join(parent, name), "rb") as file:
                    found[os.path.relpath(os.path.join(parent, name), self.path(folder))] = file.read()
        return found
