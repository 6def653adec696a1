# SPDX-License-Identifier: Apache-2.0
"""-e: SIGUSR1 saves the items, and the next start has them; whatever else happens, the next start is cold."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import shared

SHIM = pathlib.Path(__file__).resolve().parent / "shim.c"
# Calls at which a server is killed; until one of them comes behind the last.
SOME = (1, 30, *range(61, 72), 126, 129, 140)
STEPS = range(1, 2000) if os.environ.get("VERBENA_TEST_FULL") else SOME
ITEMS = 3000
BIG = 700000
TTL = re.compile(rb"(?<= t)\d+")


class WarmTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "items"

    def server(self, *flags):
        server = shared.Server("-e", str(self.file), *flags)
        self.addCleanup(server.stop)
        return server

    def end(self, server, number=signal.SIGUSR1):
        """Ends the server; returns what it wrote."""
        server.process.send_signal(number)
        server.process.wait(shared.ANSWER_SECONDS)
        status, said = server.stop()
        self.assertEqual(status, 0, said)
        return said

    def fill(self, server):
        server.ask(b"".join(b"set k%d %d 0 5 noreply\r\n%05d\r\n" % (i, i, i) for i in range(ITEMS)) +
                   b"set short 0 1000 1\r\nx\r\nms Zm9vCiD/ 2 b\r\nab\r\nset big 0 0 %d\r\n%s\r\nset empty 0 0 0\r\n\r\n" %
                   (BIG, b"x" * BIG) + b"ms stale 2\r\nab\r\nmd stale I\r\nset gone 0 0 1\r\nx\r\ndelete gone\r\nmn\r\n")

    def contents(self, server):
        answer = server.ask(b"get" + b"".join(b" k%d" % i for i in range(ITEMS)) + b"\r\ngets k1 k2 empty\r\nmg short v t c\r\n"
                            b"mg Zm9vCiD/ b k v c t\r\nmg big v c\r\nget stale gone\r\nmn\r\n")
        return TTL.sub(lambda match: b"some" if 100 < int(match[0]) <= 1000 else match[0], answer)  # seconds have passed

    def test_items_flags_times_and_cas_ids_come_back(self):
        for flags in ([], ["-t", "1"], ["-t", "7", "-m", "128", "-I", "2m"]):
            server = self.server()
            self.fill(server)
            before = self.contents(server)
            said = self.end(server)
            self.assertIn(f"-e {self.file}: {ITEMS + 4} items are saved", said)  # not the stale one
            self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
            server = self.server(*flags)
            after = self.contents(server)
            self.assertFalse(self.file.exists())
            self.assertEqual(after, re.sub(rb"VALUE stale .*?\r\nab\r\n", b"", before))
            cas = int(server.ask(b"gets k1\r\n").split()[4])
            new = int(server.ask(b"set k1 0 0 1\r\ny\r\ngets k1\r\n").split()[5])
            self.assertGreater(new, cas)
            self.assertIn(f"a warm start with {ITEMS + 4} of {ITEMS + 4} items", self.end(server, signal.SIGTERM))

    def test_another_end_leaves_nothing_and_an_old_file_is_used_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.server()
            self.fill(server)
            self.end(server, number)
            self.assertFalse(self.file.exists())
        server = self.server("-A")
        self.fill(server)
        server.ask(b"shutdown graceful\r\n")
        server.process.wait(shared.ANSWER_SECONDS)
        self.assertTrue(self.file.exists())
        server = self.server()
        self.assertEqual(server.stats()["curr_items"], str(ITEMS + 4))
        server.process.kill()
        server.process.wait(shared.ANSWER_SECONDS)
        self.assertEqual(self.server().stats()["curr_items"], "0")

    def test_a_file_that_is_not_whole_means_a_cold_start(self):
        server = self.server()
        self.fill(server)
        self.end(server)
        whole = self.file.read_bytes()
        wrong = [b"", whole[:10], whole[:-1], whole + b"x", whole[:len(whole) // 2]]
        places = (0, 12, 20, 33, 50, 58, 60, len(whole) // 2, len(whole) - 1)
        wrong += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:] for at in places]
        for data in wrong:
            self.file.write_bytes(data)
            server = self.server()
            self.assertEqual(server.stats()["curr_items"], "0")
            self.assertFalse(self.file.exists())
            self.assertIn("a cold start: the file is not whole", self.end(server, signal.SIGTERM))

    def test_a_smaller_memory_gets_as_many_as_fit(self):
        server = self.server()
        self.fill(server)
        self.end(server)
        server = self.server("-m", "8", "-I", "512k")
        self.assertEqual(server.ask(b"get big\r\nget k7\r\n"), b"END\r\nVALUE k7 7 5\r\n00007\r\nEND\r\n")
        self.assertIn(f"a warm start with {ITEMS + 3} of {ITEMS + 4} items", self.end(server, signal.SIGTERM))

    def test_a_full_memory_comes_back_right_and_goes_on_evicting(self):
        sizes = [1, 50, 700, 3000, 40000, 200000]

        def value(number):
            return b"%d:" % number + bytes([97 + number % 26]) * sizes[number * 7 % len(sizes)]

        def fill(server, numbers):
            server.ask(b"".join(b"set k%d 0 0 %d noreply\r\n%s\r\n" % (i, len(value(i)), value(i)) for i in numbers) + b"mn\r\n")

        def check(server, numbers):
            found = 0
            for first in range(numbers.start, numbers.stop, 50):
                asked = range(first, min(first + 50, numbers.stop))
                answer = server.ask(b"get " + b" ".join(b"k%d" % i for i in asked) + b"\r\n")
                right = [b"VALUE k%d 0 %d\r\n%s\r\n" % (i, len(value(i)), value(i)) for i in asked]
                there = [item for item in right if item in answer]
                self.assertEqual(answer, b"".join(there) + b"END\r\n")
                found += len(there)
            return found

        server = self.server("-m", "16")
        for first in range(0, 3000, 300): # 120 MB
            fill(server, range(first, first + 300))
        before = check(server, range(3000))
        self.end(server)
        server = self.server("-m", "16")
        self.assertGreater(check(server, range(3000)), before * 8 // 10) # they lie otherwise now, and some may find no place
        for first in range(3000, 6000, 300):
            fill(server, range(first, first + 300))
        self.assertGreater(check(server, range(6000)), 0)
        self.assertGreater(int(server.stats()["evictions"]), 1000)

    def test_a_file_that_cannot_be_written_is_named(self):
        self.file = self.file / "below"
        server = self.server()
        self.assertIn(f"-e {self.file}: no item is saved, and the next start is cold: No such file", self.end(server))
        self.assertEqual(os.listdir(self.file.parent.parent), [])


@unittest.skipUnless(shutil.which("cc"), "no cc, which builds the library that kills a server and moves its clock")
class ShimTest(unittest.TestCase):
    """Servers that are killed at a step of saving or loading, and those whose clock is set."""

    ITEMS = {b"k%d" % i: b"%d:" % i + b"v" * (i * 79190 % 190000) for i in range(20)}

    @classmethod
    def setUpClass(cls):
        cls.shim = tempfile.TemporaryDirectory()
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", SHIM, "-o", f"{cls.shim.name}/shim.so", "-ldl"], check=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        cls.shim.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.clock = (pathlib.Path(folder.name) / name for name in ("items", "clock"))

    def server(self, kill_at=0):
        """None: it was killed before it served anybody."""
        sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0:detect_leaks=0"]))
        with unittest.mock.patch.dict(os.environ, LD_PRELOAD=f"{self.shim.name}/shim.so", ASAN_OPTIONS=sanitizer,
                                      VERBENA_KILL_AT=str(kill_at), VERBENA_KILL_FILE=str(self.file),
                                      VERBENA_CLOCK=str(self.clock)):
            try:
                server = shared.Server("-e", str(self.file), "-t", "1")
            except RuntimeError:
                return None
        self.addCleanup(server.stop)
        with contextlib.suppress(OSError): # it listens while it loads
            return server if server.ask(b"mn\r\n") == b"MN\r\n" else None
        return None

    def fill(self, server):
        server.ask(b"".join(b"set %s 7 0 %d noreply\r\n%s\r\n" % (key, len(value), value) for key, value in self.ITEMS.items()) +
                   b"mn\r\n")

    def kept(self, server):
        """Ends a server; the number of its items, each of which is right."""
        found = re.findall(rb"VALUE (\S+) 7 \d+\r\n(.*?)\r\n", server.ask(b"get " + b" ".join(self.ITEMS) + b"\r\n"), re.DOTALL)
        server.stop()
        self.assertEqual(dict(found), {key: self.ITEMS[key] for key, _ in found})
        return len(found)

    def end(self, server):
        server.process.send_signal(signal.SIGUSR1)
        return server.process.wait(shared.ANSWER_SECONDS)

    def test_a_kill_at_each_step_of_saving_leaves_all_items_or_none(self):
        seen = set()
        for step in STEPS:
            server = self.server(step)
            if server is None:
                continue # the steps of the start
            self.fill(server)
            status = self.end(server)
            kept = self.kept(self.server())
            self.assertIn(kept, (0, len(self.ITEMS)), step)
            seen.add((status, kept > 0))
            if status == 0:
                break
        self.assertLessEqual({(-signal.SIGKILL, False), (0, True)}, seen)

    def test_a_kill_at_each_step_of_loading_leaves_all_items_or_none(self):
        server = self.server()
        self.fill(server)
        self.assertEqual(self.end(server), 0)
        whole, killed = self.file.read_bytes(), 0
        for step in STEPS:
            self.file.write_bytes(whole)
            server = self.server(step)
            killed += server is None
            kept = self.kept(self.server() if server is None else server)
            self.assertIn(kept, (0, len(self.ITEMS)), step)
            if server is not None:
                self.assertEqual(kept, len(self.ITEMS), step)
                break
        self.assertGreater(killed, 5)

    def test_times_to_live_go_on_when_the_clock_is_set(self):
        server = self.server()
        look = b"mg relative t\r\nmg moment t\r\nmg past\r\nget later\r\n"
        server.ask(b"set relative 0 1000 1\r\na\r\nset moment 0 %d 1\r\na\r\n" % (time.time() + 1000))
        for moved in (-3600, 30 * 86400, -30 * 86400, 0):
            self.clock.write_text(str(moved))
            answer = server.ask(look)
            left = [int(number) for number in re.findall(rb" t(\d+)", answer)]
            self.assertEqual(len(left), 2, answer)
            self.assertTrue(all(800 < number <= 1001 for number in left), answer)
        self.clock.write_text("86400") # what is given from now on is compared with this clock
        server.ask(b"set past 0 %d 1\r\na\r\nset later 0 %d 1\r\na\r\n" % (time.time() + 80000, time.time() + 90000))
        self.assertTrue(server.ask(look).endswith(b"EN\r\nVALUE later 0 1\r\na\r\nEND\r\n"))

    def test_a_clock_that_was_set_back_between_two_starts_brings_items_back_with_their_times(self):
        for moved, some in ((-3600, True), (500, True), (2000, False)):
            self.clock.write_text("0")
            server = self.server()
            server.ask(b"set short 0 1000 1\r\na\r\nset ever 0 0 1\r\na\r\n")
            self.assertEqual(self.end(server), 0)
            self.clock.write_text(str(moved))
            answer = self.server().ask(b"mg ever v t\r\nmg short t\r\n")
            ever, _, short = answer.partition(b"HD t")
            self.assertIn(b"VA 1 t-1\r\na\r\n", ever + short)
            self.assertEqual(bool(short), some, answer)
            if some:
                self.assertTrue(800 - max(moved, 0) < int(short) <= 1000 - max(moved, 0), (moved, answer))


if __name__ == "__main__":
    unittest.main()
