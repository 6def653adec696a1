# SPDX-License-Identifier: Apache-2.0
"""Clients as they are released: Debian's libmemcached-tools, and pymemcache from PyPI, over TCP and Unix sockets."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import shared

HERE = pathlib.Path(__file__).resolve().parent
CLIENT_PYTHON = os.environ.get("VERBENA_MEMCACHED_PYTHON")
TOOL = "/usr/share/memcached/scripts/memcached-tool"
LIMIT = 600


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **options)


class ToolsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = shared.Server()
        cls.where = f"--servers=127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_memccapable_passes_all_of_its_tests(self):
        # Seconds: with its own limit a server that stands still for a moment has failed.
        result = run("memccapable", "-h", "127.0.0.1", "-p", str(self.server.port), "-t", "60")
        self.assertIn("All tests passed", result.stdout, result.stdout + result.stderr)
        for protocol in ("ascii", "binary"):
            self.assertEqual(len(re.findall(rf"(?m)^{protocol} .*\[pass\]", result.stdout)), 27, result.stdout)

    def test_memcping_and_memcstat_reach_it(self):
        self.assertEqual(run("memcping", self.where).returncode, 0)
        result = run("memcstat", self.where)
        self.assertIn("version: 1.6.18", result.stdout, result.stderr)
        self.assertIn("curr_items:", result.stdout)

    def test_memccp_stores_what_memccat_shows_and_memcrm_removes(self):
        with tempfile.TemporaryDirectory() as folder:
            for size in (0, 1, 100, 5000, 900000):
                path = pathlib.Path(folder) / f"file{size}"
                text = "".join(chr(97 + i % 26) for i in range(size))
                path.write_text(text)
                self.assertEqual(run("memccp", self.where, path.name, cwd=folder).returncode, 0)
                result = run("memccat", self.where, path.name)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stdout.rstrip("\n"), text)
                self.assertEqual(run("memcrm", self.where, path.name).returncode, 0)
                self.assertNotEqual(run("memccat", self.where, path.name).returncode, 0)
        self.assertEqual(run("memcflush", self.where).returncode, 0)


@unittest.skipUnless(os.access(TOOL, os.X_OK), "Debian's memcached-tool is not here: it belongs to the package memcached")
class MemcachedToolTest(unittest.TestCase):
    def tool(self, server, *words):
        result = subprocess.run([TOOL, f"127.0.0.1:{server.port}", *words], capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_dump_that_is_sent_to_another_server_gives_it_the_same_items(self):
        servers = [shared.Server() for _ in range(2)]
        for server in servers:
            self.addCleanup(server.stop)
        keys = [b"plain", b"a:b%c/d", b"empty", b"binary"] + [b"k%d" % i for i in range(300)]
        values = {key: b"v" * (i * 37 % 5000) + key for i, key in enumerate(keys)} | {b"empty": b"", b"binary": bytes(range(128))}
        servers[0].ask(b"".join(b"set %s %d %d %d noreply\r\n%s\r\n" % (key, i, i % 2 * 1000, len(values[key]), values[key])
                                for i, key in enumerate(keys)) + b"mn\r\n")
        dump = self.tool(servers[0], "dump")
        self.assertEqual(servers[1].ask(dump + b"mn\r\n").split(), [b"STORED"] * len(keys) + [b"MN"])
        look = b"get " + b" ".join(keys) + b"\r\nmg plain t\r\nmn\r\n"
        self.assertEqual(servers[1].ask(look), servers[0].ask(look))

    def test_its_other_lists_are_those_of_memcached(self):
        answers = []
        for stock in (True, False):
            server = shared.Server(stock=stock)
            self.addCleanup(server.stop)
            server.ask(b"set a 0 0 1\r\nb\r\nset b 0 0 1\r\nc\r\n")
            names = [[line.split()[0] for line in self.tool(server, mode).splitlines() if len(line.split()) == 2]
                     for mode in ("stats", "settings")]
            answers.append((names, sorted(line.split()[0] for line in self.tool(server, "keys").splitlines())))
        self.assertEqual(*answers)


@unittest.skipUnless(CLIENT_PYTHON, "no Python with pymemcache: ./verbena test memcached installs one")
class PymemcacheTest(unittest.TestCase):
    def check(self, server, address):
        try:
            result = run(CLIENT_PYTHON, str(HERE / "clients/pymemcache_session.py"), address)
        finally:
            status, text = server.stop()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("all steps passed", result.stdout)
        self.assertEqual((status, text), (0, ""))

    def test_every_call_works_over_tcp(self):
        server = shared.Server()
        self.check(server, f"127.0.0.1:{server.port}")

    def test_every_call_works_over_a_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/memcached.sock"
            self.check(shared.Server(unix=path), f"unix:{path}")
            self.assertFalse(os.path.exists(path))


class PylibmcTest(unittest.TestCase):
    """Debian's python3-pylibmc, which is libmemcached in Python; it belongs to Debian's own Python."""

    def test_every_call_works(self):
        self.check()

    def test_every_call_works_by_the_binary_protocol(self):
        self.check("binary")

    def check(self, *protocol):
        server = shared.Server()
        try:
            result = run("/usr/bin/python3", str(HERE / "clients/pylibmc_session.py"), f"127.0.0.1:{server.port}", *protocol)
        finally:
            status, text = server.stop()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("all steps passed", result.stdout)
        self.assertEqual((status, text), (0, ""))


if __name__ == "__main__":
    unittest.main()
