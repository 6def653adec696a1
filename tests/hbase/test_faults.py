# SPDX-License-Identifier: Apache-2.0
"""Region servers and clients that are killed, stopped or started anew while calls go by the core."""
import os
import pathlib
import random
import re
import signal
import socket
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shared import LIMIT, LONG, OURS, ClusterTest  # noqa: E402  (needs the path above)
from writer import Writer  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ready import until  # noqa: E402

ROWS = 200  # acknowledged before and after the fault


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

    @LONG
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

    @LONG
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

    @LONG
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

    @LONG
    def test_thousands_of_connects_leave_nothing(self):
        self.run_client("Rows", "check", "before", 20)
        before = self.held()
        for _ in range(30):
            clients = [socket.create_connection(("127.0.0.1", self.cluster.ports[OURS]), LIMIT) for _ in range(100)]
            for client in clients:
                client.settimeout(LIMIT)
                client.sendall(b"VBNH\0\4")
            for client in clients:
                self.assertEqual(client.recv(4, socket.MSG_WAITALL), b"VBNG")
                client.close()
        self.await_held(before)
        self.assertIn("checked 20", self.run_client("Rows", "check", "connects", 20).stdout)

    @LONG
    def test_a_client_that_does_not_read_holds_up_nobody(self):
        self.run_client("Rows", "check", "before", 20)
        before = self.held()
        slow = Writer(self.cluster, "slow", "flood")
        self.addCleanup(lambda: slow.process.poll() is None and slow.process.kill())
        slow.await_rows(2)
        slow.process.send_signal(signal.SIGSTOP)
        self.assertIn("checked 50", self.run_client("Rows", "check", "beside", 50).stdout)
        slow.process.send_signal(signal.SIGCONT)
        slow.await_rows(slow.acknowledged + 2)
        slow.process.send_signal(signal.SIGSTOP)
        slow.stop(signal.SIGKILL)
        self.await_held(before)
        self.assertIn("checked 20", self.run_client("Rows", "check", "after", 20).stdout)

    def test_malformed_hellos_at_the_servers_port_change_nothing(self):
        files = f"/proc/{self.cluster.daemons[OURS][0]}/fd"
        self.run_client("Rows", "check", "before", 20)
        before = len(os.listdir(files))
        mutate = random.Random(5)
        for number in range(300):
            hello = bytearray(b"VBNH\0\4" + mutate.randbytes(20))
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
