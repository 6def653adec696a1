# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of HBase by the core, and who means no good: one line says it, HBase's own path goes on, no JVM dies."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LIMIT, LONG, OURS, ClusterTest  # noqa: E402  (needs the path above)
from writer import Writer  # noqa: E402
from daemons import processes  # noqa: E402
from servers import java  # noqa: E402

NOBODY = 65534
ROWS = 50
ROOT_ONLY = unittest.skipUnless(os.getuid() == 0, "needs root to be another user, or to mount")
TINY_SHM = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"', "sh"]
NO_DIRECT_MEMORY = ["-XX:MaxDirectMemorySize=768k"]  # HBase itself makes small calls with it
FEW = ["prlimit", "--nofile=400", "--memlock=0"]


class PoorTest(ClusterTest):
    """Clients and a server that lack something."""

    def rows(self, table, prefix=(), options=(), folder=None):
        """A client that is started so and checks all kinds of calls; what it said."""
        argv = [*prefix, *self.cluster.argv("Rows", ["check", table, ROWS], folder, options=options)]
        done = subprocess.run(argv, env=self.cluster.environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-6000:])
        self.assertIn(f"checked {ROWS}", done.stdout)
        return done.stderr

    def assert_by_core(self, log):
        self.assertRegex(log, rf"calls to \S+:{self.cluster.ports[OURS]} go by the core: shm")
        self.assertGreater(self.counts(log)[0], ROWS)

    @LONG
    def test_a_jvm_without_direct_memory_says_so_and_its_calls_go_by_tcp(self):
        writer = Writer(self.cluster, "direct", options=NO_DIRECT_MEMORY)
        self.addCleanup(lambda: writer.process.poll() is None and writer.process.kill())
        writer.await_rows(ROWS)
        log = writer.stop()[1]
        self.assertRegex(log, r"Verbena: calls to \S+ go by TCP for a while: .*MaxDirectMemorySize")
        self.assertEqual(self.counts(log)[0], 0)

    @LONG
    def test_few_open_files_and_no_locked_memory_are_borne(self):
        self.assert_by_core(self.rows("files", FEW))

    @LONG
    @ROOT_ONLY
    def test_a_tiny_dev_shm_is_borne(self):
        self.assert_by_core(self.rows("shm", TINY_SHM))

    @LONG
    @ROOT_ONLY
    def test_a_server_with_little_of_all_is_borne(self):
        processes.end([self.cluster.daemons[OURS]], LIMIT)
        self.cluster.launch(OURS, [*FEW, *TINY_SHM])
        self.addCleanup(processes.end, [self.cluster.daemons[OURS]], LIMIT)
        self.cluster.await_all()
        self.assert_by_core(self.rows("server"))

    @LONG
    @ROOT_ONLY
    def test_another_user_with_the_key_goes_by_the_core(self):
        """It may read everything, so that jars and site files need not be copied."""
        stranger = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search",
                    "--ambient-caps=+dac_read_search"]
        above = pathlib.Path(self.cluster.work).parent
        above.chmod(0o711)
        self.addCleanup(above.chmod, 0o700)
        key = pathlib.Path(self.cluster.work, "strangers-key")
        key.write_bytes(pathlib.Path(self.cluster.key).read_bytes())
        key.chmod(0o600)
        os.chown(key, NOBODY, NOBODY)
        if subprocess.run([*stranger, "test", "-r", key], check=False).returncode != 0:
            self.skipTest(f"another user cannot read {key}: a folder above it is closed")
        folder = self.cluster.client("stranger", **{"verbena.hbase.key.file": str(key)})
        self.assert_by_core(self.rows("stranger", stranger, folder=folder))


class HostileTest(ClusterTest):
    """Bytes that are no calls, in streams of the core."""

    @LONG
    def test_damaged_frames_in_streams_of_the_core_change_nothing(self):
        count = 1600
        folder = os.path.join(self.cluster.work, "strangers")
        java.compiled(HERE / "strangers", folder, [f"{java.library()}/*", self.cluster.plugin])
        self.run_client("Rows", "check", "before", 20)
        before, process = self.held(), self.cluster.daemons[OURS]
        argv = java.argv("Frames", [str(self.cluster.ports[OURS]), str(count), "17"], self.cluster.client_conf(),
                         self.cluster.plugin,
                         beside=[folder])
        done = subprocess.run(argv, env=self.cluster.environment(), capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-6000:])
        self.assertIn(f"sent {count}", done.stdout)
        self.await_held(before)
        self.assertTrue(processes.alive(*process))
        self.assertIn("checked 20", self.run_client("Rows", "check", "after", 20).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
