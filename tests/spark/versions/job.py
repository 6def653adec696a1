# SPDX-License-Identifier: Apache-2.0
"""The application of run.py, job.py ANSWERS: PySpark's shuffles, then those of Workload.java in the same SparkContext.

Writes to the file ANSWERS RESULT lines, equal for every shuffle, the executors' counters as TRAFFIC lines, and the rows of
the tables of our page in Spark's UI as PAGE lines. Standard output would not do: Spark's log lines break into it.
"""
import functools
import re
import sys
import time
import urllib.error
import urllib.request

from pyspark.sql import SparkSession

answer = functools.partial(print, file=open(sys.argv[1], "w", buffering=1))
spark = SparkSession.builder.config("spark.sql.autoBroadcastJoinThreshold", "-1").getOrCreate()
context = spark.sparkContext
groups = context.parallelize(range(20000), 4).map(lambda i: (i % 100, i)).groupByKey(5)
answer("RESULT python-rdd", groups.count(), groups.mapValues(sum).values().sum())
left = spark.range(20000).selectExpr("id", "id % 7 g", "repeat(cast(id as string), 5) s")
right = spark.range(10000).selectExpr("id * 2 other", "id * 3 t")
rows = left.join(right, left.id == right.other).groupBy("g").agg({"s": "count", "t": "sum"}).orderBy("g").collect()
answer("RESULT python-join", [list(row) for row in rows])
workload = context._jvm.org.verbena.spark.versions.Workload
for result in workload.run(context._jsc, spark._jsparkSession, 16000):
    answer("RESULT", result)
for line in workload.traffic(context._jsc):
    answer("TRAFFIC", line)


def page(url):
    """Our page; empty when there is none."""
    try:
        with urllib.request.urlopen(url + "/verbena/", timeout=60) as got:
            return got.read().decode() if got.url.endswith("/verbena/") else ""
    except urllib.error.HTTPError:
        return ""


def complete_page(url, patience=300):
    """Our page once executors 0 and 1 have told the driver their numbers, or when patience (seconds) is over."""
    html, end = page(url), time.monotonic() + patience
    while html and not all(f"<td>{executor}</td>" in html for executor in "01") and time.monotonic() < end:
        time.sleep(0.2)
        html = page(url)
    return html


for row in re.findall("<tr>(.*?)</tr>", complete_page(context.uiWebUrl)):
    answer("PAGE", re.sub("<[^>]*>", "|", row))
spark.stop()
