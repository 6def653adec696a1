# SPDX-License-Identifier: Apache-2.0
"""The application of run.py: job.py DATA QUERIES_JAR ANSWERS runs TPC-H queries over Parquet tables.

Writes to the file ANSWERS for every query, as one JSON line, its number of rows, a digest of the ordered rows, its time, and
what adaptive execution chose: the joins, and how many partitions each shuffle was read in.
"""
import hashlib
import json
import os
import sys
import time
import zipfile

from pyspark.sql import SparkSession

QUERIES = 22


def digest(rows):
    lines = sorted("|".join("NULL" if value is None else str(value) for value in row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def choices(node, found):
    """Walks a physical plan; found["joins"] and found["reads"] get what is met, in order."""
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        choices(node.executedPlan(), found)
    elif name.endswith("QueryStageExec"):
        choices(node.plan(), found)
    else:
        if name.endswith("JoinExec"):
            found["joins"].append(name)
        elif name == "AQEShuffleReadExec":
            found["reads"].append(node.partitionSpecs().size())
        children = node.children()
        for i in range(children.size()):
            choices(children.apply(i), found)
    return found


def main(data, jar, path):
    spark = SparkSession.builder.getOrCreate()
    for table in sorted(os.listdir(data)):
        if os.path.isdir(os.path.join(data, table)):
            spark.read.parquet(os.path.join(data, table)).createOrReplaceTempView(table)
    with zipfile.ZipFile(jar) as texts, open(path, "w") as answers:
        for number in range(1, QUERIES + 1):
            frame = spark.sql(texts.read(f"tpch/q{number}.sql").decode())
            start = time.monotonic()
            rows = frame.collect()
            seconds = time.monotonic() - start
            found = choices(frame._jdf.queryExecution().executedPlan(), {"joins": [], "reads": []})
            print(json.dumps({"query": number, "rows": len(rows), "digest": digest(rows),
                              "seconds": round(seconds, 2), **found}), file=answers)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
