# SPDX-License-Identifier: Apache-2.0
"""With --full: a region server one of whose files stands still for a while."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LIMIT, LONG, OURS, Calls  # noqa: E402  (needs the path above)
from daemons.ready import until  # noqa: E402
from daemons.stall import Stall, Unavailable  # noqa: E402
from servers.cluster import Cluster  # noqa: E402

PATIENCE = 1000 * 2 * LIMIT  # ms: nobody gives up


class OneStandsStill(Cluster):
    """One region server, with the files of the table "still" on a disk of their own. Reads are on event loops if they are short."""

    def __init__(self, folder):
        work = os.path.join(folder, "hbase")
        self.disk = Stall(folder, os.path.join(work, "data", "hbase", "data", "default", "still"))
        timeouts = dict.fromkeys(["hbase.rpc.timeout", "hbase.rpc.read.timeout", "hbase.client.operation.timeout",
                                  "hbase.client.scanner.timeout.period"], PATIENCE)
        super().__init__(work, 1, os.environ["VERBENA_HBASE_JAR"], quick=True, tied=True,
                         properties={"verbena.hbase.connect.wait.ms": 1000 * LIMIT, "verbena.hbase.inline.max.us": 100_000,
                                     **timeouts})

    def launch(self, name, prefix=()):
        variables = [f"{key}={value}" for key, value in self.disk.environment().items()]
        super().launch(name, ["env", *variables] if name == OURS else prefix)


class FileThatStandsStillTest(Calls, unittest.TestCase):
    @LONG
    def test_other_rows_are_read_by_the_core_meanwhile_and_the_row_comes_when_its_file_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            try:
                self.cluster = OneStandsStill(os.path.realpath(folder))
            except Unavailable as cause:
                self.skipTest(str(cause))
            self.cluster.start()
            try:
                self.stand_still(os.path.join(folder, "client.log"))
            finally:
                self.cluster.stop()

    def stand_still(self, path):
        with open(path, "w+") as log, subprocess.Popen(self.cluster.argv("Disks"), env=self.cluster.environment(), text=True,
                                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as client:
            self.addCleanup(client.kill)

            def ask(command):
                client.stdin.write(command + "\n")
                client.stdin.flush()
                self.assertEqual(client.stdout.readline(), "done\n", pathlib.Path(path).read_text()[-3000:])

            ask("write")
            ask("get moving 100")
            with self.cluster.disk.standing():
                ask("begin still")
                until(lambda: None, lambda: None if self.cluster.disk.waiting() else "no read waits", OURS, self.cluster.work)
                ask("get moving 1000")
                self.assertNotEqual(self.cluster.disk.waiting(), [])
            ask("end")
            client.communicate(timeout=LIMIT)
            log.seek(0)
            self.assertGreater(self.counts(log.read())[0], 1100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
