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
from cluster.twohosts import NAMES, TwoHosts, table  # noqa: E402
from sides import hosts  # noqa: E402
from test_lustre import Diskless, Jobs  # noqa: E402

NODES = ("nodemanager1", "nodemanager2")


class TwoDiskless(TwoHosts, Diskless):
    """All but the second NodeManager, and the containers below it, are on the first host."""


@LONG
class TwoHostsTest(Jobs):
    def setUp(self):
        why = hosts.missing()
        if why:
            self.skipTest(why)

    def start(self, kind, umask=0o022, **more):
        folder = self.temporary()
        TwoDiskless.hosts = folder / "hosts"
        TwoDiskless.hosts.write_text(table(hosts.ADDRESSES))
        TwoDiskless.pair = hosts.Hosts(str(folder / "pair"))
        TwoDiskless.pair.start()
        self.addCleanup(TwoDiskless.pair.stop)
        super().start(kind, umask, **more)
        self.client = self.cluster  # a JVM for each command: the resident one knows nothing of the other names

    def test_jobs_of_two_hosts_read_each_others_map_outputs_from_the_shared_folder(self):
        self.start(TwoDiskless)
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
