# SPDX-License-Identifier: Apache-2.0
"""Hadoop's balancer moves blocks between DataNodes by the core; a bandwidth that an administrator sets meanwhile reaches them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import BEAN, LIMIT, LONG, MIB, Waiting  # noqa: E402  (needs the path above)
from cluster import ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ports import HOST  # noqa: E402

ROOM, FILLED = 128, 32  # MiB of each DataNode, and of the file: the balancer's least threshold is one per cent
FULL, EMPTY = "datanode1", "datanode2"
LIMITED, WIDE = 16 << 10, 100 * MIB  # bytes a second: with the first the balancer would not end before this test gives up
SHM = pathlib.Path("/dev/shm")


class Small(Cluster):
    """DataNodes that have little room, so that a small file is a large part of it: in a tmpfs, none of whose room is root's."""

    def __init__(self, work, shm):
        self.shm = shm
        settings = {"dfs.datanode.du.reserved": shutil.disk_usage(SHM).total - ROOM * MIB,
                    "dfs.blocksize": MIB, "dfs.replication": 1, "dfs.datanode.balance.bandwidthPerSec": LIMITED,
                    "dfs.namenode.redundancy.interval.seconds": "1s", "dfs.namenode.heartbeat.recheck-interval": 1000,
                    "dfs.balancer.getBlocks.min-block-size": 1,
                    "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
                    "dfs.namenode.redundancy.considerLoad": "false"}
        super().__init__(work, datanodes=2, plugin=os.environ["VERBENA_HADOOP_JAR"], by_core=True, quick=True, tied=True,
                         properties={"hdfs-site": settings})


    def site(self, name):
        site = super().site(name)
        if name.startswith("datanode"):
            site["hdfs-site"]["dfs.datanode.data.dir"] = f"file://{self.shm}/{name}"
        return site


@LONG
@unittest.skipUnless(SHM.is_dir() and os.access(SHM, os.W_OK) and shutil.disk_usage(SHM).free > ROOM * MIB,
                     f"needs {ROOM} MiB in /dev/shm (docker run --shm-size=256m)")
class BalancerTest(Waiting):
    def ran(self, cluster, *words):
        done = cluster.run("hdfs", *words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def counters(self, cluster, name):
        return ready.bean(cluster.ports[f"{name}-http"], BEAN)

    def stacks(self, cluster, name):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{HOST}:{cluster.ports[name + '-http']}/stacks", timeout=LIMIT) as answer:
            return answer.read().decode().split("\nThread ")

    @staticmethod
    def stored(cluster, name):
        return len([path for path in pathlib.Path(cluster.shm, name).rglob("blk_*") if path.suffix != ".meta"])

    def fill_one(self, cluster, source):
        """Writes a file while the other DataNode is away."""
        away = cluster.daemons[EMPTY]
        cluster.kill(EMPTY)
        self.wait_for("it has ended", lambda: not processes.alive(*away))
        self.wait_for("the NameNode knows that", lambda: re.search(
            r"Live datanodes \(1\)", self.ran(cluster, "dfsadmin", "-report")))
        self.ran(cluster, "dfs", "-put", str(source), "/file")
        self.assertEqual(self.stored(cluster, FULL), FILLED)
        cluster.launch(EMPTY)
        self.wait_for("both DataNodes have registered", lambda: ready.hdfs(cluster.ports, 2) is None)
        self.wait_for("their plugins run", lambda: all(self.counters(cluster, name) for name in (FULL, EMPTY)))

    def test_blocks_move_by_the_core_and_a_bandwidth_that_is_set_meanwhile_reaches_them(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="verbena-balancer-", dir=SHM) as shm:
            source = pathlib.Path(folder, "source")
            source.write_bytes(os.urandom(FILLED * MIB))
            with Small(os.path.join(folder, "hadoop"), shm) as cluster:
                self.fill_one(cluster, source)
                before = self.counters(cluster, FULL)
                argv = cluster.argv(["hdfs", "balancer", "-threshold", "1"])
                with subprocess.Popen(argv, env=cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, text=True) as balancer:
                    self.assert_limited(cluster, balancer)
                    self.ran(cluster, "dfsadmin", "-setBalancerBandwidth", str(WIDE))
                    said = balancer.communicate(timeout=LIMIT)[0]
                # Its status is no matter: with metrics on, Hadoop 3.4's fails when it looks once more whether all is balanced.
                self.assertIn("Total bytes (blocks) moved in this iteration", said)
                self.assert_moved(cluster, before)
                back = pathlib.Path(folder, "back")
                self.ran(cluster, "dfs", "-get", "/file", str(back))
                self.assertTrue(back.read_bytes() == source.read_bytes(), "the file that came back differs")

    def assert_limited(self, cluster, balancer):
        """A block that is read for another DataNode waits for the limit, in a thread that serves a stream."""
        def waits():
            if balancer.poll() is not None:
                self.fail(f"the balancer has ended before a block waited: {balancer.stdout.read()[-3000:]}")
            return any("DataTransferThrottler.throttle" in stack and "copyBlock" in stack for stack in self.stacks(cluster, FULL))
        try:
            self.wait_for("a block waits for the limit", waits)
        except BaseException:
            balancer.kill()
            raise

    def assert_moved(self, cluster, before):
        moved = self.stored(cluster, EMPTY)
        self.assertGreater(moved, FILLED // 4)
        self.wait_for("the bytes of all that has moved have gone by the core", lambda: self.counters(cluster, FULL)[
            "stream.sent_bytes"] - before["stream.sent_bytes"] >= moved * MIB)
        self.assertGreater(self.counters(cluster, FULL)["stream.accepted"], before["stream.accepted"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
