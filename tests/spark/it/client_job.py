# SPDX-License-Identifier: Apache-2.0
"""DataFrames with Arrow and pandas functions, first of the application itself, then of a client of Spark Connect.

usage: spark-submit client_job.py ANSWER-FILE SLABS PORT     as an application that listens on PORT for Spark Connect
       client_job.py sc://HOST:PORT                          as a client; prints its answers
Each answer is [key, number] by key; what it has to be is known (clients.py)."""
import glob
import json
import os
import subprocess
import sys

import pandas
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, pandas_udf
from client_sums import KEYS, NUMBERS, PARTS

SETTINGS = {"spark.sql.execution.arrow.pyspark.enabled": "true", "spark.sql.shuffle.partitions": str(PARTS),
            "spark.sql.execution.arrow.pyspark.fallback.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}


def collected(frame):
    """Rows of a key and a number."""
    return sorted([int(key), int(number)] for key, number in frame.collect())


def numbers(session):
    """All numbers with their keys, in another order and other partitions than they were made in."""
    return session.range(NUMBERS).select((col("id") % KEYS).alias("key"), col("id").alias("value")).repartition(PARTS, "value")


def from_pandas(session):
    made = pandas.DataFrame({"value": range(NUMBERS)})
    made["key"] = made["value"] % KEYS
    back = session.createDataFrame(made).repartition(PARTS, "key").toPandas()
    return sorted([int(key), int(number)] for key, number in back.groupby("key")["value"].sum().items())


def scalar(session):
    @pandas_udf("long")
    def twice(values: pandas.Series) -> pandas.Series:
        return values * 2
    return collected(numbers(session).select("key", twice("value").alias("value")).groupBy("key").sum("value"))


def aggregate(session):
    @pandas_udf("long")
    def total(values: pandas.Series) -> int:
        return values.sum()
    return collected(numbers(session).groupBy("key").agg(total("value")))


def by_group(session):
    def total(group: pandas.DataFrame) -> pandas.DataFrame:
        return pandas.DataFrame({"key": group["key"][:1], "value": [group["value"].sum()]})
    return collected(numbers(session).groupBy("key").applyInPandas(total, "key long, value long"))


def two_groups(session):
    def both(left: pandas.DataFrame, right: pandas.DataFrame) -> pandas.DataFrame:
        return pandas.DataFrame({"key": left["key"][:1], "value": [left["value"].sum() + right["value"].sum()]})
    left, right = numbers(session), numbers(session)
    return collected(left.groupBy("key").cogroup(right.groupBy("key")).applyInPandas(both, "key long, value long"))


def arrow_batches(session):
    def same(batches):
        yield from batches
    return collected(numbers(session).mapInArrow(same, "key long, value long").groupBy("key").sum("value"))


def join(session):
    left, right = numbers(session), numbers(session)
    joined = left.join(right, left.value == right.value).select(left.key, (left.value + right.value).alias("value"))
    return collected(joined.groupBy("key").sum("value"))


ALL = (from_pandas, scalar, aggregate, by_group, two_groups, arrow_batches, join)


def run(session):
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return {way.__name__: way(session) for way in ALL}


def outputs(pattern):
    """Map outputs in memory."""
    return len(set(map(os.path.basename, glob.glob(pattern))))


def main(path, slabs, port):
    session = SparkSession.builder.getOrCreate()
    answer = {"id": session.sparkContext.applicationId}
    pattern = f"{slabs}/{answer['id']}/*/m-*"
    answer["classic"], answer["outputs"] = run(session), [outputs(pattern)]
    environment = {name: value for name, value in os.environ.items() if name != "MASTER"}  # spark-submit's, not the client's
    client = subprocess.run([sys.executable, __file__, f"sc://127.0.0.1:{port}"], capture_output=True, text=True, timeout=600,
                            check=False, env=environment)
    if client.returncode != 0:
        raise RuntimeError("the client failed: " + client.stderr[-3000:])
    answer["connect"] = json.loads(client.stdout.splitlines()[-1])
    answer["outputs"].append(outputs(pattern))
    session.stop()
    with open(path, "w") as file:
        json.dump(answer, file)


if sys.argv[1].startswith("sc://"):
    remote = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    print(json.dumps(run(remote)))
    remote.stop()
else:
    main(*sys.argv[1:])
