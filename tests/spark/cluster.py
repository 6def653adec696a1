#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps a standalone Spark (master, two workers) on loopback up until it is ended; usage: cluster.py WORK-DIR.

Prints the master's URL on standard output. Ends, with everything it started, on SIGTERM, SIGINT, SIGHUP, when its
standard input closes (if that is a pipe), or after --minutes.
"""
import argparse
import os
import select
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ohb"))

from driver import procs  # noqa: E402  (needs the path above)
from sides import spark  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", help="folder for logs and local data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=2, help="cores that each worker offers")
    parser.add_argument("--memory", default="5g", help="memory that each worker offers")
    parser.add_argument("--minutes", type=float, default=60, help="end by itself after this time")
    options = parser.parse_args()
    procs.install_signals()
    try:
        with spark.Cluster(options.work, options.workers, options.cores, options.memory) as cluster:
            print(cluster.url, flush=True)
            piped = stat.S_ISFIFO(os.fstat(0).st_mode)
            select.select([0] if piped else [], [], [], options.minutes * 60)
    except procs.Killed:
        return 0
    except procs.Failed as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    finally:
        procs.stop_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
