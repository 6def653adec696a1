# SPDX-License-Identifier: Apache-2.0
"""Two hosts with names and networks of their own and one shared folder: NodeManagers without local disks."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "ohb"))

import jobs  # noqa: E402  (needs the paths above)
from case import LONG  # noqa: E402
from cluster import conf  # noqa: E402
from sides import hosts  # noqa: E402
from test_lustre import Diskless, Jobs  # noqa: E402

NAMES = ("vbn-one", "vbn-two")
NODES = ("nodemanager1", "nodemanager2")
# A name and a table of names that are seen by this command and its children alone.
NAMED = ["unshare", "--uts", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"']
RESOURCES = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")


class TwoHosts(Diskless):
    """All but the second NodeManager, and the containers below it, are on the first host."""

    pair = table = None

    def wrapper(self, name):
        second = name == NODES[1]
        return [*(self.pair.enter() if second else []), *NAMED, str(self.table), NAMES[second]]

    def site(self, name):
        site = super().site(name)
        yarn, mapred = site["yarn-site"], site["mapred-site"]
        for key in [f"yarn.resourcemanager.{part}" for part in RESOURCES]:
            yarn[key] = yarn[key].replace("127.0.0.1", NAMES[0])
        yarn.update({"yarn.resourcemanager.hostname": NAMES[0], "yarn.resourcemanager.bind-host": "0.0.0.0"})
        for key in ("address", "webapp.address", "admin.address"):
            mapred[f"mapreduce.jobhistory.{key}"] = mapred[f"mapreduce.jobhistory.{key}"].replace("127.0.0.1", NAMES[0])
        mapred["mapreduce.jobhistory.bind-host"] = "0.0.0.0"
        if name in NODES:
            for key in ("address", "localizer.address", "webapp.address"):
                yarn[f"yarn.nodemanager.{key}"] = yarn[f"yarn.nodemanager.{key}"].replace("127.0.0.1", NAMES[NODES.index(name)])
        return site


@LONG
class TwoHostsTest(Jobs):
    def setUp(self):
        why = hosts.missing()
        if why:
            self.skipTest(why)

    def start(self, kind, umask=0o022, **more):
        folder = self.temporary()
        TwoHosts.table = folder / "hosts"
        TwoHosts.table.write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for address, name in zip(hosts.ADDRESSES, NAMES)))
        TwoHosts.pair = hosts.Hosts(str(folder / "pair"))
        TwoHosts.pair.start()
        self.addCleanup(TwoHosts.pair.stop)
        super().start(kind, umask, **more)
        self.client = self.cluster  # a JVM for each command: the resident one knows nothing of the other names

    def test_jobs_of_two_hosts_read_each_others_map_outputs_from_the_shared_folder(self):
        self.start(TwoHosts)
        nodes = self.cluster.run("yarn", "node", "-list").stdout
        for name in NAMES:
            self.assertIn(name, nodes)
        marks = {(pathlib.Path(self.cluster.local()) / node / "verbena-shared").read_text() for node in NODES}
        self.assertEqual(len(marks), len(NODES))
        for source in ("shared", "core"):
            counters, _ = self.sort(ours=True, more={"verbena.shuffle.source": source})
            ours, moved = counters[jobs.GROUP], counters["Map-Reduce Framework"]["Reduce shuffle bytes"]
            self.assertEqual(ours.get("Bytes by shared files", 0), moved if source == "shared" else 0)
            self.assertEqual(ours.get("Bytes by shm", 0) + ours.get("Bytes by tcp", 0), 0 if source == "shared" else moved)
        self.count(ours=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
