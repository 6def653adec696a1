# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own contract tests of HDFS, out of its test jars, with their clients and DataNodes on the core."""
import os
import pathlib
import re
import secrets
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from cluster import conf, java  # noqa: E402

MEMORY = 160 << 20  # of a DataNode: one block and more
OFFSET = 2345  # from a DataNode's port to its greeting's
CONTRACTS = re.compile(r"org/apache/hadoop/fs/contract/hdfs/(TestHDFSContract\w+)\.class")
MOVING = 5  # contracts at least that write and read: Append, Create, Open, Unbuffer, VectoredRead


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "with --full")
class ContractTest(unittest.TestCase):
    """Each contract starts a cluster in the JVM of the tests: what it reads and writes goes by the transport self."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        key = self.folder / "key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        ours = conf.blocks_by_core(str(key), OFFSET)
        self.properties = {**ours["core-site"], **ours["hdfs-site"], "verbena.hdfs.connect.wait.ms": 600000,
                           "hadoop.tmp.dir": self.folder / "tmp"}

    def in_mode(self, mode):
        """The settings of a mode; files of the contracts have one replica."""
        memory, shared = tempfile.TemporaryDirectory(prefix="verbena-contract-", dir="/dev/shm"), self.folder / "shared"
        self.addCleanup(memory.cleanup)
        shared.mkdir()
        return {**conf.tiers(MEMORY, pathlib.Path(memory.name) / "tier", mode)["hdfs-site"], "verbena.hdfs.shared.dir": shared,
                "verbena.hdfs.memory.alone": "true"}

    def test_hadoops_contracts_hold_and_their_bytes_go_by_the_core(self):
        self.assert_hold({})

    def test_hadoops_contracts_hold_with_files_written_in_parallel(self):
        self.assert_hold({"fs.hdfs.impl": "org.verbena.hadoop.hdfs.VerbenaFileSystem"})

    def test_hadoops_contracts_hold_in_mode_hhh(self):
        self.assertIn(" hhh: tiers NVDIMM ", self.assert_hold(self.in_mode("hhh")))

    def test_hadoops_contracts_hold_in_mode_hhh_m(self):
        self.assertIn(" hhh-m: tiers NVDIMM ", self.assert_hold(self.in_mode("hhh-m")))

    def test_hadoops_contracts_hold_in_mode_hhh_l(self):
        self.assertRegex(self.assert_hold(self.in_mode("hhh-l")), "hhh-l: this DataNode owns the volume .* a new one")

    def assert_hold(self, mode):
        """Runs all contracts; their output."""
        # In core-site alone: the released tests have an hdfs-site of their own.
        (self.folder / "core-site.xml").write_text(conf.site({**self.properties, **mode}))
        names = sorted(self.contracts())
        sources = [f"{launcher.beside()}/hadoop-{name}-{java.VERSION}-test-sources.jar" for name in ("hdfs", "common")]
        output = launcher.run(self.folder, sources, [f"org.apache.hadoop.fs.contract.hdfs.{name}" for name in names])
        self.assertEqual(launcher.count(output, "failed"), 0, launcher.told(output))
        count = launcher.count(output, "started")
        print(f"{count} tests of {len(names)} contracts", flush=True)
        self.assertGreaterEqual(count, 278)
        by_core = re.findall(r"DataNode /(\S+) is reached by the core", output)
        self.assertGreaterEqual(len(by_core), MOVING)
        taken = {int(port) - OFFSET for port in re.findall(r"cannot listen for greetings on /\S+:(\d+)", output)}
        by_tcp = {int(port) for port in re.findall(r"DataNode /\S+:(\d+) is reached by TCP", output)}
        self.assertLessEqual(by_tcp, taken, launcher.told(output))  # a port of the machine's may have been taken
        return output

    @staticmethod
    def contracts():
        with zipfile.ZipFile(pathlib.Path(java.library()) / f"hadoop-hdfs-{java.VERSION}-tests.jar") as jar:
            return [found.group(1) for found in map(CONTRACTS.fullmatch, jar.namelist()) if found]


if __name__ == "__main__":
    unittest.main(verbosity=2)
