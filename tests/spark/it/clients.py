# SPDX-License-Identifier: Apache-2.0
"""What people start: PySpark with Arrow and pandas functions, a client of Spark Connect, spark-sql."""
import glob
import json
import os
import subprocess
import threading
import unittest

from shared import FULL, HERE, ROOT, SLABS, Shared, SparkTest, await_true, spark
from client_sums import KEYS, NUMBERS

PYTHON = os.environ.get("VERBENA_SPARK_PYTHON")  # has pandas, pyarrow and grpcio
# Names of map outputs stay until the application's end, so that they can be counted.
KEPT = {"spark.cleaner.referenceTracking": "false", "spark.sql.connect.shuffleDependency.fileCleanup.enabled": "false",
        "spark.executor.memory": "1g"}
CONNECT = "org.apache.spark.sql.connect.SparkConnectPlugin"
LIMIT = 900  # seconds for one program


def submit(program, url, properties, arguments, log, env=None):
    """Runs a program of Spark's with the jar of the plugin; what it wrote to standard output. Everything else is in log."""
    argv = [os.path.join(spark.home(), "bin", program), "--master", url, "--jars", spark.plugin_jar(ROOT)]
    for key, value in {**spark.COMMON, **KEPT, **properties}.items():
        argv += ["--conf", f"{key}={value}"]
    with open(log, "w") as file:
        done = subprocess.run([*argv, *arguments], stdout=subprocess.PIPE, stderr=file, text=True, timeout=LIMIT, check=False,
                              cwd=os.path.dirname(log), stdin=subprocess.DEVNULL,
                              env={**os.environ, "SPARK_LOCAL_IP": spark.HOST, **(env or {})})
    with open(log, errors="replace") as file:
        text = file.read()
    if done.returncode != 0:
        raise AssertionError(f"{program} ended with {done.returncode}: {done.stdout[-3000:]}{text[-1000:]}")
    return done.stdout, text


@unittest.skipUnless(FULL, "runs with --full: applications of their own")
class Clients(SparkTest):
    def _folder(self, name):
        path = os.path.join(Shared.folder.name, name)
        os.makedirs(os.path.join(path, "events"))
        return path

    def _gone(self, application):
        path = f"{SLABS}/{application}"
        await_true(lambda: not os.path.exists(path), f"{path} is removed after the application's end")

    @unittest.skipUnless(PYTHON, "VERBENA_SPARK_PYTHON names no Python with pandas, pyarrow and grpcio; ./verbena test sets it")
    def test_pandas_functions_and_arrow_give_known_sums_in_pyspark_and_by_spark_connect(self):
        folder, port = self._folder("python"), spark.free_ports(1)[0]
        answer = os.path.join(folder, "answer")
        properties = {**spark.OURS, "spark.plugins": f"{spark.OURS['spark.plugins']},{CONNECT}",
                      "spark.connect.grpc.binding.address": spark.HOST, "spark.connect.grpc.binding.port": str(port),
                      "spark.pyspark.python": PYTHON}
        _, log = submit("spark-submit", Shared.cluster.url, properties,
                        ["--py-files", os.path.join(HERE, "client_sums.py"), os.path.join(HERE, "client_job.py"), answer, SLABS,
                         str(port)], os.path.join(folder, "log"), {"PYSPARK_PYTHON": PYTHON})
        with open(answer) as file:
            found = json.load(file)
        sums = [[key, sum(range(key, NUMBERS, KEYS))] for key in range(KEYS)]
        twice = [[key, 2 * number] for key, number in sums]
        wanted = {"from_pandas": sums, "scalar": twice, "aggregate": sums, "by_group": sums, "two_groups": twice,
                  "arrow_batches": sums, "join": twice}
        self.assertEqual(found["classic"], wanted)
        self.assertEqual(found["connect"], wanted)
        classic, both = found["outputs"]
        self.assertGreater(classic, 0)
        self.assertGreater(both, classic, "the client's map outputs are in memory, too")
        self.assertRegex(log, r"Verbena, all 2 executors together: wrote [1-9]")
        self._gone(found["id"])

    def test_spark_sql_with_2000_partitions_splits_skew_and_prints_what_stock_prints(self):
        script = ["-f", os.path.join(HERE, "skew.sql")]
        stock, ours = self._folder("sql-stock"), self._folder("sql-ours")
        wanted, _ = submit("spark-sql", "local[2]", {}, script, os.path.join(stock, "log"))
        self.assertGreater(len(wanted.splitlines()), 1000)
        seen, stop = {}, threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ours, seen, stop))
        watcher.start()
        try:
            printed, log = submit("spark-sql", Shared.cluster.url, {
                **spark.OURS, "spark.eventLog.enabled": "true", "spark.eventLog.compress": "false",
                "spark.eventLog.dir": os.path.join(ours, "events")}, script, os.path.join(ours, "log"))
        finally:
            stop.set()
            watcher.join()
        self.assertEqual(printed, wanted)
        self.assertIn("Verbena", log)
        self.assertEqual(len(seen), 1)
        application, outputs = seen.popitem()
        self.assertGreater(len(outputs), 0)
        self.assertIn("skew=true", self._plans(ours))
        self._gone(application)

    @staticmethod
    def _watch(folder, seen, stop):
        """seen: application's name -> its map outputs in memory, while it runs."""
        while not stop.wait(0.05):
            for path in glob.glob(f"{folder}/events/*app-*"):
                name = "app-" + os.path.basename(path).split("app-")[1].split(".")[0]
                outputs = glob.glob(f"{SLABS}/{name}/*/m-*")
                seen.setdefault(name, set()).update(map(os.path.basename, outputs))

    @staticmethod
    def _plans(folder):
        """What adaptive execution told of its plans, in the event log."""
        text = []
        for path in glob.glob(f"{folder}/events/**/*", recursive=True):
            if os.path.isfile(path):
                with open(path, errors="replace") as file:
                    text += [line for line in file if "SparkListenerSQLAdaptiveExecutionUpdate" in line]
        return "".join(text)
