# SPDX-License-Identifier: Apache-2.0
"""Hadoop's key server (KMS) for encryption zones, and how services start whose jars are not among those of ../pom.xml."""
import os
import pathlib

from daemons import jvm
from daemons.errors import Failed
from daemons.ports import HOST
from daemons.ready import until
from daemons.sites import LOG4J, site

from . import java, ready
from .cluster import Cluster

POM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "services", "pom.xml")
KMS = "org.apache.hadoop.crypto.key.kms.server.KMSWebServer"
KEY_ACCESS = ("MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK", "READ")


def argv(name, folder, plugin, options):
    """The command line of a daemon of Hadoop 3.4.2, whatever version the others have: Maven Central has no later one of these."""
    beside = java.jars.fetched("hadoop-services-3.4.2", POM)
    library = java.jars.fetched("hadoop-3.4.2", java.POM, properties={"hadoop.version": "3.4.2"})
    path = ":".join([folder, f"{beside}/*", f"{library}/*", *([plugin] if plugin else [])])
    return [jvm.program(), "-Xmx512m", *options, *java.OPENS, "-cp", path, name]


class WithKms(Cluster):
    """Beside another class of clusters: class Mine(WithKms, Other). The KMS has the key KEY before the NameNode starts."""

    KEY = "zone-key"

    def port_names(self):
        return [*super().port_names(), "kms"]

    def special(self, name):
        return {"core-site": {"hadoop.security.key.provider.path": f"kms://http@{HOST}:{self.ports['kms']}/kms"}}

    def _format(self, *more):
        self.launch_kms()
        done = self.run("hadoop", "key", "create", self.KEY)
        if done.returncode != 0:
            raise Failed(f"no key for the zone: {done.stdout}{done.stderr}")
        super()._format(*more)

    def launch_kms(self):
        """Starts it, or starts it again with its keys."""
        folder = self.conf("kms")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(self.data(), exist_ok=True)
        texts = {"core-site.xml": site({"hadoop.tmp.dir": f"{self.data()}/tmp"}), "log4j.properties": LOG4J,
                 "kms-site.xml": site({"hadoop.kms.http.port": self.ports["kms"], "hadoop.kms.http.host": HOST,
                                       "hadoop.kms.key.provider.uri": f"jceks://file@{self.data()}/keys.jceks"}),
                 "kms-acls.xml": site({f"default.key.acl.{access}": "*" for access in KEY_ACCESS})}
        for name, text in texts.items():
            pathlib.Path(folder, name).write_text(text)
        options = [*self.options(), f"-Dkms.config.dir={folder}", f"-Dkms.log.dir={self.work}/log",
                   f"-Dlog4j.configuration=file:{folder}/log4j.properties", f"-Djava.io.tmpdir={self.data()}"]
        self.spawn("kms", argv(KMS, folder, None, options), self.environment(folder))
        until(self.check_alive, self._no_kms, "the KMS", self.work)

    def _no_kms(self):
        names = ready.ask(self.ports["kms"], "/kms/v1/keys/names?user.name=test")
        return "the KMS does not answer" if names is None else None
