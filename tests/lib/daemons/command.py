# SPDX-License-Identifier: Apache-2.0
"""What the commands for clusters share: their words, the cluster that runs, its end, the doctor; what failed is one line, and so
is Ctrl-C."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from .errors import Failed

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import locks  # noqa: E402  (needs the path above)
import program  # noqa: E402


class System:
    """A system of daemons. title: as its users write it, its command is that in lower case; load(folder): the Cluster that was
    started there, or None."""

    def __init__(self, title, load):
        self.title, self.load = title, load

    def only_one(self, options):
        """Holds the lock of a start or stop."""
        return locks.only_one(options.work + ".lock")

    def running(self, work):
        """The cluster. Raises Failed where none runs."""
        cluster = self.load(work)
        if cluster is None or not cluster.running():
            raise Failed(f"no {self.title} is running here: ./verbena {self.title.lower()} start")
        return cluster

    def stop(self, options):
        with self.only_one(options):
            cluster = self.load(options.work)
            if cluster is None:
                print(f"verbena: no {self.title} is running here")
                return
            cluster.stop()
        print(f"verbena: {self.title} is stopped, its data is removed")

    def states(self, cluster):
        """Yields (name, state) of each daemon."""
        alive = set(cluster.running())
        for name in cluster.daemons:
            yield name, f"process {cluster.daemons[name][0]}" if name in alive else "ENDED"

    def doctor(self, options, write, properties, argv):
        """Of the system that runs here, else of the one of HADOOP_CONF_DIR or HBASE_CONF_DIR, else of this host alone, with
        properties that write(folder, properties) puts into site files. argv(folder) is the doctor's command line."""
        cluster = self.load(options.work)
        runs = cluster is not None and cluster.running()
        folder = cluster.client_conf() if runs else os.environ.get(f"{self.title.upper()}_CONF_DIR")
        with tempfile.TemporaryDirectory() as empty:
            if not folder:
                write(empty, properties)
            return subprocess.run(argv(folder or empty), check=False).returncode


def become(cluster, argv):
    """Runs a command line with the cluster's environment in place of this process."""
    os.execvpe(argv[0], argv, cluster.environment())


def parser(text, module):
    """(parser, its commands), with the words that all clusters take; module: whose jar is the plugin."""
    made = argparse.ArgumentParser(description=text)
    made.add_argument("--work", required=True, help="folder for data, site files and logs")
    made.add_argument("--plugin", help=f"jar of {module}, for daemons and clients")
    return made, made.add_subparsers(dest="command", required=True)


def run(call):
    """Runs it and gives the exit status: its own, or that of a failure or a signal."""
    program.raise_on_signals()
    try:
        return call() or 0
    except Failed as failure:
        print(f"verbena: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("verbena: stopped by a signal; nothing that this command has started is left running", file=sys.stderr)
        return program.INTERRUPTED
