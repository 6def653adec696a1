# SPDX-License-Identifier: Apache-2.0
"""High availability: NameNodes that share a journal of JournalNodes, and ZooKeeper with failover controllers."""
import os
import shutil

from daemons import processes
from daemons.errors import Failed
from daemons.ports import HOST
from daemons.ready import until

from . import conf, ready
from .cluster import Cluster

SITE = "site"  # the name of the name service
READY = "Hadoop:service=NameNode,name=NameNodeStatus"
# A NameNode that waits longer for its journal ends itself, and a controller that waits longer for it takes it for dead: not on a
# busy machine.
PATIENCE = 300000  # ms
PATIENT_JOURNAL = [f"dfs.qjournal.{what}.timeout.ms" for what in (
    "start-segment", "prepare-recovery", "accept-recovery", "finalize-segment", "select-input-streams", "get-journal-state",
    "new-epoch", "write-txns")]
PATIENT_CONTROLLERS = [f"ha.{what}.rpc-timeout.ms" for what in (
    "health-monitor", "failover-controller.new-active", "failover-controller.graceful-fence", "failover-controller.cli-check")]
PROXY = f"dfs.client.failover.proxy.provider.{SITE}"
OBSERVED = "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"


class HighlyAvailable(Cluster):
    """Beside another class of clusters: class Mine(HighlyAvailable, Other). namenode1 is the active one at first."""

    journals, namenodes, automatic = 1, 2, False

    def _names(self, kind, count):
        return [f"{kind}{number}" for number in range(1, count + 1)]

    def nameservers(self):
        return self._names("namenode", self.namenodes)

    def _before(self):
        return [*self._names("journal", self.journals), *(["zookeeper"] if self.automatic else [])]

    def _controllers(self):
        return self._names("controller", self.namenodes) if self.automatic else []

    def _hdfs(self):
        return [*self._before(), *self.nameservers(), *self._controllers(), *self._datanodes]

    def port_names(self):
        extra = [f"{name}{suffix}" for name in [*self._names("journal", self.journals), *self.nameservers()]
                 for suffix in ("", "-http")]
        return [*super().port_names(), *extra, *self._controllers(), "zookeeper"]

    # --------------------------------------------------------------------------------------------- start

    def _format(self, *_):
        """The journal is formatted with the first NameNode; the others get what that has."""
        for name in self._before():
            self.launch(name)
        until(self.check_alive, self._no_journal, "the journal", self.work)
        super()._format("namenode1")
        for name in self.nameservers()[1:]:
            shutil.copytree(os.path.join(self.data(), "name1"), os.path.join(self.data(), name.replace("namenode", "name")))
        if self.automatic:
            done = self.java("org.apache.hadoop.hdfs.tools.DFSZKFailoverController", ["-formatZK", "-force", "-nonInteractive"],
                             self.conf("controller1"))
            if done.returncode != 0:
                raise Failed(f"ZooKeeper got no folder for failover:\n{done.stderr[-2000:]}")

    def _no_journal(self):
        silent = [name for name in self._names("journal", self.journals)
                  if not ready.bean(self.ports[name + "-http"], "java.lang:type=Runtime")]
        return f"{silent[0]} does not answer" if silent else None

    def launch(self, name):
        if name not in self._before() or name not in self.daemons or not processes.alive(*self.daemons[name]):
            super().launch(name)

    def arguments(self, name):
        return [str(self.ports[name]), os.path.join(self.data(), name)] if name == "zookeeper" else super().arguments(name)

    def await_hdfs(self):
        if not self.automatic and "active" not in map(self.role, self.nameservers()):
            until(self.check_alive, lambda: None if self.role("namenode1") else "namenode1 is not there", "HDFS", self.work)
            until(self.check_alive, self._not_active, "HDFS", self.work)
        until(self.check_alive, lambda: None if self.active() else "no NameNode is active", "HDFS", self.work)
        super().await_hdfs()

    def _not_active(self):
        """A NameNode that has just started refuses at first."""
        done = self.run("hdfs", "haadmin", "-transitionToActive", "nn1")
        return None if done.returncode == 0 else done.stderr[-300:]

    # ---------------------------------------------------------------------------------------------- use

    def admin(self, *words):
        done = self.run("hdfs", "haadmin", *words)
        if done.returncode != 0:
            raise Failed(f"haadmin {' '.join(words)}: {done.stdout}{done.stderr[-2000:]}")

    def role(self, name):
        """active, standby, observer; empty while it does not answer."""
        return ready.bean(self.ports[f"{name}-http"], READY).get("State", "") if name in self.running() else ""

    def active(self):
        """Name of the active NameNode, which is asked for the cluster's state from now on; None."""
        found = next((name for name in self.nameservers() if self.role(name) == "active"), None)
        if found:
            self.ports["namenode-http"] = self.ports[f"{found}-http"]
        return found

    # --------------------------------------------------------------------------------------------- sites

    def special(self, name):
        kind, number = name.rstrip("0123456789"), name.lstrip("abcdefghijklmnopqrstuvwxyz")
        return conf.merged(super().special(name), self._shared(), {"hdfs-site": self._own_names(kind, number)})

    def _shared(self):
        journals = ";".join(f"{HOST}:{self.ports[one]}" for one in self._names("journal", self.journals))
        hdfs = {"dfs.namenode.rpc-address": None, "dfs.namenode.http-address": None, "dfs.namenode.name.dir": None,
                "dfs.nameservices": SITE, f"dfs.ha.namenodes.{SITE}": ",".join(f"nn{i + 1}" for i in range(self.namenodes)),
                "dfs.namenode.shared.edits.dir": f"qjournal://{journals}/{SITE}",
                PROXY: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
                "dfs.ha.fencing.methods": "shell(/bin/true)", "dfs.ha.automatic-failover.enabled": str(self.automatic).lower(),
                "dfs.ha.tail-edits.in-progress": "true", "dfs.ha.tail-edits.period": "100ms",
                "dfs.namenode.state.context.enabled": "true"}
        for number, one in enumerate(self.nameservers(), 1):
            hdfs[f"dfs.namenode.rpc-address.{SITE}.nn{number}"] = f"{HOST}:{self.ports[one]}"
            hdfs[f"dfs.namenode.http-address.{SITE}.nn{number}"] = f"{HOST}:{self.ports[one + '-http']}"
            if self.automatic:
                hdfs[f"dfs.ha.zkfc.port.{SITE}.nn{number}"] = self.ports[f"controller{number}"]
        core = {"fs.defaultFS": f"hdfs://{SITE}", "ha.zookeeper.quorum": f"{HOST}:{self.ports['zookeeper']}"}
        return {"core-site": {**core, **dict.fromkeys(PATIENT_CONTROLLERS, PATIENCE)},
                "hdfs-site": {**hdfs, **dict.fromkeys(PATIENT_JOURNAL, PATIENCE)}}

    def _own_names(self, kind, number):
        if kind in ("namenode", "controller"):
            return {"dfs.ha.namenode.id": f"nn{number}", "dfs.namenode.name.dir": f"file://{self.data()}/name{number}"}
        if kind == "journal":
            return {"dfs.journalnode.edits.dir": f"{self.data()}/journal{number}",
                    "dfs.journalnode.rpc-address": f"{HOST}:{self.ports['journal' + number]}",
                    "dfs.journalnode.http-address": f"{HOST}:{self.ports['journal' + number + '-http']}"}
        return {}
