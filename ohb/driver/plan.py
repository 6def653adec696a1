# SPDX-License-Identifier: Apache-2.0
"""The catalogue: which rows exist, their parameters, their peers, and what is missing to run them."""
import dataclasses
import os

from sides import core, spark, verbs

PAIRS, QUICK_PAIRS = 9, 3
SPARK_STOCK = "the same Apache Spark with its own shuffle"


@dataclasses.dataclass(frozen=True)
class Row:
    """One row. kind chooses the runner; hold is the ratio we promise for 'metric' (a warning, never a failure)."""
    name: str
    kind: str  # echo, core, verbs, spark
    title: str
    stock: str
    params: dict
    quick: dict = dataclasses.field(default_factory=dict)  # overrides of params with --quick
    properties: dict = dataclasses.field(default_factory=dict)  # Spark properties of both sides
    control: bool = False  # both sides are the stock side
    hold: float = None
    metric: str = "wall_ms"

    def parameters(self, quick):
        return {**self.params, **(self.quick if quick else {})}


def _spark(name, title, params, quick, hold=None, properties=None, control=False):
    return Row(name, "spark", title, SPARK_STOCK, params, quick, properties or {}, control, hold, "executor_cpu_ms")


_GROUP = {"job": "groupby", "maps": 8, "pairs": 62500, "size": 1000, "reducers": 8}
_SMALL = {"pairs": 16384}
_REMOTE = {"spark.shuffle.readHostLocalDisk": "false"}
TPCH = ("q1", "q3", "q5", "q9", "q18")

ROWS = (
    Row("aa.echo", "echo", "an echo generator against itself: the statistics must find nothing", "the same generator",
        {"milliseconds": 100}, {"milliseconds": 40}, control=True, metric="wall_ms"),
    _spark("aa.spark", "spark.groupby, stock against stock", _GROUP, _SMALL, control=True),
    Row("core", "core", "messages, one-sided operations, atomics per transport; from Java (core.jni)",
        "bare cache line, memcpy, socket loop; the same operation from C", {"scale": 1.0}, {"scale": 0.1}, metric="ratio"),
    Row("verbs", "verbs", "messages, put, get and fetch-add over rc and ud in a guest with a soft-RoCE device",
        "perftest on the same device, in the same boot", {"scale": 0.05}, {"scale": 0.02}, metric="ratio"),
    _spark("spark.groupby", "groupByKey over cached (int, byte[1000]) pairs", _GROUP, _SMALL, hold=0.75),
    _spark("spark.sortby", "sortByKey over cached (int, byte[1000]) pairs", {**_GROUP, "job": "sortby"}, _SMALL,
           hold=0.75),
    _spark("spark.tiny", "partitionBy with many tiny blocks",
           {"job": "tiny", "maps": 400, "pairs": 1000, "size": 100, "reducers": 200},
           {"maps": 80, "reducers": 100}, hold=0.25),
    _spark("spark.reducebykey", "reduceByKey with combining on the map side",
           {"job": "reducebykey", "maps": 8, "pairs": 500000, "keys": 200000, "reducers": 8}, {"pairs": 200000},
           hold=1.05),
    _spark("spark.smj", "SQL sort-merge join of wide rows, then aggregation",
           {"job": "smj", "left": 2000000, "right": 1000000, "groups": 1000}, {"left": 400000, "right": 200000},
           hold=0.80),
    *(_spark(f"spark.tpch.{query}", f"TPC-H query {query[1:]} over Parquet",
             {"job": "tpch", "query": query, "scale": 0.5}, {"scale": 0.1}, hold=1.05) for query in TPCH),
    _spark("spark.groupby.remote", "groupByKey, no host-local reads: every block of the other executor by network",
           _GROUP, _SMALL, hold=0.75, properties=_REMOTE),
    _spark("spark.sortby.remote", "sortByKey, no host-local reads", {**_GROUP, "job": "sortby"}, _SMALL, hold=0.75,
           properties=_REMOTE),
)


class UnknownRow(Exception):
    """No such row or group; the text names what there is."""


def select(name):
    """Rows of a name or of a group (the part before a dot). core.PART is the core row cut down to PART."""
    found = [row for row in ROWS if row.name == name] or [row for row in ROWS if row.name.startswith(name + ".")]
    if not found and name.startswith("core."):
        row = next(row for row in ROWS if row.name == "core")
        found = [dataclasses.replace(row, name=name)]
    if not found:
        raise UnknownRow(f"there is no row or group '{name}'; there are: " + " ".join(row.name for row in ROWS))
    return found


def missing(row, root):
    """Why the row cannot run here, or None."""
    if row.kind == "verbs" and (reason := verbs.missing(root)):
        return reason
    if row.kind in ("core", "verbs"):
        return None if core.program(root) else "the program vbn-perf is not built: run ./verbena build native"
    if row.kind == "spark":
        try:
            spark.home()
            spark.jobs_jar(root)
        except spark.Failed as error:
            return str(error)
        if not row.control and not os.path.isfile(spark.plugin_jar(root) or ""):
            return "the Spark plugin is not built: run ./verbena build"
    return None
