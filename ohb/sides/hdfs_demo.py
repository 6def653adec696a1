# SPDX-License-Identifier: Apache-2.0
"""./verbena demo hdfs: two Hadoops, one as it comes and one with our jar, write and read the same files in turns."""
import sys

from driver import stage, travelled, turns
from driver.board import Board
from driver.demopage import About, Shown
from sides import hadoop, hdfs

# (size of a file, replicas, clients), how many bytes each side of a pair writes, how many positioned reads it makes
CELLS = [((64 << 10, 3, 1), hdfs.MIB, 0), ((64 * hdfs.MIB, 1, 1), 64 * hdfs.MIB, 500), ((64 * hdfs.MIB, 3, 1), 64 * hdfs.MIB, 0)]
WHAT = {"write": "written", "read": "read"}
ABOUT = About(
    "hdfs", "HDFS with and without Verbena", "the same Apache Hadoop without our jar",
    ("Apache Hadoop twice on this host, each a NameNode and three DataNodes: as it comes, and with hadoop-rdma in clients and "
     "DataNodes. The same client writes, reads and deletes the same files on both in turns.",
     "Time: seconds for a GiB, from the call to the last byte; of 4 KiB at any place microseconds for one read. Processor time: "
     "of client and all daemons together.",
     "Stock reads by TCP over loopback here. A Hadoop with libhadoop reads blocks of its own host out of the files: "
     "./verbena bench hdfs --rows shortcircuit,hosts compares with that, and with reads from another host.",
     "Each file that is read is compared with the file that was written."),
    "Put hadoop-rdma/dist/target/hadoop-rdma-0.1.0.jar on the class path of DataNodes and clients. Make a key that only the "
    "cluster's users can read, then set (docs/hdfs.md; ./verbena doctor hadoop names each obstacle):",
    "core-site.xml  hadoop.rpc.socket.factory.class.ClientProtocol = org.verbena.hadoop.hdfs.VerbenaSocketFactory\n"
    "core-site.xml  verbena.hdfs.key.file = /etc/hadoop/verbena.key\n"
    "hdfs-site.xml  dfs.datanode.plugins = org.verbena.hadoop.hdfs.VerbenaDataNodePlugin")


def size(count):
    return f"{count // hdfs.MIB} MiB" if count >= hdfs.MIB else f"{count >> 10} KiB"


def values(entries):
    """{row: {metric: (stock, ours, unit)}}; throughputs become seconds for a GiB."""
    found = {}
    for entry in entries:
        replicas, done = entry["transport"][1:].split(".c")[0], entry["row"].removeprefix("hdfs.")
        what = "4 KiB read at any place" if done == "positioned" else f"{size(entry['size'])} {WHAT[done]}"
        name = f"{what}, {replicas} replica{'s' if replicas != '1' else ''}"
        metric = turns.PROCESSOR if entry["metric"] == "cpu" else turns.TIME
        by_rate = entry["metric"] == "throughput"
        stock, ours = (1024 / entry[side] if by_rate else entry[side] for side in ("raw", "ours"))
        found.setdefault(name, {})[metric] = (stock, ours, "s/GiB" if by_rate else entry["unit"])
    return found


def _cell(sides, cell, amount, reads):
    return lambda index: values(hdfs.pairs(sides, [cell], index, amount, reads))


def show(root, folder, seconds):
    stage.note("starting two Hadoops, each a NameNode and three DataNodes")
    with hdfs.clusters(root, folder) as sides:
        stage.note("both run; writing and reading a little, unmeasured")
        hdfs.warm(sides, 1, large=0)
        rows = turns.rounds(turns.once([_cell(sides, *cell) for cell in CELLS]), seconds, stage.note)
        pages = travelled.Pages()
        pages.look()
        return Shown(Board(rows.values()), (), travelled.lines(pages.totals(), "between clients and DataNodes"), sides[1].said())


if __name__ == "__main__":
    sys.exit(stage.play(ABOUT, show, hadoop.missing))
