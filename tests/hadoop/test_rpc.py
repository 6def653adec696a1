# SPDX-License-Identifier: Apache-2.0
"""RPC by the core on real daemons, with --full: HDFS' commands, a killed NameNode, clients without us; YARN and a job."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from case import LONG, Waiting, new_key  # noqa: E402  (needs the path above)
from cluster import conf, ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons.ready import until  # noqa: E402
from resident import Resident  # noqa: E402

ENGINE = "org.verbena.hadoop.rpc.VerbenaRpcEngine"
LIST = ROOT / "hadoop-rdma/rpc/src/main/resources/org/verbena/hadoop/rpc/protocols"


def by_core(key, first=1):
    """What switches all protocols. first: calls to a server that go by TCP."""
    engines = {f"rpc.engine.{name}": ENGINE for name in LIST.read_text().split()}
    return {"core-site": {**engines, "verbena.rpc.key.file": key, "verbena.rpc.first.calls": first}}


class RpcCase(Waiting):
    """A NameNode and a DataNode whose protocols go by the core, and a JVM for commands."""

    nodemanagers = 0
    more = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.key = new_key(cls.folder / "key")
        cls.cluster = Cluster(cls.folder / "hadoop", datanodes=1, nodemanagers=cls.nodemanagers,
                              plugin=os.environ["VERBENA_HADOOP_JAR"], quick=True, tied=True,
                              properties=conf.merged(by_core(cls.key), {"hdfs-site": {"dfs.replication": 1}}, cls.more))
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.client = Resident(cls.cluster)
        cls.addClassCleanup(cls.client.stop)

    def dfs(self, *words, fails=False):
        done = self.client.run("hdfs", "dfs", *words)
        self.assertEqual(done.returncode != 0, fails, f"{words}: {done.stdout}{done.stderr}")
        return done

    def log(self, name):
        return pathlib.Path(self.cluster.log(name)).read_text(errors="replace")


@LONG
class HdfsRpcTest(RpcCase):
    def test_commands_and_heartbeats_go_by_the_core(self):
        self.assertRegex(self.log("namenode"), r"Verbena serves calls to \S+ by self,shm")
        self.wait_for("the DataNode calls the NameNode by the core",
                      lambda: re.search(r"RPC server \S+ is reached by the core: shm", self.log("datanode1")))
        afresh = ("-D", "verbena.rpc.first.calls=2")  # with them the resident JVM knows nothing of servers, and says so once
        self.wait_for("a command goes by the core",
                      lambda: "is reached by the core: shm" in self.dfs(*afresh, "-ls", "/").stderr)
        source = self.folder / "source"
        source.write_bytes(os.urandom(100_000))
        self.dfs("-mkdir", "-p", "/a/b")
        self.dfs("-put", str(source), "/a/b/file")
        self.assertIn("/a/b/file", self.dfs("-ls", "-R", "/").stdout)
        self.dfs("-mv", "/a/b/file", "/a/c")
        self.assertIn("No such file", self.dfs("-cat", "/a/b/file", fails=True).stderr)
        self.dfs("-get", "/a/c", str(self.folder / "copy"))
        self.assertEqual((self.folder / "copy").read_bytes(), source.read_bytes())
        fsck = self.client.run("hdfs", "fsck", "/")
        self.assertIn("is HEALTHY", fsck.stdout)
        self.dfs("-rm", "-r", "-skipTrash", "/a")
        rpc = ready.bean(self.cluster.ports["namenode-http"],
                         f"Hadoop:service=NameNode,name=RpcActivityForPort{self.cluster.ports['namenode']}")
        self.assertGreater(rpc["RpcProcessingTimeNumOps"], 20)

    def test_a_namenode_that_is_killed_and_comes_back_is_reached_again(self):
        self.dfs("-mkdir", "-p", "/before")
        self.cluster.kill("namenode")
        self.cluster.launch("namenode")
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 1), "HDFS", self.cluster.work)
        self.wait_for("the command's answer", lambda: "/before" in self.client.run("hdfs", "dfs", "-ls", "/").stdout)

    def test_a_client_without_the_plugin_and_one_with_another_key_are_served_by_tcp(self):
        self.dfs("-mkdir", "-p", "/seen")
        site = self.cluster.site("client")
        other = conf.merged(site, {"core-site": {"verbena.rpc.key.file": new_key(self.folder / "other")}})
        stock = {name: {key: value for key, value in values.items() if not key.startswith(("rpc.engine", "verbena."))}
                 for name, values in site.items()}
        for name, properties in (("stock", stock), ("other", other)):
            folder = self.cluster.conf(name)
            conf.write(folder, properties)
            done = self.cluster.java("org.apache.hadoop.fs.FsShell", ["-ls", "/"], folder=folder)
            self.assertIn("/seen", done.stdout, done.stderr)


@LONG
class YarnRpcTest(RpcCase):
    nodemanagers = 1
    more = {"core-site": {"verbena.hdfs.auth": "none"}}  # the doctor asks servers where nothing is wrong

    def test_a_job_runs_and_yarns_daemons_call_each_other_by_the_core(self):
        done = self.client.run("examples", "pi", "2", "10", timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Estimated value of Pi is", done.stdout)
        for name in ("resourcemanager", "nodemanager1"):
            self.assertRegex(self.log(name), r"Verbena serves calls to \S+ by self,shm")
        self.assertRegex(self.log("nodemanager1"), r"RPC server \S+ is reached by the core: shm")
        said = self.cluster.run("org.verbena.hadoop.Doctor").stdout
        self.assertIn(f"ok    ResourceManager at 127.0.0.1:{self.cluster.ports['rm-rpc']} answers", said)
        for name in ("namenode", "rm-rpc"):
            self.assertRegex(said, rf"ok    RPC server \S+:{self.cluster.ports[name]} is reached by the core: shm")


if __name__ == "__main__":
    unittest.main(verbosity=2)
