# SPDX-License-Identifier: Apache-2.0
"""mcdoctor: what a get takes by each carrier, of an item of its own, and what it says of servers that cannot be reached."""
import pathlib
import subprocess
import tempfile
import unittest

import shared

LIMIT = 120
PATIENT = ";connect=60000;timeout=60000"


def doctor(where):
    done = subprocess.run([shared.BUILD / "mcdoctor", where], capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout


class DoctorTest(unittest.TestCase):
    def start(self, *flags, **how):
        server = shared.Server(*flags, **how)
        self.addCleanup(server.stop)
        return server, f"127.0.0.1:{server.port}{PATIENT}"

    def test_each_carrier_is_timed_with_an_item_that_exists_and_nothing_is_left(self):
        server, where = self.start()
        status, text = doctor(where)
        self.assertEqual(status, 0, text)
        for way in ("by socket", "by messages", "one-sided"):
            self.assertRegex(text, rf"(?m)^  {way} +[\d.]+ us")
        stats = server.stats()
        self.assertEqual((stats["curr_items"], stats["get_misses"]), ("0", "0"))
        self.assertGreater(int(stats["get_hits"]), 4000) # of sockets and messages

    def test_where_nothing_may_be_read_the_carrier_is_named_and_not_timed(self):
        _, where = self.start("-o", "verbena_onesided=off")
        status, text = doctor(where)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"(?m)^  by messages +[\d.]+ us$")
        self.assertRegex(text, r"(?m)^  one-sided +not possible here$")

    def test_stock_memcached_is_timed_by_its_socket(self):
        server, where = self.start(stock=True)
        status, text = doctor(where)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"(?m)^  by socket +[\d.]+ us$")
        self.assertRegex(text, r"(?m)^  by messages +not possible here$")
        self.assertIn("cure: start verbena-memcached in the place of memcached", text)
        self.assertEqual(server.stats()["curr_items"], "0")

    def test_a_server_that_stores_nothing_is_said_to(self):
        server, where = self.start("-M", "-m", "8")
        answer = server.ask(b"".join(b"ms k%d 100000\r\n%s\r\n" % (i, b"x" * 100000) for i in range(200)))
        self.assertIn(b"SERVER_ERROR out of memory", answer)
        status, text = doctor(where)
        self.assertEqual(status, 0, text)
        self.assertIn("this server does not store an item (VMC_ERR_SERVER_MEMORY); a get of a key that is not there takes:", text)
        self.assertNotIn("one-sided ", text.split("takes:")[1])

    def test_a_name_without_an_address_is_told_from_a_server_that_is_not_there(self):
        status, text = doctor(f"{'a' * 64}.example:11211") # a label has at most 63 characters, so nobody is asked
        self.assertEqual(status, 2)
        self.assertIn("not connected: cannot resolve 'aaaa", text)
        self.assertIn("cure: see that the name is right", text)
        port = shared.HeldPort()
        self.addCleanup(port.close)
        status, text = doctor(f"127.0.0.1:{port.number}")
        self.assertEqual(status, 2)
        self.assertIn("Connection refused", text)
        self.assertIn("cure: start the server", text)

    def test_servers_that_want_something_else_first_are_told_from_those_that_are_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            users = pathlib.Path(folder) / "users"
            users.write_text("user:word\n")
            users.chmod(0o600)
            for flags, reason, cure in (
                    (("-Y", str(users)), "the server asks for a login (-Y)", "cure: with -Y messages need no login if"),
                    (("-B", "binary"), "the server has closed the connection", "cure: look at the server's flags: ")):
                for stock in (False, True) if flags[0] == "-Y" else (False,):
                    with self.subTest(flags=flags[0], stock=stock):
                        _, where = self.start(*flags, stock=stock)
                        status, text = doctor(where)
                        self.assertEqual(status, 2, text)
                        self.assertIn(f"not connected: {reason}", text)
                        self.assertIn(cure, text)
                        self.assertNotIn("does not store", text)

    def test_a_wrong_port_is_shown_whole(self):
        for word in ("127.0.0.1:99999", "127.0.0.1:x", "127.0.0.1:0"):
            done = subprocess.run([shared.BUILD / "mcdoctor", word], capture_output=True, text=True, timeout=LIMIT, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"server '{word}': give host:port", done.stderr)


if __name__ == "__main__":
    unittest.main()
