# SPDX-License-Identifier: Apache-2.0
"""./verbena demo hdfs: two Hadoops, one as it comes and one with our jar; some cells of the row once; a table of both."""
import sys

from sides import hadoop, hdfs

CELLS = [(64 << 10, 3, 1), (64 * hdfs.MIB, 1, 1), (64 * hdfs.MIB, 3, 1), (64 * hdfs.MIB, 3, 4)]
WHAT = {"write": "written", "read": "read", "positioned": "4 KiB at any place"}


def size(count):
    return f"{count // hdfs.MIB} MiB" if count >= hdfs.MIB else f"{count >> 10} KiB"


def line(entry):
    replicas, clients = entry["transport"][1:].split(".c")
    return (f"{size(entry['size']):>7} {replicas:>8} {clients:>7}  {WHAT[entry['row'][5:]]:19} {entry['unit']:6} "
            f"{entry['raw']:10.1f} {entry['ours']:10.1f} {entry['ours'] / entry['raw']:7.2f}")


def show(root, folder):
    print("Apache Hadoop twice, each a NameNode and three DataNodes: as it comes, and with hadoop-rdma in clients and DataNodes.")
    print("What is read is compared with what was written. Ratio: ours / stock; of MiB/s larger is better, of us and s/GiB")
    print("(processor time of client and daemons) smaller.\n", flush=True)
    with hdfs.clusters(root, folder) as sides:
        hdfs.warm(sides)
        print(f"{'file':>7} {'replicas':>8} {'clients':>7}  {'':19} {'':6} {'stock':>10} {'ours':>10} {'ratio':>7}")
        for index, cell in enumerate(CELLS):
            for entry in hdfs.pairs(sides, [cell], index):
                print(line(entry), flush=True)
        print("", *sides[1].said(), sep="\n")


if __name__ == "__main__":
    sys.exit(hadoop.demo(show))
