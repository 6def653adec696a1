# SPDX-License-Identifier: Apache-2.0
"""The memory control groups in which tests run daemons: bounded, counted, and gone on every way out."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
sys.path.insert(0, LIB)

from daemons import memory_group  # noqa: E402  (needs the path above)
from daemons.memory_group import MemoryGroup, Unavailable  # noqa: E402

MIB = 1 << 20
LIMIT = 64 * MIB
SECONDS = 300  # of one process, also on a loaded machine
TAKE = "import sys; taken = b'1' * (int(sys.argv[1]) << 20)"
LEAVE = f"""import os, sys; sys.path.insert(0, {LIB!r})
from daemons.memory_group import MemoryGroup
group = MemoryGroup("left", {LIMIT})
print(group.path, flush=True)
"""


def take(group, mib):
    return subprocess.run([*group.wrapper(), sys.executable, "-c", TAKE, str(mib)], timeout=SECONDS, check=False).returncode


class MemoryGroupTest(unittest.TestCase):
    def setUp(self):
        try:
            self.group = MemoryGroup("test", LIMIT)
        except Unavailable as cause:
            self.skipTest(str(cause))
        self.addCleanup(self.group.remove)

    def test_what_fits_is_counted_and_nobody_is_killed(self):
        self.assertEqual(take(self.group, 32), 0)
        self.assertEqual(self.group.killed(), 0)
        if self.group.peak() is not None:
            self.assertTrue(32 * MIB < self.group.peak() <= LIMIT, self.group.peak())

    def test_what_does_not_fit_is_killed_and_told(self):
        self.assertEqual(take(self.group, 128), -signal.SIGKILL)
        self.assertEqual(self.group.killed(), 1)

    def test_processes_that_are_left_in_it_end_with_it(self):
        with subprocess.Popen([*self.group.wrapper(), sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"],
                              stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            self.assertEqual(self.group.members(), [child.pid])
            self.group.remove()
            self.assertEqual(child.wait(), -signal.SIGKILL)
        self.assertFalse(os.path.exists(self.group.path))

    def test_it_goes_with_its_maker_and_after_a_kill_with_the_next_one(self):
        for end, stays in (("sys.exit(1)", False), ("os.kill(os.getpid(), 9)", True)):
            done = subprocess.run([sys.executable, "-c", LEAVE + end], stdout=subprocess.PIPE, text=True, timeout=SECONDS,
                                  check=False)
            self.assertEqual(os.path.exists(done.stdout.strip()), stays, end)
        with MemoryGroup("next", LIMIT):
            self.assertFalse(os.path.exists(done.stdout.strip()))


class PlacesTest(unittest.TestCase):
    """Where a group is made, on trees of files as kernels show them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena-groups-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def above(self, groups):
        (self.root / "groups").write_text(groups)
        folder, version = memory_group.above(str(self.root), str(self.root / "groups"))
        return os.path.relpath(folder, self.root), version

    def test_version_1_has_it_below_its_own_or_in_the_root_that_a_container_sees(self):
        (self.root / "memory" / "a").mkdir(parents=True)
        self.assertEqual(self.above("5:cpu,memory:/a\n0::/\n"), ("memory/a", memory_group.Version1))
        self.assertEqual(self.above("5:memory:/docker/1234\n0::/\n"), ("memory", memory_group.Version1))

    def test_version_2_has_it_where_the_memory_controller_is_given_on(self):
        (self.root / "a" / "b").mkdir(parents=True)
        for folder, given in ((".", "cpu memory"), ("a", "cpu memory"), ("a/b", "cpu")):
            (self.root / folder / "cgroup.subtree_control").write_text(given + "\n")
        self.assertEqual(self.above("0::/a/b\n"), ("a", memory_group.Version2))

    def test_without_the_controller_the_cause_and_the_cure_are_told(self):
        (self.root / "cgroup.subtree_control").write_text("cpu\n")
        with self.assertRaisesRegex(Unavailable, "gives the memory controller.*; run this as root"):
            self.above("0::/\n")
