# SPDX-License-Identifier: Apache-2.0
"""A cluster on two hosts with names and networks of their own: the second NodeManager with its containers, and the second DataNode,
are on the second one."""
import pathlib

from .cluster import Cluster

NAMES = ("vbn-one", "vbn-two")
SECOND = ("nodemanager2", "datanode2")
# A name and a table of names that are seen by this command and its children alone.
NAMED = ["unshare", "--uts", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"']
RESOURCES = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
HISTORY = ("address", "webapp.address", "admin.address")
LOOPBACK = "127.0.0.1"


def table(addresses):
    """The text of a table of names for both hosts."""
    return f"{LOOPBACK} localhost\n" + "".join(f"{address} {name}\n" for address, name in zip(addresses, NAMES))


class TwoHosts(Cluster):
    """pair: has enter(), which stands before a command on the second host (ohb/sides/hosts.py); hosts: the file of the table."""

    pair = hosts = None

    def wrapper(self, name):
        second = name in SECOND
        return [*(self.pair.enter() if second else []), *NAMED, str(self.hosts), NAMES[second]]

    def place(self, name):
        """This process does not have the table of names."""
        names = dict(reversed(line.split()) for line in pathlib.Path(self.hosts).read_text().splitlines())
        return names[NAMES[1]] if name in SECOND else LOOPBACK

    def site(self, name):
        site = super().site(name)
        core, hdfs, yarn, mapred = (site[part] for part in ("core-site", "hdfs-site", "yarn-site", "mapred-site"))
        here = NAMES[name in SECOND]
        core["fs.defaultFS"] = core["fs.defaultFS"].replace(LOOPBACK, NAMES[0])
        for part, keys, host in (
                (yarn, [f"yarn.resourcemanager.{key}" for key in RESOURCES], NAMES[0]),
                (mapred, [f"mapreduce.jobhistory.{key}" for key in HISTORY], NAMES[0]),
                (hdfs, ["dfs.namenode.rpc-address"], NAMES[0]),
                (hdfs, [f"dfs.datanode.{key}" for key in ("hostname", "address", "ipc.address")], here),
                (yarn, [f"yarn.nodemanager.{key}" for key in ("address", "localizer.address", "webapp.address")], here)):
            part.update({key: part[key].replace(LOOPBACK, host) for key in keys if key in part})
        yarn.update({"yarn.resourcemanager.hostname": NAMES[0], "yarn.resourcemanager.bind-host": "0.0.0.0"})
        mapred["mapreduce.jobhistory.bind-host"] = "0.0.0.0"
        if name == "datanode2":
            hdfs["dfs.datanode.http.address"] = hdfs["dfs.datanode.http.address"].replace(LOOPBACK, here)
        return site
