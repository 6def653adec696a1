# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces as two hosts: they reach each other, the cable is shaped and can be pulled, nothing stays."""
import os
import subprocess
import tempfile
import unittest

from driver.procs import Failed
from sides import hosts

OWN = "/proc/thread-self/ns/net"
LIMIT = 300  # seconds of one program, also on a loaded machine


class Burst(unittest.TestCase):
    def test_a_millisecond_of_the_rate_may_go_at_once_but_never_less_than_a_few_packets(self):
        self.assertEqual([hosts.burst(rate) for rate in ("100mbit", "10gbit", "25gbit")], [262144, 1250000, 3125000])


@unittest.skipIf(hosts.missing(), f"no two hosts here: {hosts.missing()}")
class TwoHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = folder.name
        self.home = os.readlink(OWN)

    @staticmethod
    def output(*words):
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True).stdout

    def reaches(self, *enter):
        """Whether the other host's address is taken by a route and answered for: by the kernel's neighbour table."""
        talk = "import socket,sys; s = socket.create_connection((sys.argv[1], 9), timeout=2)"
        target = hosts.ADDRESSES[0 if enter else 1]
        done = subprocess.run([*enter, "python3", "-c", talk, target], capture_output=True, text=True, timeout=LIMIT,
                              check=False)
        return "ConnectionRefusedError" in done.stderr  # somebody is there

    def reaches_soon(self, *enter):
        return any(self.reaches(*enter) for _ in range(10))

    def test_both_reach_each_other_until_the_cable_is_pulled_and_nothing_stays(self):
        with hosts.Hosts(self.work) as pair:
            first, second = os.readlink(OWN), self.output(*pair.enter(), "readlink", "/proc/self/ns/net").strip()
            self.assertEqual(len({self.home, first, second}), 3)
            self.assertTrue(self.reaches_soon() and self.reaches_soon(*pair.enter()))
            pair.cable(False)
            self.assertFalse(self.reaches())
            pair.cable(True)
            self.assertTrue(self.reaches_soon())
            pid = pair.enter()[2]
        self.assertEqual(os.readlink(OWN), self.home)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_the_cable_is_shaped_in_both_directions_or_a_note_says_that_it_is_not(self):
        with hosts.Hosts(self.work, "1gbit") as pair:
            for enter in ((), pair.enter()):
                shaped = "tbf" in self.output(*enter, "tc", "qdisc")
                self.assertEqual(shaped, pair.note is None)

    def test_a_failure_inside_brings_this_process_home(self):
        with self.assertRaises(Failed), hosts.Hosts(self.work):
            raise Failed("of a test")
        self.assertEqual(os.readlink(OWN), self.home)
