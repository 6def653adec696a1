# SPDX-License-Identifier: Apache-2.0
"""Starts and ends HBase's daemons."""
import os
import subprocess
import time

from daemons import jvm, key, processes
from daemons.errors import Failed
from daemons.group import Group
from daemons.ports import HOST, free
from daemons.ready import until

from . import conf, java

MAINS = {"zookeeper": ("org.apache.hadoop.hbase.zookeeper.HQuorumPeer", "192m"),
         "master": ("org.apache.hadoop.hbase.master.HMaster", "512m"),
         "regionserver": ("org.apache.hadoop.hbase.regionserver.HRegionServer", "1g")}
READY = "Console"  # answers "status" with what is missing, and ends "await" when nothing is


class Cluster(Group):
    """ZooKeeper, a master and region servers on the local file system."""

    product, command = "HBase", "hbase"

    def __init__(self, work, regionservers=1, plugin=None, properties=None, own=None, quick=False, tied=False, by_core=True):
        """plugin: a jar for the class path of daemons and clients; by_core: with the settings that switch it on.
        properties: {name: value} for all; own: {daemon: {name: value}} for one, None removes a setting.
        quick: JVMs that start quickly. tied: daemons die with this process."""
        super().__init__(work, tied)
        self.plugin, self._by_core = plugin, by_core and plugin is not None
        self._options = jvm.QUICK if quick else []
        self._properties, self._own = properties or {}, own or {}
        self._regionservers = [f"regionserver{i}" for i in range(1, regionservers + 1)]
        self.key = None
        self._launched = {}  # daemon: when it was started last, in milliseconds

    # --------------------------------------------------------------------------------------------- start

    def names(self):
        return ["zookeeper", "master", *self._regionservers]

    def launch_all(self):
        self.ports = dict(zip(self.names(), free(len(self.names()))))
        self.key = key.new(os.path.join(self.work, "conf", "key"))
        for name in ["client", *self.names()]:
            conf.write(self.conf(name), self.site(name))
        self.programs = java.programs(os.path.join(self.work, "programs"))
        for name in self.names():
            self.launch(name)
        self.await_all()

    def site(self, name):
        parts = [conf.cluster(self.ports, self.data()), conf.by_core(self.key) if self._by_core else {}]
        if name.startswith("regionserver"):
            parts.append(conf.regionserver(self.ports[name]))
        return {key: value for part in [*parts, self._properties, self._own.get(name, {})] for key, value in part.items()}

    def launch(self, name, prefix=()):
        """Starts one daemon, without waiting for it; also again after it was killed. prefix: a command that starts it."""
        main, heap = MAINS[name.rstrip("0123456789")]
        temporary = os.path.join(self.data(), "tmp", name)
        os.makedirs(temporary, exist_ok=True)
        argv = java.argv(main, ["start"], self.conf(name), self.plugin, heap, [*self._options, f"-Djava.io.tmpdir={temporary}"])
        self._launched[name] = int(1000 * time.time())
        self.spawn(name, [*prefix, *argv], self.environment())

    def await_all(self):
        """Returns when the master and all region servers, those started last, are there: one client asks and asks."""
        servers = [f"{self.ports[name]}={self._launched[name]}" for name in self._regionservers]
        with open(self.log("await"), "w+") as said, \
                subprocess.Popen(self.argv(READY, ["await", *servers]), env=self.environment(),
                                 stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL) as client:
            try:
                until(self.check_alive, lambda: self._awaited(client, said), "HBase", self.work)
            finally:
                client.kill()

    @staticmethod
    def _awaited(client, said):
        status = client.poll()
        if status == 0:
            return None
        said.seek(0)
        lack = (said.read().strip().splitlines() or ["no answer"])[-1]
        if status is not None:
            raise Failed(f"the client that waits for HBase ended with status {status}: {lack}")
        return lack

    def missing(self):
        """None when the master and all region servers are there, else what is missing."""
        done = self.run(READY, "status", str(len(self._regionservers)), timeout=120)
        if done.returncode == 0:
            return None
        return (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["no answer"])[-1]

    # ---------------------------------------------------------------------------------------------- use

    @staticmethod
    def environment():
        hidden = ("HADOOP_", "HBASE_", "CLASSPATH")
        return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}

    def argv(self, name, arguments=(), folder=None, plugin=True, options=(), heap="256m"):
        """The command line of a client; plugin: whether the jar is on its class path, or another jar."""
        jar = self.plugin if plugin is True else plugin or None
        return java.argv(name, [str(word) for word in arguments], folder or self.client_conf(), jar, heap,
                         [*jvm.QUICK, *options], [self.programs])

    def run(self, name, *arguments, folder=None, plugin=True, timeout=300, options=()):
        """Runs a client and gives its CompletedProcess."""
        try:
            return subprocess.run(self.argv(name, arguments, folder, plugin, options), env=self.environment(),
                                  capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{' '.join([name, *map(str, arguments)])} did not end within {timeout} s") from error

    def client(self, name, **properties):
        """A folder of site files for clients that differ from the cluster's; None removes a setting."""
        folder = self.conf(name)
        conf.write(folder, {**self.site("client"), **properties})
        return folder

    def address(self, name="regionserver1"):
        return f"{HOST}:{self.ports[name]}"

    # --------------------------------------------------------------------------------------------- stop

    def stop(self, keep_logs=False):
        """Ends the daemons, the region servers first, and removes their data; logs too unless they are to be kept."""
        order = sorted(self.daemons, key=lambda name: ("regionserver", "master", "zookeeper").index(name.rstrip("0123456789")))
        for kind in ("regionserver", "master", "zookeeper"):
            processes.end([self.daemons[name] for name in order if name.startswith(kind)])
        self.remove(["programs"], keep_logs)

    def kept(self):
        """What restored needs."""
        return {"plugin": self.plugin, "regionservers": len(self._regionservers), "key": self.key, "programs": self.programs,
                "by_core": self._by_core}

    @classmethod
    def restored(cls, work, kept):
        cluster = cls(work, kept["regionservers"], kept["plugin"], by_core=kept["by_core"])
        cluster.key, cluster.programs = kept["key"], kept["programs"]
        return cluster
