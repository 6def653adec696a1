# SPDX-License-Identifier: Apache-2.0
"""Workers that are containers: mount, PID and IPC namespaces and 2 GiB of memory each, on a network of their own or the host's."""
import os
import signal
import subprocess
import sys
import threading
import unittest

from shared import FULL, ROOT, Application, Shared, SparkTest, await_true, gone, spark
from faults import SHUFFLE
from network import DRIVER
from results import JOBS
from sides import hosts

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from daemons.memory_group import MemoryGroup, Unavailable  # noqa: E402  (needs the path above)

LIMIT = 2 << 30
FITS = {**SHUFFLE, "pairs": 12000}  # 144 MB of map outputs
EXECUTOR = {"spark.executor.memory": "768m"}  # leaves more than a quarter of the limit
NAMESPACES = ["unshare", "--mount", "--propagation", "private", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
OWN_SHM = ["sh", "-c", 'mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm && exec "$@"', "sh"]


def container(group, *inside):
    """What stands before a command; inside: a command that runs the rest in the namespaces."""
    return [*group.wrapper(), *NAMESPACES, *inside]


def missing():
    """What is in the way of containers here, or None."""
    if hosts.missing():
        return hosts.missing()
    try:
        with MemoryGroup("probe", LIMIT) as group:
            done = subprocess.run([*container(group, *OWN_SHM), "true"], capture_output=True, text=True, check=False)
    except Unavailable as cause:
        return str(cause)
    return (done.stderr.strip() or "no namespaces") if done.returncode else None


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
class Containers(SparkTest):
    @classmethod
    def setUpClass(cls):
        why = missing()
        if why:
            raise unittest.SkipTest(why)
        super().setUpClass()
        cls.work = os.path.join(Shared.folder.name, cls.__name__)
        cls.groups = [cls.group(number) for number in (1, 2)]

    @classmethod
    def group(cls, number):
        made = MemoryGroup(f"{cls.__name__}{number}", LIMIT)
        cls.addClassCleanup(made.remove)
        return made

    @classmethod
    def start_cluster(cls, **options):
        cls.cluster = spark.Cluster(cls.work, **options).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def start(self, properties):
        ours = Application({**EXECUTOR, **properties}, cluster=self.cluster)
        self.addCleanup(ours.stop)
        return ours

    def assert_right(self, ours):
        for seed in (1, 2, 3):  # the first blocks come by Spark's transport, while connections are made
            for job in ("groupby", "sortby"):
                self.assertEqual(self.right(ours, job, JOBS[job], seed)["failed_tasks"], 0)
        for log in ours.await_said("map outputs in memory"):
            self.assertRegex(log, r"MiB in /dev/shm \(a quarter of 2048 MiB")


class OnOwnNetworks(Containers):
    """As on Kubernetes, or with Docker's bridge: neither memory nor sockets are shared."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pair = hosts.Hosts(cls.work).__enter__()
        cls.addClassCleanup(pair.stop)
        first, second = hosts.ADDRESSES
        one, other = (container(group, *OWN_SHM) for group in cls.groups)
        cls.start_cluster(wrapper={first: one, second: [*pair.enter(), *other]}, hosts=hosts.ADDRESSES, master=first)

    def test_blocks_come_by_tcp_and_memory_is_what_the_container_leaves(self):
        ours = self.start(DRIVER)
        self.assert_right(ours)
        ours.stop()
        self.assertGreater(ours.total("by TCP"), 1 << 20)
        self.assertEqual(ours.total("from mapped memory of neighbours"), 0)
        for worker in self.cluster.pids()[1:]:
            gone(ours, root=f"/proc/{worker}/root")


class OnTheHostsNetwork(Containers):
    """With the host's network and /dev/shm, as YARN's containers have them; the tests are steps, the second one ends a
    container."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_cluster(wrapper={number: container(group) for number, group in enumerate(cls.groups, 1)})

    def test_a_neighbours_read_each_others_memory(self):
        ours = self.start({})
        self.assert_right(ours)
        ours.stop()
        self.assertGreater(ours.total("from mapped memory of neighbours"), 1 << 20)
        gone(ours)

    def test_a_second_container_takes_no_memory_of_the_first_ones_map_outputs(self):
        ours = self.start({})
        for seed in range(3):  # when the last shuffle begins, each executor has learnt of the other one
            self.right(ours, "fits", FITS, seed)
        ours.stop()
        self.assertGreater(ours.total("of map outputs to memory"), 300 << 20)
        self.assertEqual(ours.total("to disk"), 0)
        gone(ours)

    def test_b_a_container_that_is_killed_as_a_whole_costs_time_but_not_the_result(self):
        ours = self.start({})
        usual = self.right(ours, "killed", FITS)["tasks"]
        whole = set(ours.executors())
        killer = threading.Thread(target=self._kill, args=(ours.map_outputs(), ours))
        killer.start()
        answer = self.right(ours, "killed", FITS, 5)
        killer.join()
        self.assertGreaterEqual(answer["tasks"], usual)
        await_true(lambda: not whole <= set(ours.executors()), "all of the container has ended")
        self.right(ours, "killed", FITS, 6)
        ours.stop()
        gone(ours)

    def _kill(self, before, ours):
        """The first process of a container, and with it all others, once a part of the map outputs is there."""
        await_true(lambda: len(ours.map_outputs() - before) >= FITS["maps"] // 2, "map outputs")
        with open(f"/proc/{self.cluster.pids()[-1]}/task/{self.cluster.pids()[-1]}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
