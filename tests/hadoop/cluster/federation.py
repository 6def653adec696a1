# SPDX-License-Identifier: Apache-2.0
"""Federation: two NameNodes with a name space each, a block pool for each on every DataNode; viewfs joins both for clients."""
from daemons.ports import HOST

from . import ready
from .cluster import Cluster

SPACES = ("one", "two")


class Federated(Cluster):
    """Beside another class of clusters: class Mine(Federated, Other). /one and /two are the name spaces of clients."""

    def _hdfs(self):
        return ["namenode1", "namenode2", *self._datanodes]

    def port_names(self):
        return [*super().port_names(), "namenode1", "namenode2", "namenode1-http", "namenode2-http"]

    def _format(self, *_):
        for name in ("namenode1", "namenode2"):
            super()._format(name, "-clusterid", "CID-federated")

    def await_hdfs(self):
        for name in ("namenode1", "namenode2"):
            self.ports["namenode-http"] = self.ports[f"{name}-http"]
            super().await_hdfs()

    def pools(self):
        """The block pools, in the order of the name spaces."""
        return [ready.bean(self.ports[f"{name}-http"], "Hadoop:service=NameNode,name=NameNodeInfo")["BlockPoolId"]
                for name in ("namenode1", "namenode2")]

    def special(self, name):
        hdfs = {"dfs.namenode.rpc-address": None, "dfs.namenode.http-address": None, "dfs.namenode.name.dir": None,
                "dfs.nameservices": ",".join(SPACES)}
        core = {"fs.defaultFS": "viewfs://both"}
        for number, space in enumerate(SPACES, 1):
            address = f"{HOST}:{self.ports[f'namenode{number}']}"
            hdfs[f"dfs.namenode.rpc-address.{space}"] = address
            hdfs[f"dfs.namenode.http-address.{space}"] = f"{HOST}:{self.ports[f'namenode{number}-http']}"
            hdfs[f"dfs.namenode.name.dir.{space}"] = f"file://{self.data()}/name{number}"
            core[f"fs.viewfs.mounttable.both.link./{space}"] = f"hdfs://{address}/"
            if name == f"namenode{number}":
                hdfs["dfs.nameservice.id"] = space
                core["fs.defaultFS"] = f"hdfs://{address}"
        return {"core-site": core, "hdfs-site": hdfs}
