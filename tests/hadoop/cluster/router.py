# SPDX-License-Identifier: Apache-2.0
"""Hadoop's router before two name spaces."""
import subprocess

from daemons.ports import HOST
from daemons.ready import until

from .federation import SPACES, Federated
from .services import argv

ROUTER = "org.apache.hadoop.hdfs.server.federation.router.DFSRouter"
ADMIN = "org.apache.hadoop.hdfs.tools.federation.RouterAdmin"


class Routed(Federated):
    """Clients see one name space: /one and /two of a router, which asks the NameNodes."""

    def _hdfs(self):
        return [*super()._hdfs(), "router"]

    def port_names(self):
        return [*super().port_names(), "router", "router-admin"]

    def launch(self, name):
        if name == "router":
            self.spawn(name, argv(ROUTER, self.conf(name), self.plugin, [*self.options(), f"-Djava.io.tmpdir={self.data()}"]),
                       self.environment(self.conf(name)))
        else:
            super().launch(name)

    def await_hdfs(self):
        super().await_hdfs()
        for space in SPACES:
            until(self.check_alive, lambda of=space: self._not_mounted(of), "the router", self.work)

    def _not_mounted(self, space):
        """A router that has just started knows no NameNode, and tells of a new mount a moment later."""
        if self.run("hdfs", "dfs", "-ls", f"/{space}").returncode == 0:
            return None
        mount = [*argv(ADMIN, self.client_conf(), self.plugin, self.options()), "-add", f"/{space}", space, "/"]
        done = subprocess.run(mount, env=self.environment(), capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                              check=False)
        return f"/{space} is not mounted yet: {done.stderr[-300:]}"

    def special(self, name):
        site_files = super().special(name)
        router = f"{HOST}:{self.ports['router']}"
        if name == "client":
            site_files["core-site"]["fs.defaultFS"] = f"hdfs://{router}"
        settings = {"rpc-address": router, "rpc-bind-host": HOST, "admin-address": f"{HOST}:{self.ports['router-admin']}",
                    "admin-bind-host": HOST, "http.enable": "false",
                    "monitor.localnamenode.enable": "false", "monitor.namenode": ",".join(SPACES),
                    "heartbeat.interval": 500, "cache.ttl": "500ms", "safemode.enable": "false", "quota.enable": "false",
                    "store.driver.class": "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl",
                    "store.driver.file.directory": f"{self.data()}/router"}
        site_files["hdfs-site"].update({f"dfs.federation.router.{key}": value for key, value in settings.items()})
        return site_files
