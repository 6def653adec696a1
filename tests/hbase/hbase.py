#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of ./verbena hbase: start, stop, status, console; and ./verbena doctor hbase."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from servers import conf, java  # noqa: E402  (needs the path above)
from servers.cluster import Cluster  # noqa: E402
from daemons import command  # noqa: E402
from daemons.errors import Failed  # noqa: E402

HBASE = command.System("HBase", Cluster.load)


def start(options):
    print("verbena: starting HBase " + java.VERSION + (", ours" if options.plugin else ", stock"), flush=True)
    with HBASE.only_one(options):
        Cluster(options.work, plugin=options.plugin).start()
    status(options)


def status(options):
    cluster = HBASE.running(options.work)
    for name, state in HBASE.states(cluster):
        print(f"  {name:14s} {state:16s} port {cluster.ports[name]}  {cluster.log(name)}")
    print(f"  site files for clients: {cluster.client_conf()}")
    print(f"  class path: {java.library()}/*" + (f":{cluster.plugin}" if cluster.plugin else ""))
    lack = cluster.missing()
    if lack:
        raise Failed(lack)


def console(options):
    cluster = HBASE.running(options.work)
    command.become(cluster, cluster.argv("Console", options.words))


def doctor(options):
    once = {"hbase.client.retries.number": 0, "zookeeper.recovery.retry": 0}
    return HBASE.doctor(options, conf.write, once,
                        lambda folder: java.argv("org.verbena.hbase.Doctor", options.words, folder, options.plugin))


def main():
    parser, commands = command.parser(__doc__, "hbase-rdma")
    for name in ("start", "stop", "status"):
        commands.add_parser(name)
    for name in ("console", "doctor"):
        commands.add_parser(name).add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chosen = {"start": start, "stop": HBASE.stop, "status": status, "console": console, "doctor": doctor}[options.command]
    return command.run(lambda: chosen(options))


if __name__ == "__main__":
    sys.exit(main())
