# SPDX-License-Identifier: Apache-2.0
"""What an application master does not see: a NodeManager that restarts with YARN's recovery goes on serving its jobs, and reducers
that stand still keep no others waiting."""
import contextlib
import os
import pathlib
import signal
import sys
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import LIMIT, LONG  # noqa: E402
from cluster import conf, ready  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ports import HOST, free  # noqa: E402
from held import NODE, HeldJobs  # noqa: E402

FILES, WORDS, LONGER = 3, 90_000, 120  # with the longer words a map's output is of 10 MiB
REDUCERS = 6
RECOVERY = {"yarn.nodemanager.recovery.enabled": "true", "yarn.nodemanager.recovery.supervised": "true"}
SERVED = "map outputs are served by the native core"


@LONG
class RestartTest(HeldJobs):
    def setUp(self):
        super().setUp()
        node = {"yarn-site": {"yarn.nodemanager.recovery.dir": str(self.folder / "recovery")},
                "mapred-site": {"mapreduce.shuffle.port": free(1)[0]}}  # reducers know it: the next NodeManager has to have it
        self.start({"yarn-site": RECOVERY}, own={NODE: node})

    def write(self, length=0):
        """The input of all maps but the last one; length: of each word, at least."""
        for number in range(FILES):
            words = [f"w{i * (number + 3) % 99991}".ljust(length, "-") for i in range(WORDS)]
            self.expected.update(words)
            (self.input / f"file{number}").write_text(" ".join(words) + "\n")

    def go_on(self):
        with open(self.input / "last", "w") as last:
            last.write("the last words\n")
        self.expected.update(["the", "last", "words"])

    def shuffled(self):
        """Map outputs that the running job's reducers have fetched."""
        page, _ = self.running()
        told = (ready.ask(self.cluster.ports["rm-http"], page + "/counters") or {}) if page else {}
        groups = told.get("jobCounters", {}).get("counterGroup", [])
        return sum(counter["reduceCounterValue"] for group in groups for counter in group["counter"]
                   if counter["name"] == "SHUFFLED_MAPS")

    def assert_once(self, reducers=1):
        """The words are right, and no map has run again."""
        self.assert_right(FILES + 1, reducers)

    # ------------------------------------------------------------------------------------------ the node

    def end_node(self, number):
        process = self.cluster.daemons[NODE]
        self.cluster.kill(NODE, number)
        self.wait_for("the NodeManager ends", lambda: not processes.alive(*process))

    def start_node(self, said=SERVED):
        log = pathlib.Path(self.cluster.log(NODE))
        length = log.stat().st_size
        self.cluster.launch(NODE)
        self.wait_for("the NodeManager serves map outputs again", lambda: said in self.new_text(log, length))

    # ---------------------------------------------------------------------------------------------------

    def test_reducers_go_on_by_the_core_with_a_node_manager_that_has_restarted(self):
        self.write()
        with self.job(**{"mapreduce.job.reduce.slowstart.completedmaps": "0"}):
            self.wait_for("the first map outputs are fetched", lambda: self.shuffled() == FILES)
            self.end_node(signal.SIGTERM)
            self.start_node()
            self.go_on()
        self.assert_once()
        ours = self.counters[jobs.GROUP]
        self.assertEqual(ours.get("Segments by the core"), FILES + 1, ours)
        self.assertNotIn("Bytes by HTTP", ours)

    def test_reducers_go_on_by_http_with_a_node_manager_that_comes_back_without_the_core(self):
        self.write()
        with self.job(**{"mapreduce.job.reduce.slowstart.completedmaps": "0"}):
            self.wait_for("the first map outputs are fetched", lambda: self.shuffled() == FILES)
            self.end_node(signal.SIGTERM)
            site = self.cluster.site(NODE)
            site["yarn-site"]["verbena.shuffle.source"] = "http"
            conf.write(self.cluster.conf(NODE), site)
            self.start_node("map outputs are served by HTTP only")
            self.go_on()
        self.assert_once()
        ours = self.counters[jobs.GROUP]
        self.assertGreater(ours.get("Bytes by HTTP", 0), 0, ours)
        self.assertGreater(ours.get("HTTP fetches, not offered by the node", 0), 0, ours)

    def test_a_node_manager_that_is_killed_while_it_sends_costs_no_map_output(self):
        """It stands still in the middle of its answer: the output of a map is a FIFO, as if its disk had stopped."""
        self.write()
        with self.job(**{"mapreduce.job.reduce.slowstart.completedmaps": "1"}):
            self.wait_for("all other maps have ended", lambda: self.running()[1].get("mapsCompleted") == FILES)
            output = self.outputs()[0]
            aside = output.rename(output.with_name("aside"))
            os.mkfifo(output)
            self.go_on()
            self.wait_for("the node waits for the disk", self.waits_for_a_disk)
            self.end_node(signal.SIGKILL)
            output.unlink()
            aside.rename(output)
            self.start_node()
        self.assert_once()
        ours = self.counters[jobs.GROUP]
        self.assertGreater(ours.get("HTTP fetches, connection lost", 0), 0, ours)
        self.assertEqual(self.counters["Map-Reduce Framework"]["Shuffled Maps"], FILES + 1)

    def test_reducers_that_stand_still_keep_no_other_one_waiting(self):
        """All of them are connected while a disk keeps them waiting; then all but one stand still and are answered."""
        self.write(LONGER)
        with self.job(REDUCERS, **{"mapreduce.job.reduce.slowstart.completedmaps": "1"}):
            self.wait_for("all other maps have ended", lambda: self.running()[1].get("mapsCompleted") == FILES)
            output = self.outputs()[0]
            aside, disk = output.rename(output.with_name("aside")), output.with_name("disk")
            os.mkfifo(output)
            self.go_on()
            self.wait_for("all reducers are connected", lambda: jobs.task_logs(self.cluster).count(" come by shm") == REDUCERS)
            self.wait_for("the node waits for the disk", self.waits_for_a_disk)
            still = self.reducers()[1:]
            self.assertEqual(len(still), REDUCERS - 1)
            for pid in still:
                os.kill(pid, signal.SIGSTOP)
            output.rename(disk)
            aside.rename(output)
            with open(disk, "w"):  # who waited gets an error
                pass
            self.wait_for("the other one ends", lambda: self.running()[1].get("reducesCompleted") == 1)
            for pid in still:
                os.kill(pid, signal.SIGCONT)
        self.assert_once(REDUCERS)
        ours = self.counters[jobs.GROUP]
        self.assertEqual(ours.get("Segments by the core"), REDUCERS * (FILES + 1), ours)
        self.assertNotIn("Bytes by HTTP", ours)

    def test_a_reducer_that_is_killed_after_it_has_fetched_is_followed_by_one_that_fetches_all_again(self):
        self.write(LONGER)
        with self.job(**{"mapreduce.job.reduce.slowstart.completedmaps": "0", "mapreduce.reduce.maxattempts": "2"}):
            self.wait_for("the first map outputs are fetched", lambda: self.shuffled() == FILES)
            killed = self.reducers()
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            self.wait_for("another reducer runs", lambda: set(self.reducers()) - set(killed))
            self.go_on()
        self.assert_once(reducers=2)
        ours = self.counters[jobs.GROUP]
        self.assertEqual(ours.get("Segments by the core"), FILES + 1, ours)
        self.assertNotIn("Bytes by HTTP", ours)

    def reducers(self):
        """The JVMs of the job's reducers."""
        found = []
        for pid, _ in processes.below(self.cluster.local()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"java") and any(b"_r_0" in word for word in words):
                    found.append(pid)
        return found

    def waits_for_a_disk(self):
        return any("verbena-shuffle-read" in thread and "RandomAccessFile.open" in thread for thread in self.stacks())

    def stacks(self):
        """The threads of the NodeManager, as its page tells them."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{HOST}:{self.cluster.ports[NODE + '-http']}/stacks", timeout=LIMIT) as answer:
            return answer.read().decode().split("\nThread ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
