# SPDX-License-Identifier: Apache-2.0
"""The same jobs give the same results as with stock shuffle, and the logs say by which path."""
import unittest

from shared import FULL, LONG, NO_HOST_LOCAL, SCALE, STOCK_ONLY, Outputs, SparkTest, await_true, expected, gone, reason, spark
from strangers import Strangers, listening

JOBS = {
    "groupby": {"job": "groupby", "maps": 6, "pairs": 3000 * SCALE, "size": 1000, "reducers": 5},
    "sortby": {"job": "sortby", "maps": 6, "pairs": 3000 * SCALE, "size": 700, "reducers": 5},
    "tiny": {"job": "tiny", "maps": 40, "pairs": 100 * SCALE, "size": 50, "reducers": 50},
    "reducebykey": {"job": "reducebykey", "maps": 6, "pairs": 20000 * SCALE, "keys": 5000, "reducers": 7},
    "large": {"job": "groupby", "maps": 2, "pairs": 3 * SCALE, "size": 9000000, "reducers": 3},
    "smj": {"job": "smj", "left": 50000 * SCALE, "right": 20000 * SCALE, "groups": 500},
    "skewed": {"job": "skewed", "rows": 40000 * SCALE, "keys": 500, "reducers": 2000, "part": "256k"},
    "streaming": {"job": "streaming", "files": 4, "pairs": 20000 * SCALE, "keys": 20000 * SCALE, "reducers": 4},
    "barrier": {"job": "barrier", "maps": 4, "pairs": 20000 * SCALE, "tasks": 2, "reducers": 3, "fails": "no"},
}


class Results(SparkTest):
    """All jobs in one application."""
    properties = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ours = cls.application_of_class(cls.properties)

    def _equal(self, job):
        answer = self.right(self.ours, job, JOBS[job])
        self.assertEqual(answer["failed_tasks"], 0)
        self.ours.drop(job)
        return answer

    def _carried(self, job):
        """The same, and map outputs of it were seen in memory."""
        with Outputs(self.ours) as outputs:
            self._equal(job)
        if not STOCK_ONLY:
            self.assertNotEqual(outputs.seen, set())


class HostLocal(Results):
    properties = {"spark.cleaner.periodicGC.interval": "5s"}  # test_i; Spark's default is half an hour

    def test_a_the_side_under_test_really_uses_its_shuffle_manager(self):
        wanted = "sort" if STOCK_ONLY else spark.OURS["spark.shuffle.manager"]
        self.assertEqual(self.ours.hello["shuffle_manager"], wanted)

    def test_b_group_by_key_gives_the_same_groups(self):
        self._equal("groupby")

    @LONG
    def test_c_sort_by_key_is_sorted_and_gives_the_same_pairs(self):
        self._equal("sortby")

    def test_d_many_tiny_blocks_give_the_same_pairs(self):
        self._equal("tiny")

    @LONG
    def test_e_reduce_by_key_gives_the_same_sums(self):
        self._equal("reducebykey")

    @LONG
    def test_f_values_of_nine_megabytes_arrive_whole(self):
        self._equal("large")

    def test_g_a_sort_merge_join_gives_the_same_rows(self):
        self._equal("smj")

    @LONG
    def test_g_barrier_stages_read_and_write_shuffles_and_are_repeated_as_a_whole(self):
        self._carried("barrier")
        answer = self.ours.run("fails", {**JOBS["barrier"], "fails": "yes"})
        self.assertEqual((answer["records"], answer["checksum"]), expected(JOBS["barrier"]))
        self.assertGreater(answer["failed_tasks"], 0)
        self.ours.drop("fails")

    @LONG
    def test_g_one_large_partition_of_two_thousand_is_split_by_adaptive_execution(self):
        self._carried("skewed")

    @LONG
    def test_g_stateful_streaming_goes_on_from_its_checkpoint_after_a_stop(self):
        self._carried("streaming")

    @unittest.skipIf(STOCK_ONLY, "stock has no such lines")
    def test_h_driver_and_executors_say_what_they_do_in_one_line_each(self):
        logs = self.ours.await_said("INFO ShuffleEngine: Verbena")
        for log in logs + [self.ours.driver_log()]:
            self.assertEqual(log.count("INFO ShuffleEngine: Verbena"), 1, reason(log))
            self.assertNotIn("WARN ShuffleEngine", log)
            self.assertNotIn("WARN Link", log)
        for log in logs:
            self.assertRegex(log, r"map outputs in memory, at most \d+ MiB in /dev/shm \(a quarter of \d+ MiB")
            self.assertRegex(log, r"blocks of other executors by shm,tcp from 127.0.0.1, else by Spark's transport")

    @unittest.skipIf(STOCK_ONLY, "stock's map outputs are files")
    def test_i_shuffles_that_the_driver_has_forgotten_give_their_memory_back_in_all_executors(self):
        seen = set()
        for seed in (6, 7, 8):  # the cleaner may come between a job and the look at its outputs, but hardly each time
            self.ours.run("groupby", JOBS["groupby"], seed)
            seen |= self.ours.map_outputs()
        self.assertNotEqual(seen, set())
        self.ours.drop("groupby")
        await_true(lambda: not self.ours.map_outputs(), "Spark's cleaner removes all map outputs")

    @unittest.skipIf(STOCK_ONLY, "stock has no such lines")
    def test_j_at_the_end_the_driver_tells_the_bytes_by_path_and_nothing_stays_in_shared_memory(self):
        self.ours.stop()
        self.assertGreater(self.ours.total("from own memory"), 1 << 20)
        self.assertGreater(self.ours.total("from mapped memory of neighbours"), 1 << 20)
        self.assertNotIn("connection failed", self.ours.driver_log())
        gone(self.ours)


class ByNetwork(Results):
    """And with checksums, which the user has to ask for."""
    properties = {**NO_HOST_LOCAL, "spark.shuffle.checksum.enabled": "true"}
    path = "by shared-memory messages"

    def test_a_group_by_key_gives_the_same_groups(self):
        for _ in range(20):  # one executor may do the first job alone while the other one starts
            answer = self._equal("groupby")
            if answer["shuffle_read_remote_bytes"] > 0:
                break
        self.assertGreater(answer["shuffle_read_remote_bytes"], 0)

    @LONG
    def test_b_many_tiny_blocks_give_the_same_pairs(self):
        self._equal("tiny")

    def test_c_values_of_nine_megabytes_arrive_whole(self):
        self._equal("large")

    @LONG
    def test_d_a_sort_merge_join_gives_the_same_rows(self):
        self._equal("smj")

    @unittest.skipIf(STOCK_ONLY, "stock has no such lines")
    def test_z_the_bytes_came_by_the_transport_that_was_meant(self):
        remote = 0
        for seed in range(3, 23):  # the first blocks come by Spark's transport; one executor may do a job nearly alone
            remote += self.ours.run("groupby", JOBS["groupby"], seed)["shuffle_read_remote_bytes"]
            if seed > 4 and remote > 8 << 20:
                break
        self.ours.stop()
        self.assertGreater(self.ours.total(self.path), 1 << 20)
        for log in self.ours.executor_logs():
            self.assertNotIn("WARN Link", log)


class ByTcp(ByNetwork):
    """And, with --full, with so many partitions for SQL, of which adaptive execution makes few, that map tasks sort them."""
    properties = {**NO_HOST_LOCAL, "spark.verbena.transport": "tcp",
                  "spark.sql.shuffle.partitions": "100000" if FULL else "20000"}
    path = "by TCP"

    @unittest.skipIf(STOCK_ONLY, "stock has no such port")
    def test_e_strangers_who_send_garbage_and_truncated_frames_while_a_job_runs_do_not_disturb_it(self):
        ports = sorted(port for pid in self.ours.executors() for port in listening(pid))
        self.assertGreaterEqual(len(ports), 2)
        with Strangers(ports) as strangers:
            self._equal("groupby")
            self.assertTrue(strangers.await_talk(60))
        self._equal("groupby")  # after its tasks the executors tell what they have counted

    @unittest.skipIf(STOCK_ONLY, "stock has no such lines")
    def test_z_the_bytes_came_by_the_transport_that_was_meant(self):
        super().test_z_the_bytes_came_by_the_transport_that_was_meant()
        self.assertRegex(self.ours.driver_log(), r"rx.bad_frames [1-9]", "the strangers of test_e are counted")
        self.assertNotIn("connection failed", self.ours.driver_log())
