# SPDX-License-Identifier: Apache-2.0
"""What one client may do before its thread goes on with others: counted, not timed. Debian's memcached stands beside it."""
import contextlib
import random
import unittest

import lines
import shared
from test_differential import Names, normal

TURN_BYTES = 256 << 10  # server/budget.h
KEY_BYTES = 512
BUFFER = 16 << 10
NOTHING = b"END\r\n"


class TurnCase(unittest.TestCase):
    def start(self, *flags, stock=False):
        server = shared.Server("-t", "1", *flags, stock=stock)
        self.addCleanup(server.stop)
        return server

    def most(self, server, what):
        return int(server.stats("verbena")[f"turn_{what}_most"])


class CommandsTest(TurnCase):
    def test_a_pipelining_client_runs_as_many_commands_in_a_turn_as_R_says(self):
        requests = b"get nothing\r\n" * 4000
        for flags, most in (((), 20), (("-R", "3"), 3), (("-R", "500"), 500)):
            with self.subTest(flags):
                stock, ours = self.start(*flags, stock=True), self.start(*flags)
                for server in (stock, ours):
                    self.assertEqual(server.ask(requests), NOTHING * 4000)
                self.assertEqual(self.most(ours, "commands"), most)
                yields = [int(server.stats()["conn_yields"]) for server in (stock, ours)]
                print(f"-R {most}: memcached yields {yields[0]} times, ours {yields[1]} times", flush=True)
                self.assertGreater(yields[0], 0)
                self.assertGreaterEqual(yields[1], 4000 // most - 4000 * 13 // BUFFER - 2)  # a turn reads a buffer at most

    def test_others_are_served_while_one_client_pipelines(self):
        server = self.start("-m", "64", "-I", "8m")
        value = random.Random(7).randbytes(7 << 20)
        server.ask(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value))
        with server.connect() as hog, server.connect() as other:
            hog.sendall(b"get big\r\n" * 30)
            for i in range(200):
                other.sendall(b"set k%d 0 0 1\r\nx\r\nget k%d\r\n" % (i, i))
                self.assertEqual(read(other, 8 + len(b"VALUE k%d 0 1\r\nx\r\nEND\r\n" % i)),
                                 b"STORED\r\nVALUE k%d 0 1\r\nx\r\nEND\r\n" % i)
            wanted = b"VALUE big 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n"
            for _ in range(30):
                self.assertTrue(read(hog, len(wanted)) == wanted)

    def test_each_line_of_the_specification_has_the_same_answer_in_turns_of_one_command(self):
        small, large = self.start("-R", "1"), self.start("-R", "1000")
        for stream in lines.streams():
            answers = [normal(server.ask(stream), Names()) for server in (small, large)]
            self.assertEqual(*answers, stream[:120])
        self.assertEqual(self.most(small, "commands"), 1)

    def test_commands_behind_a_turns_end_wait_for_no_more_bytes(self):
        server = self.start("-R", "1")
        with server.connect() as client:
            client.sendall(b"set a 0 0 3\r\nabc\r\nget a\r\nset b 0 0 9000\r\n" + b"v" * 9000 + b"\r\nget a b\r\nmn\r\nquit\r\n")
            wanted = (b"STORED\r\nVALUE a 0 3\r\nabc\r\nEND\r\nSTORED\r\nVALUE a 0 3\r\nabc\r\nVALUE b 0 9000\r\n" + b"v" * 9000 +
                      b"\r\nEND\r\nMN\r\n")
            self.assertEqual(read(client, len(wanted)), wanted)
            self.assertEqual(client.recv(1), b"")
        self.assertEqual(self.most(server, "commands"), 1)


class BytesTest(TurnCase):
    def test_a_long_list_of_keys_takes_several_turns_and_has_one_answer(self):
        server = self.start()
        for i in range(0, 20000, 2000):
            server.ask(b"set key%d 0 0 2\r\nab\r\n" % i)
        found = b"".join(b"VALUE key%d 0 2\r\nab\r\n" % i for i in range(0, 20000, 2000))
        keys = b" ".join(b"key%d" % i for i in range(20000))
        self.assertEqual(server.ask(b"get " + keys + b"\r\nmn\r\n"), found + b"END\r\nMN\r\n")
        self.assertEqual(server.ask(b"gat 0 " + keys + b"\r\nmn\r\n"), found + b"END\r\nMN\r\n")
        self.assertLessEqual(self.most(server, "taken"), TURN_BYTES + KEY_BYTES)
        self.assertGreaterEqual(int(server.stats()["conn_yields"]), 2 * 20000 * KEY_BYTES // TURN_BYTES - 4)

    def test_a_bad_key_at_the_end_of_a_long_list_is_answered_as_in_memcached(self):
        keys = b" ".join([b"a"] * 50000)  # memcached finds a key 60,000 times in a list, and no more
        for last in (b"k" * 250, b"k" * 251):
            answers = []
            for stock in (True, False):
                server = self.start(stock=stock)
                answers.append(server.ask(b"set a 0 0 1\r\nb\r\nget " + keys + b" " + last + b"\r\nmn\r\n"))
            self.assertTrue(answers[0] == answers[1], [answer[-80:] for answer in answers])

    def test_huge_values_come_and_go_in_many_turns(self):
        server = self.start("-m", "256", "-I", "64m")
        value = random.Random(3).randbytes(60 << 20)
        wanted = b"STORED\r\nVALUE big 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n"
        self.assertTrue(server.ask(b"set big 0 0 %d\r\n%s\r\nget big\r\n" % (len(value), value)) == wanted)
        for what in ("taken", "sent"):
            self.assertLessEqual(self.most(server, what), TURN_BYTES + BUFFER)


class LogTest(TurnCase):
    def test_a_log_that_nobody_reads_holds_nobody_up(self):
        server = self.start("-vv")
        self.assertEqual(server.ask(b"get nothing\r\n" * 8000), NOTHING * 8000)  # each is a line in a pipe of 64 KiB
        self.assertEqual(server.ask(b"verbosity 0\r\n"), b"OK\r\n")


class LongAnswersTest(TurnCase):
    def test_stats_conns_names_every_connection_in_several_turns(self):
        server = self.start("-t", "2")
        with contextlib.ExitStack() as clients:
            for _ in range(300):
                client = clients.enter_context(server.connect())
                client.sendall(b"mn\r\n")
                self.assertEqual(client.recv(10), b"MN\r\n")
            before = int(server.stats()["conn_yields"])
            lines = server.ask(b"stats conns\r\nmn\r\n").splitlines()
        self.assertEqual(lines[-2:], [b"END", b"MN"])
        shown = [line.split(b":")[0] for line in lines if b":listen_addr " in line]
        self.assertEqual((len(shown), len(set(shown))), (301, 301))
        self.assertGreaterEqual(int(server.stats()["conn_yields"]) - before, 300 // 64)

    def test_stats_conns_says_what_each_connection_does(self):
        server = self.start()
        large = 900000
        server.ask(b"set big 0 0 %d\r\n%s\r\n" % (large, b"v" * large))
        sent = {"conn_read": b"mn\r\n", "conn_nread": b"mn\r\nset half 0 0 10\r\nab",
                "conn_swallow": b"mn\r\nset toolarge 0 0 9000000\r\nab", "conn_mwrite": b"mn\r\n" + b"get big\r\n" * 20}
        with contextlib.ExitStack() as clients:
            for state, request in sent.items():
                client = clients.enter_context(server.connect())
                client.sendall(request)
                self.assertEqual(client.recv(4), b"MN\r\n")
                shared.wait_for(lambda state=state: state in self.states(server), state)
            states = self.states(server)
        self.assertEqual(sorted(states), sorted([*sent, "conn_listening", "conn_parse_cmd"]))

    def states(self, server):
        return [value for name, value in server.stats("conns").items() if name.endswith(":state")]


def read(connection, length):
    got = bytearray()
    while len(got) < length and (chunk := connection.recv(length - len(got))):
        got += chunk
    return bytes(got)


if __name__ == "__main__":
    unittest.main()
