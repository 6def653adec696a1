#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of ./verbena hadoop: start, stop, status, run; and ./verbena doctor hadoop."""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "hadoop-rdma", "batch")]

from batch import check  # noqa: E402  (needs the path above)
from cluster import conf, java, ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons import command  # noqa: E402
from daemons.errors import Failed  # noqa: E402

HADOOP = command.System("Hadoop", Cluster.load)


def start(options):
    root = os.path.realpath(options.lustre) if options.lustre else None
    if root and not (os.path.isdir(root) and options.plugin):
        raise Failed(f"--lustre {root}: " + ("make this folder first" if options.plugin else "stock Hadoop has no lustre:"))
    print("verbena: starting Hadoop " + java.VERSION + (", ours" if options.plugin else ", stock"), flush=True)
    cluster = Cluster(options.work, nodemanagers=2 if options.yarn or root else 0, plugin=options.plugin,
                      properties=conf.OURS if options.plugin else None, by_core=bool(options.plugin) and not root, root=root)
    with HADOOP.only_one(options):
        cluster.start()
    status(options)


def status(options):
    cluster = HADOOP.running(options.work)
    for name, state in HADOOP.states(cluster):
        print(f"  {name:18s} {state:16s} {cluster.log(name)}")
    hdfs = "namenode" in cluster.daemons
    lack = ready.hdfs(cluster.ports, sum(name.startswith("datanode") for name in cluster.names())) if hdfs else None
    if lack is None and "resourcemanager" in cluster.daemons:
        lack = ready.yarn(cluster.ports, sum(name.startswith("nodemanager") for name in cluster.names()))
    if hdfs:
        print(f"  HDFS hdfs://127.0.0.1:{cluster.ports['namenode']}, its page http://127.0.0.1:{cluster.ports['namenode-http']}")
    if "resourcemanager" in cluster.daemons:
        print(f"  YARN page http://127.0.0.1:{cluster.ports['rm-http']}")
    print(f"  site files for clients: {cluster.client_conf()}")
    print(f"  class path: {java.library()}/*" + (f":{cluster.plugin}" if cluster.plugin else ""))
    if lack:
        raise Failed(lack)


def run(options):
    cluster = HADOOP.running(options.work)
    if not options.words:
        raise Failed("run: give a command, such as: run hdfs dfs -ls /")
    command.become(cluster, cluster.argv(options.words))


def doctor(options):
    argv = "org.verbena.hadoop.Doctor", []
    status = HADOOP.doctor(options, conf.write, {}, lambda folder: java.argv(*argv, folder, options.plugin))
    return status if check.report() else 1


def main():
    parser, commands = command.parser(__doc__, "hadoop-rdma")
    starts = commands.add_parser("start")
    starts.add_argument("--yarn", action="store_true")
    starts.add_argument("--lustre", metavar="FOLDER")
    commands.add_parser("stop")
    commands.add_parser("status")
    commands.add_parser("doctor")
    commands.add_parser("run").add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chosen = {"start": start, "stop": HADOOP.stop, "status": status, "run": run, "doctor": doctor}[options.command]
    return command.run(lambda: chosen(options))


if __name__ == "__main__":
    sys.exit(main())
