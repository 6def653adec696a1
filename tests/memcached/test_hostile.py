# SPDX-License-Identifier: Apache-2.0
"""Inputs of the kinds that memcached 1.6.39 to 1.6.45 mended: sets that fail in each way, huge tokens, prefixes of any length. The
build's sanitizers watch the server; at the end it holds nothing for these clients, and every item can still be evicted."""
import base64
import random
import unittest

import shared

ROUNDS = 200
COMMANDS = (b"mg", b"ms", b"md", b"ma", b"me", b"get", b"gat", b"set", b"incr", b"touch", b"delete", b"lru_crawler metadump",
            b"lru_crawler crawl", b"stats cachedump", b"watch", b"lru tune", b"slabs reassign", b"verbosity", b"cache_memlimit")
SIZES = (0, 1, 31, 32, 249, 250, 251, 1000, 2000)


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.server = shared.Server("-m", "16", "-t", "2", "-D", ":")
        self.addCleanup(self.server.stop)

    def check(self):
        """Nothing is pinned: new items find place in full memory. The leak detector has nothing to say."""
        stats = self.server.stats("verbena")
        self.assertEqual((stats["held_bytes"], stats["drafts_bytes"]), ("0", "0"))
        fill = b"".join(b"set fill%d 0 0 100000\r\n%s\r\n" % (i, b"x" * 100000) for i in range(400))
        self.assertEqual(self.server.ask(fill), b"STORED\r\n" * 400)
        self.assertGreater(int(self.server.stats()["evictions"]), 0)
        self.assertEqual(self.server.stop(), (0, ""))

    def test_sets_that_fail_keep_nothing(self):
        long = base64.b64encode(b"k" * 251)
        fails = [b"ms a 2 MX\r\nab\r\n", b"ms a 2 v v\r\nab\r\n", b"ms a 2 C1\r\nab\r\n", b"ms a 2 ME\r\nab\r\n",
                 b"ms none 2 MR\r\nab\r\n", b"ms none 2 MA\r\nab\r\n", b"ms a 2 T\r\nab\r\n",
                 b"ms a 2 Fx\r\nab\r\n", b"ms a 2 O" + b"x" * 32 + b"\r\nab\r\n",
                 b"ms a 2000000\r\n" + b"x" * 2000000 + b"\r\n", b"ms !!! 2 b\r\nab\r\n", b"ms %s 2 b\r\nab\r\n" % long,
                 b"ms a 2 I C1\r\nab\r\n",
                 b"ms a 300000 MA\r\n" + b"x" * 300000 + b"\r\n", b"cas a 0 0 2 1\r\nab\r\n", b"add a 0 0 2\r\nab\r\n"]
        for _ in range(ROUNDS // 20):
            for fail in fails:
                answer = self.server.ask(b"ms a 900000\r\n%s\r\n" % (b"y" * 900000) + fail + b"mn\r\n")
                self.assertTrue(answer.startswith(b"HD\r\n"), fail[:30])
                self.assertTrue(answer.endswith(b"\r\nMN\r\n"), fail[:30])
        self.check()

    def test_sets_that_break_off_keep_nothing(self):
        for size in (10, 5000, 200000):
            for sent in (0, 1, size // 2, size, size + 1):
                with self.server.connect() as client:
                    client.sendall(b"ms half %d T0 c k q\r\n" % size + (b"x" * size + b"\r\n")[:sent])
                answer = self.server.ask(b"ms bad %d\r\n" % size + b"x" * size + b"yy" + b"\r\nmn\r\n")
                self.assertTrue(answer.startswith(b"CLIENT_ERROR bad data chunk\r\n"), answer[:80])
        shared.wait_for(lambda: self.server.stats("verbena")["drafts_bytes"] == "0", "the end of unfinished values")
        self.check()

    def test_tokens_of_any_size_get_one_answer(self):
        chance = random.Random(1)
        for command in COMMANDS:
            for _ in range(ROUNDS // 4):
                words = [chance.choice([b"9", b"k", b"-", b"=", b"\xff", b"T9", b"\0"]) * chance.choice(SIZES)
                         for _ in range(chance.randint(0, 24))]
                line = (command + b" " + b" ".join(words))[:2000]
                if command == b"watch" and not line[6:].split(b"\0")[0].strip():
                    continue  # this one is right
                with self.server.connect() as client:
                    client.sendall(line + b"\r\n" + b"mn\r\n")
                    client.sendall(b"version\r\n")
                    data = b""
                    while b"VERSION" not in data:
                        chunk = client.recv(1 << 16)
                        if not chunk:
                            break  # closed, as after a set whose value is announced as huge
                        data += chunk
                        if b"MN" not in data and command in (b"ms", b"set"):
                            break  # it waits for a value
        self.check()

    def test_prefixes_of_any_length_and_content(self):
        for length in (0, 1, 248, 249):
            self.server.ask(b"get %s:\r\nset %s: 0 0 1\r\nx\r\ndelete %s:\r\n" % ((b"p" * length,) * 3))
        binary = base64.b64encode(bytes(range(0, 58)) + b":" + bytes(range(59, 180)))
        self.server.ask(b"ms %s 1 b\r\nx\r\nmg %s b v\r\nmd %s b\r\n" % ((binary,) * 3))
        dump = self.server.ask(b"stats detail dump\r\n").splitlines()
        lines = [b"PREFIX %s get 1 hit 0 set 1 del 1" % (b"p" * length) for length in (0, 1, 248, 249)]
        self.assertEqual(sorted(dump), sorted([b"END", *lines]))
        self.check()


if __name__ == "__main__":
    unittest.main()
