# SPDX-License-Identifier: Apache-2.0
"""An application whose driver and executors know each other by IPv6 addresses only."""
import os
import shutil
import socket
import unittest

from shared import FULL, Application, SparkTest, gone, spark
from results import JOBS

PREFERRED = "-Djava.net.preferIPv6Addresses=true"
BY_IPV6 = {"spark.driver.host": "[::1]", "spark.driver.bindAddress": "[::1]", "spark.driver.extraJavaOptions": PREFERRED,
           "spark.executor.extraJavaOptions": PREFERRED, "spark.verbena.transport": "tcp",
           "spark.shuffle.readHostLocalDisk": "false"}


def possible():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
    return True


@unittest.skipUnless(FULL, "runs with --full: processes of its own")
@unittest.skipUnless(possible(), "no IPv6 on this host")
class ByIPv6(SparkTest):
    def test_blocks_come_by_tcp_between_ipv6_addresses(self):
        ours = Application(BY_IPV6, master="local-cluster[2,1,1024]")
        self.addCleanup(shutil.rmtree, os.path.join(spark.home(), "work", ours.id), ignore_errors=True)
        self.addCleanup(ours.stop)
        for seed in (1, 2, 3):  # the first blocks come by Spark's transport, while connections are made
            self.assertEqual(self.right(ours, "groupby", JOBS["groupby"], seed)["failed_tasks"], 0)
        ours.stop()
        self.assertIn("blocks of other executors by tcp from 0:0:0:0:0:0:0:1", ours.driver_log())
        self.assertGreater(ours.total("by TCP"), 1 << 20)
        gone(ours)
