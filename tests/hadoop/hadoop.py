#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of ./verbena hadoop: start, stop, status, run; and ./verbena doctor hadoop."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cluster import conf, java, ready  # noqa: E402  (needs the path above)
from cluster.cluster import Cluster  # noqa: E402
from daemons import command  # noqa: E402
from daemons.errors import Failed  # noqa: E402
from locks import only_one  # noqa: E402


def running(work):
    cluster = Cluster.load(work)
    if cluster is None or not cluster.running():
        raise Failed("no Hadoop is running here: ./verbena hadoop start")
    return cluster


def start(options):
    print("verbena: starting Hadoop " + java.VERSION + (", ours" if options.plugin else ", stock"), flush=True)
    cluster = Cluster(options.work, nodemanagers=2 if options.yarn else 0, plugin=options.plugin,
                      properties=conf.OURS if options.plugin else None, by_core=bool(options.plugin))
    with only_one(options.work + ".lock"):
        cluster.start()
    status(options)


def stop(options):
    with only_one(options.work + ".lock"):
        cluster = Cluster.load(options.work)
        if cluster is None:
            print("verbena: no Hadoop is running here")
            return
        cluster.stop()
    print("verbena: Hadoop is stopped, its data is removed")


def status(options):
    cluster = running(options.work)
    alive = set(cluster.running())
    for name in cluster.daemons:
        state = f"process {cluster.daemons[name][0]}" if name in alive else "ENDED"
        print(f"  {name:18s} {state:16s} {cluster.log(name)}")
    lack = ready.hdfs(cluster.ports, sum(name.startswith("datanode") for name in cluster.names()))
    if lack is None and "resourcemanager" in cluster.daemons:
        lack = ready.yarn(cluster.ports, sum(name.startswith("nodemanager") for name in cluster.names()))
    print(f"  HDFS hdfs://127.0.0.1:{cluster.ports['namenode']}, its page http://127.0.0.1:{cluster.ports['namenode-http']}")
    if "resourcemanager" in cluster.daemons:
        print(f"  YARN page http://127.0.0.1:{cluster.ports['rm-http']}")
    print(f"  site files for clients: {cluster.client_conf()}")
    print(f"  class path: {java.library()}/*" + (f":{options.plugin}" if options.plugin else ""))
    if lack:
        raise Failed(lack)


def run(options):
    cluster = running(options.work)
    if not options.words:
        raise Failed("run: give a command, such as: run hdfs dfs -ls /")
    argv = cluster.argv(options.words)
    os.execvpe(argv[0], argv, cluster.environment())


def doctor(options):
    """Of the Hadoop that runs here, else of the one of HADOOP_CONF_DIR, else of this host alone."""
    cluster = Cluster.load(options.work)
    folder = cluster.client_conf() if cluster is not None and cluster.running() else os.environ.get("HADOOP_CONF_DIR")
    with tempfile.TemporaryDirectory() as empty:
        if not folder:
            conf.write(empty, {})
        return subprocess.run(java.argv("org.verbena.hadoop.Doctor", [], folder or empty, options.plugin),
                              check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, help="folder for data, site files and logs")
    parser.add_argument("--plugin", help="jar of hadoop-rdma, for daemons, clients and containers")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("start").add_argument("--yarn", action="store_true")
    commands.add_parser("stop")
    commands.add_parser("status")
    commands.add_parser("doctor")
    commands.add_parser("run").add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chosen = {"start": start, "stop": stop, "status": status, "run": run, "doctor": doctor}[options.command]
    return command.run(lambda: chosen(options))


if __name__ == "__main__":
    sys.exit(main())
