# SPDX-License-Identifier: Apache-2.0
"""Jobs whose maps end when a test lets them."""
import collections
import contextlib
import os
import pathlib
import subprocess
import tempfile

import jobs
from case import Waiting
from cluster import conf, ready
from cluster.cluster import Cluster

NODE = "nodemanager1"
SETTINGS = {"yarn-site": {"yarn.nm.liveness-monitor.expiry-interval-ms": 600_000, "yarn.nodemanager.resource.memory-mb": 8192},
            "hdfs-site": {"dfs.replication": 1}}


class HeldJobs(Waiting):
    """The input of a job's last map is a FIFO: that map ends when the test writes to it, and its job not before."""

    limit = 1200  # YARN's containers start one after the other, slowly on a loaded machine

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.expected = collections.Counter()
        self.input = self.folder / "input"
        self.input.mkdir()
        os.mkfifo(self.input / "last")

    def start(self, *settings, **more):
        """A cluster of one node."""
        self.cluster = self.stack.enter_context(Cluster(
            self.folder / "hadoop", datanodes=1, nodemanagers=1, quick=True, tied=True, plugin=os.environ["VERBENA_HADOOP_JAR"],
            properties=conf.merged(conf.OURS, SETTINGS, *settings), **more))

    @contextlib.contextmanager
    def job(self, reducers=1, **settings):
        """Counts words in a job; the block lets its last map go on. After the block the job has ended."""
        more = {"mapreduce.job.reduces": str(reducers),
                "mapreduce.map.speculative": "false", "mapreduce.reduce.speculative": "false",
                "mapreduce.map.maxattempts": "1", "mapreduce.reduce.maxattempts": "1", "mapreduce.task.timeout": "1800000",
                "mapreduce.task.stuck.timeout-ms": "1800000", "mapreduce.task.progress-report.interval": "1000",
                "verbena.shuffle.connect.wait.ms": "600000", **settings}
        words = ["examples", "wordcount", *jobs.side(True, more), f"file://{self.input}", "/counted"]
        said = self.folder / "said"
        with open(said, "w") as log, subprocess.Popen(self.cluster.argv(words), env=self.cluster.environment(), stdout=log,
                                                      stderr=log, stdin=subprocess.DEVNULL) as client:
            try:
                yield
                client.wait(2 * self.limit)
            except BaseException:
                client.kill()
                raise
        self.assertEqual(client.returncode, 0, said.read_text()[-3000:])
        self.counters = jobs.counters(said.read_text())

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

    def assert_right(self, maps, reducers=1):
        """The words, and so many attempts; reducers=None: any."""
        done = self.cluster.run("hdfs", "dfs", "-cat", "/counted/part-r-*")
        found = dict(line.split("\t") for line in done.stdout.splitlines())
        self.assertEqual({word: int(count) for word, count in found.items()}, dict(self.expected))
        of_job = self.counters["Job Counters"]
        self.assertEqual(of_job["Launched map tasks"], maps, of_job)
        self.assertIn(reducers, (None, of_job["Launched reduce tasks"]), of_job)

    def outputs(self):
        """Of maps that have ended."""
        return sorted(pathlib.Path(self.cluster.local(), NODE).glob("usercache/*/appcache/*/output/*_m_*/file.out"))
