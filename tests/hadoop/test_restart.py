# SPDX-License-Identifier: Apache-2.0
"""What an application master does not see: a NodeManager that restarts with YARN's recovery goes on serving its jobs, and reducers
that stand still keep no others waiting."""
import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import LIMIT, LONG, Waiting  # noqa: E402
from cluster import conf, ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ports import HOST, free  # noqa: E402

NODE = "nodemanager1"
FILES, WORDS, LONGER = 3, 90_000, 120  # with the longer words a map's output is of 10 MiB
REDUCERS = 6
RECOVERY = {"yarn.nodemanager.recovery.enabled": "true", "yarn.nodemanager.recovery.supervised": "true"}
SERVED = "map outputs are served by the native core"


@LONG
class RestartTest(Waiting):
    """The input of a job's last map is a FIFO: that map ends when the test writes to it, and its job not before."""

    def setUp(self):
        whole = contextlib.ExitStack()
        self.addCleanup(whole.close)
        self.folder = pathlib.Path(whole.enter_context(tempfile.TemporaryDirectory()))
        node = {"yarn-site": {"yarn.nodemanager.recovery.dir": str(self.folder / "recovery")},
                "mapred-site": {"mapreduce.shuffle.port": free(1)[0]}}  # reducers know it: the next NodeManager has to have it
        settings = {"yarn-site": {**RECOVERY, "yarn.nm.liveness-monitor.expiry-interval-ms": 600_000,
                                  "yarn.nodemanager.resource.memory-mb": 8192}}
        self.cluster = whole.enter_context(Cluster(
            self.folder / "hadoop", datanodes=1, nodemanagers=1, quick=True, tied=True, plugin=os.environ["VERBENA_HADOOP_JAR"],
            properties=conf.merged(conf.OURS, settings, {"hdfs-site": {"dfs.replication": 1}}), own={NODE: node}))
        self.expected = collections.Counter()
        self.input = self.folder / "input"
        self.input.mkdir()
        os.mkfifo(self.input / "last")

    def write(self, length=0):
        """The input of all maps but the last one; length: of each word, at least."""
        for number in range(FILES):
            words = [f"w{i * (number + 3) % 99991}".ljust(length, "-") for i in range(WORDS)]
            self.expected.update(words)
            (self.input / f"file{number}").write_text(" ".join(words) + "\n")

    # ------------------------------------------------------------------------------------------- the job

    @contextlib.contextmanager
    def job(self, reducers=1, **settings):
        """Counts words in a job whose last map waits until the block lets it go on. After the block the job has ended."""
        more = {"mapreduce.job.reduces": str(reducers),
                "mapreduce.map.speculative": "false", "mapreduce.reduce.speculative": "false",
                "mapreduce.map.maxattempts": "1", "mapreduce.reduce.maxattempts": "1", "mapreduce.task.timeout": "600000",
                "mapreduce.task.progress-report.interval": "1000",
                "verbena.shuffle.connect.wait.ms": "600000", **settings}
        words = ["examples", "wordcount", *jobs.side(True, more), f"file://{self.input}", "/counted"]
        said = self.folder / "said"
        with open(said, "w") as log, subprocess.Popen(self.cluster.argv(words), env=self.cluster.environment(), stdout=log,
                                                      stderr=log, stdin=subprocess.DEVNULL) as client:
            try:
                yield
                client.wait(2 * LIMIT)
            except BaseException:
                client.kill()
                raise
        self.assertEqual(client.returncode, 0, said.read_text()[-3000:])
        self.counters = jobs.counters(said.read_text())

    def go_on(self):
        with open(self.input / "last", "w") as last:
            last.write("the last words\n")
        self.expected.update(["the", "last", "words"])

    def running(self):
        """What the application master tells of the job: its page, and numbers; empty while it does not."""
        apps = (ready.ask(self.cluster.ports["rm-http"], "/ws/v1/cluster/apps?states=RUNNING") or {}).get("apps") or {}
        for app in apps.get("app", []):
            name = app["id"].replace("application", "job")
            page = f"/proxy/{app['id']}/ws/v1/mapreduce/jobs/{name}"
            told = (ready.ask(self.cluster.ports["rm-http"], page) or {}).get("job")
            if told:
                return page, told
        return "", {}

    def shuffled(self):
        """Map outputs that the running job's reducers have fetched."""
        page, _ = self.running()
        told = (ready.ask(self.cluster.ports["rm-http"], page + "/counters") or {}) if page else {}
        groups = told.get("jobCounters", {}).get("counterGroup", [])
        return sum(counter["reduceCounterValue"] for group in groups for counter in group["counter"]
                   if counter["name"] == "SHUFFLED_MAPS")

    def assert_right(self, reducers=1):
        done = self.cluster.run("hdfs", "dfs", "-cat", "/counted/part-r-*")
        found = dict(line.split("\t") for line in done.stdout.splitlines())
        self.assertEqual({word: int(count) for word, count in found.items()}, dict(self.expected))
        of_job = self.counters["Job Counters"]
        self.assertEqual(of_job["Launched map tasks"], FILES + 1, "no map ran again")
        self.assertEqual(of_job["Launched reduce tasks"], reducers)

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
        self.assert_right()
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
        self.assert_right()
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
        self.assert_right()
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
        self.assert_right(REDUCERS)
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
        self.assert_right(reducers=2)
        ours = self.counters[jobs.GROUP]
        self.assertEqual(ours.get("Segments by the core"), FILES + 1, ours)
        self.assertNotIn("Bytes by HTTP", ours)

    def outputs(self):
        return sorted(pathlib.Path(self.cluster.local(), NODE).glob("usercache/*/appcache/*/output/*_m_*/file.out"))

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
