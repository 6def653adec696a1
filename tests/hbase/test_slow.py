# SPDX-License-Identifier: Apache-2.0
"""A client that does not read its answers takes a bounded part of a region server's memory."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LONG, OURS, ClusterTest  # noqa: E402  (needs the path above)
from servers import java  # noqa: E402

CALLS = 256  # whose answers are of 512 KiB


class SlowReaderTest(ClusterTest):
    @LONG
    def test_a_server_reads_no_more_calls_of_a_client_that_does_not_read(self):
        folder = os.path.join(self.cluster.work, "slow")
        java.compiled(HERE / "strangers", folder, [f"{java.library()}/*", self.cluster.plugin])
        argv = java.argv("SlowReader", [str(self.cluster.ports[OURS]), str(CALLS)], self.cluster.client_conf(),
                         self.cluster.plugin, beside=[folder])
        with open(os.path.join(self.cluster.work, "slow.log"), "w+") as log, \
                subprocess.Popen(argv, env=self.cluster.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                 text=True) as slow:
            self.addCleanup(slow.kill)

            def ask(command):
                slow.stdin.write(command + "\n")
                slow.stdin.flush()
                answer = slow.stdout.readline()
                self.assertTrue(answer, pathlib.Path(log.name).read_text()[-3000:])
                return int(answer)

            before, now = 0, ask("sent")
            while before != now:  # until the server takes no more of them during all that others do
                self.run_client("Rows", "check", "beside", 50)
                before, now = now, ask("sent")
            self.assertLess(now, CALLS)
            self.assertEqual(ask("read"), CALLS)
            slow.stdin.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
