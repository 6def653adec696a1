# SPDX-License-Identifier: Apache-2.0
"""Kerberos: a key distribution centre in a JVM of its own, daemons and clients with keytabs, SASL for calls and blocks."""
import os
import pathlib
import socket

from daemons import jvm
from daemons.ports import HOST
from daemons.ready import until

from . import conf, java
from .cluster import Cluster

POM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kdc", "pom.xml")
REALM = "EXAMPLE.COM"
DAEMON, WEB, ALICE = "hdfs/localhost", "HTTP/localhost", "alice"  # principals
LEVELS = "authentication,integrity,privacy"  # all that a server takes; a client chooses by the same property
KRB5 = """[libdefaults]
default_realm = {realm}
udp_preference_limit = 1
[realms]
{realm} = {{
kdc = {host}:{port}
}}
"""


class Secure(Cluster):
    """Beside another class of clusters: class Mine(Secure, Other)."""

    user = DAEMON  # of clients that start from now on: HDFS' superuser

    def port_names(self):
        return [*super().port_names(), "kdc"]

    def folder(self):
        return os.path.join(self.work, "conf")

    def keytab(self):
        return os.path.join(self.folder(), "keytab")

    def krb5(self):
        return os.path.join(self.folder(), "krb5.conf")

    # --------------------------------------------------------------------------------------------- start

    def launch_all(self):
        self._options = [*java.QUICK, f"-Djava.security.krb5.conf={self.krb5()}"]
        super().launch_all()

    def _format(self, *more):
        if "kdc" not in self.daemons:
            self._start_kdc()
        super()._format(*more)

    def _start_kdc(self):
        os.makedirs(self.data(), exist_ok=True)
        settings = os.path.join(self.folder(), "kdc.properties")
        pathlib.Path(settings).write_text(f"kdc.port={self.ports['kdc']}\nkdc.bind.address={HOST}\ntransport=TCP\n")
        pathlib.Path(self.krb5()).write_text(KRB5.format(realm=REALM, host=HOST, port=self.ports["kdc"]))
        path = java.jars.fetched(f"hadoop-kdc-{java.VERSION}", POM, properties={"hadoop.version": java.VERSION})
        argv = [jvm.program(), *java.QUICK, *java.OPENS, "-cp", f"{path}/*", "org.apache.hadoop.minikdc.MiniKdc",
                self.data(), settings, self.keytab(), DAEMON, WEB, ALICE]
        self.spawn("kdc", argv, self.environment())
        until(self.check_alive, self._no_kdc, "Kerberos", self.work)

    def _no_kdc(self):
        if "MiniKdc Running" not in pathlib.Path(self.log("kdc")).read_text(errors="replace"):
            return "the KDC has no keytab yet"
        with socket.socket() as probe:
            return "the KDC does not listen" if probe.connect_ex((HOST, self.ports["kdc"])) else None

    def environment(self, folder=None):
        """A client logs in by keytab; daemons do by their settings."""
        mine = {"KRB5PRINCIPAL": f"{self.user}@{REALM}", "KRB5KEYTAB": self.keytab()}
        return {**super().environment(folder), **(mine if folder in (None, self.client_conf()) else {})}

    # --------------------------------------------------------------------------------------------- sites

    def special(self, name):
        kerberos = {"hadoop.security.authentication": "kerberos", "hadoop.security.authorization": "true",
                    "hadoop.rpc.protection": LEVELS}
        principals = {f"dfs.{kind}.kerberos.principal": f"{DAEMON}@{REALM}" for kind in ("namenode", "datanode", "journalnode")}
        keytabs = {f"dfs.{kind}.keytab.file": self.keytab() for kind in ("namenode", "datanode", "journalnode")}
        web = {"dfs.web.authentication.kerberos.principal": f"{WEB}@{REALM}",
               "dfs.web.authentication.kerberos.keytab": self.keytab(),
               "dfs.namenode.kerberos.internal.spnego.principal": f"{WEB}@{REALM}"}
        # Hadoop wants HTTPS beside SASL for blocks; these pages go without.
        blocks = {"dfs.block.access.token.enable": "true", "dfs.data.transfer.protection": LEVELS,
                  "ignore.secure.ports.for.testing": "true"}
        return conf.merged(super().special(name), {"core-site": kerberos, "hdfs-site": {**principals, **keytabs, **web, **blocks}},
                           self._yarn_site() if self._nodemanagers else {})

    def _yarn_site(self):
        yarn = {f"yarn.{kind}.{what}": value for kind in ("resourcemanager", "nodemanager")
                for what, value in (("principal", f"{DAEMON}@{REALM}"), ("keytab", self.keytab()))}
        return {"yarn-site": yarn, "mapred-site": {"mapreduce.jobhistory.principal": f"{DAEMON}@{REALM}",
                                                   "mapreduce.jobhistory.keytab": self.keytab(),
                                                   "yarn.app.mapreduce.am.staging-dir": "/user"}}
