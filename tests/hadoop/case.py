# SPDX-License-Identifier: Apache-2.0
"""What the tests share: one cluster, of two DataNodes with the plugin and one without it, and of YARN with our shuffle
once a test wants that; and a JVM that runs commands."""
import atexit
import contextlib
import filecmp
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import conf, ready  # noqa: E402  (needs the path above)
from cluster.cluster import Cluster  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402
from resident import Resident  # noqa: E402

LIMIT = 300  # seconds for whatever is waited for, also on a loaded machine
WAIT = 120_000  # ms for the core's first connection
MIB = 1 << 20
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
PATIENCE = 10_000 if FULL else 60_000  # ms after which a silent DataNode is given up; the second is what Hadoop comes with
NO_OTHERS = "dfs.client.block.write.replace-datanode-on-failure.enable=false"  # there are three DataNodes in all
LONG = unittest.skipUnless(FULL, "with --full")
FACTORY = "hadoop.rpc.socket.factory.class.ClientProtocol"
BEAN = "Hadoop:service=DataNode,name=Verbena"
WITH_PLUGIN = ("datanode1", "datanode2")


# One try of each task, whatever the machine's load; nodes are given up late: the tests that kill one have clusters of
# their own.
JOBS = {"mapred-site": {"mapreduce.job.reduce.slowstart.completedmaps": "0.5", "mapreduce.task.timeout": "300000",
                        "mapreduce.job.maps": "3", "mapreduce.job.reduces": "2", "mapreduce.map.speculative": "false",
                        "mapreduce.reduce.speculative": "false", "mapreduce.client.submit.file.replication": "1"},
        "yarn-site": {"yarn.nm.liveness-monitor.expiry-interval-ms": 600000,
                      "yarn.nodemanager.pmem-check-enabled": "true"}}  # a container that takes more than it has is killed


class Daemons(Cluster):
    """Sets the greeting's port to one that is free on this machine for all DataNodes."""

    def site(self, name):
        site = super().site(name)
        site["core-site"]["verbena.hdfs.port.offset"] = self.offset
        return site


class Shared:
    """Started at the first use; ends with the process."""

    folder = key = excluded = cluster = client = source = None
    waits = 0  # of afresh()

    @classmethod
    def start(cls):
        if cls.cluster is not None:
            return
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.key = new_key(cls.folder / "key")
        cls.excluded = cls.folder / "excluded"  # DataNodes that are to leave
        cls.excluded.write_text("")
        properties = {
            "core-site": {FACTORY: "org.verbena.hadoop.hdfs.VerbenaSocketFactory", "verbena.hdfs.key.file": cls.key,
                          "verbena.hdfs.connect.wait.ms": WAIT},
            "hdfs-site": {"dfs.datanode.plugins": "org.verbena.hadoop.hdfs.VerbenaDataNodePlugin",
                          "dfs.namenode.heartbeat.recheck-interval": 1000,
                          "dfs.namenode.redundancy.interval.seconds": "1s", "dfs.client.read.shortcircuit": "false",
                          "dfs.hosts.exclude": cls.excluded,
                          # All three DataNodes get a replica, also one that had much to do or stood still a moment ago.
                          "dfs.namenode.redundancy.considerLoad": "false",
                          # A DataNode that was started anew would read all its blocks, beside a test that counts its reads.
                          "dfs.datanode.scan.period.hours": -1,
                          # Of DataNodes too: each waits less long than the one before it, so that the one that is silent is blamed.
                          "dfs.client.socket-timeout": PATIENCE}}
        cluster = Daemons(cls.folder / "hadoop", plugin=os.environ["VERBENA_HADOOP_JAR"], nodemanagers=2,
                          yarn_later=True, properties=conf.merged(properties, conf.OURS, JOBS),
                          own={"datanode3": {"hdfs-site": {"dfs.datanode.plugins": None}}}, quick=True, tied=True)
        cluster.start()
        atexit.register(cluster.stop)
        cls.client = Resident(cluster)
        atexit.register(cls.client.stop)
        cls.source = cls.folder / "source"
        cls.source.write_bytes(os.urandom(20 * MIB + 12345))
        cls.cluster = cluster


def new_key(path):
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return str(path)


class Waiting(unittest.TestCase):
    """Waits for events of daemons."""

    limit = LIMIT

    def wait_for(self, what, condition, state=lambda: ""):
        """state: gives a text for who reads why it was in vain."""
        deadline = time.monotonic() + self.limit
        while not condition():
            if time.monotonic() >= deadline:
                self.fail(f"not within {self.limit} s: {what}\n{state()}")
            time.sleep(0.1)

    @staticmethod
    def new_text(log, length):
        text = log.read_text(errors="replace")
        return text[length:] if len(text) >= length else text


class HdfsCase(Waiting):
    @classmethod
    def setUpClass(cls):
        Shared.start()
        cls.folder, cls.key, cls.source = Shared.folder, Shared.key, Shared.source
        cls.cluster, cls.client = Shared.cluster, Shared.client

    def new_key(self, name):
        return new_key(self.folder / name)

    def setUp(self):
        for name in WITH_PLUGIN:
            if name not in self.cluster.running():
                self.cluster.launch(name)
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        until(self.cluster.check_alive, lambda: None if all(map(self.counters, WITH_PLUGIN)) else "no plugin yet",
                    "HDFS", self.cluster.work)

    def dfs(self, *words, fails=False):
        return self.ended(self.client.run("hdfs", "dfs", *words), words, fails)

    def dfs_alone(self, *words):
        """In a JVM of its own, which says at its end by which path its connections went."""
        return self.ended(self.cluster.run("hdfs", "dfs", *words), words)

    def ended(self, done, words, fails=False):
        self.assertEqual(done.returncode != 0, fails, f"{words}: {done.stdout}{done.stderr}")
        return done

    @contextlib.contextmanager
    def process(self, argv, **pipes):
        """A command of the cluster; it does not outlive a failure in the block, which would wait for its end."""
        with subprocess.Popen(argv, env=self.cluster.environment(), **pipes) as client:
            try:
                yield client
            except BaseException:
                client.kill()
                raise

    def counters(self, name):
        return ready.bean(self.cluster.ports[f"{name}-http"], BEAN)

    def moved(self, name):
        numbers = self.counters(name)
        return numbers.get("stream.sent_bytes", 0) + numbers.get("stream.received_bytes", 0)

    def assert_same(self, path, get=None):
        copy = self.folder / f"copy-{secrets.token_hex(4)}"
        done = (get or self.dfs)("-get", path, str(copy))
        self.assertTrue(filecmp.cmp(self.source, copy, shallow=False), "the file that came back differs")
        copy.unlink()
        return done

    def pipeline(self, path, least=3):
        """The DataNodes that a block of a file is being written to, the client's first; at least so many."""
        ports = {str(self.cluster.ports[name]): name for name in self.cluster.daemons if name.startswith("datanode")}
        found = []
        def known():
            done = self.client.run("hdfs", "fsck", path, "-openforwrite", "-files", "-blocks", "-locations")
            found[:] = re.findall(r"\[127\.0\.0\.1:(\d+),", done.stdout)
            return len(found) >= least
        self.wait_for("the NameNode names the pipeline", known)
        return [ports[port] for port in found]

    def afresh(self):
        """Options that no command had before: with them the resident JVM knows nothing of DataNodes that it has lost,
        which it would reach by TCP for a while."""
        Shared.waits += 1
        return "-D", f"verbena.hdfs.connect.wait.ms={WAIT + Shared.waits}"

    def await_moved(self, path):
        """Writes a file until so many bytes have gone by the core. One in three goes to the DataNode without the plugin
        first, and what a DataNode tells is up to a second old."""
        before, options = sum(map(self.moved, WITH_PLUGIN)), self.afresh()

        def moved():
            self.dfs(*options, "-put", "-f", str(self.source), path)
            return sum(map(self.moved, WITH_PLUGIN)) - before >= self.source.stat().st_size
        self.wait_for("the file's bytes in the counters", moved)

    def assert_healthy(self):
        self.wait_for("fsck is healthy", lambda: "is HEALTHY" in self.client.run("hdfs", "fsck", "/").stdout)

    def greeting_port(self, name):
        text = pathlib.Path(self.cluster.log(name)).read_text(errors="replace")
        return int(re.findall(r", greeting at port (\d+)", text)[-1])

    def kill(self, name):
        process = self.cluster.daemons[name]
        self.cluster.kill(name)
        processes.end([process])
