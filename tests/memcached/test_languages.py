# SPDX-License-Identifier: Apache-2.0
"""Clients of other languages, as their registries have them: npm's memcached and memjs, Maven's spymemcached and xmemcached, Go's
gomemcache. --full."""
import os
import pathlib
import subprocess
import unittest

import shared

CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
LIMIT = 300
NODE = os.environ.get("VERBENA_MEMCACHED_NODE")  # folder of its modules
JARS = os.environ.get("VERBENA_MEMCACHED_JARS")
GO = os.environ.get("VERBENA_MEMCACHED_GO")  # the program
CURE = "./verbena test --full memcached-servers installs it"


@unittest.skipUnless(os.environ.get("VERBENA_TEST_FULL"), "clients of other languages run with --full")
class LanguagesTest(unittest.TestCase):
    def check(self, stock, *command, **variables):
        """stock: the same steps at Debian's memcached, so that a fault of the client is not taken for ours."""
        server = shared.Server(stock=stock)
        address = ["127.0.0.1", str(server.port)] if "java" in command[0] else [f"127.0.0.1:{server.port}"]
        try:
            result = subprocess.run([*command, *address], capture_output=True, text=True, timeout=LIMIT, check=False,
                                    env={**os.environ, **variables})
        finally:
            status, text = server.stop()
        self.assertIn("all steps passed", result.stdout, result.stdout + result.stderr)
        self.assertEqual(result.returncode, 0)
        if not stock:
            self.assertEqual((status, text), (0, ""))

    def both(self, *command, **variables):
        for stock in (True, False):
            with self.subTest(stock=stock):
                self.check(stock, *command, **variables)

    @unittest.skipUnless(NODE, f"no Node.js with memcached and memjs: {CURE}")
    def test_node_by_text_and_by_the_binary_protocol(self):
        self.both("node", str(CLIENTS / "node_session.js"), NODE_PATH=NODE or "")

    @unittest.skipUnless(JARS, f"no spymemcached and xmemcached: {CURE}")
    def test_java_by_text_and_by_the_binary_protocol(self):
        self.both("java", "-cp", f"{JARS}/*", str(CLIENTS / "JavaSession.java"))

    @unittest.skipUnless(GO, f"no Go with gomemcache: {CURE}")
    def test_go(self):
        self.both(GO)


if __name__ == "__main__":
    unittest.main()
