# SPDX-License-Identifier: Apache-2.0
"""A worker on each of two hosts (network namespaces) that a cable joins: blocks by TCP, and the cable is pulled."""
import os
import threading
import time
import unittest

from shared import FULL, Application, Shared, SparkTest, await_true, spark
from results import JOBS
from sides import hosts

DRIVER = {"spark.driver.host": hosts.ADDRESSES[0], "spark.driver.bindAddress": hosts.ADDRESSES[0],
          "spark.verbena.transport": "tcp"}
# Half a second of the cable in each direction.
SHUFFLE = {"job": "tiny", "maps": 12, "pairs": 12000, "size": 1000, "reducers": 12}
# A host that is gone is noticed soon.
NOTICED = {"spark.network.timeout": "20s", "spark.network.timeoutInterval": "2s",
           "spark.executor.heartbeatInterval": "2s", "spark.shuffle.io.maxRetries": "1",
           "spark.shuffle.io.retryWait": "1s"}


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
@unittest.skipIf(hosts.missing(), hosts.missing())
class BetweenHosts(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        work = os.path.join(Shared.folder.name, "between-hosts")
        cls.pair = hosts.Hosts(work, "1gbit").__enter__()
        cls.addClassCleanup(cls.pair.stop)
        first, second = hosts.ADDRESSES
        cls.cluster = spark.Cluster(work, wrapper={second: cls.pair.enter()}, hosts=hosts.ADDRESSES, master=first)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def application(self, properties=None, **options):
        ours = Application({**DRIVER, **(properties or {})}, cluster=self.cluster, **options)
        self.addCleanup(ours.stop)
        return ours

    def cut(self, application, seconds):
        """Pulls the cable once the next job's map outputs are there; for so many seconds, or for ever."""
        before = application.map_outputs()

        def pull():
            await_true(lambda: len(application.map_outputs() - before) >= SHUFFLE["maps"], "all map outputs")
            self.pair.cable(False)
            if seconds is not None:
                time.sleep(seconds)
                self.pair.cable(True)

        thread = threading.Thread(target=pull)
        thread.start()
        return thread

    def test_a_jobs_give_stocks_results_and_the_blocks_come_by_tcp(self):
        ours = self.application()
        for seed in (1, 2, 3):  # the first blocks come by Spark's transport, while connections are made
            for job in ("groupby", "sortby"):
                answer = self.right(ours, job, JOBS[job], seed)
                self.assertEqual(answer["failed_tasks"], 0)
                self.assertGreater(answer["shuffle_read_remote_bytes"], 0)
        ours.stop()
        self.assertGreater(ours.total("by TCP"), 1 << 20)
        self.assertEqual(ours.total("from mapped memory of neighbours"), 0)

    def test_b_a_cable_that_is_pulled_for_a_second_costs_time_but_no_task(self):
        ours = self.application()
        self.right(ours, "cable", SHUFFLE)
        puller = self.cut(ours, 1)
        answer = self.right(ours, "cable", SHUFFLE, seed=2)
        puller.join()
        self.assertEqual(answer["failed_tasks"], 0)
        self.assertEqual(len(ours.executors()), 2)

    def test_c_a_host_that_is_cut_off_for_ever_costs_its_executor_but_not_the_result(self):
        ours = self.application(NOTICED)
        usual = self.right(ours, "cable", SHUFFLE)["tasks"]
        puller = self.cut(ours, None)
        answer = self.right(ours, "cable", SHUFFLE, seed=3)
        puller.join()
        self.assertGreater(answer["tasks"], usual, "some tasks ran again")
