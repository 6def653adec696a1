# SPDX-License-Identifier: Apache-2.0
"""Checked traffic between two guests (hosts_traffic), for tests that do something to the hosts or the network meanwhile."""
import re
import unittest

import shared

SETTINGS = "VBN_LINK_PEER_TIMEOUT=60s"  # a guest on a loaded machine may be silent for long
IMPATIENT = "VBN_LINK_PEER_TIMEOUT=5s"  # a dead peer over datagrams is known by its silence only
SECONDS = 300  # of a program that takes five on a machine of its own
ROUNDS = 40


def elsewhere(address, ipv4):
    """The address of a worker as another one's that is on the host of that IPv4 address, all in hexadecimal."""
    uid_at = 16
    other = address[:uid_at] + "4d" * 8 + address[uid_at + 16:]
    return other.replace("ffff0a000001", "ffff" + ipv4)


class TrafficTest(unittest.TestCase):
    """Whatever happens: exactly once, in order, unchanged, or an error that names the cause."""

    def setUp(self):
        self.a, self.b = shared.pair()
        self.addCleanup(self.heal)

    def heal(self):
        for guest in (self.a, self.b):
            if guest.alive():
                guest.netem()

    def start(self, way, rounds, settings=SETTINGS, limit=SECONDS, silent=None):
        """(server on a, driver on b) that have begun. silent: the driver connects to a host at that IPv4 address, too."""
        program = f"VBN_TL_ENABLE=self,{way} {settings} {shared.CORE}/hosts_traffic"
        server = self.a.start(f"{program} serve", limit)
        server.wait_output("serving")
        words = re.search(r"^[0-9a-f]{40,} [0-9a-f]+$", server.output, re.M)
        self.assertIsNotNone(words, server.output)
        other = "" if silent is None else elsewhere(words[0].split()[0], silent)
        driver = self.b.start(f"{program} drive {rounds} {words[0]} {other}", limit)
        driver.wait_output("driving")
        return server, driver

    def finish(self, server, driver):
        self.assertEqual(driver.wait(), 0, driver.output + server.output)
        self.assertIn("all answered once, unchanged, in order", driver.output)
        self.assertEqual(server.wait(), 0, server.output)
