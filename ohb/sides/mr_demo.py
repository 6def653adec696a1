# SPDX-License-Identifier: Apache-2.0
"""./verbena demo mapreduce: one Hadoop; each job with the stock shuffle and with ours; a table of both."""
import sys

from sides import hadoop, mr

CELLS = [mr.Cell("avg", 2, 2, 1 << 18), mr.Cell("skew", 2, 2, 1 << 18), mr.Cell("terasort", 2, 2, 2_000_000)]
WHAT = {"avg": "MR-AVG: all reducers get the same", "skew": "MR-SKEW: one gets half", "terasort": "TeraSort"}


def line(cell, stock, ours):
    """A row of the table, and what our shuffle carried."""
    cpu = mr.cpu(stock), mr.cpu(ours)
    return (f"{WHAT[cell.job]:34} {cell.bytes() / 1e6:6.0f} MB  {stock[0]:6.1f} s {ours[0]:6.1f} s {ours[0] / stock[0]:6.2f}   "
            f"{cpu[0]:6.1f} s {cpu[1]:6.1f} s {cpu[1] / cpu[0]:6.2f}\n    {mr.carried(ours[1])}")


def show(root, folder):
    print("Apache Hadoop with YARN: a NameNode, a DataNode, a ResourceManager and two NodeManagers, each a JVM. Each job runs with")
    print("the stock shuffle and with Verbena's; what the reducers got, or wrote, is compared. Smaller is better.\n", flush=True)
    with mr.sides(root, folder) as both:
        mr.prepare(both, CELLS)
        print(f"{'':44}  {'time of the job':^24}   {'processor time of its tasks':^24}")
        print(f"{'':44}  {'stock':>8} {'ours':>8} {'ratio':>6}   {'stock':>8} {'ours':>8} {'ratio':>6}", flush=True)
        for cell in CELLS:
            print(line(cell, *mr.both_run(both, cell)), flush=True)
        print("\nBoth sides had the same results in every job.")


if __name__ == "__main__":
    sys.exit(hadoop.demo(show))
