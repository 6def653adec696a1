# SPDX-License-Identifier: Apache-2.0
"""What the tests with daemons share: one cluster."""
import atexit
import os
import pathlib
import re
import tempfile
import unittest

from servers import conf
from servers.cluster import Cluster
from daemons.ready import until

FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
LONG = unittest.skipUnless(FULL, "with --full")
LIMIT = 300  # seconds for one program, also on a loaded machine
OURS, STOCK = "regionserver1", "regionserver2"
ENDS = re.compile(r"Verbena ends: (\d+) calls by the core and (\d+) by TCP \((\d+) not answered, (\d+) while connecting, "
                  r"(\d+) after failures, (\d+) registry, 0 too many\); (\d+) bytes sent and (\d+) received")


_SHARED = []  # the cluster, once it runs


def shared():
    """The cluster of this process; it ends with it."""
    if not _SHARED:
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        cluster = Cluster(os.path.join(folder.name, "hbase"), 2, os.environ["VERBENA_HBASE_JAR"],
                          own={STOCK: dict.fromkeys(conf.OURS)}, quick=True, tied=True,
                          properties={"verbena.hbase.connect.wait.ms": 1000 * LIMIT,
                                                            "verbena.hbase.inline.max.us": 100_000})
        cluster.start()
        atexit.register(cluster.stop)
        _SHARED.append(cluster)
    return _SHARED[0]


class Calls:
    """What tests do with programs of a cluster, cls.cluster."""

    def run_client(self, *words, **options):
        """Runs a program that has to end well; gives what it printed, and what its log says."""
        done = self.cluster.run(*words, timeout=LIMIT, **options)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-6000:])
        return done

    def counts(self, log):
        """Numbers of the sentence at a client's end: core, tcp, not answered, connecting, failures, registry, sent, received."""
        self.assertRegex(log, ENDS)
        return [int(number) for number in ENDS.findall(log)[-1]]

    def said(self, text):
        """What a log says about us."""
        return [line for line in text.splitlines() if "Verbena" in line]


class ClusterTest(Calls, unittest.TestCase):
    """A master and a region server with the plugin, and a region server without it."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = shared()

    def setUp(self):
        ended = [name for name in self.cluster.names() if name not in self.cluster.running()]
        for name in ended:
            self.cluster.launch(name)
        if ended:
            self.cluster.await_all()

    def held(self, name=OURS):
        """What a server's process holds: descriptors, mappings, threads."""
        process = pathlib.Path(f"/proc/{self.cluster.daemons[name][0]}")
        return {"descriptors": len(os.listdir(process / "fd")), "mappings": len((process / "maps").read_text().splitlines()),
                "threads": len(os.listdir(process / "task"))}

    def await_held(self, before):
        """Waits until no more is held than before, but for a few that come and go with other clients."""
        def lack():
            more = {name: count for name, count in self.held().items() if count > before[name] + 20}
            return f"{more} are left, before it were {before}" if more else None
        until(lambda: None, lack, OURS, self.cluster.work)
