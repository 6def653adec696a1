# SPDX-License-Identifier: Apache-2.0
"""Sizes of a shuffle's partitions as adaptive execution gets them, of several applications in one process.

usage: spark-submit planned_job.py ANSWER-FILE PROPERTIES...     PROPERTIES: a JSON object, of one application each
The answer has, for each application, the sizes and whether its map outputs are compressed."""
import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, concat, lit

ROWS, PARTS = 8000, 20  # an output that is small enough for exact sizes
FIXED = {"spark.sql.adaptive.enabled": "false"}  # its plan, whose shuffle it asks for sizes, has a wrapper


def sizes(session):
    text = concat(lit("customer#"), (col("id") * 7919 % 10007).cast("string"), lit("|BUILDING|final deposits sleep|"))
    frame = session.range(0, ROWS, 1, 2).select(col("id"), text.alias("text")).repartition(PARTS, "id")
    jvm = session.sparkContext._jvm
    future = frame._jdf.queryExecution().executedPlan().mapOutputStatisticsFuture()
    done = jvm.scala.concurrent.Await.result(future, jvm.scala.concurrent.duration.Duration.Inf())
    return list(done.bytesByPartitionId())


def application(properties):
    builder = SparkSession.builder
    for key, value in {**FIXED, **properties}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        return {"sizes": sizes(session), "compress": session.sparkContext.getConf().get("spark.shuffle.compress", "true")}
    finally:
        session.stop()


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump([application(json.loads(text)) for text in sys.argv[2:]], file)
