# SPDX-License-Identifier: Apache-2.0
"""Our memcached server on one host and its client library on another, over each RDMA transport."""
import contextlib
import re
import secrets
import unittest

import shared
import traffic

PORT = 11211
SERVER = f"guest-a:{PORT}"
KEY = "/tmp/memcached.key"
SETTINGS = f"VERBENA_MEMCACHED_KEY={KEY} {traffic.SETTINGS}"
IMPATIENT = f"VERBENA_MEMCACHED_KEY={KEY} {traffic.IMPATIENT}"  # of clients whose server dies
LIMIT = 300
PATIENT = ";connect=60000;timeout=60000"


class MemcachedTest(unittest.TestCase):
    """The server runs on guest-a, clients on guest-b."""

    def setUp(self):
        self.a, self.b = shared.pair()
        key = secrets.token_hex(32)
        for guest in (self.a, self.b):
            guest.run(f"umask 077; echo {key} >{KEY}")

    @contextlib.contextmanager
    def served(self, way, flags=""):
        """A server whose core has these transports; it listens, and ends with the block."""
        job = self.a.start(f"VBN_TL_ENABLE=self,{way} exec {shared.MEMCACHED}/verbena-memcached -u root -p {PORT} -m 64 -v {flags} "
                           f"-o verbena_key={KEY} -o verbena_lease=60000", LIMIT)
        try:
            self.a.wait_port(PORT)
            yield job
        finally:
            self.end(job, 9)

    def end(self, job, signal):
        if self.a.alive() and job.status is None:
            job.signal(signal)
            job.wait()

    def client(self, way, words, options=PATIENT, settings=SETTINGS):
        return self.b.start(f"VBN_TL_ENABLE=self,{way} {settings} {shared.MEMCACHED}/mchosts '{SERVER}{options}' {words}", LIMIT)

    def stats(self):
        output = self.b.run(f"exec 5<>/dev/tcp/guest-a/{PORT}; printf 'stats verbena\\r\\nquit\\r\\n' >&5; cat <&5").output
        return dict(re.findall(r"STAT (\w+) (\S+)", output))

    def test_every_call_is_right_and_both_sides_name_the_transport(self):
        for way, first in (("rc", "rc"), ("ud", "ud"), ("rc,ud,tcp", "ud")):
            with self.subTest(way), self.served(way, "-t 1") as server:
                client = self.client(way, "check", PATIENT + ";carrier=messages")
                self.assertEqual(client.wait(), 0, client.output)
                self.assertIn("every call was right", client.output)
                self.assertIn(", 0 by socket, 0 gets one-sided", client.output)
                self.assertRegex(client.output, rf"{SERVER}: messages through the core \(one-sided reads go over shared memory "
                                                r"only\); (rc|ud): rxe0:1, ")
                self.assertEqual(self.stats()["messages_transports"], f"self,{way}")
                self.end(server, 15)
                self.assertEqual(server.status, 0, server.output)
                self.assertIn(f"thread 0 serves messages over self,{way}", server.output)
                self.assertRegex(server.output, rf"a client by messages over {first}: ")

    def outlive(self, way):
        with self.served(way) as server:
            client = self.client(way, "outlive", settings=IMPATIENT)
            client.wait_output("serving: ")
            self.end(server, 9)
            client.wait_output("failed: ")
            with self.served(way):
                self.assertEqual(client.wait(), 0, client.output)
            self.assertRegex(client.output, r"failed: VMC_ERR_SERVER_DEAD: .*not connected: ")
            self.assertRegex(client.output, rf"again: .* messages .*; {way}: ")
            self.assertIn("the old item: VMC_NOT_FOUND", client.output)

    def test_a_killed_server_is_an_error_and_the_next_one_is_found_without_old_items(self):
        self.outlive("rc")

    @shared.long
    def test_a_killed_server_over_datagrams_is_an_error_and_the_next_one_is_found(self):
        self.outlive("ud")

    def test_a_server_that_comes_back_with_another_key_is_used_over_sockets(self):
        with self.served("rc") as server:
            client = self.client("rc", "outlive", ";connect=3000;timeout=60000", IMPATIENT)
            client.wait_output("serving: ")
            self.end(server, 9)
            client.wait_output("failed: ")
            self.a.run(f"umask 077; echo {secrets.token_hex(32)} >{KEY}")
            with self.served("rc"):
                self.assertEqual(client.wait(), 0, client.output)
        self.assertRegex(client.output, "again: .* TCP socket; no messages: the core ")

    @shared.long
    def test_a_server_that_stands_still_is_a_time_out_and_keeps_its_items(self):
        for way in ("rc", "ud"):
            with self.subTest(way), self.served(way) as server:
                client = self.client(way, "outlive", ";connect=60000;timeout=2000", IMPATIENT)
                client.wait_output("serving: ")
                server.signal(19)
                client.wait_output("failed: ")
                server.signal(18)
                self.assertEqual(client.wait(), 0, client.output)
                self.assertRegex(client.output, r"failed: VMC_ERR_(TIMEOUT|SERVER_DEAD): ")
                self.assertIn("the old item: VMC_OK", client.output)

    @shared.long
    def test_the_doctor_names_the_transport(self):
        with self.served("rc"):
            result = self.b.run(f"VBN_TL_ENABLE=self,rc {SETTINGS} {shared.MEMCACHED}/mcdoctor '{SERVER}{PATIENT}'", LIMIT)
        self.assertEqual(result.status, 0, result.output)
        self.assertRegex(result.output, rf"{SERVER}: messages .*; rc: rxe0:1")
        self.assertRegex(result.output, r"by messages +[\d.]+ us")
