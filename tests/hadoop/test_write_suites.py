# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests of writes and appends, out of its test jar, with our file system in place of Hadoop's."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from acknowledged import WRITER  # noqa: E402
from cluster import conf, java  # noqa: E402
from suites import SuitesCase  # noqa: E402

PACKAGE = "org.apache.hadoop.hdfs."
# These fail with Hadoop's own file system, too, the last two by lot.
FINAL = "sets a static final field, which no later Java than 11 lets it do"
ADDRESS = "takes one of the loopback interface's addresses by lot, and the DataNode listens on the one of IPv4"
FIVE_SECONDS = "gives a DataNode five seconds, which a busy machine may need for more"
# These have nothing to find in a subclass, or before a close.
DECLARED = "calls a method by reflection that it looks for in the stream's own class"
EARLY = "waits until a file that is neither flushed nor closed has a pipeline"
# {class: {test: why it may fail}}; all others pass.
SUITES = {
    "TestFileCreation": {"testFileCreationNamenodeRestart": FINAL, "testFileCreationSetLocalInterface": ADDRESS},
    "TestDFSOutputStream": {"testComputePacketChunkSize": DECLARED, "testPreventOverflow": DECLARED},
    "TestFileCreationEmpty": {}, "TestFileAppend": {}, "TestFileAppend2": {}, "TestFileAppend3": {}, "TestFileAppend4": {},
    "TestHFlush": {}, "TestReplaceDatanodeOnFailure": {}, "TestWriteRead": {}, "TestAbandonBlock": {},
    "TestDFSClientExcludedNodes": {}, "TestPipelines": {}, "TestLeaseRecovery2": {}, "TestDatanodeDeath": {},
    "TestClientProtocolForPipelineRecovery": {"testAddingDatanodeDuringClosing": EARLY,
                                              "testPipelineRecoveryOnRestartFailure": FIVE_SECONDS},
}


@unittest.skipIf(java.VERSION.startswith("3.4"), "its tests need another protobuf on the class path")
class WriteSuitesTest(SuitesCase):
    def test_hadoops_own_tests_of_writes_pass_with_our_file_system(self):
        for name, known in SUITES.items():
            with self.subTest(name):
                output = self.output(conf.PARALLEL, PACKAGE + name)
                self.assertGreater(launcher.count(output, "successful"), 0, output[-3000:])
                self.assertLessEqual(launcher.failed(output), set(known), output[-6000:])
                self.assertTrue(launcher.loaded(self.folder, WRITER))


if __name__ == "__main__":
    unittest.main(verbosity=2)
