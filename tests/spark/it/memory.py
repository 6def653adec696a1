# SPDX-License-Identifier: Apache-2.0
"""Executors that are pods to the kernel, with a memory control group as large as docs/spark.md says and a /dev/shm each: they fill
all that they may, and none is killed."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from shared import FULL, NO_HOST_LOCAL, ROOT, SparkTest, expected

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from daemons.memory_group import MemoryGroup, Unavailable  # noqa: E402  (needs the path above)

MIB = 1 << 20
HEAP, OUTPUTS, JVM, IN_FLIGHT = 1024, 128, 384, 512  # MiB
BUFFERS = 64 + HEAP // 2  # 1.25 * 512 would be more than half of the JVM's direct memory
LIMIT = HEAP + OUTPUTS + JVM + BUFFERS
PROPERTIES = {
    **NO_HOST_LOCAL,
    "spark.executor.memory": f"{HEAP}m",
    "spark.executor.memoryOverhead": f"{LIMIT - HEAP}m",
    "spark.verbena.memory": f"{4 * OUTPUTS}m",  # what is left is less
    "spark.reducer.maxSizeInFlight": f"{IN_FLIGHT}m",
    "spark.executor.extraJavaOptions": f"-XX:+UseG1GC -Xms{HEAP}m -XX:+AlwaysPreTouch",
    "spark.serializer": "org.apache.spark.serializer.JavaSerializer",
}
PARTITIONS = {"job": "tiny", "maps": 4, "pairs": 20000, "size": 1000, "reducers": 2000}
# One task that reads 512 MB from the other executor; map outputs are four times what there is room for. Read again and again.
ONE_READER = {"job": "reread", "maps": 128, "pairs": 8000, "size": 1000, "reducers": 1}
READ = 400 * MIB
SHM = "mount -t tmpfs -o mode=1777,size=2g tmpfs /dev/shm"
POD = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]
# Java of the executors: each takes the next group; there is none for one that replaces a killed executor.
JAVA = """#!/bin/sh
for group in {groups}; do
    mkdir "$0.$(basename "$group")" 2>/dev/null || continue
    echo $$ > "$group/cgroup.procs" && exec {pod} '{shm} && exec {java} "$@"' sh "$@"
done
echo "a third executor: one of two has ended" >&2
exit 1
"""


@unittest.skipUnless(FULL, "runs with --full: 1 GB of map outputs")
class OwnMemory(SparkTest):
    """On the cluster that the tests share: the application names a Java that enters a group."""

    def setUp(self):
        try:
            self.groups = [self._group(), self._group()]
            subprocess.run([*POD, SHM], check=True, capture_output=True, text=True, timeout=60)
        except (Unavailable, OSError) as cause:
            self.skipTest(str(cause))
        except subprocess.CalledProcessError as failed:
            self.skipTest(f"no mount namespace: {failed.stderr.strip()}")
        folder = tempfile.TemporaryDirectory(prefix="verbena-java-")
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        os.mkdir(os.path.join(self.home, "bin"))
        path = os.path.join(self.home, "bin", "java")
        groups = " ".join(group.path for group in self.groups)
        with open(path, "w") as file:
            file.write(JAVA.format(groups=groups, pod=" ".join(POD), shm=SHM,
                                   java=os.path.realpath(shutil.which("java"))))
        os.chmod(path, 0o755)

    def _group(self):
        group = MemoryGroup("executor", LIMIT * MIB)
        self.addCleanup(group.remove)
        return group

    def test_heap_map_outputs_and_blocks_in_flight_fit_the_container_all_at_once(self):
        ours = self.application({**PROPERTIES, "spark.executorEnv.JAVA_HOME": self.home})
        answers = [ours.run("one-reader", ONE_READER, seed) for seed in range(3)]  # the first blocks come by Spark's transport
        answers.append(ours.run("partitions", PARTITIONS))
        self.assert_alive()
        for answer, job in zip(answers, [ONE_READER] * 3 + [PARTITIONS]):
            self.assertEqual((answer["records"], answer["checksum"]), expected(job))
            self.assertEqual(answer["failed_tasks"], 0)
        for log in ours.await_said("map outputs in memory"):
            self.assertIn(f"at most {OUTPUTS} MiB in /dev/shm (container of {LIMIT} MiB", log)
        ours.stop()
        self.assertGreater(ours.total("by shared-memory messages") + ours.total("by TCP"), READ)
        self.assertGreater(ours.total("of map outputs to memory"), OUTPUTS * MIB)

    def assert_alive(self):
        for group in self.groups:
            self.assertEqual(group.killed(), 0, f"executors of {LIMIT} MiB that the kernel ended")
            self.assertGreater(len(group.members()), 0, "an executor lives in each group")
