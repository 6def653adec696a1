# SPDX-License-Identifier: Apache-2.0
"""A block of more than 2 GiB travels out of memory; no buffer of Netty's can have so many bytes."""
import unittest

from shared import FULL, NO_HOST_LOCAL, SparkTest

# Two map tasks on two executors, each with one block of 2.2 GB for the one reducer.
JOB = {"job": "tiny", "maps": 2, "pairs": 220, "size": 10_000_000, "reducers": 1}
BLOCK = 220 * 10_000_000


@unittest.skipUnless(FULL, "runs with --full: 4.4 GB of map outputs")
class LargeBlocks(SparkTest):
    def test_a_block_of_more_than_two_gigabytes_is_fetched_from_memory(self):
        ours = self.application({**NO_HOST_LOCAL, "spark.verbena.memory": "3g", "spark.shuffle.compress": "false",
                                 "spark.executor.cores": "1", "spark.locality.wait": "0s",
                                 "spark.scheduler.minRegisteredResourcesRatio": "1.0"})
        answer = self.right(ours, "large-block", JOB)
        self.assertEqual(answer["failed_tasks"], 0)
        self.assertGreaterEqual(answer["shuffle_read_remote_bytes"], BLOCK)
        ours.stop()
        self.assertEqual(ours.total("to disk"), 0)
        self.assertGreater(ours.total("by Spark's transport"), BLOCK - (1 << 20))  # the text has whole MiB
