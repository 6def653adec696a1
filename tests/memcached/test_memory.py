# SPDX-License-Identifier: Apache-2.0
"""A full server beside Debian's memcached, and clients that hold memory: values half sent, answers that nobody takes."""
import contextlib
import os
import pathlib
import tempfile
import unittest

import shared

MIB = 1 << 20
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
NO_MEMORY = b"SERVER_ERROR out of memory storing object\r\n"


def set_lines(prefix, numbers, value):
    return b"".join(b"set %s%d 0 0 %d\r\n%s\r\n" % (prefix, i, len(value), value) for i in numbers)


class MemoryCase(unittest.TestCase):
    def start(self, *flags, **others):
        server = shared.Server(*flags, **others)
        self.addCleanup(server.stop)
        return server

    def start_unix(self, *flags):
        """By a Unix socket: how much the kernel takes of an answer does not depend on the machine's TCP."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return self.start(*flags, unix=str(pathlib.Path(folder.name) / "socket"))

    def answers(self, server, requests):
        return server.ask(requests).splitlines(keepends=True)

    def count_stored(self, server, prefix, count, value):
        answers = self.answers(server, set_lines(prefix, range(count), value))
        self.assertEqual(len(answers), count)
        return answers.count(b"STORED\r\n")


class FullTest(MemoryCase):
    def kept(self, stock, size, count):
        """Which of so many values are there after all were set, one after the other."""
        server = self.start("-m", "64", stock=stock)
        self.assertEqual(self.count_stored(server, b"k", count, b"v" * size), count)
        found = self.answers(server, b"".join(b"mg k%d s\r\n" % i for i in range(count)))
        server.stop()
        return [line.startswith(b"HD") for line in found]

    def test_the_newest_values_are_kept_as_many_as_in_memcached(self):
        sizes = (1000, 100000, 300000, 600000, 1000000) if FULL else (100000, 1000000)
        for size in sizes:
            with self.subTest(size):
                count = 3 * 64 * MIB // (2 * (size + 100))
                stock, ours = self.kept(True, size, count), self.kept(False, size, count)
                print(f"values of {size} bytes: memcached keeps {sum(stock)}, ours {sum(ours)}", flush=True)
                self.assertGreaterEqual(sum(ours), sum(stock) * 95 // 100)
                newest = sum(stock) * 95 // 100
                self.assertGreaterEqual(sum(ours[-newest:]), newest * 99 // 100)

    def test_deleted_memory_can_be_used_again_without_eviction(self):
        server = self.start("-m", "16", "-M")
        value = b"v" * 1000
        fits = self.count_stored(server, b"k", 17000, value)
        self.assertLess(fits, 17000)
        deleted = self.answers(server, b"".join(b"delete k%d\r\n" % i for i in range(0, 17000, 10))).count(b"DELETED\r\n")
        stored = self.count_stored(server, b"new", deleted, value)
        self.assertGreaterEqual(stored, deleted * 8 // 10)


class HoldersTest(MemoryCase):
    def test_values_half_sent_fail_nobody_elses_sets(self):
        server = self.start("-m", "32", "-t", "2")
        value = b"v" * 1000
        self.assertEqual(self.count_stored(server, b"first", 32000, value), 32000)
        with contextlib.ExitStack() as clients:
            halves = [clients.enter_context(server.connect()) for _ in range(400)]
            for i, half in enumerate(halves):
                half.sendall(b"set half%d 0 0 10\r\nab" % i)
                if i % 40 == 0:
                    self.assertEqual(self.count_stored(server, b"between%d-" % i, 1000, value), 1000)
            self.assertEqual(self.count_stored(server, b"then", 5000, value), 5000)
            self.assertEqual(self.count_stored(server, b"large", 5, b"v" * 900000), 5)
            for half in halves:
                half.sendall(b"cdefghij\r\n")
                self.assertEqual(half.recv(100), b"STORED\r\n")
        self.assertEqual(server.stats("verbena")["drafts_lost"], "0")

    def test_of_large_values_half_sent_the_oldest_give_way(self):
        server = self.start("-m", "64", "-t", "2")
        value = b"v" * 1000000
        with contextlib.ExitStack() as clients:
            halves = [clients.enter_context(server.connect()) for _ in range(40)]
            for i, half in enumerate(halves):
                half.sendall(b"set half%d 0 0 %d\r\nab" % (i, len(value)))
            shared.wait_for(lambda: int(server.stats("verbena")["drafts_lost"]) >= 40 - 2 * 8, "the oldest give way")
            self.assertEqual(self.count_stored(server, b"k", 60, value), 60)
            answers = [shared.ask_and_close(half, value[2:] + b"\r\nmn\r\n") for half in halves]
        self.assertEqual(set(answers), {NO_MEMORY + b"MN\r\n", b"STORED\r\nMN\r\n"}) # and the connections go on
        self.assertEqual(answers[-1], b"STORED\r\nMN\r\n")
        self.assertEqual(str(answers.count(NO_MEMORY + b"MN\r\n")), server.stats("verbena")["drafts_lost"])

    def test_many_slow_readers_of_one_value_take_no_memory(self):
        server = self.start_unix("-m", "64")
        server.ask(set_lines(b"k", [0], b"v" * 1000000))
        with contextlib.ExitStack() as clients:
            before = server.resident()
            slow = [clients.enter_context(server.connect()) for _ in range(200)]
            for client in slow:
                client.sendall(b"get k0\r\n" * 8)
            shared.wait_for(lambda: int(server.stats("verbena")["held_bytes"]) > 0, "a value that is held")
            self.assertEqual(server.ask(b"mn\r\n"), b"MN\r\n")
            self.assertLess(server.resident() - before, 60 * MIB)
            self.assertEqual(server.stats("verbena")["slow_closed"], "0")
            rest = shared.ask_and_close(slow[0], b"")
        self.assertEqual(len(rest), 8 * len(b"VALUE k0 0 1000000\r\n" + b"v" * 1000000 + b"\r\nEND\r\n"))

    def test_slow_readers_of_many_values_are_closed_before_they_take_the_cache(self):
        server = self.start_unix("-m", "64")
        self.assertEqual(self.count_stored(server, b"k", 60, b"v" * 900000), 60)
        with contextlib.ExitStack() as clients:
            for i in range(60):
                slow = clients.enter_context(server.connect())
                slow.sendall(b"get k%d\r\n" % i)
                self.assertEqual(slow.recv(7), b"VALUE k")
            shared.wait_for(lambda: int(server.stats("verbena")["slow_closed"]) >= 60 - 18, "the slowest are closed")
            self.assertLessEqual(int(server.stats("verbena")["held_bytes"]), 16 * MIB)
            self.assertEqual(self.count_stored(server, b"new", 100, b"v" * 900000), 100)
