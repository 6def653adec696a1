# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests of pipelines, appends and failures, out of its test jar, with DataNodes whose receiver is ours."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from cluster import java  # noqa: E402
from suites import SuitesCase  # noqa: E402

PACKAGE = "org.apache.hadoop.hdfs."
SUITES = [
    "TestReplaceDatanodeOnFailure", "TestHFlush", "TestPipelines", "TestDataTransferProtocol", "TestDatanodeDeath",
    "TestFileAppend", "TestFileAppend2", "TestFileAppend3", "TestFileAppend4", "TestFileAppendRestart",
    "TestClientProtocolForPipelineRecovery", "TestLeaseRecovery2", "TestBlockRecoveryCauseStandbyNameNodeCrash",
    "server.namenode.ha.TestPipelinesFailover", "server.datanode.TestBlockRecovery", "server.datanode.TestBlockRecovery2",
    "server.datanode.TestDataNodeVolumeFailure", "server.datanode.TestDataNodeVolumeFailureReporting",
    "server.datanode.TestDataNodeVolumeFailureToleration",
]
# These wait for the time of the last check of disks, and look at what the DataNode does after it has set this time.
EARLY = {"testHotSwapOutFailedVolumeAndReporting", "testFailedVolumeBeingRemovedFromDataNode",
         "testDataNodeShutdownAfterNumFailedVolumeExceedsTolerated"}


@unittest.skipIf(java.VERSION.startswith("3.4"), "its tests need another JUnit on the class path")
class ReceiverSuitesTest(SuitesCase):
    """Most clients of the tests write by the core."""

    def test_hadoops_own_tests_that_pass_without_us_pass_with_our_receiver(self):
        by_core = 0
        for name in SUITES:
            with self.subTest(name):
                output = self.output(self.by_core(), PACKAGE + name)
                failed = launcher.failed(output) - EARLY
                by_core += output.count("sends and reads blocks by the core")
                if failed:
                    failed -= self.failed_without_us(PACKAGE + name)
                self.assertEqual(failed, set(), launcher.told(output))
        self.assertGreaterEqual(by_core, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
