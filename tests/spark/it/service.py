# SPDX-License-Identifier: Apache-2.0
"""With Spark's external shuffle service: map outputs are files that outlive executors; the rest is ours."""
import os
import unittest

from shared import FULL, Application, Shared, SparkTest, await_true, gone, spark
from faults import REREAD
from results import JOBS

BROADCAST = {"job": "broadcast", "size": 8 << 20, "tasks": 4}
COMING_AND_GOING = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.executorIdleTimeout": "3s",
                    "spark.dynamicAllocation.maxExecutors": "2"}


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
class WithShuffleService(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        service = {"spark.shuffle.service.enabled": "true", "spark.shuffle.service.port": str(spark.free_ports(1)[0])}
        # One worker, because its service listens on one port.
        cls.cluster = spark.Cluster(os.path.join(Shared.folder.name, "service"), workers=1, properties=service).__enter__()
        cls.addClassCleanup(cls.cluster.stop)
        cls.service = service

    def _application(self, properties):
        ours = Application({**self.service, **properties}, cluster=self.cluster)
        self.addCleanup(gone, ours)
        self.addCleanup(ours.stop)
        return ours

    def test_a_broadcasts_come_by_our_transports_and_map_outputs_are_compressed_files(self):
        ours = self._application({})
        for seed in range(4):  # the first pieces come by Spark's transport, while connections are made
            self.right(ours, "broadcast", BROADCAST, seed)
        for job in ("groupby", "smj"):
            self.assertEqual(self.right(ours, job, JOBS[job])["failed_tasks"], 0)
        self.assertEqual(ours.map_outputs(), set())
        self.assertIn("shuffle compression stays on: the external shuffle service", ours.driver_log())
        ours.stop()
        self.assertGreater(ours.total("by shared-memory messages"), 1 << 20)
        self.assertEqual(ours.total("of map outputs to memory"), 0)
        for log in ours.executor_logs():
            self.assertIn("map outputs in Spark's files (the external shuffle service", log)
            self.assertNotIn("WARN ShuffleEngine", log)

    def test_b_map_outputs_outlive_executors_that_had_nothing_to_do(self):
        ours = self._application(COMING_AND_GOING)
        self.right(ours, "outlive", REREAD)
        await_true(lambda: not ours.executors(), "executors without work end")
        answer = self.right(ours, "outlive", REREAD, seed=1)
        self.assertEqual((answer["tasks"], answer["failed_tasks"]), (REREAD["reducers"], 0), "no map task runs again")
