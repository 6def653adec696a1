# SPDX-License-Identifier: Apache-2.0
"""Everything that wears a cache out, in one server and in a random order, with the same requests to Debian's memcached: memory
full of values of mixed sizes, values half sent, slow readers, items that expire or are flushed together, pipelining. What is
compared is counted: items kept, sets that failed, memory, commands and bytes of a turn. VERBENA_TEST_SEED=n repeats a run."""
import contextlib
import os
import pathlib
import random
import tempfile
import unittest
import unittest.mock

import shared

MIB = 1 << 20
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
MEMORY, ROUNDS, HOLDERS = (256, 6, 400) if FULL else (32, 1, 60)
SIZES = (20, 300, 1000, 5000, 20000, 100000, 300000, 900000)
COMMANDS, TURN_BYTES, BUFFER = 20, 256 << 10, 16 << 10  # of a turn: -R and server/budget.h
THREADS = 2
CLIENT_BYTES = 4096  # of a connection


class Side:
    """One server under torture; what it did in numbers."""

    def __init__(self, folder, stock, seed):
        self.stock = stock
        self.random = random.Random(seed)  # the same for both
        options = os.environ.get("ASAN_OPTIONS", "")  # what a sanitizer keeps of freed memory is not the server's
        options += ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
        with unittest.mock.patch.dict(os.environ, {"ASAN_OPTIONS": options}):
            self.server = shared.Server("-m", str(MEMORY), "-t", str(THREADS), "-c", "4000", stock=stock,
                                        unix=f"{folder}/{'stock' if stock else 'ours'}")
        self.held = contextlib.ExitStack()  # connections that stay open
        self.connections = 0
        self.next_key = 0
        self.newest = []  # (key, value bytes), the youngest last
        self.failed = 0
        self.wrong = []
        self.start = self.memory()
        self.most = 0

    def memory(self):
        """Bytes of the process: its own, and the items that it shares."""
        lines = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))

    def look(self):
        self.most = max(self.most, self.memory() - self.start)

    def hold(self):
        self.connections += 1
        return self.held.enter_context(self.server.connect())

    # ---------------------------------------------------------------------------------------- phases

    def mixed_sizes(self, bytes_to_set=2 * MEMORY * MIB):
        """Sets of all sizes, more than fits."""
        total = 0
        while total < bytes_to_set:
            lines, batch = [], []
            while sum(size for _, size in batch) < 4 * MIB:
                size = self.random.choice(SIZES)
                size = self.random.randint(size // 2, size)
                key = b"mixed%d" % self.next_key
                self.next_key += 1
                lines.append(b"set %s 0 0 %d\r\n%s\r\n" % (key, size, b"v" * size))
                batch.append((key, size))
            answers = self.server.ask(b"".join(lines)).splitlines()
            self.failed += len(batch) - answers.count(b"STORED")
            self.newest += batch
            total += sum(size for _, size in batch)
        self.look()

    def half_sent(self):
        """Clients that begin sets of all sizes and never end them."""
        for i in range(HOLDERS):
            size = SIZES[i % len(SIZES)]
            self.hold().sendall(b"set half%d 0 0 %d\r\n" % (i, size) + b"h" * (size // 2))
        self.small_sets(2000)
        self.look()

    def slow_readers(self):
        """Clients that ask for values and do not read."""
        for i, size in enumerate(SIZES):
            self.server.ask(b"set slow%d 0 0 %d\r\n%s\r\n" % (i, size, b"s" * size))
        for i in range(HOLDERS):
            client = self.hold()
            client.sendall(b"get slow%d\r\n" % (i % len(SIZES)) * (1 + 2000000 // SIZES[i % len(SIZES)] % 500))
        self.small_sets(2000)
        self.look()

    def mass_expiry(self):
        """Items that expire together, and sets and gets while they go."""
        self.server.ask(b"".join(b"set brief%d 0 1 30 noreply\r\n%s\r\n" % (i, b"b" * 30) for i in range(40000)))
        shared.wait_for(lambda: self.server.ask(b"get brief39999\r\n") == b"END\r\n", "the end of what expires")
        self.small_sets(5000)
        self.look()

    def pipelining(self):
        """Clients that send many requests before they read."""
        value = b"p" * 3000
        self.server.ask(b"set piped 0 0 3000\r\n%s\r\n" % value)
        wanted = b"VALUE piped 0 3000\r\n%s\r\nEND\r\n" % value
        answer = self.server.ask(b"get piped\r\nmn\r\n" * 3000 + b"get " + b" ".join([b"piped"] * 2000) + b"\r\n")
        many = b"VALUE piped 0 3000\r\n%s\r\n" % value * 2000 + b"END\r\n"
        if answer not in ((wanted + b"MN\r\n") * 3000 + many, b"END\r\nMN\r\n" * 3000 + b"END\r\n"):
            self.wrong.append(f"pipelined answers: {len(answer)} bytes, {answer[:60]!r}")
        self.look()

    def small_sets(self, count):
        answers = self.server.ask(b"".join(b"set small%d 0 0 100\r\n%s\r\n" % (i, b"x" * 100) for i in range(count)))
        self.failed += count - answers.count(b"STORED")

    # ------------------------------------------------------------------------------------------ ends

    def kept(self):
        """Value bytes that are there: of all that was set, and as a share of the newest that take half of the memory."""
        asked = b"".join(b"mg %s s\r\n" % key for key, _ in self.newest)
        there = [line.startswith(b"HD") for line in self.server.ask(asked).splitlines()]
        sizes = [size for _, size in self.newest]
        newest, first = 0, len(sizes)
        while newest < MEMORY * MIB // 2:
            first -= 1
            newest += sizes[first]
        found = [size if is_there else 0 for size, is_there in zip(sizes, there)]
        return sum(found), sum(found[first:]) / newest

    def let_go(self):
        """The clients that held memory end."""
        self.held.close()
        shared.wait_for(lambda: self.server.stats()["curr_connections"] in ("1", "2"), "the end of the others' connections")


PHASES = ("mixed_sizes", "half_sent", "slow_readers", "mass_expiry", "pipelining")


class TortureTest(unittest.TestCase):
    def test_a_cache_that_everything_happens_to_is_not_behind_memcached(self):
        for round_number in range(ROUNDS):
            seed = int(os.environ.get("VERBENA_TEST_SEED", 20261127)) + round_number
            with self.subTest(f"VERBENA_TEST_SEED={seed}"), tempfile.TemporaryDirectory() as folder:
                self.torture(folder, seed)

    def torture(self, folder, seed):
        stock, ours = Side(folder, True, seed), Side(folder, False, seed)
        for side in (stock, ours):
            self.addCleanup(side.server.stop)
            self.addCleanup(side.held.close)
        order = random.Random(seed).sample(PHASES, len(PHASES))
        for phase in order:
            for side in (stock, ours):
                getattr(side, phase)()
        self.assertEqual(ours.wrong, [])
        self.assertEqual(ours.failed, 0, f"sets failed, memcached's: {stock.failed}; {order}")
        self.compare_memory(stock, ours)
        self.compare_turns(ours)
        for side in (stock, ours):
            side.let_go()
        self.compare_items(stock, ours)

    def compare_memory(self, stock, ours):
        bound = MEMORY * MIB * 3 // 2 + ours.connections * CLIENT_BYTES  # docs/memcached.md, "Use of memory"
        slack = bound // 4 + 16 * MIB  # of the allocator, and of a sanitizer's shadow
        print(f"memory: memcached {stock.most / MIB:.0f}, ours {ours.most / MIB:.0f} MiB, at most {bound / MIB:.0f} for -m "
              f"{MEMORY}; sets that failed: memcached {stock.failed}, ours {ours.failed}", flush=True)
        self.assertLessEqual(ours.most, bound + slack)

    def compare_turns(self, ours):
        stats = ours.server.stats("verbena")
        self.assertLessEqual(int(stats["turn_commands_most"]), COMMANDS)
        self.assertLessEqual(int(stats["turn_sent_most"]), TURN_BYTES)
        self.assertLessEqual(int(stats["turn_taken_most"]), 2 * TURN_BYTES + BUFFER)

    def compare_items(self, stock, ours):
        for side in (stock, ours):
            self.assertEqual(side.server.ask(b"flush_all\r\n"), b"OK\r\n")
            side.newest = []
            side.mixed_sizes(3 * MEMORY * MIB)
        (stock_kept, stock_newest), (our_kept, our_newest) = stock.kept(), ours.kept()
        print(f"kept: memcached {stock_kept / MIB:.1f}, ours {our_kept / MIB:.1f} MiB of values; of the newest {MEMORY // 2} MiB "
              f"{stock_newest:.3f} and {our_newest:.3f}", flush=True)
        self.assertEqual(ours.failed, 0)
        self.assertGreaterEqual(our_kept, stock_kept * 95 // 100)
        self.assertGreaterEqual(our_newest, max(0.9, stock_newest * 0.95))
        self.assertEqual(ours.server.stats("verbena")["held_bytes"], "0")


if __name__ == "__main__":
    unittest.main()
