# SPDX-License-Identifier: Apache-2.0
"""Workers that Spark takes for hosts of their own: nothing is mapped, and a task may run twice at the same time."""
import os
import unittest

from shared import FULL, Application, Shared, SparkTest, spark
from results import JOBS

HOSTS = ("127.0.0.1", "127.0.0.2")
ROUNDS = 40  # whether a copy of a task starts before the task ends is up to the scheduler


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
class TwoHosts(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = spark.Cluster(os.path.join(Shared.folder.name, "two-hosts"), hosts=HOSTS).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def test_blocks_of_another_host_come_by_our_transports(self):
        ours = Application({"spark.verbena.transport": "tcp"}, cluster=self.cluster)
        self.addCleanup(ours.stop)
        for seed in range(1, 6):  # the first blocks come by Spark's transport, while connections are made
            answer = self.right(ours, "groupby", JOBS["groupby"], seed)
            self.assertGreater(answer["shuffle_read_remote_bytes"], 0)
        ours.stop()
        self.assertGreater(ours.total("by TCP"), 1 << 20)
        self.assertEqual(ours.total("from mapped memory of neighbours"), 0)

    def test_results_are_right_when_copies_of_tasks_run_beside_them(self):
        ours = Application({"spark.speculation": "true", "spark.speculation.interval": "10ms",
                            "spark.speculation.multiplier": "1.01", "spark.speculation.quantile": "0.1",
                            "spark.speculation.minTaskRuntime": "0ms"}, cluster=self.cluster)
        self.addCleanup(ours.stop)
        for seed in range(1, ROUNDS + 1):
            self.right(ours, "groupby", JOBS["groupby"], seed)
            if "another attempt succeeded" in ours.driver_log():
                return
        self.fail(f"no task had a copy in {ROUNDS} jobs")
