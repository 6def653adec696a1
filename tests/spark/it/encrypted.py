# SPDX-License-Identifier: Apache-2.0
"""With Spark's network encryption on: stock's results, blocks by TCP with TLS, and the logs say so."""
import os
import unittest

from shared import FULL, NO_HOST_LOCAL, Application, Shared, SparkTest, gone, spark

AUTHENTICATION = {"spark.authenticate": "true", "spark.authenticate.secret": "known-to-master-workers-and-driver"}
JOBS = {"groupby": {"job": "groupby", "maps": 6, "pairs": 3000, "size": 1000, "reducers": 5},
        "smj": {"job": "smj", "left": 50000, "right": 20000, "groups": 500}}
WAYS = {"SASL": {"spark.authenticate.enableSaslEncryption": "true"},
        "AES": {"spark.network.crypto.enabled": "true", "spark.network.crypto.saslFallback": "true"}}


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
class Encrypted(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = spark.Cluster(os.path.join(Shared.folder.name, "encrypted"), properties=AUTHENTICATION).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def _application(self, properties):
        ours = Application({**AUTHENTICATION, **NO_HOST_LOCAL, **properties}, cluster=self.cluster)
        self.addCleanup(gone, ours)
        self.addCleanup(ours.stop)
        return ours

    def test_a_results_are_stocks_and_blocks_come_by_tcp_with_tls(self):
        for way, properties in WAYS.items():
            with self.subTest(way):
                ours = self._application({**properties, "spark.verbena.transport": "rc,tcp"})
                for seed in (0, 1):  # the first blocks come by Spark's transport, while connections are made
                    for job in ("groupby", "smj"):
                        answer = self.right(ours, job, JOBS[job], seed)
                        self.assertEqual(answer["failed_tasks"], 0)
                        self.assertGreater(answer["shuffle_read_remote_bytes"], 0)
                ours.stop()
                self.assertGreater(ours.total("by TCP"), 1 << 20)
                self.assertIn("network encryption is on: Verbena sends by TCP with TLS 1.3, and not by RDMA", ours.driver_log())
                for log in ours.executor_logs():
                    self.assertIn("blocks of other executors by tcp (TCP with TLS) from 127.0.0.1", log)
                    self.assertNotIn("WARN Link", log)

    def test_b_inside_a_host_nothing_has_to_be_encrypted(self):
        ours = self._application(WAYS["AES"])
        for seed in (0, 1):
            self.right(ours, "groupby", JOBS["groupby"], seed)
        ours.stop()
        self.assertGreater(ours.total("by shared-memory messages"), 1 << 20)
        for log in ours.executor_logs():
            self.assertIn("blocks of other executors by shm,tcp (TCP with TLS) from 127.0.0.1", log)

    def test_c_clear_text_has_to_be_allowed_by_name(self):
        ours = self._application({**WAYS["AES"], "spark.verbena.allowCleartextData": "true", "spark.verbena.transport": "tcp"})
        for seed in (0, 1):
            self.right(ours, "groupby", JOBS["groupby"], seed)
        ours.stop()
        self.assertGreater(ours.total("by TCP"), 1 << 20)
        for log in ours.executor_logs():
            self.assertIn("blocks of other executors by tcp from 127.0.0.1", log)
