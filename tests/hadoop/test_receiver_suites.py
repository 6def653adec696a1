# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests of pipelines, appends and failures, out of its test jar, with DataNodes whose receiver is ours."""
import os
import pathlib
import re
import secrets
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from case import LONG  # noqa: E402
from cluster import conf, java  # noqa: E402

OFFSET = 2345  # from a DataNode's port to its greeting's
PACKAGE = "org.apache.hadoop.hdfs."
SUITES = [
    "TestReplaceDatanodeOnFailure", "TestHFlush", "TestPipelines", "TestDataTransferProtocol", "TestDatanodeDeath",
    "TestFileAppend", "TestFileAppend2", "TestFileAppend3", "TestFileAppend4", "TestFileAppendRestart",
    "TestClientProtocolForPipelineRecovery", "TestLeaseRecovery2", "TestBlockRecoveryCauseStandbyNameNodeCrash",
    "server.namenode.ha.TestPipelinesFailover", "server.datanode.TestBlockRecovery", "server.datanode.TestBlockRecovery2",
    "server.datanode.TestDataNodeVolumeFailure", "server.datanode.TestDataNodeVolumeFailureReporting",
    "server.datanode.TestDataNodeVolumeFailureToleration",
]


@LONG
@unittest.skipIf(java.VERSION.startswith("3.4"), "its tests need another JUnit on the class path")
class ReceiverSuitesTest(unittest.TestCase):
    """Each test starts a cluster in the JVM of the tests; most of their clients write by the core."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        key = self.folder / "key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        ours = conf.blocks_by_core(str(key), OFFSET)
        self.properties = {**ours["core-site"], **ours["hdfs-site"], "verbena.hdfs.connect.wait.ms": 600000,
                           "verbena.core.proto.cost_file": "none", "hadoop.tmp.dir": self.folder / "tmp"}
        # Before Hadoop's jars: its own tests bring files of their own.
        self.before = [os.environ["VERBENA_HADOOP_JAR"],
                       *(f"{launcher.beside()}/hadoop-{name}-{java.VERSION}-test-sources.jar" for name in ("hdfs", "common"))]

    def failed(self, name, receiver):
        """The tests of a class that fail, and its output."""
        # In core-site alone: the released tests have an hdfs-site of their own.
        (self.folder / "core-site.xml").write_text(conf.site({**self.properties, "verbena.hdfs.receiver": receiver}))
        output = launcher.run(self.folder, self.before, [PACKAGE + name])
        self.assertGreater(launcher.count(output, "started"), 0, launcher.told(output))
        return set(re.findall(r"JUnit \w+:\w+:(\w+)", output)), output

    def test_hadoops_own_tests_that_pass_with_its_receiver_pass_with_ours(self):
        by_core = 0
        for name in SUITES:
            with self.subTest(name):
                failed, output = self.failed(name, "auto")
                by_core += output.count("sends and reads blocks by the core")
                if failed:  # some fail with Hadoop's receiver as well: they have short time limits
                    failed -= self.failed(name, "stock")[0]
                self.assertEqual(failed, set(), launcher.told(output))
        self.assertGreaterEqual(by_core, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
