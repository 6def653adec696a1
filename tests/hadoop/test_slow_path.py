# SPDX-License-Identifier: Apache-2.0
"""With --full: a shared path on which fsync takes longer than the time-outs that Hadoop comes with."""
import contextlib
import os
import pathlib
import re
import select
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG  # noqa: E402  (needs the path above)
from cluster import java  # noqa: E402
from daemons.stall import Stall, Unavailable  # noqa: E402
from moded import LIMIT, MIB, TIERS, Moded, ModeCase  # noqa: E402
from writing import PROGRAM  # noqa: E402

SYNC_SECONDS = 70  # of an fsync: Hadoop gives up after 60, and 5 more for each DataNode that follows
PATIENCE = {"dfs.client.socket-timeout": 1000 * (SYNC_SECONDS + LIMIT)}  # ms
REPLICAS = (1, 2, 3)  # of the files whose writers call hsync
PERIOD = bytes(range(251))


class SlowSyncs(Moded):
    """DataNodes for which the path may keep an fsync waiting, and nothing else."""

    def __init__(self, work, shm, shared, mode, more, **options):
        self.path = Stall(work.parent, shared, "sync")
        super().__init__(work, shm, shared, mode, more, **options)

    def spawn(self, name, argv, environment):
        super().spawn(name, argv, {**environment, **(self.path.environment() if name.startswith("datanode") else {})})


@LONG
class SlowPathTest(ModeCase):
    mode, more = "hhh-l", PATIENCE

    @classmethod
    def make(cls, shm):
        try:
            return SlowSyncs(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, datanodes=cls.datanodes)
        except Unavailable as cause:
            raise unittest.SkipTest(str(cause)) from cause

    def setUp(self):
        self.dfs("-mkdir", "/data")

    @contextlib.contextmanager
    def writer(self, path, *settings):
        argv = java.argv(str(PROGRAM), [path, *settings], self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with open(self.folder / "said", "a", encoding="utf-8") as said, subprocess.Popen(
                argv, env=self.cluster.environment(), stderr=said, **pipes) as program:
            try:
                yield program
            finally:
                program.kill()

    def said(self):
        """What the writers tell of faults of their pipelines, and the DataNodes of each other."""
        return "\n".join([(self.folder / "said").read_text(encoding="utf-8")[-3000:], *self.lines("Timeout")[-20:]])

    @staticmethod
    def tell(program, command):
        program.stdin.write(command + "\n")
        program.stdin.flush()

    def ask(self, program, command):
        self.tell(program, command)
        return program.stdout.readline()

    def blocks(self, path):
        """Each block's name with its stamp, which a recovery of the pipeline would raise, and the DataNodes that have it."""
        text = self.hdfs("fsck", path, "-openforwrite", "-files", "-blocks", "-locations").stdout
        return [(re.search(r"blk_\d+_\d+", line)[0], re.findall(r"Storage\[127\.0\.0\.1:(\d+),", line))
                for line in text.splitlines() if "DatanodeInfoWithStorage[" in line]

    def test_nobody_is_blamed_for_an_fsync_of_more_than_a_minute_and_those_who_ask_for_none_do_not_wait(self):
        source = self.file("source", 3)
        with contextlib.ExitStack() as stack:
            programs = {f"/data/synced{replicas}": stack.enter_context(self.writer(
                f"/data/synced{replicas}", f"dfs.replication={replicas}")) for replicas in REPLICAS}
            for program in programs.values():
                self.assertEqual(self.ask(program, "flush 1000"), "done 1000\n", self.said())
            before = {path: self.blocks(path) for path in programs}
            with self.cluster.path.standing():
                began = time.monotonic()
                for program in programs.values():
                    self.tell(program, "sync 100000")
                self.wait_for("an fsync of each file waits", lambda: self.cluster.path.waiting() == ["sync"] * len(REPLICAS))
                self.put(source, "/data/closed", 3)
                with self.writer("/data/flushed") as other:
                    self.assertEqual(self.ask(other, "flush 200000"), "done 200000\n")
                    self.assertEqual(self.ask(other, "close"), "done 200000\n")
                self.assert_same(source, "/data/closed")
                time.sleep(max(0, began + SYNC_SECONDS - time.monotonic()))
                self.assertEqual(select.select([program.stdout for program in programs.values()], [], [], 0)[0], [], self.said())
            for path, program in programs.items():
                self.assertEqual(program.stdout.readline(), "done 101000\n", self.said())
                self.assertEqual(self.blocks(path), before[path], self.said())
                self.assertEqual(self.ask(program, "close"), "done 101000\n")
        self.assert_written({**dict.fromkeys(programs, 101000), "/data/flushed": 200000})
        self.assert_same(source, "/data/closed")
        self.wait_for_tiers("/data/closed", [TIERS[self.mode]] * 3)
        self.assertTrue(self.is_healthy())

    def assert_written(self, lengths):
        for path, length in lengths.items():
            (self.folder / "written").write_bytes((PERIOD * (length // len(PERIOD) + 1))[:length])
            self.assert_same(self.folder / "written", path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
