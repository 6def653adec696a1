# SPDX-License-Identifier: Apache-2.0
"""MapReduce's shuffle on real daemons: what stock computes, by the core; damage, lost nodes, wrong settings."""
import glob
import hashlib
import os
import pathlib
import re
import socket
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import FULL, LONG, HdfsCase  # noqa: E402
from cluster import conf, java  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ports import HOST  # noqa: E402

ROOT = HERE.parents[1]
PATIENT = {"verbena.shuffle.connect.wait.ms": "600000"}  # a loaded machine may take long to connect
FILES, ROWS = (3, 200_000) if FULL else (2, 40_000)  # one map for each file; rows are of 100 bytes
FEW = 500
TRIES = 4  # jobs, of one of which a map output is damaged before it is fetched, on a machine of any load
LITTLE = (5 << 20) if FULL else (1500 << 10)  # bytes: one of a reducer's segments fits, two do not


class ShuffleTest(HdfsCase):
    """On the cluster that tests share: ours serves, and each job chooses its consumer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.start_yarn()
        made = []
        for name, files, rows in (("rows", FILES, ROWS), ("few", 1, FEW)):
            folder = cls.folder / name
            folder.mkdir()
            made.append([row for number in range(files)
                         for row in jobs.rows(folder / f"part{number}", number * rows, rows // files)])
            done = cls.client.run("hdfs", "dfs", "-D", "dfs.replication=1", "-put", str(folder), f"/{name}")
            if done.returncode != 0:
                raise AssertionError(done.stderr)
        cls.sorted, cls.few = (hashlib.sha256(b"".join(sorted(rows))).hexdigest() for rows in made)
        cls.rows = len(made[0])

    def sort(self, name, more=None, ours=True):
        """TeraSort, whose output is the rows in order."""
        target, more = f"/sorted-{name}", {**PATIENT, **(more or {})}
        counters, text = jobs.run(self.client, "terasort", ours, ["/rows", target], more)
        self.assertEqual(jobs.digest(self.client, target), self.sorted)
        return counters, text

    def test_sorted_rows_are_right_and_every_byte_comes_by_the_core(self):
        counters, _ = self.sort("ours")
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertEqual(ours["Bytes by shm"], framework["Reduce shuffle bytes"])
        self.assertEqual(ours["Segments by the core"], framework["Shuffled Maps"])
        self.assertNotIn("Bytes by HTTP", ours)
        self.assertEqual(framework["Spilled Records"], self.rows, "written by maps, not once more by reducers")
        log = jobs.task_logs(self.client)
        self.assertIn("Verbena 0.1.0: map outputs come by the native core from nodes that have it", log)

    @LONG
    def test_stock_moves_as_many_bytes_spills_twice_and_finds_our_output_valid(self):
        stock, ours = (self.sort(f"compared-{ours}", ours=ours)[0]["Map-Reduce Framework"] for ours in (False, True))
        self.assertEqual(stock["Spilled Records"], 2 * self.rows)
        self.assertEqual(ours["Reduce shuffle bytes"], stock["Reduce shuffle bytes"])
        jobs.run(self.client, "teravalidate", True, ["/sorted-compared-True", "/valid"], PATIENT)
        report = self.client.run("hdfs", "dfs", "-cat", "/valid/part-r-00000").stdout
        self.assertIn("checksum", report)
        self.assertNotIn("error", report)

    @LONG
    def test_without_memory_outside_the_heap_stock_merges_what_the_core_brings_by_tcp(self):
        more = {"verbena.shuffle.memory": "0", "verbena.core.tl.enable": "self,tcp"}
        counters, _ = self.sort("merged", more)
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertEqual(ours["Bytes by tcp"], framework["Reduce shuffle bytes"])
        self.assertNotIn("Bytes kept in memory", ours)
        self.assertEqual(framework["Spilled Records"], 2 * self.rows)

    def test_little_memory_is_filled_and_the_rest_goes_to_disk(self):
        more = {"verbena.shuffle.memory": f"{LITTLE >> 10}k", "mapreduce.reduce.shuffle.memory.limit.percent": "0.001"}
        counters, _ = self.sort("mixed", more)
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertLessEqual(ours["Bytes kept in memory"], 2 * LITTLE)
        self.assertGreater(ours["Bytes kept in memory"], 0)
        self.assertGreater(ours["Bytes passed to the stock merge"], 0)
        self.assertNotIn("Bytes by HTTP", ours)
        self.assertGreater(framework["Spilled Records"], self.rows)

    @LONG
    def test_compressed_map_outputs_stay_compressed_on_the_way(self):
        codec = "org.apache.hadoop.io.compress.DefaultCodec"
        more = {"mapreduce.map.output.compress": "true", "mapreduce.map.output.compress.codec": codec}
        counters, _ = self.sort("compressed", more)
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertEqual(ours["Bytes by shm"], framework["Reduce shuffle bytes"])
        self.assertLess(framework["Reduce shuffle bytes"], framework["Map output bytes"])

    @LONG
    def test_encrypted_map_outputs_are_served_by_the_stock_shuffle(self):
        counters, _ = self.sort("encrypted", {"mapreduce.job.encrypted-intermediate-data": "true"})
        self.assertNotIn(jobs.GROUP, counters)
        self.assertIn("the stock shuffle runs: mapreduce.job.encrypted-intermediate-data is true", jobs.task_logs(self.cluster))

    @LONG
    def test_a_job_in_one_jvm_has_no_shuffle_and_its_rows_are_right(self):
        more = {"mapreduce.job.ubertask.enable": "true", "mapreduce.job.reduces": "1", "mapreduce.map.memory.mb": "512",
                "mapreduce.reduce.memory.mb": "512"}  # what its master has is enough for each task
        counters, text = jobs.run(self.client, "terasort", True, ["/few", "/sorted-uber"], more)
        self.assertIn("running in uber mode : true", text)
        self.assertEqual(jobs.digest(self.client, "/sorted-uber"), self.few)
        self.assertNotIn(jobs.GROUP, counters)

    @LONG
    def test_hadoops_own_check_of_sort_finds_random_records_sorted(self):
        size = {"mapreduce.randomwriter.totalbytes": "6000000", "mapreduce.randomwriter.mapsperhost": "2"}
        jobs.run(self.client, "randomwriter", True, ["/random"], size)
        counters, _ = jobs.run(self.client, "sort", True, ["/random", "/random-sorted"], PATIENT)
        self.assertEqual(counters[jobs.GROUP]["Segments by the core"], counters["Map-Reduce Framework"]["Shuffled Maps"])
        done = self.client.run("org.apache.hadoop.mapred.SortValidator", *jobs.side(True, PATIENT), "-sortInput", "/random",
                               "-sortOutput", "/random-sorted", timeout=600)
        text = done.stderr + done.stdout
        self.assertEqual(done.returncode, 0, text[-3000:])
        self.assertIn("SUCCESS! Validated the MapReduce framework's 'sort' successfully.", text)

    # Reducers with the collector that a JVM chooses by itself, which takes more than that of the other tests. The kernel
    # counts their whole heap from the start, as that of a reducer whose heap is full.
    CONTAINER = {"mapreduce.job.reduces": "1", "mapreduce.reduce.memory.mb": "1024",
                 "mapreduce.reduce.java.opts": " ".join(["-Xms600m", "-Xmx600m", "-XX:+AlwaysPreTouch", "-XX:+UseG1GC",
                                                         *java.OPENS])}

    def valid(self, source, more):
        """Sorts generated rows in one reducer and lets Hadoop check their order and sum; gives the counters of the sort.
        Prints the most memory that the reducer had when Hadoop looked: docs/mapreduce.md has a table of these figures."""
        counters, text = jobs.run(self.client, "terasort", True, [source, source + "-sorted"],
                                  {**PATIENT, **self.CONTAINER, **more}, timeout=3600)
        for what in ("Failed reduce tasks", "Killed reduce tasks"):
            self.assertNotIn(what, counters["Job Counters"], text)
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertEqual(ours["Segments by the core"], framework["Shuffled Maps"])
        peak = framework["Peak Reduce Physical memory (bytes)"]
        print(f"{source}: the reducer's peak is {peak >> 20} of 1024 MiB; kept outside the heap: "
              f"{ours['Bytes kept in memory'] >> 20} MiB", flush=True)
        self.assertLessEqual(peak, 1024 << 20)
        jobs.run(self.client, "teravalidate", True, [source + "-sorted", source + "-valid"], PATIENT)
        self.assertNotIn("error", self.client.run("hdfs", "dfs", "-cat", source + "-valid/part-r-00000").stdout)
        return counters

    @LONG
    def test_a_reducer_that_fills_its_container_is_not_killed(self):
        more = {"dfs.replication": "1", "mapreduce.job.maps": "12"}  # so many segments: seven of them fit
        jobs.run(self.client, "teragen", True, ["3000000", "/filling"], more, timeout=900)
        counters = self.valid("/filling", {})
        self.assertGreater(counters[jobs.GROUP]["Bytes kept in memory"], 150 << 20)
        self.assertGreater(counters[jobs.GROUP]["Bytes passed to the stock merge"], 0)

    @LONG
    def test_a_reducer_of_two_hundred_maps_with_snappy_is_not_killed(self):
        """All of their outputs are kept, so that one merge has two hundred segments."""
        rows = 400_000
        jobs.run(self.client, "teragen", True, [str(rows), "/many-maps"], {"dfs.replication": "1"}, timeout=900)
        counters = self.valid("/many-maps", {"mapreduce.input.fileinputformat.split.maxsize": "200000",
                                             "mapreduce.map.output.compress": "true",
                                             "mapreduce.map.output.compress.codec": "org.apache.hadoop.io.compress.SnappyCodec"})
        ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
        self.assertGreaterEqual(ours["Segments by the core"], 200)
        self.assertLess(framework["Reduce shuffle bytes"], framework["Map output bytes"], "they are compressed on the way")
        self.assertGreaterEqual(ours["Bytes kept in memory"], framework["Map output bytes"], "and are not when they are kept")
        self.assertEqual(framework["Spilled Records"], rows, "written by maps, not once more by the reducer")

    @LONG
    def test_words_are_counted_as_stock_counts_them(self):
        words = self.folder / "words"
        words.write_text("".join(f"w{i * i % 977} w{i % 31} {i % 7}\n" for i in range(60_000)))
        self.dfs("-put", str(words), "/words")
        found = {}
        for ours in (True, False):
            counters, _ = jobs.run(self.client, "wordcount", ours, ["/words", f"/counted-{ours}"], PATIENT)
            self.assertGreater(counters["Map-Reduce Framework"]["Combine input records"], 0)
            self.assertEqual(ours, jobs.GROUP in counters)
            found[ours] = jobs.digest(self.client, f"/counted-{ours}")
        self.assertEqual(found[True], found[False])

    @LONG
    def test_secondary_sort_gives_what_stock_gives(self):
        pairs = self.folder / "pairs"
        pairs.write_text("".join(f"{i * 7919 % 101} {i * 104729 % 10007}\n" for i in range(20_000)))
        self.dfs("-put", str(pairs), "/pairs")
        found = {}
        for ours in (True, False):
            jobs.run(self.client, "secondarysort", ours, ["/pairs", f"/pairs-{ours}"], PATIENT)
            found[ours] = jobs.digest(self.client, f"/pairs-{ours}")
        self.assertEqual(found[True], found[False])

    @LONG
    def test_one_reducer_that_gets_nine_tenths_of_the_data_gives_what_stock_gives(self):
        pairs = self.folder / "skewed"
        pairs.write_text("".join(f"{i % 101 if i % 10 == 0 else 6} {i * 104729 % 1000003}\n" for i in range(600_000)))
        self.dfs("-put", str(pairs), "/skewed")
        found = {}
        for ours in (True, False):
            more = {**PATIENT, "verbena.shuffle.memory": "4m", "mapreduce.reduce.shuffle.memory.limit.percent": "0.001"}
            folders = ["/skewed", f"/skewed-{ours}"]
            counters, _ = jobs.run(self.client, "secondarysort", ours, folders, more if ours else None)
            found[ours] = jobs.digest(self.client, f"/skewed-{ours}")
            if ours:
                self.assertGreater(counters[jobs.GROUP]["Bytes passed to the stock merge"], 0)
                self.assertLessEqual(counters[jobs.GROUP]["Bytes kept in memory"], 2 * (4 << 20))
        self.assertEqual(found[True], found[False])

    def test_a_wrong_setting_is_named_and_the_stock_shuffle_runs(self):
        more = {"verbena.shuffle.memroy": "64m", "mapreduce.job.reduces": "1"}
        counters, _ = jobs.run(self.client, "terasort", True, ["/few", "/sorted-few"], more)
        self.assertEqual(jobs.digest(self.client, "/sorted-few"), self.few)
        self.assertNotIn(jobs.GROUP, counters)
        self.assertIn("the stock shuffle runs: unknown setting verbena.shuffle.memroy; did you mean verbena.shuffle.memory?",
                      jobs.task_logs(self.cluster))

    @LONG
    def test_reducers_without_direct_memory_say_so_and_their_rows_are_stocks(self):
        self.sort("no-direct-memory", {"mapreduce.reduce.java.opts": " ".join(["-Xmx600m", "-XX:MaxDirectMemorySize=1m",
                                                                               *java.QUICK,
                                                                              *java.OPENS])})
        self.assertIn("MaxDirectMemorySize", jobs.task_logs(self.cluster))

    def test_requests_for_the_engines_address_that_are_not_signed_or_no_requests_are_refused(self):
        for name in ("nodemanager1", "nodemanager2"):
            log = pathlib.Path(self.cluster.log(name)).read_text(errors="replace")
            port = int(re.findall(r"else by HTTP on port (\d+)", log)[-1])
            for path in ("/verbena?job=job_1_0001", "/verbena?job=", "/verbena?", "/verbena?job=a&job=b",
                         "/verbena?job=%00%ff" + "x" * 3000):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://{HOST}:{port}{path}", timeout=120)
                self.assertIn(refused.exception.code, (400, 401))
            for junk in (b"", b"\0" * 4000, os.urandom(5000), b"GET /verbena?job=j HTTP/1.1\r\nUrlHash: "):
                with socket.create_connection((HOST, port), timeout=120) as connection:
                    connection.sendall(junk)
            self.assertIn(name, self.cluster.running())

    def test_a_damaged_map_output_is_seen_and_its_map_runs_again_and_comes_by_the_cores_tcp(self):
        for number in range(TRIES):
            counters, text = self.sort_damaged(f"damaged{number}")
            # A reducer that waits too long for the map's second run fails, as with stock: its counters go with it.
            seen = counters["Map-Reduce Framework"]["Failed Shuffles"] + counters["Job Counters"].get("Failed reduce tasks", 0)
            if seen:
                break
        self.assertGreater(seen, 0, text)
        self.assertGreater(counters["Job Counters"]["Launched map tasks"], FILES, text)
        self.assertGreater(counters[jobs.GROUP]["Bytes by tcp"], 0)
        self.assertNotIn("Bytes by shm", counters[jobs.GROUP])
        self.assertIn("checksum error in the output of attempt_", jobs.task_logs(self.cluster))

    def sort_damaged(self, name):
        stop, damaged = threading.Event(), []
        damager = threading.Thread(target=self.damage, args=(stop, damaged))
        damager.start()
        try:
            return self.sort(name, {"mapreduce.job.reduce.slowstart.completedmaps": "1.0",
                                    "mapreduce.reduce.shuffle.retry-delay.max.ms": "1000", "verbena.core.tl.enable": "self,tcp"})
        finally:
            stop.set()
            damager.join()

    def damage(self, stop, damaged):
        """Turns a byte in the records of the first map output that is whole: it has its index."""
        known = set(self.outputs())
        while not stop.is_set() and not damaged:
            for index in set(self.outputs()) - known:
                with open(index.removesuffix(".index"), "r+b") as file:
                    file.seek(1000)
                    byte = file.read(1)
                    file.seek(1000)
                    file.write(bytes([byte[0] ^ 0x40]))
                damaged.append(index)
                break
            stop.wait(0.005)

    def outputs(self):
        return glob.glob(os.path.join(self.cluster.local(), "nodemanager*", "usercache", "*", "appcache", "*", "output", "*_m_*",
                                      "file.out.index"))


class LostNodeTest(unittest.TestCase):
    """A NodeManager is killed with its containers, as by a host that fails, after maps have run on it."""

    @LONG
    def test_maps_of_a_killed_node_run_again_and_the_rows_are_stocks(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = {"mapred-site": {"mapreduce.job.reduces": "2", "mapreduce.job.reduce.slowstart.completedmaps": "1.0"},
                        "hdfs-site": {"dfs.replication": 1}}
            with Cluster(os.path.join(folder, "hadoop"), datanodes=1, nodemanagers=2, quick=True, tied=True,
                         plugin=java.plugin(str(ROOT)), properties=conf.merged(conf.OURS, settings)) as cluster:
                jobs.run(cluster, "teragen", True, ["80000", "/rows"], {"mapreduce.job.maps": "8"})
                jobs.run(cluster, "terasort", False, ["/rows", "/sorted-stock"])
                killer = threading.Thread(target=self.kill_when_it_has_outputs, args=(cluster,))
                killer.start()
                counters, _ = jobs.run(cluster, "terasort", True, ["/rows", "/sorted"], PATIENT, timeout=500)
                killer.join()
                self.assertNotIn("nodemanager2", cluster.running())
                self.assertEqual(jobs.digest(cluster, "/sorted"), jobs.digest(cluster, "/sorted-stock"))
                self.assertGreater(self.containers(cluster), 1 + 8 + 2, "maps ran again (its master may have, too)")
                self.assertIn(jobs.GROUP, counters)

    @staticmethod
    def containers(cluster):
        """Of the last job, on both nodes: master, maps and reducers."""
        jobs_of = glob.glob(os.path.join(cluster.local(), "logs*", "application_*"))
        last = max(os.path.basename(job) for job in jobs_of)
        return sum(len(os.listdir(job)) for job in jobs_of if os.path.basename(job) == last)

    @staticmethod
    def kill_when_it_has_outputs(cluster):
        pattern = os.path.join(cluster.local(), "nodemanager2", "usercache", "*", "appcache", "*", "output", "*_m_*",
                               "file.out.index")
        known, deadline = set(glob.glob(pattern)), time.monotonic() + 240
        while not set(glob.glob(pattern)) - known and time.monotonic() < deadline:
            time.sleep(0.005)
        cluster.kill("nodemanager2")
        for container in processes.below(os.path.join(cluster.local(), "nodemanager2")):  # they would go on without it
            processes.kill(*container)


class MixedTest(unittest.TestCase):
    """One NodeManager of two with the stock service."""

    @LONG
    def test_a_node_without_ours_is_fetched_from_by_http_and_ours_by_the_core(self):
        with tempfile.TemporaryDirectory() as folder:
            stock = {"yarn-site": {"yarn.nodemanager.aux-services.mapreduce_shuffle.class":
                                   "org.apache.hadoop.mapred.ShuffleHandler"}}
            settings = {"mapred-site": {"mapreduce.job.reduce.slowstart.completedmaps": "0.5"},
                        "hdfs-site": {"dfs.replication": 1}}
            cluster = Cluster(os.path.join(folder, "hadoop"), datanodes=1, nodemanagers=2, quick=True, tied=True,
                              plugin=java.plugin(str(ROOT)), properties=conf.merged(conf.OURS, settings),
                              own={"nodemanager2": stock})
            with cluster:
                jobs.run(cluster, "teragen", True, ["50000", "/rows"], {"mapreduce.job.maps": "8"})
                counters, _ = jobs.run(cluster, "terasort", True, ["/rows", "/sorted"], PATIENT)
                ours, framework = counters[jobs.GROUP], counters["Map-Reduce Framework"]
                came = sum(count for name, count in ours.items() if name.startswith("Bytes by "))
                self.assertEqual(came, framework["Reduce shuffle bytes"])
                self.assertGreater(ours.get("HTTP fetches, not offered by the node", 0), 0)
                self.assertIn("its shuffle service is the stock one (HTTP status 400)", jobs.task_logs(cluster))
