# SPDX-License-Identifier: Apache-2.0
"""Workers that are containers: mount, PID and IPC namespaces and 2 GiB of memory each, on a network of their own or the host's."""
import glob
import os
import signal
import subprocess
import threading
import unittest

from shared import FULL, Application, Shared, SparkTest, await_true, gone, spark
from faults import SHUFFLE
from network import DRIVER
from results import JOBS
from sides import hosts

LIMIT = 2 << 30
FITS = {**SHUFFLE, "pairs": 12000}  # 144 MB of map outputs
EXECUTOR = {"spark.executor.memory": "768m"}  # leaves more than a quarter of the limit
NAMESPACES = "exec unshare --mount --propagation private --pid --ipc --fork --kill-child --mount-proc "
OWN_SHM = "mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm && "


def group_folder():
    """Where a memory group can be made below this process's own, and the name of its limit: control groups 1 or 2."""
    with open("/proc/self/cgroup") as file:
        groups = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in groups:
        if "memory" in controllers.split(","):
            return f"/sys/fs/cgroup/memory{path}", "memory.limit_in_bytes"
    return "/sys/fs/cgroup", "memory.max"


class Group:
    """Commands that run in a memory group each, which are gone at the end."""

    def __init__(self, name):
        folder, self._limit = group_folder()
        self._prefix = os.path.join(folder, f"verbena-{name}-{os.getpid()}")

    def wrapper(self, inside=""):
        """What stands before a command; inside: shell words that run in the namespaces first."""
        script = (f'mkdir "$0-$$" && echo {LIMIT} > "$0-$$/{self._limit}" && echo $$ > "$0-$$/cgroup.procs" && '
                  f"{NAMESPACES} sh -c '{inside}exec \"$@\"' sh \"$@\"")
        return ["sh", "-c", script, self._prefix]

    def remove(self):
        """When all processes in them have ended."""
        def removed(path):
            try:
                os.rmdir(path)
            except OSError:
                return not os.path.exists(path)
            return True

        for path in glob.glob(self._prefix + "-*"):
            await_true(lambda path=path: removed(path), f"the processes of {path} leave it")


def missing():
    """What is in the way of containers here, or None."""
    if hosts.missing():
        return hosts.missing()
    group = Group("probe")
    done = subprocess.run([*group.wrapper(OWN_SHM), "true"], capture_output=True, text=True, check=False)
    group.remove()
    return done.stderr.strip() or "no control group of its own" if done.returncode else None


@unittest.skipUnless(FULL, "runs with --full: a cluster of its own")
class Containers(SparkTest):
    @classmethod
    def setUpClass(cls):
        why = missing()
        if why:
            raise unittest.SkipTest(why)
        super().setUpClass()
        cls.work = os.path.join(Shared.folder.name, cls.__name__)
        cls.group = Group(cls.__name__)
        cls.addClassCleanup(cls.group.remove)

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
        container = cls.group.wrapper(OWN_SHM)
        cls.start_cluster(wrapper={first: container, second: [*pair.enter(), *container]}, hosts=hosts.ADDRESSES, master=first)

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
        cls.start_cluster(wrapper=cls.group.wrapper())

    def test_a_neighbours_read_each_others_memory(self):
        ours = self.start({})
        self.assert_right(ours)
        ours.stop()
        self.assertGreater(ours.total("from mapped memory of neighbours"), 1 << 20)
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
