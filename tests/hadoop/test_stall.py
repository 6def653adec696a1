# SPDX-License-Identifier: Apache-2.0
"""With --full: a DataNode with two disks, of which one stands still for a while."""
import contextlib
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import BEAN, LIMIT, LONG, MIB, Waiting  # noqa: E402  (needs the path above)
from cluster import java, ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons.stall import Stall, Unavailable  # noqa: E402
from writing import PROGRAM as WRITER  # noqa: E402

READERS = HERE / "java" / "Readers.java"
STREAMS = 4
BYTES = 24 * MIB  # more than a stream has on its way when its disk stops
PERIOD = bytes(range(251))
PATIENCE = 1000 * 2 * LIMIT  # ms: nobody gives up
BY_CORE = r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP"


class TwoDisks(Cluster):
    """One DataNode. Its disk for files in /fast is an SSD to HDFS, the one for all others is not, and may stand still."""

    def __init__(self, folder):
        self.disks = {name: folder / name for name in ("slow", "fast")}
        for path in self.disks.values():
            path.mkdir(mode=0o700)
        self.slow = Stall(folder, self.disks["slow"])
        place = f"[DISK]file://{self.disks['slow']},[SSD]file://{self.disks['fast']}"
        timeouts = {"dfs.client.socket-timeout": PATIENCE, "dfs.datanode.socket.write.timeout": PATIENCE}
        super().__init__(folder / "hadoop", datanodes=1, plugin=os.environ["VERBENA_HADOOP_JAR"], by_core=True, quick=True,
                         tied=True, own={"datanode1": {"hdfs-site": {"dfs.datanode.data.dir": place}}},
                         properties={"hdfs-site": {"dfs.replication": 1, "dfs.client.read.shortcircuit": "false", **timeouts}})

    def spawn(self, name, argv, env):
        super().spawn(name, argv, {**env, **(self.slow.environment() if name == "datanode1" else {})})

    def blocks(self, disk):
        return [path for path in self.disks[disk].rglob("blk_*") if path.suffix != ".meta"]


class DiskThatStandsStillTest(Waiting):
    @LONG
    def test_blocks_of_the_other_disk_are_read_and_written_meanwhile_and_afterwards_all_is_right(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder).resolve()
            try:
                self.cluster = TwoDisks(self.folder)
            except Unavailable as cause:
                self.skipTest(str(cause))
            self.cluster.start()
            try:
                self.prepare()
                with contextlib.ExitStack() as programs:
                    self.stand_still(*self.programs(programs))
            finally:
                self.cluster.stop()

    def prepare(self):
        (self.folder / "read").write_bytes((PERIOD * (BYTES // len(PERIOD) + 1))[:BYTES])
        (self.folder / "source").write_bytes(os.urandom(20 * MIB + 12345))
        self.wait_for("the plugin", lambda: ready.bean(self.cluster.ports["datanode1-http"], BEAN))
        self.run_here("hdfs", "dfs", "-mkdir", "/slow", "/fast")
        self.run_here("hdfs", "storagepolicies", "-setStoragePolicy", "-path", "/fast", "-policy", "ALL_SSD")
        self.run_here("hdfs", "dfs", "-put", str(self.folder / "read"), "/slow/read")
        self.run_here("hdfs", "dfs", "-put", str(self.folder / "source"), "/fast/read")
        self.assertEqual([len(self.cluster.blocks(disk)) for disk in ("slow", "fast")], [1, 1])

    def run_here(self, *words):
        done = self.cluster.run(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def programs(self, stack):
        """Readers and a writer of the slow disk that have begun, and commands that will."""
        def java_program(path, *arguments):
            argv = java.argv(str(path), list(arguments), self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)
            return self.process(stack, argv, subprocess.PIPE)

        readers = java_program(READERS, "/slow/read", str(STREAMS))
        writer = java_program(WRITER, "/slow/written")
        self.assertEqual(readers.stdout.readline(), "open\n")
        self.assertEqual(self.ask(writer, "flush 100000").stdout.readline(), "done 100000\n")
        return readers, writer, stack

    def process(self, stack, argv, pipe):
        program = stack.enter_context(subprocess.Popen(argv, env=self.cluster.environment(), stdin=pipe, stdout=pipe,
                                                       stderr=subprocess.DEVNULL, text=True))
        stack.callback(program.kill)
        return program

    @staticmethod
    def ask(program, command):
        program.stdin.write(command + "\n")
        program.stdin.flush()
        return program

    def stand_still(self, readers, writer, stack):
        slow = self.cluster.slow
        with slow.standing():
            self.ask(readers, "go on")
            self.ask(writer, f"flush {BYTES}")
            commands = [self.process(stack, self.cluster.argv(["hdfs", "dfs", *words]), subprocess.DEVNULL) for words in (
                ("-get", "/slow/read", str(self.folder / "late")), ("-put", str(self.folder / "source"), "/slow/new"))]
            self.wait_for("reads and writes of the slow disk wait", lambda: {"read", "write"} <= set(slow.waiting()))
            self.others_go_on()
            self.assertLessEqual({"read", "write"}, set(slow.waiting()))
            self.assertEqual([program.poll() for program in (readers, writer, *commands)], [None] * 4)
        self.all_is_right(readers, writer, commands)

    def others_go_on(self):
        self.same("/fast/read", self.folder / "source")
        done = self.run_here("hdfs", "dfs", "-put", str(self.folder / "read"), "/fast/written")
        self.assertRegex(done.stderr, BY_CORE)
        self.same("/fast/written", self.folder / "read")
        self.assertEqual(len(self.cluster.blocks("fast")), 2)

    def same(self, path, wanted):
        copy = self.folder / "copy"
        copy.unlink(missing_ok=True)
        done = self.run_here("hdfs", "dfs", "-get", path, str(copy))
        self.assertRegex(done.stderr, BY_CORE)
        self.assertTrue(filecmp.cmp(wanted, copy, shallow=False), f"{path} differs")

    def all_is_right(self, readers, writer, commands):
        self.assertEqual(readers.communicate(timeout=LIMIT)[0], f"read {STREAMS * BYTES}\n")
        self.assertEqual(writer.stdout.readline(), f"done {BYTES + 100000}\n")
        writer.communicate(timeout=LIMIT)
        self.assertEqual([program.wait(LIMIT) for program in commands], [0, 0])
        self.assertTrue(filecmp.cmp(self.folder / "read", self.folder / "late", shallow=False), "what was read late differs")
        self.same("/slow/new", self.folder / "source")
        whole = self.folder / "whole"
        whole.write_bytes((PERIOD * ((BYTES + 100000) // len(PERIOD) + 1))[:BYTES + 100000])
        self.same("/slow/written", whole)


if __name__ == "__main__":
    unittest.main(verbosity=2)
