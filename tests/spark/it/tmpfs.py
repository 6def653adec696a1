# SPDX-License-Identifier: Apache-2.0
"""Workers whose /dev/shm is small, and then full, each in a mount namespace of its own, and who may lock no memory."""
import errno
import os
import re
import resource
import subprocess
import unittest

from shared import LONG, NO_HOST_LOCAL, Application, Shared, SparkTest, await_true, gone, spark
from faults import SHUFFLE, SMALL

NAMESPACE = ["unshare"] + ([] if os.getuid() == 0 else ["--map-root-user"]) + ["--mount", "--propagation", "private"]
MOUNT = "mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm && "
LOCKED = 65536  # bytes that a process may lock; root may always, unless it has lost the right to
LIMIT = f"ulimit -l {LOCKED >> 10} && exec setpriv --bounding-set=-ipc_lock "

# A map output has 12 MB: some of them fit into this /dev/shm, and not all of them.
FITS_IN_PART = {**SHUFFLE, "pairs": 12000}
CANNOT_SEE = " WARN .*/dev/shm.*spark.shuffle.readHostLocalDisk=false"
# Seeds of no other test: while stock runs the job, too, the executors tell the driver what they have counted.
FIRST_SEED, JOBS_MOST = 101, 20


def possible():
    return subprocess.run([*NAMESPACE, "sh", "-c", MOUNT + LIMIT + "true"], capture_output=True, check=False).returncode == 0


def used(pid):
    """Bytes in use in /dev/shm as a process sees it, also those of files that have no name any more."""
    state = os.statvfs(f"/proc/{pid}/root/dev/shm")
    return (state.f_blocks - state.f_bfree) * state.f_frsize


def fill(pid):
    """Leaves no byte free in /dev/shm as a process sees it."""
    with open(f"/proc/{pid}/root/dev/shm/filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(1 << 16))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


@LONG
@unittest.skipUnless(possible(), "no right to make a mount namespace, or no setpriv")
class SmallTmpfs(SparkTest):
    """The tests are steps: the second one fills what the first one has left."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = spark.Cluster(os.path.join(Shared.folder.name, "tmpfs"),
                                    wrapper=[*NAMESPACE, "sh", "-c", MOUNT + LIMIT + '"$@"', "sh"]).__enter__()
        cls.addClassCleanup(cls.cluster.stop)

    def _run(self, job, properties, said):
        """Runs the job in an application of its own until both executors have said it, as one may do a job alone while the other
        one starts, and some times more, as the first blocks come by Spark's transport; the application, and their logs. Memory is
        free again soon after a job."""
        ours = Application({"spark.verbena.memory": "1g", "spark.cleaner.periodicGC.interval": "1s", **properties},
                           cluster=self.cluster)
        self.addCleanup(ours.stop)
        for seed in range(FIRST_SEED, FIRST_SEED + JOBS_MOST):
            self.assertEqual(self.right(ours, "tmpfs", job, seed)["failed_tasks"], 0)
            if sum(re.search(said, log) is not None for log in ours.executor_logs()) == 2:
                break
        ours.await_said(said)
        for seed in range(seed + 1, seed + 4):
            self.right(ours, "tmpfs", job, seed)
        self.assertEqual({resource.prlimit(pid, resource.RLIMIT_MEMLOCK)[0] for pid in ours.executors()}, {LOCKED})
        ours.stop()
        self.assertEqual(len(ours.executor_logs()), 2)
        self.assertIn("executors together", ours.driver_log())
        await_true(lambda: not ours.executors(), "the executors end, and with them their hold on unlinked slabs")
        for worker in self.cluster.pids()[1:]:
            gone(ours, root=f"/proc/{worker}/root")
        return ours, ours.executor_logs()

    def test_a_what_does_not_fit_goes_to_disk_and_memory_that_neighbours_cannot_see_comes_by_messages(self):
        ours, logs = self._run(FITS_IN_PART, {}, CANNOT_SEE)
        self.assertGreater(ours.total("to disk"), 4 << 20)
        self.assertGreater(ours.total("by shared-memory messages"), 1 << 20,
                           "neighbours cannot map each other's memory")
        for log in logs:
            self.assertRegex(log, r"at most 60 MiB in /dev/shm \(the free space of /dev/shm\)")
            warnings = [line for line in log.splitlines() if " WARN " in line and "/dev/shm" in line]
            self.assertEqual(len(warnings), 2, warnings)
            self.assertIn("remount,size=", warnings[0])
            self.assertIn("spark.shuffle.readHostLocalDisk=false", warnings[1])

    def test_b_on_a_full_tmpfs_map_outputs_are_sparks_files_with_one_warning_that_names_the_cure(self):
        for worker in self.cluster.pids()[1:]:
            await_true(lambda pid=worker: used(pid) < 1 << 16, "the kernel takes back what ended executors held")
            fill(worker)
        ours, logs = self._run(SMALL, NO_HOST_LOCAL, " WARN .*/dev/shm")
        self.assertEqual(ours.total("of map outputs to memory"), 0)
        for log in logs:
            warnings = [line for line in log.splitlines() if " WARN " in line and "/dev/shm" in line]
            self.assertEqual(len(warnings), 1, warnings)
            self.assertIn("--shm-size", warnings[0])
