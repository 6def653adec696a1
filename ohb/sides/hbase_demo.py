# SPDX-License-Identifier: Apache-2.0
"""./verbena demo hbase: two HBases, one as it comes and one with our jar, answer the same calls in turns."""
import sys

from driver import stage, travelled, turns
from driver.board import Board
from driver.demopage import About, Shown
from sides import hbase

CELLS = [("exists", 1, 1000), ("get", 1, 1000), ("put", 1, 300), ("scan", 1, 50), ("get", 8, 500), ("put", 8, 100),
         (hbase.IDLE, 0, 3)]
WHAT = {"exists": "does a missing row exist", "get": "get 1 KiB", "put": "put 1 KiB", "scan": "scan 100 rows",
        hbase.IDLE: f"nobody calls for {CELLS[-1][2]} s"}
ABOUT = About(
    "hbase", "HBase with and without Verbena", "the same Apache HBase without our jar",
    ("Apache HBase twice on this host, each ZooKeeper, a master and a region server: as it comes, and with hbase-rdma in servers "
     "and client. The same client calls both in turns.",
     "Time: with one thread the median of a call, with eight the time of all calls over their number. Processor time: of client "
     "and servers for a million calls; where nobody calls, of all for as long.",
     "Each value that is read is compared with the value that was written."),
    "Put hbase-rdma/dist/target/hbase-rdma-0.1.0.jar on the class path of masters, region servers and clients. Make a key that "
    "only the cluster's users can read, then set in hbase-site.xml (docs/hbase.md; ./verbena doctor hbase names missing parts):",
    "hbase.rpc.client.impl = org.apache.hadoop.hbase.ipc.VbnRpcClient\n"
    "hbase.rpc.server.impl = org.apache.hadoop.hbase.ipc.VbnRpcServer\n"
    "verbena.hbase.key.file = /etc/hbase/verbena.key")


def values(entries):
    """{row: {metric: (stock, ours, unit)}}; throughputs become microseconds of a call."""
    found = {}
    for entry in entries:
        what, threads = entry["row"].removeprefix("hbase."), entry["transport"][1:]
        name = WHAT[what] + ("" if what == hbase.IDLE else f", {threads} thread{'s' if threads != '1' else ''}")
        metric = turns.PROCESSOR if entry["metric"] == "cpu" else turns.TIME
        by_rate = entry["metric"] == "throughput"
        stock, ours = (1e6 / entry[side] if by_rate else entry[side] for side in ("raw", "ours"))
        found.setdefault(name, {})[metric] = (stock, ours, "us" if by_rate else entry["unit"])
    return found


def _cell(sides, cell):
    return lambda index: values(hbase.pairs(sides, [cell], index))


def show(root, folder, seconds):
    stage.note("starting two HBases, each ZooKeeper, a master and a region server")
    with hbase.clusters(root, folder) as sides:
        stage.note("both run; calling a little, unmeasured")
        hbase.warm(sides, 1)
        rows = turns.rounds(turns.once([_cell(sides, cell) for cell in CELLS]), seconds, stage.note)
        pages = travelled.Pages()
        pages.look()
        counted = travelled.lines(pages.totals(), "of calls and answers")
        return Shown(Board(rows.values()), (WHAT[hbase.IDLE],), counted, sides[1].said())


if __name__ == "__main__":
    sys.exit(stage.play(ABOUT, show, hbase.missing))
