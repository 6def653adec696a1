# SPDX-License-Identifier: Apache-2.0
"""An application that runs for an hour, while executors are killed and decommissioned, and disk and /dev/shm are full."""
import collections
import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from shared import FULL, Application, Shared, SparkTest, await_true, gone, spark
from sides import owndisk

SECONDS = int(os.environ.get("VERBENA_HOUR_SECONDS", "3600"))
ROUND = SECONDS / 6  # each has every fault once, or a little later
EACH = 3  # times that every fault happens at least; on a slow machine the hour is longer for it
DISK = 36 << 30  # bytes of the executors' disk, a sparse file
MEMORY = 14 << 30  # bytes: two executors with 2 GiB of heap and of map outputs each, driver, stock, page cache
DISK_FULL, MEMORY_FULL = 5, 20  # seconds
SETTINGS = {
    "spark.executor.memory": "2g", "spark.verbena.memory": "2g", "spark.cleaner.periodicGC.interval": "20s",
    # The heap is there from the beginning, so that what grows is not the heap.
    "spark.executor.extraJavaOptions": "-Xms2g -XX:+AlwaysPreTouch",
    "spark.decommission.enabled": "true", "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    # A full disk fails the tasks that need it, at once and on both executors, with any shuffle.
    "spark.task.maxFailures": "100", "spark.stage.maxConsecutiveAttempts": "100"}


def tiny(gigabytes, **more):
    """A job whose map outputs have so many bytes."""
    maps = max(8, 4 * gigabytes)
    return {"job": "tiny", "maps": maps, "pairs": gigabytes * 1_000_000 // maps, "size": 990, "reducers": maps, **more}


GROUP = {"job": "groupby", "maps": 8, "pairs": 125000, "size": 990, "reducers": 8}
JOBS = {"one": tiny(1), "group": GROUP, "sort": {**GROUP, "job": "sortby"}, "words": tiny(4, words=256), "six": tiny(6),
        "combine": {"job": "reducebykey", "maps": 8, "pairs": 500000, "keys": 200000, "reducers": 8},
        "join": {"job": "smj", "left": 2000000, "right": 1000000, "groups": 1000}}
THIRTY = tiny(30)  # twice in an hour
# What an executor may have more of at the end than it had once in the first third of its life.
SLACK = {"descriptors": 30, "mappings": 300, "threads": 30, "RssAnon KiB": 256 << 10}


def missing():
    """What is in the way of such an hour here, or None."""
    if owndisk.missing():
        return owndisk.missing()
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < 2 * DISK:
        return f"{folder} has not {2 * DISK >> 30} GiB free, for the executors' disk and for stock's files"
    if available() < MEMORY:
        return f"this machine has not {MEMORY >> 30} GiB of memory available"
    return None


def available():
    """Bytes of memory that programs can still get."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


class Place(owndisk.OwnDisk):
    """Where the workers live: a disk and a /dev/shm that only they have, and that can be filled."""

    def __init__(self, work):
        super().__init__(work, "disk", DISK, then="mount -t tmpfs -o mode=1777,size=6g tmpfs /dev/shm")

    def fill(self, path, seconds):
        """Leaves no byte free in a folder of its file systems, for some seconds."""
        folder = self.seen(path)
        filler = os.path.join(folder, "filler")
        end = time.monotonic() + seconds
        with open(filler, "wb") as file:
            try:
                while time.monotonic() < end:
                    self._take(folder, file)
                    time.sleep(0.1)  # what others free meanwhile is taken, too
            finally:
                os.unlink(filler)

    @staticmethod
    def _take(folder, file):
        state = os.statvfs(folder)
        try:
            if state.f_bavail:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, state.f_bavail * state.f_frsize)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise  # else somebody was quicker


def usage(pid):
    """What a process has of the things that must not grow. Before, the C library gives back what it keeps free for threads to
    come, which grew by 117 MiB in half an hour; a Java that cannot ask for it leaves it."""
    subprocess.run(["jcmd", str(pid), "System.trim_native_heap"], capture_output=True, check=False)
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    with open(f"/proc/{pid}/maps") as file:
        mappings = sum(1 for _ in file)
    return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "mappings": mappings,
            "threads": int(status["Threads"]), "RssAnon KiB": int(status["RssAnon"].split()[0])}


def age(pid):
    """Ticks between the machine's start and the process's."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])


class Troubles(threading.Thread):
    """One fault after the other, the younger executor being the victim, so that the elder one lives for the whole time."""

    def __init__(self, ours, place):
        super().__init__(daemon=True)
        self._ours, self._place, self._ended = ours, place, threading.Event()
        self.done = collections.Counter()

    def least(self):
        """How often the rarest fault has happened."""
        return min(self.done[name] for name in self._faults())

    def _faults(self):
        return {"kill": lambda: self._signal(signal.SIGKILL),
                "full disk": lambda: self._place.fill(self._place.mount, DISK_FULL),
                "full /dev/shm": lambda: self._place.fill("/dev/shm", MEMORY_FULL),
                "decommission": lambda: self._signal(signal.SIGPWR)}

    def run(self):
        faults = self._faults()
        for name in itertools.cycle(faults):
            if self._ended.wait(ROUND / len(faults)):
                return
            faults[name]()
            self.done[name] += 1
            print(f"    {name}", flush=True)

    def _signal(self, number):
        while not self._ended.wait(0.2):  # the victim of the last fault may not have been replaced yet
            try:
                executors = sorted(self._ours.executors(), key=age)
                if len(executors) == 2:
                    os.kill(executors[1], number)
                    return
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just ended by itself

    def stop(self):
        self._ended.set()
        self.join()


@unittest.skipUnless(FULL, "runs with --full: an hour and more")
class Hour(SparkTest):
    @classmethod
    def setUpClass(cls):
        why = missing()
        if why:
            raise unittest.SkipTest(why)
        super().setUpClass()
        work = os.path.join(Shared.folder.name, "hour")
        os.makedirs(work)
        cls.place = Place(work).__enter__()
        cls.addClassCleanup(cls.place.stop)
        cls.cluster = spark.Cluster(work, wrapper=cls.place.enter(), local=cls.place.folder).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def test_results_are_right_and_nothing_grows_whatever_happens(self):
        jobs = {**JOBS, **({"thirty": THIRTY} if SECONDS >= 3600 else {})}
        answers = self._answers(jobs)
        ours = Application(SETTINGS, cluster=self.cluster)
        self.addCleanup(ours.stop)
        await_true(lambda: len(ours.executors()) == 2, "both executors run")
        elder = min(ours.executors(), key=age)
        troubles = Troubles(ours, self.place)
        troubles.start()
        try:
            samples = self._run(ours, jobs, answers, elder, troubles)
        finally:
            troubles.stop()
        self.assertGreaterEqual(troubles.least(), EACH, f"the faults ended by themselves: {troubles.done}")
        self._assert_no_growth(samples)
        ours.stop()
        gone(ours, root=self.place.seen(""))

    def _answers(self, jobs):
        """Stock's results, by an application of its own, which takes its files with it."""
        stock = Application({}, name="stock")
        try:
            return {name: self._result(stock, name, job) for name, job in jobs.items()}
        finally:
            stock.stop()

    @staticmethod
    def _result(application, name, job):
        print(f"    {name} by {application.hello['shuffle_manager']}", flush=True)
        answer = application.run(name, job)
        application.drop(name)
        return answer["records"], answer["checksum"]

    def _run(self, ours, jobs, answers, elder, troubles):
        """Jobs until the time is over and every fault has happened; what the elder executor had between them."""
        order, samples = random.Random(1), []
        end = time.monotonic() + SECONDS
        large = [end - SECONDS * 0.9, end - SECONDS * 0.4] if "thirty" in jobs else []
        while time.monotonic() < end or troubles.is_alive() and troubles.least() < EACH:
            name = order.choice(list(JOBS))
            if large and time.monotonic() > large[0]:
                large.pop(0)
                name = "thirty"
            began = time.monotonic()
            self.assertEqual(self._result(ours, name, jobs[name]), answers[name], name)
            samples.append(usage(elder))
            print(f"    {name}: {time.monotonic() - began:.1f} s, {samples[-1]}", flush=True)
        return samples

    def _assert_no_growth(self, samples):
        self.assertGreaterEqual(len(samples), 9, "too few jobs to tell growth from the first ones")
        third = len(samples) // 3
        for what, slack in SLACK.items():
            first = max(sample[what] for sample in samples[:third])
            last = min(sample[what] for sample in samples[-third:])
            self.assertLessEqual(last, first + slack, f"{what}: {[sample[what] for sample in samples]}")
