#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of ./verbena hbase: start, stop, status, console; and ./verbena doctor hbase."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from servers import conf, java  # noqa: E402  (needs the path above)
from servers.cluster import Cluster  # noqa: E402
from daemons import command  # noqa: E402
from daemons.errors import Failed  # noqa: E402
from locks import only_one  # noqa: E402


def running(work):
    cluster = Cluster.load(work)
    if cluster is None or not cluster.running():
        raise Failed("no HBase is running here: ./verbena hbase start")
    return cluster


def start(options):
    print("verbena: starting HBase " + java.VERSION + (", ours" if options.plugin else ", stock"), flush=True)
    with only_one(options.work + ".lock"):
        Cluster(options.work, plugin=options.plugin).start()
    status(options)


def stop(options):
    with only_one(options.work + ".lock"):
        cluster = Cluster.load(options.work)
        if cluster is None:
            print("verbena: no HBase is running here")
            return
        cluster.stop()
    print("verbena: HBase is stopped, its data is removed")


def status(options):
    cluster = running(options.work)
    alive = set(cluster.running())
    for name in cluster.daemons:
        state = f"process {cluster.daemons[name][0]}" if name in alive else "ENDED"
        print(f"  {name:14s} {state:16s} port {cluster.ports[name]}  {cluster.log(name)}")
    print(f"  site files for clients: {cluster.client_conf()}")
    print(f"  class path: {java.library()}/*" + (f":{cluster.plugin}" if cluster.plugin else ""))
    lack = cluster.missing()
    if lack:
        raise Failed(lack)


def console(options):
    cluster = running(options.work)
    argv = cluster.argv("Console", options.words)
    os.execvpe(argv[0], argv, cluster.environment())


def doctor(options):
    """Of the HBase that runs here, else of the one of HBASE_CONF_DIR, else of this host alone."""
    cluster = Cluster.load(options.work)
    folder = cluster.client_conf() if cluster is not None and cluster.running() else os.environ.get("HBASE_CONF_DIR")
    with tempfile.TemporaryDirectory() as empty:
        if not folder:
            conf.write(empty, {"hbase.client.retries.number": 0, "zookeeper.recovery.retry": 0})
        return subprocess.run(java.argv("org.verbena.hbase.Doctor", options.words, folder or empty, options.plugin),
                              check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, help="folder for data, site files and logs")
    parser.add_argument("--plugin", help="jar of hbase-rdma, for daemons and clients")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("start", "stop", "status"):
        commands.add_parser(name)
    for name in ("console", "doctor"):
        commands.add_parser(name).add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    chosen = {"start": start, "stop": stop, "status": status, "console": console, "doctor": doctor}[options.command]
    return command.run(lambda: chosen(options))


if __name__ == "__main__":
    sys.exit(main())
