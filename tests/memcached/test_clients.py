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
LIMIT = 120


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
        result = run("memccapable", "-h", "127.0.0.1", "-p", str(self.server.port))
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
