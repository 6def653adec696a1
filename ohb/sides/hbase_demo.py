# SPDX-License-Identifier: Apache-2.0
"""./verbena demo hbase: two HBases, one as it comes and one with our jar; each cell of the row once; a table of both."""
import sys

from sides import hadoop, hbase

WHAT = {"exists": "does a missing row exist", "get": "get 1 KiB", "put": "put 1 KiB", "scan": "scan 100 rows",
        hbase.IDLE: "nobody calls for 10 s"}


def line(entry):
    return (f"{WHAT[entry['row'][6:]]:26} {entry['transport'][1:]:>7}  {entry['metric']:10} {entry['unit']:4} "
            f"{entry['raw']:10.1f} {entry['ours']:10.1f} {entry['ours'] / entry['raw']:7.2f}")


def show(root, folder):
    print("Apache HBase twice, each ZooKeeper, a master and a region server: as it comes, "
          "and with hbase-rdma in servers and client.")
    print("What is read is compared with what was written. Ratio: ours / stock; of 1/s larger is better, of us and s/M (processor")
    print("time of client and servers for a million calls) smaller.\n", flush=True)
    with hbase.clusters(root, folder) as sides:
        hbase.warm(sides, 2)
        print(f"{'':26} {'threads':>7}  {'':10} {'':4} {'stock':>10} {'ours':>10} {'ratio':>7}")
        for index, cell in enumerate(hbase.CELLS):
            for entry in hbase.pairs(sides, [cell], index):
                print(line(entry), flush=True)
        print("", *sides[1].said(), sep="\n")


if __name__ == "__main__":
    sys.exit(hadoop.demo(show, hbase.missing))
