# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests of reads, out of its test jar, with small and vectored reads by our reader, at clients and DataNodes."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from cluster import conf, java  # noqa: E402
from suites import SuitesCase  # noqa: E402

PACKAGE = "org.apache.hadoop."
CLIENT, DATANODE = "org.apache.hadoop.hdfs.ReadConnection", "org.apache.hadoop.hdfs.server.datanode.ReadAnswer"
SHARED = "expects a connection for each of five open streams, and one of ours is free again when a small file has been read"
# {class: {test: why it may fail with our reader}}
SUITES = {
    "hdfs.TestPread": {}, "hdfs.TestByteBufferPread": {}, "hdfs.TestRead": {}, "hdfs.TestDFSInputStream": {},
    "hdfs.TestDFSInputStreamBlockLocations": {}, "hdfs.TestReadWhileWriting": {},
    "hdfs.TestDataTransferKeepalive": {"testManyClosedSocketsInCache": SHARED},
    "hdfs.TestCrcCorruption": {}, "fs.contract.hdfs.TestHDFSContractVectoredRead": {},
}


@unittest.skipIf(java.VERSION.startswith("3.4"), "its tests need another JUnit on the class path")
class ReaderSuitesTest(SuitesCase):
    """Most clients of the tests read by the core."""

    def test_hadoops_own_tests_that_pass_without_us_pass_with_our_reader(self):
        clients = {**conf.PARALLEL, "verbena.hdfs.write.parallel.max": 0}
        used = {CLIENT: 0, DATANODE: 0}
        for name, known in SUITES.items():
            with self.subTest(name):
                output = self.output({**self.by_core(), **clients}, PACKAGE + name)
                failed = launcher.failed(output)
                for one in used:
                    used[one] += launcher.loaded(self.folder, one)
                failed -= set(known)
                if failed:
                    failed -= self.failed_without_us(PACKAGE + name)
                self.assertEqual(failed, set(), launcher.told(output))
        self.assertGreaterEqual(min(used.values()), 5, used)


if __name__ == "__main__":
    unittest.main(verbosity=2)
