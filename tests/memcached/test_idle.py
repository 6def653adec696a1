# SPDX-License-Identifier: Apache-2.0
"""idle_timeout closes silent connections and no others; read_buf_mem_limit bounds what half-sent commands hold."""
import contextlib
import time
import unittest

import shared

TIMEOUT = 2
HELLO = b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\n"
NOOP = b"\x80\x0a" + bytes(22) # of the binary protocol
BUFFER = 16384
LIMIT_MB = 1


class IdleTest(unittest.TestCase):
    def server(self, *flags, **how):
        server = shared.Server(*flags, **how)
        self.addCleanup(server.stop)
        return server

    def connected(self, server, first):
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(first)
        return connection

    def closed(self, connection):
        """Reads to the end."""
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1 << 20):
                pass

    def test_silence_is_closed_between_commands_within_a_value_and_where_no_answer_is_taken(self):
        server = self.server("-o", f"idle_timeout={TIMEOUT}")
        server.ask(b"set big 0 0 1000000\r\n" + b"x" * 1000000 + b"\r\n")
        reader = self.connected(server, b"get big\r\n" * 20)
        firsts = (b"", b"mn\r\n", b"get a", b"set k 0 0 10\r\nab", b"mg a v\r\nms k 10\r\n")
        silent = [self.connected(server, first) for first in firsts]
        for connection in silent:
            self.closed(connection)
        shared.wait_for(lambda: server.stats()["idle_kicks"] == str(len(silent) + 1), "the end of all silent connections")
        self.closed(reader)
        shared.wait_for(lambda: server.stats()["curr_connections"] == "1", "the connection that asks is the only one")

    @staticmethod
    def has_ended(connection):
        """Of one that does not block, and on which no answer comes."""
        try:
            return connection.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    @staticmethod
    def answers(talker, packets):
        """Whether the server answers on both: by text, and by the binary protocol."""
        try:
            talker.sendall(b"mn\r\n")
            packets.sendall(NOOP)
            return talker.recv(100) == b"MN\r\n" and packets.recv(100)[:2] == b"\x81\x0a"
        except ConnectionError:
            return False

    def talk(self, server, silent):
        """Commands, and a value byte by byte, until the silent connection is closed and once more. True: neither was silent
        itself."""
        talker, packets = self.connected(server, b""), self.connected(server, b"")
        sender = self.connected(server, b"set slow 0 0 1000000\r\n")
        for connection in (silent, sender):
            connection.setblocking(False)
        rounds, ended = [time.monotonic()] * 2, False
        while not ended:
            time.sleep(0.01)  # between two looks: a loop without it keeps the server from running
            self.assertLess(rounds[-1] - rounds[0], shared.ANSWER_SECONDS, "the silent connection stays")
            ended = self.has_ended(silent)
            answered = self.answers(talker, packets) and not self.has_ended(sender)
            with contextlib.suppress(ConnectionError):
                sender.sendall(b"x")
            if time.monotonic() - rounds[-2] >= TIMEOUT:  # a connection may have been used at the begin of the round before
                return False  # this process was kept from running
            self.assertTrue(answered)
            rounds.append(time.monotonic())
        return True

    def test_a_client_that_sends_commands_or_a_slow_value_stays_and_so_does_one_by_messages(self):
        server = self.server("-o", f"idle_timeout={TIMEOUT}")
        knocked = self.connected(server, HELLO)
        self.assertRegex(knocked.recv(4096), b"^vbn1 ")
        while not self.talk(server, self.connected(server, b"")):
            pass
        knocked.sendall(b"mn\r\n")
        self.assertEqual(knocked.recv(100), b"MN\r\n")

    def test_the_name_and_the_place_in_the_statistics_are_those_of_memcached(self):
        flags = ["-o", "idle_timeout=100,read_buf_mem_limit=8"]
        stock, ours = self.server(*flags, stock=True), self.server(*flags)
        self.assertEqual(list(stock.stats()), list(ours.stats()))
        for name in ("idle_timeout", "read_buf_mem_limit"):
            self.assertEqual(stock.stats("settings")[name], ours.stats("settings")[name])

    def test_half_sent_commands_above_the_limit_close_the_connection_that_asks_and_no_other(self):
        server = self.server("-t", "2", "-o", f"read_buf_mem_limit={LIMIT_MB}")
        fit = LIMIT_MB * (1 << 20) // BUFFER
        asking = [self.connected(server, b"get a") for _ in range(fit + 10)]
        closed = set()

        def refused():
            for number, connection in enumerate(asking):
                connection.setblocking(False)
                try:
                    if number not in closed and connection.recv(1) == b"":
                        closed.add(number)
                except BlockingIOError:
                    pass
                except ConnectionResetError:
                    closed.add(number)
            return len(closed) >= 10

        shared.wait_for(refused, "connections that get no buffer")
        left = [connection for number, connection in enumerate(asking) if number not in closed]
        for connection in left:
            connection.settimeout(shared.ANSWER_SECONDS)
            connection.sendall(b"\r\n")
            self.assertEqual(connection.recv(100), b"END\r\n")
        self.assertGreaterEqual(len(left), fit - 2)
        stats = server.stats()
        self.assertGreaterEqual(int(stats["read_buf_oom"]), len(closed))
        self.assertLessEqual(int(stats["read_buf_bytes"]), 2 * 2 * BUFFER)
        self.assertGreater(int(stats["read_buf_count"]), 0)


if __name__ == "__main__":
    unittest.main()
