# SPDX-License-Identifier: Apache-2.0
"""With --full: a DataNode in a memory control group of its own, as in a container, with many streams that stand still."""
import filecmp
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import BEAN, LIMIT, LONG, MIB, Waiting  # noqa: E402  (needs the path above)
from cluster import java, ready  # noqa: E402
from cluster.cluster import MAINS, Cluster  # noqa: E402
from daemons.memory_group import MemoryGroup, Unavailable  # noqa: E402

STREAMS = 500
HEAP = 384
BOX = 1024 * MIB  # heap and JVM leave 424 MiB, of which the budget of streams is a quarter
LEAST = 208 << 10  # what each stream gets in any case
WAITS = STREAMS * 64 << 10  # bytes that the DataNode holds at least when all streams stand still: a message of each
PROGRAM = HERE / "java" / "Readers.java"


class Boxed(Cluster):
    """One DataNode, in the group, with G1 and a heap that is all there from the start, as after days of work."""

    def __init__(self, work, group):
        self._group = group
        super().__init__(work, datanodes=1, plugin=os.environ["VERBENA_HADOOP_JAR"], by_core=True, quick=True, tied=True,
                         properties={"hdfs-site": {"dfs.replication": 1, "dfs.client.read.shortcircuit": "false"}})

    def launch(self, name):
        if name != "datanode1":
            super().launch(name)
            return
        temporary = os.path.join(self.data(), "tmp", name)
        os.makedirs(temporary, exist_ok=True)
        options = ["-XX:+UseG1GC", f"-Xms{HEAP}m", "-XX:+AlwaysPreTouch", f"-Djava.io.tmpdir={temporary}"]
        argv = java.argv(MAINS["datanode"], [], self.conf(name), self.plugin, f"{HEAP}m", options)
        self.spawn(name, [*self._group.wrapper(), *argv], self.environment(self.conf(name)))


class BoxedDataNodeTest(Waiting):
    @LONG
    def test_500_readers_that_stand_still_kill_no_data_node_and_hold_up_nobody(self):
        try:
            group = MemoryGroup("datanode", BOX)
        except Unavailable as error:
            self.skipTest(str(error))
        with group, tempfile.TemporaryDirectory() as folder:
            cluster = Boxed(pathlib.Path(folder) / "hadoop", group)
            cluster.start()
            try:
                self.stand_still(cluster, pathlib.Path(folder))
            finally:
                cluster.stop()
            self.assertEqual(group.killed(), 0)
            peak = group.peak()
            self.assertTrue(peak is None or peak < BOX, f"peak {peak}")

    def stand_still(self, cluster, folder):
        content = (bytes(range(251)) * (2 * MIB // 251 + 1))[:2 * MIB]
        (folder / "read").write_bytes(content)
        self.wait_for("the plugin", lambda: self.numbers(cluster))
        self.dfs(cluster, "-put", str(folder / "read"), "/read")
        argv = java.argv(str(PROGRAM), ["/read", str(STREAMS)], cluster.client_conf(), cluster.plugin, "256m", java.QUICK)
        log = folder / "readers.log"
        with open(log, "w") as errors, subprocess.Popen(argv, env=cluster.environment(), stdin=subprocess.PIPE,
                                                        stdout=subprocess.PIPE, stderr=errors, text=True) as readers:
            try:
                self.assertEqual(readers.stdout.readline(), "open\n", log.read_text())
                readers.send_signal(signal.SIGSTOP)
                self.wait_for("all go by the core", lambda: self.numbers(cluster)["stream.open"] >= STREAMS)
                self.wait_for("all streams stand still", lambda: self.numbers(cluster)["stream.memory.used_bytes"] >= WAITS)
                self.others_go_on(cluster, folder)
                numbers = self.numbers(cluster)
                self.assertLessEqual(numbers["stream.memory.used_bytes"],
                                     numbers["stream.memory.bytes"] // 2 + (STREAMS + 10) * LEAST)
                readers.send_signal(signal.SIGCONT)
                said, _ = readers.communicate("go on\n", LIMIT)
                self.assertEqual(said, f"read {STREAMS * len(content)}\n", log.read_text())
            finally:
                readers.kill()

    def others_go_on(self, cluster, folder):
        source, copy = folder / "source", folder / "copy"
        source.write_bytes(os.urandom(20 * MIB + 12345))
        self.dfs(cluster, "-put", str(source), "/other")
        done = self.dfs(cluster, "-get", "/other", str(copy))
        self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP")
        self.assertTrue(filecmp.cmp(source, copy, shallow=False), "the file that came back differs")

    def dfs(self, cluster, *words):
        done = cluster.run("hdfs", "dfs", *words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    @staticmethod
    def numbers(cluster):
        return ready.bean(cluster.ports["datanode1-http"], BEAN)


if __name__ == "__main__":
    unittest.main(verbosity=2)
