# SPDX-License-Identifier: Apache-2.0
"""The application of run.py: PySpark's shuffles, then those of Workload.java in the same SparkContext.

Prints RESULT lines, equal for every shuffle, and the executors' counters as TRAFFIC lines.
"""
from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.autoBroadcastJoinThreshold", "-1").getOrCreate()
context = spark.sparkContext
groups = context.parallelize(range(20000), 4).map(lambda i: (i % 100, i)).groupByKey(5)
print("RESULT python-rdd", groups.count(), groups.mapValues(sum).values().sum())
left = spark.range(20000).selectExpr("id", "id % 7 g", "repeat(cast(id as string), 5) s")
right = spark.range(10000).selectExpr("id * 2 other", "id * 3 t")
rows = left.join(right, left.id == right.other).groupBy("g").agg({"s": "count", "t": "sum"}).orderBy("g").collect()
print("RESULT python-join", [list(row) for row in rows])
workload = context._jvm.org.verbena.spark.versions.Workload
for result in workload.run(context._jsc, spark._jsparkSession, 16000):
    print("RESULT", result)
for line in workload.traffic(context._jsc):
    print("TRAFFIC", line)
spark.stop()
