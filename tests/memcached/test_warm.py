# SPDX-License-Identifier: Apache-2.0
"""-e: SIGUSR1 saves the items, and the next start has them; whatever else happens, the next start is cold."""
import os
import pathlib
import re
import signal
import tempfile
import unittest

import shared

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

    def test_a_file_that_cannot_be_written_is_named(self):
        self.file = self.file / "below"
        server = self.server()
        self.assertIn(f"-e {self.file}: no item is saved, and the next start is cold: No such file", self.end(server))
        self.assertEqual(os.listdir(self.file.parent.parent), [])


if __name__ == "__main__":
    unittest.main()
