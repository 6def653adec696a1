# SPDX-License-Identifier: Apache-2.0
"""./verbena demo mapreduce: one Hadoop; each job with the stock shuffle and with ours, in turns."""
import sys

from driver import stage, travelled, turns
from driver.board import Board
from driver.demopage import About, Shown
from sides import hadoop, mr

CELLS = [mr.Cell("avg", 2, 2, 1 << 16), mr.Cell("terasort", 2, 2, 500_000)]
MINUTES = 6  # a job on YARN takes many seconds before it begins
WHAT = {"avg": "MR-AVG, all reducers get the same", "terasort": "TeraSort"}
ABOUT = About(
    "mapreduce", "MapReduce with and without Verbena", "the same cluster with the stock shuffle",
    ("Apache Hadoop with YARN on this host: a NameNode, a DataNode, a ResourceManager and two NodeManagers, each a JVM. Each job "
     "has two maps and two reducers and runs with the stock shuffle and with Verbena's, in turns.",
     "Time: of the whole job, from the start of its client; most of it is YARN's, which starts a JVM for each task. Processor "
     "time: of the job's tasks.",
     "Input or output of the reducers was the same with both shuffles in each pair."),
    "Put hadoop-rdma/dist/target/hadoop-rdma-0.1.0.jar on the class path of NodeManagers and containers first, then set "
    "(docs/mapreduce.md; ./verbena doctor hadoop names each obstacle):",
    "yarn-site.xml    yarn.nodemanager.aux-services.mapreduce_shuffle.class = org.verbena.hadoop.shuffle.VerbenaShuffleHandler\n"
    "mapred-site.xml  mapreduce.job.reduce.shuffle.consumer.plugin.class = org.verbena.hadoop.shuffle.VerbenaShuffle")


def cell(both, job, counted):
    """A job as turns.rounds() takes it. counted: our shuffle's counters, which are added up."""
    def measure(index):
        stock, ours = mr.both_run(both, job, index % 2)
        for name, value in ours[1][mr.OURS].items():
            counted[name] = counted.get(name, 0) + value
        return {f"{WHAT[job.job]}, {job.bytes() / 1e6:.0f} MB": {
            turns.TIME: (stock[0], ours[0], "s"), turns.PROCESSOR: (mr.cpu(stock), mr.cpu(ours), "s")}}
    return measure


def carried(counted):
    """Lines on what our shuffle's counters say of all its jobs."""
    ways = {name.removeprefix("Bytes "): value for name, value in counted.items() if name.startswith("Bytes by ") and value}
    by_core = sum(value for name, value in ways.items() if name != "by HTTP")
    if not by_core:
        return ["The job counters of Verbena's shuffle counted no byte: there is no proof that data went through Verbena."]
    return [f"Through Verbena went {travelled.size(by_core)} of map outputs, as the counters of its jobs say: "
            + "; ".join(f"{travelled.size(value)} {name}" for name, value in ways.items()) + "."]


def show(root, folder, seconds):
    counted = {}
    stage.note("starting a Hadoop with YARN")
    with mr.sides(root, folder) as both:
        stage.note("it runs; generating what TeraSort reads")
        mr.prepare(both, CELLS)
        rows = turns.rounds([cell(both, job, counted) for job in CELLS], seconds, stage.note)
    return Shown(Board(rows.values()), (), carried(counted))


if __name__ == "__main__":
    sys.exit(stage.play(ABOUT, show, hadoop.missing, MINUTES))
