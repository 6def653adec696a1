# SPDX-License-Identifier: Apache-2.0
"""Runs inside YARN: two shuffles with known results, and one during which YARN kills a container for its memory.

usage: spark-submit --deploy-mode cluster yarn_job.py ANSWER-FILE MIB; MIB: memory that one Python worker takes, once"""
import json
import sys
import time

from pyspark import TaskContext
from pyspark.sql import SparkSession
from yarn_sums import KEYS, NUMBERS

KILL_SECONDS = 60   # YARN looks every second


def greedy(mib):
    """A map function whose task 0 takes memory in its first attempt until its container is killed."""
    def of_partition(numbers):
        task = TaskContext.get()
        if task.partitionId() == 0 and task.attemptNumber() == 0:
            taken = [bytearray(b"x" * (1 << 20)) for _ in range(mib)]
            time.sleep(KILL_SECONDS)  # its end is what is waited for
            raise RuntimeError(f"not killed with {len(taken)} MiB")
        return ((number % KEYS, number) for number in numbers)
    return of_partition


def sums(pairs):
    return pairs.groupByKey(6).mapValues(sum).sortByKey().collect()


def main():
    session = SparkSession.builder.getOrCreate()
    context = session.sparkContext
    numbers = context.parallelize(range(NUMBERS), 8)
    answer = {"id": context.applicationId}
    answer["pairs"] = sums(numbers.map(lambda number: (number % KEYS, number)))
    frame = session.range(NUMBERS).selectExpr(f"id % {KEYS} AS key", "id AS value").repartition(6, "key")
    rows = frame.groupBy("key").sum("value").orderBy("key").collect()
    answer["rows"] = [[row[0], row[1]] for row in rows]
    answer["killed"] = sums(numbers.mapPartitions(greedy(int(sys.argv[2]))))
    session.stop()
    with open(sys.argv[1], "w") as file:
        json.dump(answer, file)


main()
