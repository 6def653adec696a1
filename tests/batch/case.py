# SPDX-License-Identifier: Apache-2.0
"""Runs verbena-batch, and looks for what it leaves."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "hadoop-rdma/batch/verbena-batch"
LIMIT = 600  # seconds for whatever is waited for, also on a loaded machine
PAUSE = 0.1
SHM = pathlib.Path("/dev/shm")
BATCH = ("SLURM_", "PBS_")  # variables of a batch system that these tests may run in


def processes(word, *files):
    """The ids of the processes that have a word in their command line, or in these files of theirs."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if any(word.encode() in (entry / file).read_bytes() for file in files or ("cmdline",)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena-batch-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.work, self.local = self.folder / "work", self.folder / "local"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(BATCH)}

    def words(self, command, *more):
        """A command line with nodes on this host."""
        return [sys.executable, "-B", str(SCRIPT), command, "--one-host", "--interface", "lo", "--work", str(self.work),
                "--local", str(self.local), *more]

    def begin(self, *words):
        child = subprocess.Popen(words, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.finish, child)
        return child

    @staticmethod
    def finish(child):
        if child.poll() is None:
            child.kill()
            child.wait()
        child.stdout.close()

    def run_all(self, *words, limit=LIMIT):
        """(status, output)"""
        child = self.begin(*words)
        output, _ = child.communicate(timeout=limit)
        return child.returncode, output

    def wait_for(self, what, condition, limit=LIMIT):
        deadline = time.monotonic() + limit
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(PAUSE)

    def left(self):
        """Processes of the session: of verbena-batch, daemons, the user's command."""
        return processes(str(self.folder), "cmdline", "environ")

    def assert_nothing_left(self):
        """Neither a process nor a folder of the session. An agent that nobody waits for ends a moment later."""
        self.wait_for("its processes have ended", lambda: not self.left())
        self.assertEqual(list(self.local.glob("*")) if self.local.exists() else [], [])
        self.assertFalse((self.work / "key").exists())
