# SPDX-License-Identifier: Apache-2.0
"""The generators of the row memcached, mcload and mcnative, compiled here: a wrong answer ends them."""
import contextlib
import json
import os
import shutil
import socketserver
import subprocess
import tempfile
import threading
import unittest

from sides import memcached

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OPS = 300


class Handler(socketserver.StreamRequestHandler):
    """Enough of a memcached; the server's change(key, answer) may spoil the answer of a get."""

    def handle(self):
        with contextlib.suppress(ConnectionError):  # a generator that ends early
            self._answer()

    def _answer(self):
        for line in self.rfile:
            words = line.split()
            if words[0] == b"set":
                self.server.values[words[1]] = self.rfile.read(int(words[4]) + 2)[:-2]
                self.wfile.write(b"STORED\r\n")
            else:
                value = self.server.values[words[1]]
                answer = b"VALUE %s 0 %u\r\n%s\r\nEND\r\n" % (words[1], len(value), value)
                self.wfile.write(self.server.change(words[1], answer))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, change):
        super().__init__(("127.0.0.1", 0), Handler)
        self.values, self.change = {}, change


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Generators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name, more in (("mcload", ()), ("mcnative", (os.path.join(HERE, "vmc_changed.c"),))):
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "memcached-rdma", "client", "include"),
                            os.path.join(ROOT, "ohb", "c", name + ".c"), *more, "-o", cls.program(name), "-lssl",
                            "-lcrypto"], check=True)

    @classmethod
    def program(cls, name):
        return os.path.join(cls.folder.name, name)

    def load(self, change=lambda key, answer: answer, words=("get", 100, 1)):
        """mcload beside a server; (what it did, the server's values)."""
        with Server(change) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            try:
                command = [self.program("mcload"), f"tcp:{server.server_address[1]}", *map(str, words), str(OPS)]
                return subprocess.run(command, capture_output=True, text=True, timeout=120), server.values
            finally:
                server.shutdown()
                thread.join()

    def test_right_answers_are_counted_and_values_of_neighbours_differ(self):
        for words in (("get", 100, 1), ("get", 30000, 3), ("set", 100, 1), ("beside", 5, 2)):
            done, values = self.load(words=words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertGreaterEqual(json.loads(done.stdout)["ops"], OPS)
        done, values = self.load()
        for number in (0, 1, 25, 999):
            self.assertEqual(values[b"key-%012u" % number], memcached.value(number))

    def test_another_value_key_or_length_ends_mcload_with_what_it_got(self):
        key = b"key-000000000007"
        for change in (lambda answer: answer.replace(b"h\r\nEND", b"g\r\nEND"), lambda answer: answer.replace(b"07", b"08"),
                       lambda answer: answer + b"x", lambda _answer: b"END\r\n"):
            for connections in (1, 3):
                done, _ = self.load(lambda asked, answer, change=change: change(answer) if asked == key else answer,
                                    ("get", 100, connections))
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"mcload: the answer for {key.decode()} is wrong from byte", done.stderr)

    def native(self, first_wrong_get):
        return subprocess.run([self.program("mcnative"), str(first_wrong_get), "get", "100", str(OPS)], capture_output=True,
                              text=True, timeout=120)

    def test_mcnative_compares_what_it_gets(self):
        right = self.native(10**9)
        self.assertEqual((right.returncode, json.loads(right.stdout)["ops"]), (0, OPS), right.stderr)
        wrong = self.native(json.loads(right.stdout)["messages"])  # the last one
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("a get returned another value than the one that was set", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
