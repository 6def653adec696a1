# SPDX-License-Identifier: Apache-2.0
"""Pinned items (flag K): they outlive pressure and a warm restart, within their share of the memory, until their release."""
import pathlib
import signal
import tempfile
import unittest

import shared

BIG = 700000
PINS = ((b"none", b""), (b"small", b"s"), (b"page", b"p" * 5000), (b"big", b"b" * BIG))
FULL = b"SERVER_ERROR pinned items have used up their share; release some, or raise verbena_pinned or -m\r\n"


class PinnedTest(unittest.TestCase):
    def server(self, *flags):
        server = shared.Server(*flags)
        self.addCleanup(server.stop)
        return server

    def press(self, server):
        """Stores three times -m 64, small and large."""
        before = int(server.stats()["evictions"])
        for start in range(0, 100000, 10000):
            server.ask(b"".join(b"set press%d 0 0 1000 noreply\r\n%s\r\n" % (i, b"x" * 1000)
                                for i in range(start, start + 10000)) + b"mn\r\n")
        for i in range(130):
            server.ask(b"set large%d 0 0 %d\r\n%s\r\n" % (i, BIG, b"x" * BIG))
        self.assertGreater(int(server.stats()["evictions"]), before)

    def pin_all(self, server):
        for key, value in PINS:
            self.assertEqual(server.ask(b"ms %s %d K F7\r\n%s\r\n" % (key, len(value), value)), b"HD K1\r\n")

    def expect_all(self, server, pinned):
        for key, value in PINS:
            self.assertEqual(server.ask(b"mg %s v f K\r\n" % key),
                             b"VA %d f7 K%d\r\n%s\r\n" % (len(value), pinned, value), key)

    def test_they_outlive_pressure_until_they_are_released(self):
        server = self.server("-m", "64")
        self.pin_all(server)
        self.press(server)
        self.expect_all(server, 1)
        self.assertEqual(server.stats("verbena")["pinned_items"], str(len(PINS)))
        self.assertEqual(server.ask(b"md big C18446744073709551615 K\r\nmd nobody K\r\n"), b"EX\r\nNF\r\n")
        for key, _ in PINS:
            self.assertEqual(server.ask(b"md %s K\r\n" % key), b"HD\r\n")
        self.expect_all(server, 0)
        self.assertEqual([server.stats("verbena")[name] for name in ("pinned_items", "pinned_bytes")], ["0", "0"])
        self.press(server)
        self.press(server)  # what was read stays for a round
        self.assertEqual(server.ask(b"".join(b"mg %s s\r\n" % key for key, _ in PINS)), b"EN\r\n" * len(PINS))

    def test_their_share_is_bounded_and_a_refusal_leaves_the_old_value(self):
        server = self.server("-m", "64", "-o", "verbena_pinned=10")
        answers = [server.ask(b"ms pin%d %d K\r\n%s\r\n" % (i, BIG, b"x" * BIG)) for i in range(12)]
        stored = answers.index(FULL)
        self.assertEqual(answers, [b"HD K1\r\n"] * stored + [FULL] * (12 - stored))
        shown = server.stats("verbena")
        self.assertEqual(shown["pinned_limit"], str((64 << 20) // 10 // 4096 * 4096))
        self.assertLess(int(shown["pinned_limit"]) - int(shown["pinned_bytes"]), BIG + 4096)
        self.assertEqual((shown["pinned_items"], shown["pinned_refused"]), (str(stored), str(12 - stored)))
        self.assertEqual(server.ask(b"ms pin0 %d K\r\n%s\r\nmg pin0 s K\r\n" % (BIG, b"y" * BIG)), FULL + b"HD s%d K1\r\n" % BIG)
        self.assertEqual(server.ask(b"set pin0 0 0 1\r\nx\r\nms new %d K\r\n%s\r\n" % (BIG, b"y" * BIG)), b"STORED\r\nHD K1\r\n")
        self.assertEqual(server.ask(b"append new 0 0 %d\r\n%s\r\nmg new s\r\n" % (BIG // 4, b"y" * (BIG // 4))),
                         FULL + b"HD s%d\r\n" % BIG)

    def test_none_are_possible_with_a_share_of_0(self):
        server = self.server("-o", "verbena_pinned=0")
        self.assertEqual(server.ask(b"ms a 1 K\r\nx\r\nms a 1\r\nx\r\nmg a K\r\n"), FULL + b"HD\r\nHD K0\r\n")

    def test_they_are_pinned_after_a_warm_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("-m", "64", "-e", str(pathlib.Path(folder) / "items"))
            server = self.server(*flags)
            self.pin_all(server)
            server.process.send_signal(signal.SIGUSR1)
            server.process.wait(shared.ANSWER_SECONDS)
            server = self.server(*flags)
            self.expect_all(server, 1)
            self.press(server)
            self.expect_all(server, 1)


if __name__ == "__main__":
    unittest.main()
