"""A folder of its own for each test of a unittest.TestCase, gone after it."""
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
        """The path of a file of these bytes."""
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)
