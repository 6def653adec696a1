# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests, out of its test jars, with settings of ours."""
import pathlib
import tempfile
import unittest

import launcher
from case import LONG, new_key
from cluster import conf, java

RECEIVER = "org.apache.hadoop.hdfs.server.datanode.StreamReceiver"
OFFSET = 2345  # from a DataNode's port to its greeting's


@LONG
class SuitesCase(unittest.TestCase):
    """Hadoop's tests start their clusters in their own JVM."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def by_core(self):
        """Properties with which most clients of the tests write and read by the core."""
        ours = conf.blocks_by_core(new_key(self.folder / "key"), OFFSET)
        return {**ours["core-site"], **ours["hdfs-site"], "verbena.hdfs.connect.wait.ms": 600000,
                "verbena.core.proto.cost_file": "none", "hadoop.tmp.dir": self.folder / "tmp"}

    def failed_without_us(self, name):
        """The tests of a class that fail with nothing but Hadoop: they have short time limits, for example."""
        return launcher.failed(self.output({"hadoop.tmp.dir": self.folder / "tmp"}, name))

    def output(self, properties, *classes):
        """Runs classes of tests; their output."""
        # In core-site alone: the released tests have an hdfs-site of their own.
        (self.folder / "core-site.xml").write_text(conf.site(properties))
        output = launcher.run(self.folder, launcher.hadoops_tests(), classes)
        self.assertGreater(launcher.count(output, "started"), 0, launcher.told(output))
        return output
