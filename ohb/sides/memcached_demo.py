# SPDX-License-Identifier: Apache-2.0
"""./verbena demo memcached: both servers running, each cell of the row once, shortened; a table of ours beside stock."""
import sys

from sides import memcached

SCALE = 0.1


def _line(cell):
    better = cell["ours"] / cell["raw"]
    way = {"tcp": "TCP", "unix": "Unix socket", "messages": "messages", "onesided": "one-sided"}[cell["transport"]]
    what = "50 connections, ops/s" if cell["metric"] == "rate50" else "one client, us"
    return f"{cell['row'][10:]:4} {way:12} {cell['placement']:8} {what:22} {cell['raw']:12.1f} {cell['ours']:12.2f} {better:8.3f}"


def main():
    lacks = memcached.missing(None)
    if lacks:
        print(lacks, file=sys.stderr)
        return 1
    print("Debian's memcached and verbena-memcached, 100-byte values. Stock is asked over TCP where ours is asked by messages or")
    print("one-sided. Ratio: ours / stock; of us smaller is better, of ops/s larger.\n")
    print(f"{'':4} {'ours by':12} {'cpus':8} {'':22} {'stock':>12} {'ours':>12} {'ratio':>8}")
    with memcached.servers() as found:
        for cell in memcached.pairs(found, SCALE, 0):
            print(_line(cell), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
