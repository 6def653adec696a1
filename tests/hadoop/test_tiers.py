# SPDX-License-Identifier: Apache-2.0
"""Mode hhh on real daemons: memory, then SSD, then disk; where the files lie, what fsck says of it, killed DataNodes."""
import collections
import filecmp
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import conf, java, ready  # noqa: E402  (needs the path above)
from cluster.cluster import Cluster  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402
from resident import Resident  # noqa: E402

FULL = os.environ.get("VERBENA_TEST_FULL")
LONG = unittest.skipUnless(FULL, "with --full")
LIMIT = 300  # seconds for whatever is waited for, also on a loaded machine
MIB = 1 << 20
PAGE = 4096
NODES = ("datanode1", "datanode2", "datanode3")
BEAN = "Hadoop:service=DataNode,name=Verbena"
OWN = 64 << 10  # MemoryLedger.OWN
BLOCK = MIB + -(-(7 + 4 * 2048) // PAGE) * PAGE  # what a block and its checksums take
IN_MEMORY, ON_SSD = 3, 4  # blocks that a DataNode's tiers hold
TURNS_MOST = 12  # each of three blocks; four are enough when every block is in some memory
SHM = pathlib.Path("/dev/shm")
LOCATION = re.compile(r"DatanodeInfoWithStorage\[127\.0\.0\.1:(\d+),[^,]+,(\w+)\]")


class Tiered(Cluster):
    """Gives every DataNode a folder of each storage type: the SSD's in a tmpfs, the only place of known size."""

    def __init__(self, work, shm, size, moves=None, **more):
        reserved = os.statvfs(shm).f_blocks * os.statvfs(shm).f_frsize - ON_SSD * BLOCK - 32 * PAGE
        settings = conf.merged(conf.tiers(size, shm / "memory"), {
            "core-site": {"dfs.blocksize": MIB},
            "hdfs-site": {"dfs.blocksize": MIB, "dfs.datanode.du.reserved.ssd": reserved,
                          "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
                          "dfs.namenode.redundancy.considerLoad": "false",
                          "dfs.namenode.redundancy.interval.seconds": "1s", "dfs.namenode.heartbeat.recheck-interval": 1000,
                          **(moves or {"verbena.hdfs.memory.high": 100, "verbena.hdfs.memory.promote": 0})}})
        self.shm = shm
        super().__init__(work, plugin=os.environ["VERBENA_HADOOP_JAR"], by_core=True, quick=True, tied=True, properties=settings,
                         **more)

    def site(self, name):
        site = super().site(name)
        if name.startswith("datanode"):
            site["hdfs-site"]["dfs.datanode.data.dir"] = f"[SSD]file://{self.shm}/ssd/{name},[DISK]file://{self.data()}/{name}"
        return site


@unittest.skipUnless(SHM.is_dir() and os.access(SHM, os.W_OK) and os.statvfs(SHM).f_bavail * os.statvfs(SHM).f_frsize > 48 * MIB,
                     "needs 48 MiB in /dev/shm (docker run --shm-size=256m)")
class TiersCase(unittest.TestCase):
    """One cluster for the tests of a class, and what they ask it. The NameNode counts a replica that a slower tier took over as
    planned for the faster one for up to 20 minutes."""

    moves = None  # settings of moves between tiers; None: no block moves
    @classmethod
    def setUpClass(cls):
        folder, shm = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory(prefix="verbena-tiers-", dir=SHM)
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(shm.cleanup)
        cls.folder, cls.shm = pathlib.Path(folder.name), pathlib.Path(shm.name)
        cls.limit = OWN + IN_MEMORY * BLOCK
        cls.cluster = Tiered(cls.folder / "hadoop", cls.shm, cls.limit, cls.moves)
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.client = Resident(cls.cluster)
        cls.addClassCleanup(cls.client.stop)

    def setUp(self):
        for name in NODES:
            if name not in self.cluster.running():
                self.cluster.launch(name)
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        self.dfs("-rm", "-r", "-f", "-skipTrash", "/data")
        self.wait_for("the NameNode knows that all blocks are deleted", self.empty)

    def empty(self):
        nodes = json.loads(ready.bean(self.cluster.ports["namenode-http"],
                                      "Hadoop:service=NameNode,name=NameNodeInfo")["LiveNodes"])
        return not sum(self.stored().values()) and all(node["usedSpace"] < MIB for node in nodes.values())

    # -------------------------------------------------------------------------------------------- helpers

    def hdfs(self, *words):
        done = self.client.run("hdfs", *words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def dfs(self, *words):
        return self.hdfs("dfs", *words)

    def wait_for(self, what, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"not within {LIMIT} s: {what}")
            time.sleep(0.1)

    def file(self, name, blocks):
        path = self.folder / name
        path.write_bytes(os.urandom(blocks * MIB))
        return path

    def roots(self, name):
        """{storage type: folders} of a DataNode."""
        mine = [path for path in (self.shm / "memory").glob("*/current/VERSION") if self.identity(name) in path.read_text()]
        return {"NVDIMM": [path.parent for path in mine], "SSD": [self.shm / "ssd" / name],
                "DISK": [pathlib.Path(self.cluster.work) / "data" / name]}

    def identity(self, name):
        disk = pathlib.Path(self.cluster.work) / "data" / name / "current/VERSION"
        return re.search(r"datanodeUuid=(\S+)", disk.read_text())[0] if disk.exists() else "no VERSION yet"

    def stored(self):
        """{(DataNode, storage type): blocks} as the files lie, without copies of blocks in memory."""
        return collections.Counter({(name, kind): sum(1 for folder in folders for path in folder.rglob("blk_*")
                                                      if path.suffix != ".meta" and "lazypersist" not in path.parts)
                                    for name in NODES for kind, folders in self.roots(name).items()})

    def told(self):
        """{(DataNode, storage type): blocks} as fsck tells."""
        names = {self.cluster.ports[name]: name for name in NODES}
        text = self.hdfs("fsck", "/", "-files", "-blocks", "-locations").stdout
        return collections.Counter((names[int(port)], kind) for port, kind in LOCATION.findall(text)), text

    def in_memory_bytes(self, name):
        return sum(-(-path.stat().st_size // PAGE) * PAGE for folder in self.roots(name)["NVDIMM"] for path in folder.rglob("*")
                   if path.is_file())

    def numbers(self, name):
        return ready.bean(self.cluster.ports[f"{name}-http"], BEAN)

    def assert_agree(self, replicas=None):
        """What fsck tells is how the files lie, as soon as all DataNodes have reported, so many replicas if that is said: of
        tiers that are nearly full the NameNode may find too few at first."""
        seen = {}

        def same():
            seen["told"], seen["text"] = self.told()
            seen["stored"] = +self.stored()
            return seen["told"] == seen["stored"] and replicas in (None, sum(seen["stored"].values()))

        try:
            self.wait_for("fsck tells where the files lie", same)
        except AssertionError:
            self.fail(f"fsck: {seen['told']}, files: {seen['stored']}")
        return seen["stored"], seen["text"]

    def assert_same(self, source, path):
        copy = self.folder / "copy"
        copy.unlink(missing_ok=True)
        self.dfs("-get", path, str(copy))
        self.assertTrue(filecmp.cmp(source, copy, shallow=False), "the file that came back differs")


class FullTiersTest(TiersCase):
    @LONG
    def test_deleted_room_is_used_again(self):
        self.dfs("-mkdir", "/data")
        seen = turn = 0
        while seen <= len(NODES) * IN_MEMORY:  # more in all than fit, and no tier full in one turn: nothing is taken over
            self.assertLess(turn, TURNS_MOST, f"{seen} blocks")
            self.dfs("-put", str(self.file("turn", IN_MEMORY)), f"/data/turn{turn}")
            stored, _ = self.assert_agree()
            seen += sum(stored[name, "NVDIMM"] for name in NODES)
            self.dfs("-rm", "-skipTrash", f"/data/turn{turn}")
            self.wait_for("the blocks are deleted", self.empty)
            self.wait_for("all is free", lambda: all(self.numbers(name).get("tier.memory.used_bytes") == OWN for name in NODES))
            turn += 1

    def test_memory_fills_exactly_to_its_bound_then_ssd_then_disk_takes_over(self):
        self.dfs("-mkdir", "/data")
        source, one = self.file("many", 16), self.file("one", 1)
        self.dfs("-put", str(source), "/data/many")
        stored, text = self.assert_agree(16 * 3)
        more = 0  # the NameNode asks by what it heard some seconds ago, so the last block of a tier may need another try
        while any(stored[name, "NVDIMM"] != IN_MEMORY for name in NODES) and more < 4:
            self.dfs("-put", str(one), f"/data/one{more}")
            more += 1
            stored, text = self.assert_agree((16 + more) * 3)
        full = [name for name in NODES if stored[name, "NVDIMM"] == IN_MEMORY]
        self.assertTrue(full, stored)  # of the others the NameNode may think for minutes that it is full
        for name in NODES:
            self.assertLessEqual(stored[name, "NVDIMM"], IN_MEMORY, stored)
            self.assertLessEqual(self.in_memory_bytes(name), self.limit)
            self.assertTrue(0 < stored[name, "SSD"] <= ON_SSD, stored)
            self.assertGreater(stored[name, "DISK"], 0, stored)
        self.assertIn("is HEALTHY", text)
        policies = self.hdfs("fsck", "/data", "-storagepolicies").stdout
        self.assertRegex(policies, r"SSD:1,DISK:1,NVDIMM:1\s")
        self.assertIn("HOT", self.hdfs("storagepolicies", "-listPolicies").stdout)
        self.assert_same(source, "/data/many")
        self.wait_for("the numbers", lambda: all(self.numbers(name).get("tier.memory.used_bytes") == self.limit for name in full))

    @LONG
    def test_small_blocks_that_grow_take_only_what_is_there(self):
        self.dfs("-mkdir", "/data")
        # each takes two pages in memory until it grows; an SSD holds them all, as it has to
        rest, count = self.file("rest", 1), ON_SSD
        several = [self.folder / f"small{number}" for number in range(count)]
        for small in several:
            small.write_bytes(b"x" * 1000)
        self.dfs("-put", *map(str, several), "/data")
        for number in range(count):
            self.dfs("-appendToFile", str(rest), f"/data/small{number}")
            for node in NODES:
                self.assertLessEqual(self.in_memory_bytes(node), self.limit)
        self.assert_agree()
        whole = self.folder / "whole"
        whole.write_bytes(small.read_bytes() + rest.read_bytes())
        for number in (0, count - 1):
            self.assert_same(whole, f"/data/small{number}")


@LONG
class TiersTest(TiersCase):
    def test_a_storage_policy_that_somebody_chose_is_kept(self):
        self.dfs("-mkdir", "-p", "/data/ssd", "/data/memory")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/data/ssd", "-policy", "ALL_SSD")
        self.hdfs("storagepolicies", "-setStoragePolicy", "-path", "/data/memory", "-policy", "ALL_NVDIMM")
        source = self.file("two", 2)
        self.dfs("-put", str(source), "/data/ssd/two")
        self.dfs("-put", str(source), "/data/memory/two")
        stored, _ = self.assert_agree()
        self.assertEqual({kind: sum(count for (_, of), count in stored.items() if of == kind)
                          for kind in ("NVDIMM", "SSD", "DISK")},
                         {"NVDIMM": 6, "SSD": 6, "DISK": 0})
        self.dfs("-D", "dfs.replication=1", "-put", str(source), "/data/one")
        stored, _ = self.assert_agree()
        self.assertEqual(sum(count for (_, kind), count in stored.items() if kind == "NVDIMM"), 6, "none is in memory alone")

    def test_a_file_with_favoured_nodes_has_a_replica_in_memory(self):
        self.dfs("-mkdir", "/data")
        favoured = NODES[1:]
        names = ",".join(f"127.0.0.1:{self.cluster.ports[name]}" for name in favoured)
        argv = java.argv(str(HERE / "java" / "Writer.java"), ["/data/favoured", "dfs.replication=2", f"favoured={names}"],
                         self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)
        done = subprocess.run(argv, env=self.cluster.environment(), input=f"write {MIB}\nclose\n", text=True, capture_output=True,
                              timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        stored, _ = self.assert_agree(2)
        self.assertEqual({name for name, _ in stored}, set(favoured))
        self.assertEqual({kind for _, kind in stored}, {"NVDIMM", "SSD"})

    def test_the_doctor_names_quotas_by_storage_type_that_count_no_replica(self):
        self.dfs("-mkdir", "-p", "/data/limited")
        self.assertRegex(self.cluster.run("org.verbena.hadoop.Doctor").stdout,
                         r"quotas: none of \d+ folders limits SSD, NVDIMM or ARCHIVE")
        self.hdfs("dfsadmin", "-setSpaceQuota", "1", "-storageType", "SSD", "/data/limited")
        self.dfs("-put", str(self.file("limited", 1)), "/data/limited/file")
        stored, _ = self.assert_agree(3)
        self.assertEqual(sum(count for (_, kind), count in stored.items() if kind == "SSD"), 1)
        self.assertRegex(self.cluster.run("org.verbena.hadoop.Doctor").stdout,
                         r"quotas: 1 of \d+ folders limit SSD, NVDIMM or ARCHIVE, such as /data/limited: "
                         r"Hadoop counts all replicas of this mode as DISK")

    def test_a_data_node_that_is_killed_loses_nothing_and_finds_its_memory_again(self):
        self.dfs("-mkdir", "/data")
        source = self.file("killed", 3)
        self.dfs("-put", str(source), "/data/killed")
        before, _ = self.assert_agree()
        self.assertEqual(sum(count for (_, kind), count in before.items() if kind == "NVDIMM"), 3)
        for name in NODES:
            process = self.cluster.daemons[name]
            self.cluster.kill(name)
            processes.end([process])
            self.assert_same(source, "/data/killed")
            self.cluster.launch(name)
            until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        self.wait_for("fsck is healthy", lambda: "is HEALTHY" in self.hdfs("fsck", "/").stdout)
        after, _ = self.assert_agree()
        self.assertEqual(sum(count for (_, kind), count in after.items() if kind == "NVDIMM"), 3)
        self.assert_same(source, "/data/killed")

    def test_bytes_that_were_flushed_are_readable_after_a_data_node_was_killed_while_it_was_written_to(self):
        self.dfs("-mkdir", "/data")
        content = os.urandom(3 * MIB)
        argv = self.cluster.argv(["hdfs", "dfs", "-put", "-", "/data/flushed"])
        with subprocess.Popen(argv, env=self.cluster.environment(), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
            try:
                client.stdin.write(content[:MIB + MIB // 2])
                client.stdin.flush()
                self.wait_for("the first block", lambda: sum(self.stored().values()) >= 3)
                memory = next(name for name in NODES if self.stored()[name, "NVDIMM"])
                process = self.cluster.daemons[memory]
                self.cluster.kill(memory)
                processes.end([process])
                client.stdin.write(content[MIB + MIB // 2:])
                client.stdin.close()
                self.assertEqual(client.wait(LIMIT), 0)
            except BaseException:
                client.kill()
                raise
        copy = self.folder / "flushed"
        self.dfs("-get", "/data/flushed", str(copy))
        self.assertEqual(copy.read_bytes(), content)

    def test_each_data_node_says_its_tiers_and_where_their_size_comes_from(self):
        for name in NODES:
            log = pathlib.Path(self.cluster.log(name)).read_text(errors="replace")
            self.assertRegex(log, r"Verbena 0\.1\.0 hhh: tiers NVDIMM 3 MiB in /dev/shm/\S+ \(verbena\.hdfs\.memory\.size\), "
                             r"SSD 4 MiB in 1 folder, DISK \d+ MiB in 1 folder; when one is full the next takes over")
        self.assertIn("Verbena 0.1.0 hhh: files of the storage policy HOT get one replica in memory",
                      pathlib.Path(self.cluster.log("namenode")).read_text(errors="replace"))


@unittest.skipUnless(FULL and SHM.is_dir() and os.access(SHM, os.W_OK), "only with --full, and needs /dev/shm")
class WrongTiersTest(unittest.TestCase):
    """What stands in the way is one line, and the DataNode works without."""

    CASES = {"datanode1": ({"verbena.hdfs.memory.dir": "/proc/verbena"}, "no memory tier, because the folder /proc/verbena/"),
             "datanode2": ({"verbena.hdfs.memory.size": "1m"},
                           "no memory tier: 1 MiB (verbena.hdfs.memory.size) cannot hold one block"),
             "datanode3": ({"verbena.hdfs.mode": "hhh-x"}, "verbena.hdfs.mode=hhh-x is not possible; give off or hhh"),
             "datanode4": ({"dfs.datanode.fsdataset.factory": None},
                           "verbena.hdfs.mode is hhh, but this DataNode keeps its replicas as "
                           "Hadoop does: set dfs.datanode.fsdataset.factory to ")}

    def test_a_folder_a_size_or_a_mode_that_is_wrong_is_said_in_one_line_and_files_are_kept_on_disk(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(prefix="verbena-tiers-", dir=SHM) as shm:
            own = {name: {"hdfs-site": setting} for name, (setting, _) in self.CASES.items()}
            with Tiered(os.path.join(folder, "hadoop"), pathlib.Path(shm), None, own=own, datanodes=len(own)) as cluster:
                source = os.path.join(folder, "source")
                pathlib.Path(source).write_bytes(os.urandom(2 * MIB))
                done = cluster.run("hdfs", "dfs", "-put", source, "/file")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("is HEALTHY", cluster.run("hdfs", "fsck", "/").stdout)
                for name, (_, text) in self.CASES.items():
                    log = pathlib.Path(cluster.log(name)).read_text(errors="replace")
                    lines = [line for line in log.splitlines() if text in line]
                    self.assertGreaterEqual(len(lines), 1, f"{name}: {[line for line in log.splitlines() if 'Verbena' in line]}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
