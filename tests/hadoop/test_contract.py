# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own contract tests of HDFS with their clients and DataNodes on the core, in each mode, with Hadoop's writer and
receiver of blocks and with ours."""
import pathlib
import re
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from acknowledged import WRITER  # noqa: E402
from cluster import conf, java  # noqa: E402
from suites import OFFSET, RECEIVER, SuitesCase  # noqa: E402

MEMORY = 160 << 20  # of a DataNode: one block and more
PACKAGE = "org.apache.hadoop.fs.contract.hdfs."
CONTRACTS = re.compile(re.escape(PACKAGE.replace(".", "/")) + r"(TestHDFSContract\w+)\.class")
TESTS = 278
MOVING = 5  # contracts at least that write and read: Append, Create, Open, Unbuffer, VectoredRead


class Contracts:
    """In each mode."""

    ours, more = True, {}  # whose writer and receiver; the settings for that

    def in_mode(self, mode):
        """The settings of a mode; files of the contracts have one replica."""
        memory, shared = tempfile.TemporaryDirectory(prefix="verbena-contract-", dir="/dev/shm"), self.folder / "shared"
        self.addCleanup(memory.cleanup)
        shared.mkdir()
        return {**conf.tiers(MEMORY, pathlib.Path(memory.name) / "tier", mode)["hdfs-site"], "verbena.hdfs.shared.dir": shared,
                "verbena.hdfs.memory.alone": "true"}

    def test_hadoops_contracts_hold(self):
        self.assert_hold({})

    def test_hadoops_contracts_hold_in_mode_hhh(self):
        self.assertIn(" hhh: tiers NVDIMM ", self.assert_hold(self.in_mode("hhh")))

    def test_hadoops_contracts_hold_in_mode_hhh_m(self):
        self.assertIn(" hhh-m: tiers NVDIMM ", self.assert_hold(self.in_mode("hhh-m")))

    def test_hadoops_contracts_hold_in_mode_hhh_l(self):
        self.assertRegex(self.assert_hold(self.in_mode("hhh-l")), "hhh-l: this DataNode owns the volume .* a new one")

    def assert_hold(self, mode):
        """Runs all contracts; their output."""
        names = sorted(self.contracts())
        output = self.output({**self.by_core(), **self.more, **mode}, *(PACKAGE + name for name in names))
        self.assertEqual(launcher.count(output, "failed"), 0, launcher.told(output))
        count = launcher.count(output, "started")
        print(f"{count} tests of {len(names)} contracts", flush=True)
        self.assertGreaterEqual(count, TESTS)
        by_core = re.findall(r"DataNode /(\S+) is reached by the core", output)
        self.assertGreaterEqual(len(by_core), MOVING)
        taken = {int(port) - OFFSET for port in re.findall(r"cannot listen for greetings on /\S+:(\d+)", output)}
        by_tcp = {int(port) for port in re.findall(r"DataNode /\S+:(\d+) is reached by TCP", output)}
        self.assertLessEqual(by_tcp, taken, launcher.told(output))  # a port of the machine's may have been taken
        for name in (WRITER, RECEIVER):
            self.assertEqual(launcher.loaded(self.folder, name), self.ours, name)
        return output

    @staticmethod
    def contracts():
        with zipfile.ZipFile(pathlib.Path(java.library()) / f"hadoop-hdfs-{java.VERSION}-tests.jar") as jar:
            return [found.group(1) for found in map(CONTRACTS.fullmatch, jar.namelist()) if found]


class HadoopsTest(Contracts, SuitesCase):
    ours, more = False, conf.HADOOPS


class OursTest(Contracts, SuitesCase):
    more = conf.PARALLEL


if __name__ == "__main__":
    unittest.main(verbosity=2)
