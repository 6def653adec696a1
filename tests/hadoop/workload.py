# SPDX-License-Identifier: Apache-2.0
"""The jobs that each mode has to run, small: sorts of generated and of random rows with Hadoop's own checks, counted words,
a secondary sort. What the same rows give in the same number of reducers is the same on every cluster."""
import jobs
from daemons.errors import Failed

ROWS = 30_000
RANDOM_BYTES = 3_000_000
# A loaded machine may take long to connect. One replica is what hhh-m refuses.
SETTINGS = {"verbena.shuffle.connect.wait.ms": "600000", "mapreduce.job.maps": "2", "mapreduce.job.reduces": "2",
            "mapreduce.terasort.output.replication": "2", "mapreduce.randomwriter.totalbytes": str(RANDOM_BYTES),
            "mapreduce.randomwriter.mapsperhost": "2"}
# In the JVM of the job's master: for what makes rows and checks them. What a master has is enough for each task.
IN_ONE = {"mapreduce.job.ubertask.enable": "true", "mapreduce.map.memory.mb": "512", "mapreduce.reduce.memory.mb": "512"}


class Workload:
    """cluster: or a JVM that runs its commands; ours: with our consumer. more: settings of each job."""

    def __init__(self, cluster, folder, ours, more=None):
        self._cluster, self._folder, self._ours = cluster, folder, ours
        self._more = {**SETTINGS, **(more or {})}
        self.counters = {}  # {job: counters}

    def run(self):
        """{job: digest of its output}, or Failed."""
        return {"terasort": self._generated(), "sort": self._random(), "words": self._words(), "pairs": self._pairs()}

    def _job(self, name, *folders, **more):
        self.counters[name], _ = jobs.run(self._cluster, name, self._ours, folders, {**self._more, **more}, timeout=900)

    def _command(self, *words):
        done = self._cluster.run(*words, timeout=900)
        if done.returncode != 0:
            raise Failed(f"{words}: {(done.stderr + done.stdout)[-3000:]}")
        return done.stdout + done.stderr

    def _put(self, name, text):
        path = self._folder / name
        path.write_text(text)
        self._command("hdfs", "dfs", "-put", str(path), "/" + name)

    def _generated(self):
        self._job("teragen", str(ROWS), "/generated", **IN_ONE)
        self._job("terasort", "/generated", "/generated-sorted")
        self._job("teravalidate", "/generated-sorted", "/valid", **IN_ONE)
        report = self._command("hdfs", "dfs", "-cat", "/valid/part-r-00000")
        if "checksum" not in report or "error" in report:
            raise Failed(f"TeraValidate says: {report}")
        return report.split("checksum")[1].split()[0] + " " + jobs.digest(self._cluster, "/generated-sorted")

    def _random(self):
        """The rows differ from run to run: Hadoop's check compares input and output."""
        self._job("randomwriter", "/random", **IN_ONE)
        self._job("sort", "/random", "/random-sorted")
        said = self._command("org.apache.hadoop.mapred.SortValidator", *jobs.side(self._ours, {**self._more, **IN_ONE}),
                             "-sortInput", "/random", "-sortOutput", "/random-sorted")
        if "SUCCESS! Validated the MapReduce framework's 'sort' successfully." not in said:
            raise Failed(f"SortValidator says: {said[-3000:]}")
        return "sorted"

    def _words(self):
        self._put("words", "".join(f"w{i * i % 977} w{i % 31} {i % 7}\n" for i in range(20_000)))
        self._job("wordcount", "/words", "/counted")
        return jobs.digest(self._cluster, "/counted")

    def _pairs(self):
        self._put("pairs", "".join(f"{i * 7919 % 101} {i * 104729 % 10007}\n" for i in range(10_000)))
        self._job("secondarysort", "/pairs", "/pairs-sorted")
        return jobs.digest(self._cluster, "/pairs-sorted")
