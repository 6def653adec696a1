# SPDX-License-Identifier: Apache-2.0
"""Region servers and clients that are killed, stopped or started anew while calls go by the core."""
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LIMIT, OURS, ClusterTest  # noqa: E402  (needs the path above)
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402

ROWS = 200  # acknowledged before and after the fault


class Writer:
    """A client that writes rows one after the other and tells which were acknowledged."""

    def __init__(self, cluster, table):
        self._log = open(os.path.join(cluster.work, f"{table}.log"), "w+")
        self.process = subprocess.Popen(cluster.argv("Rows", ["write", table]), env=cluster.environment(), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log)
        self.acknowledged, self._condition = 0, threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._condition:
                self.acknowledged = int(line) + 1
                self._condition.notify_all()
        with self._condition:
            self._condition.notify_all()

    def await_rows(self, count):
        with self._condition:
            done = self._condition.wait_for(lambda: self.acknowledged >= count or self.process.poll() is not None, LIMIT)
        if not done or self.process.poll() is not None:
            raise AssertionError(f"{self.acknowledged} of {count} rows: {self.said()[-3000:]}")

    def stop(self, number=signal.SIGTERM):
        """Gives the number of acknowledged rows and the log."""
        self.process.send_signal(number)
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        self.process.stdout.close()
        said = self.said()
        self._log.close()
        return self.acknowledged, said

    def said(self):
        self._log.seek(0)
        return self._log.read()


class FaultsTest(ClusterTest):
    def writer(self, table):
        writer = Writer(self.cluster, table)
        self.addCleanup(lambda: writer.process.poll() is None and writer.process.kill())
        writer.await_rows(ROWS)
        return writer

    def test_no_acknowledged_row_is_lost_when_a_region_server_is_killed(self):
        writer = self.writer("killed")
        self.cluster.kill(OURS)
        writer.await_rows(writer.acknowledged + ROWS)
        rows, log = writer.stop()
        self.assertGreater(self.counts(log)[0], 50)
        self.assertIn(f"verified {rows}", self.run_client("Rows", "verify", "killed", rows).stdout)

    def test_a_stopped_region_server_goes_on_where_it_was(self):
        writer = self.writer("stopped")
        self.cluster.kill(OURS, signal.SIGSTOP)
        self.addCleanup(self.cluster.kill, OURS, signal.SIGCONT)
        at_stop = pathlib.Path(f"/proc/{self.cluster.daemons[OURS][0]}/stat")
        until(lambda: None, lambda: None if at_stop.read_text().rpartition(") ")[2][0] == "T" else "not yet stopped", OURS,
              self.cluster.work)
        self.cluster.kill(OURS, signal.SIGCONT)
        writer.await_rows(writer.acknowledged + ROWS)
        rows, _ = writer.stop()
        self.assertIn(f"verified {rows}", self.run_client("Rows", "verify", "stopped", rows).stdout)

    def test_a_region_server_says_at_its_end_what_it_has_answered(self):
        self.run_client("Rows", "check", "ends", 100)
        log = pathlib.Path(self.cluster.log(OURS))
        before = log.stat().st_size
        process = self.cluster.daemons[OURS]
        processes.end([process], LIMIT)
        with open(log) as file:
            file.seek(before)
            said = file.read()
        inlined = re.search(r"Verbena ends: .* from others; (\d+) reads answered on event loops", said)
        self.assertIsNotNone(inlined, said[-3000:])
        self.assertGreater(int(inlined.group(1)), 10)

    def test_killed_clients_leave_the_server_as_it_was(self):
        log = pathlib.Path(self.cluster.log(OURS))
        before = log.stat().st_size
        for number in range(3):
            self.writer(f"client{number}").stop(signal.SIGKILL)
        self.assertIn("checked 20", self.run_client("Rows", "check", "after", 20).stdout)
        with open(log) as file:
            file.seek(before)
            said = file.read()
        self.assertGreaterEqual(said.count("calls by the core"), 3)
        self.assertNotIn("caught unexpected downstream exception", said)
        self.assertNotIn(" ERROR ", said)

    def test_malformed_hellos_at_the_servers_port_change_nothing(self):
        files = f"/proc/{self.cluster.daemons[OURS][0]}/fd"
        self.run_client("Rows", "check", "before", 20)
        before = len(os.listdir(files))
        mutate = random.Random(5)
        for number in range(300):
            hello = bytearray(b"VBNH\0\1" + mutate.randbytes(20))
            hello[mutate.randrange(len(hello))] = mutate.randrange(256)
            with socket.create_connection(("127.0.0.1", self.cluster.ports[OURS]), LIMIT) as client:
                client.sendall(hello[:mutate.randrange(1, len(hello))])
                if number % 2:
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(4096):
                        pass
        until(lambda: None, lambda: None if len(os.listdir(files)) <= before + 20 else "descriptors are left", OURS,
              self.cluster.work)
        self.assertIn("checked 20", self.run_client("Rows", "check", "malformed", 20).stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
