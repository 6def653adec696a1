#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All 22 TPC-H queries on a real cluster: results and the choices of adaptive execution as with stock Spark.

usage: run.py [--sf 0.1] [--list] [NAME ...]
The texts of the queries come from the test jar that Spark publishes. A third run, stock Spark with uncompressed shuffles,
shows what adaptive execution would choose by uncompressed sizes. Needs SPARK_HOME, Maven and what ./verbena build makes.
"""
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "ohb"), os.path.join(ROOT, "tests", "spark")]

import chosen  # noqa: E402  (needs the path above)
from conformance.run import VERSION, libraries  # noqa: E402
from driver import procs  # noqa: E402
from sides import spark  # noqa: E402

LIMIT = 1800  # seconds for all queries of one side
SCALE = 0.1
# Small enough that partitions are joined into several and not always into one.
PARTITION = "64k"
NEAR = 0.1  # a partition more or less for every ten is the same choice: sizes are estimated from samples


class Queries(unittest.TestCase):
    """Each side runs once; the tests compare."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="verbena-tpch-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.data = os.path.join(cls.folder, "data")
        cls.queries = os.path.join(libraries(), f"spark-sql_2.13-{VERSION}-tests.jar")
        print(f"tpch: generating data, scale {SCALE:g}", flush=True)
        spark.generate_tpch(ROOT, cls.data, SCALE, os.path.join(cls.folder, "generate.log"))
        jar = spark.plugin_jar(ROOT)
        cls.stock = cls.submit("stock", {})
        cls.ours = cls.submit("ours", {**spark.OURS, "spark.jars": jar, "spark.driver.extraClassPath": jar,
                                       "spark.executor.extraClassPath": jar})
        cls.uncompressed = cls.submit("uncompressed", {"spark.shuffle.compress": "false"})

    @classmethod
    def submit(cls, name, properties):
        """Runs all queries; gives what job.py answered for each."""
        print(f"tpch: 22 queries, {name}", flush=True)
        home = os.path.join(cls.folder, "home-" + name)
        os.makedirs(home)
        for part in ("jars", "bin", "python"):
            os.symlink(os.path.join(spark.home(), part), os.path.join(home, part))
        answers = os.path.join(home, "answers")
        settings = {"spark.driver.host": spark.HOST, "spark.driver.bindAddress": spark.HOST, "spark.ui.enabled": "false",
                    "spark.shuffle.readHostLocalDisk": "true", "spark.sql.shuffle.partitions": "32",
                    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
                    "spark.sql.adaptive.advisoryPartitionSizeInBytes": PARTITION,
                    "spark.sql.adaptive.coalescePartitions.minPartitionSize": PARTITION,
                    "spark.sql.autoBroadcastJoinThreshold": "512k", **properties}
        argv = [os.path.join(home, "bin", "spark-submit"), "--master", "local-cluster[2,1,2048]",
                *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
                os.path.join(HERE, "job.py"), cls.data, cls.queries, answers]
        env = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
        env.update(SPARK_HOME=home, SPARK_LOCAL_IP=spark.HOST, SPARK_LOCAL_DIRS=os.path.join(home, "local"))
        log = os.path.join(cls.folder, name + ".log")
        process = procs.Process("TPC-H " + name, argv, log, env=env, cwd=cls.folder)
        status = process.wait(LIMIT)
        process.stop(grace=3)
        if status != 0:
            raise procs.Failed(f"spark-submit ended with {status}:\n" + procs.tail(log))
        with open(answers) as lines:
            found = [json.loads(line) for line in lines]
        print(f"tpch: {name}: {sum(query['seconds'] for query in found):.0f} s", flush=True)
        return found

    def test_all_queries_give_stock_results(self):
        self.assertEqual(len(self.stock), 22)
        for stock, ours in zip(self.stock, self.ours, strict=True):
            with self.subTest(query=stock["query"]):
                self.assertEqual((ours["rows"], ours["digest"]), (stock["rows"], stock["digest"]))

    def test_adaptive_execution_chooses_stock_joins_and_numbers_of_partitions(self):
        for stock, ours in zip(self.stock, self.ours, strict=True):
            with self.subTest(query=stock["query"]):
                self.assertEqual(ours["joins"], stock["joins"])
                self.assertEqual(len(ours["reads"]), len(stock["reads"]), (ours, stock))
                for mine, theirs in zip(ours["reads"], stock["reads"]):
                    self.assertLessEqual(abs(mine - theirs), max(1, round(theirs * NEAR)),
                                         f"partitions read: {ours['reads']}, stock {stock['reads']}")

    def test_by_uncompressed_sizes_it_would_choose_otherwise(self):
        def reads(side):
            return sum(sum(query["reads"]) for query in side)
        print(f"tpch: partitions read: stock {reads(self.stock)}, ours {reads(self.ours)}, "
              f"by uncompressed sizes {reads(self.uncompressed)}", flush=True)
        # More, smaller partitions, or fewer: where nothing is worth joining there is no read to count.
        self.assertGreater(abs(reads(self.uncompressed) - reads(self.stock)), reads(self.stock) * NEAR)


if __name__ == "__main__":
    PARSER = chosen.program.parser(__doc__)
    PARSER.add_argument("--sf", type=float, default=SCALE, help="scale factor of the data")
    OPTIONS = chosen.program.read(PARSER)
    SCALE = OPTIONS.sf
    sys.exit(chosen.main([Queries], OPTIONS))
