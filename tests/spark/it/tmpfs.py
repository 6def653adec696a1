# SPDX-License-Identifier: Apache-2.0
"""Workers whose /dev/shm is small or full, each in a mount namespace of its own."""
import os
import subprocess
import unittest

from shared import NO_HOST_LOCAL, Application, Shared, SparkTest, spark
from faults import SHUFFLE

NAMESPACE = ["unshare"] + ([] if os.getuid() == 0 else ["--map-root-user"]) + ["--mount", "--propagation", "private"]
MOUNT = "mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm && "
FILL = "{ cat /dev/zero >/dev/shm/filler; [ -s /dev/shm/filler ]; } 2>/dev/null && "


def possible():
    return subprocess.run([*NAMESPACE, "sh", "-c", MOUNT + "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(possible(), "no right to make a mount namespace")
class SmallTmpfs(SparkTest):
    def _logs(self, before, properties):
        """Runs the job on a cluster whose workers run `before` in their namespace; logs of the executors."""
        work = os.path.join(Shared.folder.name, f"tmpfs-{Shared.count}")
        with spark.Cluster(work, wrapper=[*NAMESPACE, "sh", "-c", before + 'exec "$@"', "sh"]) as cluster:
            ours = Application({"spark.verbena.memory": "1g", **properties}, cluster=cluster)
            try:
                self.assertEqual(self.right(ours, "tmpfs", SHUFFLE)["failed_tasks"], 0)
            finally:
                ours.stop()
            self.assertEqual(len(ours.executor_logs()), 2)
            return ours, ours.executor_logs()

    def test_what_does_not_fit_goes_to_disk_and_memory_that_neighbours_cannot_see_comes_by_messages(self):
        ours, logs = self._logs(MOUNT, {})
        self.assertGreater(ours.total("to disk"), 4 << 20)
        self.assertGreater(ours.total("by shared-memory messages"), 16 << 20,
                           "neighbours cannot map each other's memory")
        for log in logs:
            self.assertRegex(log, r"at most 60 MiB in /dev/shm \(what /dev/shm has free\)")
            warnings = [line for line in log.splitlines() if " WARN " in line and "/dev/shm" in line]
            self.assertEqual(len(warnings), 2, warnings)
            self.assertIn("remount,size=", warnings[0])
            self.assertIn("spark.shuffle.readHostLocalDisk=false", warnings[1])

    def test_on_a_full_tmpfs_map_outputs_are_sparks_files_with_one_warning_that_names_the_cure(self):
        ours, logs = self._logs(MOUNT + FILL, NO_HOST_LOCAL)
        self.assertEqual(ours.total("of map outputs to memory"), 0)
        for log in logs:
            warnings = [line for line in log.splitlines() if " WARN " in line and "/dev/shm" in line]
            self.assertEqual(len(warnings), 1, warnings)
            self.assertIn("--shm-size", warnings[0])
