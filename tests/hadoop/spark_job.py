# SPDX-License-Identifier: Apache-2.0
"""A Spark job for test_spark.py: writes a table to HDFS, shuffles it, reads and writes again; usage: spark_job.py FOLDER ROWS."""
import json
import sys

from pyspark.sql import SparkSession, functions as F

folder, rows = sys.argv[1], int(sys.argv[2])
spark = SparkSession.builder.appName("both plugins").getOrCreate()
# Both executors are there from the first task on: one may do a whole job while the other one starts.
spark.sparkContext.parallelize(range(2), 2).barrier().mapPartitions(lambda part: part).collect()
text = F.repeat(F.sha2(F.col("id").cast("string"), 256), 4)  # does not compress to nothing
spark.range(rows, numPartitions=4) \
    .select("id", (F.col("id") * 7919 % 101).alias("key"), text.alias("text")).write.parquet(folder + "/in")
table = spark.read.parquet(folder + "/in")
table.repartition(6, "key").sortWithinPartitions("key", "id").write.parquet(folder + "/sorted")
back = spark.read.parquet(folder + "/sorted")
sums = back.groupBy("key").agg(F.count("*"), F.sum("id"), F.sum(F.length("text"))).collect()
print("RESULT " + json.dumps(sorted([list(row) for row in sums])), flush=True)
spark.stop()
