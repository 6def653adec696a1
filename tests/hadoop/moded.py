# SPDX-License-Identifier: Apache-2.0
"""A cluster in a mode, with a shared path and a folder for each storage type, and what tests ask it."""
import collections
import contextlib
import filecmp
import os
import pathlib
import random
import re
import tempfile
import time
import unittest

from acknowledged import WRITER, Writers
from cluster import conf, ready
from cluster.cluster import Cluster
from daemons import processes
from daemons.ports import HOST
from daemons.ready import until
from reading import READER, READS, Preads
from resident import Resident

TIERS = {"hhh": ["DISK", "NVDIMM", "SSD"], "hhh-m": ["NVDIMM"] * 3, "hhh-l": ["ARCHIVE", "NVDIMM", "SSD"]}  # of 3 replicas
LIMIT = 300  # seconds for whatever is waited for, also on a loaded machine
MIB = 1 << 20
SMALL_FILES = 20  # before and after a fault
LEASE = 5000  # ms; a DataNode's heartbeats are watched for four of their intervals at least
SHM = pathlib.Path("/dev/shm")
BEAN = "Hadoop:service=DataNode,name=Verbena"
LOCATION = re.compile(r"DatanodeInfoWithStorage\[127\.0\.0\.1:(\d+),[^,]+,(\w+)\]")
NEEDS_SHM = unittest.skipUnless(
    SHM.is_dir() and os.access(SHM, os.W_OK) and os.statvfs(SHM).f_bavail * os.statvfs(SHM).f_frsize > 64 * MIB,
    "needs 64 MiB in /dev/shm (docker run --shm-size=256m)")


class Moded(Cluster):
    def __init__(self, work, shm, shared, mode, more=None, properties=None, **options):
        settings = conf.merged(conf.tiers(12 * MIB, shm / "memory", mode), {
            "core-site": {"dfs.blocksize": MIB},
            "hdfs-site": {"dfs.blocksize": MIB, "verbena.hdfs.shared.dir": shared if mode == "hhh-l" else None,
                          "verbena.hdfs.shared.lease.ms": LEASE,
                          "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
                          "dfs.namenode.redundancy.considerLoad": "false",
                          "dfs.namenode.redundancy.interval.seconds": "1s",
                          "dfs.namenode.heartbeat.recheck-interval": 1000}}, {"hdfs-site": more or {}}, properties or {})
        super().__init__(work, plugin=os.environ["VERBENA_HADOOP_JAR"], by_core=True, quick=True, tied=True, properties=settings,
                         **options)

    def site(self, name):
        site = super().site(name)
        if name.startswith("datanode"):
            site["hdfs-site"]["dfs.datanode.data.dir"] = f"[SSD]file://{self.data()}/ssd/{name},[DISK]file://{self.data()}/{name}"
        return site


@NEEDS_SHM
class ModeCase(unittest.TestCase):
    """One cluster for the tests of a class."""

    mode = more = None
    datanodes = 3

    @classmethod
    def setUpClass(cls):
        folder, shm = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory(prefix="verbena-modes-", dir=SHM)
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(shm.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.shared = cls.folder / "shared"
        cls.shared.mkdir()
        cls.memory = pathlib.Path(shm.name) / "memory"
        cls.cluster = cls.make(pathlib.Path(shm.name))
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.client = Resident(cls.cluster)
        cls.addClassCleanup(cls.client.stop)

    @classmethod
    def make(cls, shm):
        """The cluster; shm: a folder in memory."""
        return Moded(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, datanodes=cls.datanodes)

    # -------------------------------------------------------------------------------------------- helpers

    def names(self):
        return [f"datanode{number}" for number in range(1, self.datanodes + 1)]

    def hdfs(self, *words):
        done = self.client.run("hdfs", *words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def dfs(self, *words):
        return self.hdfs("dfs", *words)

    def wait_for(self, what, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                self.fail("\n".join([f"not within {LIMIT} s: {what}", *self.lines("Verbena hhh")[-30:]]))
            time.sleep(0.1)

    def file(self, name, blocks):
        path = self.folder / name
        path.write_bytes(os.urandom(blocks * MIB))
        return path

    def put(self, source, path, replicas):
        self.dfs("-D", f"dfs.replication={replicas}", "-put", str(source), path)

    def tiers(self, path="/"):
        """The tiers of each block's replicas, sorted, as fsck tells."""
        text = self.hdfs("fsck", path, "-files", "-blocks", "-locations").stdout
        return self.tiers_of(text)

    @staticmethod
    def tiers_of(text):
        """As tiers(), of what fsck has told."""
        return [sorted(kind for _, kind in LOCATION.findall(line)) for line in text.splitlines() if LOCATION.search(line)]

    def wait_for_tiers(self, path, tiers):
        """A writer waits for one replica of a block; the NameNode hears of the others later."""
        self.wait_for(f"{path} lies in {tiers}", lambda: self.tiers(path) == tiers)

    def report_blocks(self):
        """Each DataNode tells all its blocks: a NameNode that had no deletion for it, since one of both was restarted, has now."""
        for name in self.names():
            self.hdfs("dfsadmin", "-triggerBlockReport", f"{HOST}:{self.cluster.ports[name + '-ipc']}")

    def empty_memory(self):
        """Waits until the memory tiers have room again: Hadoop deletes files of blocks later."""
        self.wait_for("the memory tiers are empty",
                      lambda: all(self.number(name, "tier.memory.used_bytes") < MIB for name in self.names()))

    def holders(self, path, kind):
        """The DataNodes that have replicas of a file in a tier."""
        names = {self.cluster.ports[name]: name for name in self.names()}
        text = self.hdfs("fsck", path, "-files", "-blocks", "-locations").stdout
        return {names[int(port)] for port, found in LOCATION.findall(text) if found == kind}

    def is_healthy(self):
        return "is HEALTHY" in self.client.run("hdfs", "fsck", "/").stdout

    def is_closed(self, path):
        """Whether nobody writes a file, and no DataNode recovers its last block."""
        return "Files currently being written" not in self.client.run("hdfs", "fsck", path).stdout

    def assert_same(self, source, path):
        copy = self.folder / "copy"
        copy.unlink(missing_ok=True)
        self.dfs("-get", path, str(copy))
        self.assertTrue(filecmp.cmp(source, copy, shallow=False), "the file that came back differs")

    def lines(self, text, *names):
        """Lines with a text in the logs of daemons."""
        return [line for name in names or [name for name in self.cluster.daemons if name.startswith(("namenode", "datanode"))]
                for line in pathlib.Path(self.cluster.log(name)).read_text(errors="replace").splitlines()
                if text in line]

    def number(self, name, which):
        """One of a DataNode's numbers."""
        beans = {}

        def told():
            beans.update(ready.bean(self.cluster.ports[f"{name}-http"], BEAN))
            return which in beans

        self.wait_for(f"{name} tells {which}", told)
        return beans[which]

    def kill(self, name):
        process = self.cluster.daemons[name]
        self.cluster.kill(name)
        processes.end([process])

    def start(self, *names):
        for name in names:
            self.cluster.launch(name)
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, self.datanodes), "HDFS", self.cluster.work)

    # -------------------------------------------------------------------------------------- small files

    @contextlib.contextmanager
    def small_files(self, folder, settings=None):
        """A program that writes small files to all replicas at once; in the end all that it has closed are there and right."""
        seed = random.SystemRandom().randrange(1 << 31)
        with contextlib.closing(Writers(self.cluster, folder, seed, "small", {**conf.PARALLEL, **(settings or {})})) as writers:
            writers.restart()
            self.wait_for("the first small files", writers.more_closed(SMALL_FILES))
            yield writers
            self.wait_for("small files after the fault", writers.more_closed(SMALL_FILES))
        self.assertEqual(writers.faults(), [], f"seed {seed}")
        self.assertTrue(writers.has_loaded(WRITER))

    @contextlib.contextmanager
    def small_reads(self, path, source, settings=None):
        """A program that reads a file at any place by our reader; in the end all that it has read was right."""
        with contextlib.closing(Preads(self.cluster, path, source, {**conf.PARALLEL, **(settings or {})})) as reader:
            self.wait_for("the first reads", reader.more(READS))
            yield reader
            self.wait_for("reads after that", reader.more(READS))
            self.assertTrue(reader.end(), reader.text()[-3000:])
        self.assertTrue(reader.has_loaded(READER))

    # ---------------------------------------------------------------------------------- the shared path

    def identity(self, name):
        version = pathlib.Path(self.cluster.work) / "data" / name / "current/VERSION"
        return re.search(r"datanodeUuid=(\S+)", version.read_text())[1]

    @staticmethod
    def owner(volume):
        """The DataNode that the last whole record names: who adopts a volume creates a record, writes it and removes older ones."""
        for record in sorted(volume.glob("owner.*"), key=lambda path: int(path.suffix[1:]), reverse=True):
            with contextlib.suppress(FileNotFoundError):
                if node := re.search(r"node=(\S+)\n", record.read_text()):
                    return node[1]
        return ""

    def owners(self):
        """{volume: (identity of the owner, folders of data)}."""
        return {volume.name: (self.owner(volume), sorted(path.name for path in volume.glob("data.*")))
                for volume in self.shared.glob("*/[!.]*")}

    def owned(self):
        """{DataNode: volumes}; each has its data under one name."""
        owners = self.owners()
        names = {self.identity(name): name for name in self.names()}
        for volume, (node, data) in owners.items():
            self.assertEqual(len(data), 1, f"{volume} of {node}: {data}")
        return collections.Counter(names[node] for node, _ in owners.values() if node in names)


class LeavingCase(ModeCase):
    """DataNodes may be told to leave, and replicas to move to disks."""

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile() as excluded:  # the name; HDFS reads the file when it is told to
            cls.more = {"dfs.hosts.exclude": excluded.name}
        cls.excluded = pathlib.Path(cls.more["dfs.hosts.exclude"])
        cls.excluded.write_text("")
        cls.addClassCleanup(cls.excluded.unlink)
        super().setUpClass()

    def admin(self, *words):
        return self.hdfs("dfsadmin", *words).stdout

    @contextlib.contextmanager
    def decommissioned(self, name):
        """One has left, until the end of the block."""
        port = self.cluster.ports[name]
        self.excluded.write_text(f"{HOST}:{port}\n")
        try:
            self.admin("-refreshNodes")
            self.wait_for("it is decommissioned", lambda: re.search(
                rf"Name: {HOST}:{port} [\s\S]*?Decommission Status : Decommissioned", self.admin("-report")))
            yield
        finally:
            self.excluded.write_text("")
            self.admin("-refreshNodes")

    def move_to_disks(self, path, tiers):
        """By Hadoop's mover."""
        def moved():
            self.cluster.run("hdfs", "mover", "-p", path)
            return self.tiers(path) == tiers
        self.wait_for("all has moved to disks", moved)
