# SPDX-License-Identifier: Apache-2.0
"""The binary protocol: the same packets to Debian's memcached and to ours get the same answers, but for CAS ids, of which each
server counts its own."""
import os
import random
import unittest

import shared
from binary import *  # noqa: F403  (the names of the opcodes)

SESSIONS = 5000 if os.environ.get("VERBENA_TEST_FULL") else 300
COMMANDS = 40
END = request(NOOP, opaque=0xfeedbeef)
BIG = b"x" * 1048577


class Ids:
    """CAS ids of one server, by the order in which they appeared."""

    def __init__(self):
        self.names, self.last = {0: 0}, 1

    def name(self, number):
        self.last = number or self.last
        return self.names.setdefault(number, len(self.names))

    def shown(self, data):
        return [packet if isinstance(packet, bytes) else packet[:3] + (self.name(packet[3]),) + packet[4:]
                for packet in packets(data)]


VALUE, SEE = put(SET, b"a", b"val", 5), request(GET, b"a")


def _puts():
    for opcode in (SET, SETQ, ADD, ADDQ, REPLACE, REPLACEQ):
        for cas in (0, 1, 12345):
            yield put(opcode, b"n%d" % opcode, b"x", cas=cas) + VALUE + put(opcode, b"a", b"y", 9, 100, cas=cas) + SEE
        yield VALUE + put(opcode, b"a", b"") + SEE + VALUE + put(opcode, b"a", BIG) + SEE
        yield VALUE + put(opcode, b"a", BIG, cas=1) + SEE + put(opcode, b"a", b"y" * 300000) + SEE
        for key in (b"k" * 250, b"a b\n\0"):
            yield put(opcode, key, b"1") + request(GETK, key)
    for opcode in (APPEND, APPENDQ, PREPEND, PREPENDQ):
        for cas in (0, 1):
            piece = request(opcode, b"a", value=b"1", cas=cas)
            yield request(DELETEQ, b"a") + piece + VALUE + piece + SEE
        yield put(SET, b"a", b"1" * 1000000) + request(opcode, b"a", value=b"x" * 100000) + request(opcode, b"a", value=BIG) + \
            touch(TOUCH, b"a", 0)


def _numbers():
    for opcode in (INCR, INCRQ, DECR, DECRQ):
        for number in (b"0", b"10", b"18446744073709551615", b"18446744073709551616", b"xx", b" 7", b"007"):
            for amount in (1, 1 << 63): # one each: memcached keeps a number's length only when no answer with it waits
                yield put(SET, b"a", number, 3) + delta(opcode, b"a", amount) + SEE
        create = delta(opcode, b"a", 5, 7, 0)
        yield request(DELETEQ, b"a") + delta(opcode, b"a") + create + SEE
        yield request(DELETEQ, b"a") + create + create + SEE + delta(opcode, b"a", cas=99999)
        yield delta(opcode, b"m", 1, (1 << 64) - 1, 100) + request(GET, b"m")


def streams():
    """Packets, one connection each."""
    yield VALUE + b"".join(request(opcode, key, opaque=7) for opcode in (GET, GETK, GETQ, GETKQ) for key in (b"a", b"zz"))
    yield from _puts()
    yield from _numbers()
    for opcode in (DELETE, DELETEQ):
        yield VALUE + b"".join(request(opcode, b"a", cas=cas) for cas in (999999, 0, 0, 1))
    for opcode in (TOUCH, GAT, GATQ, GATK, GATKQ):
        yield VALUE + touch(opcode, b"a", 100) + touch(opcode, b"zz", 100, opaque=3) + touch(opcode, b"a", 0) + SEE
    for opcode in (FLUSH, FLUSHQ):
        yield VALUE + request(opcode, extras=b"\0\0\0d") + SEE + request(opcode) + SEE + VALUE + SEE
    for name in (b"reset", b"foo", b"detail", b"detail on", b"detail dump", b"detail off", b"detail xx", b"sizes", b"cachedump",
                 b"cachedump 1 1", b"conns", b"extstore", b" items", b"items x", b"noreply"):
        yield request(STAT, name, opaque=5)
    yield VALUE + b"".join(request(opcode) for opcode in (VERSION, VERBOSITY, SASL_LIST, 0x50, 0xff))
    yield request(SASL_AUTH, b"PLAIN", value=b"\0a\0b")
    yield request(GET, b"a", datatype=1, vbucket=77) + request(NOOP, datatype=9)
    yield VALUE + request(QUIT)
    yield VALUE + request(QUITQ)


def wrong():
    """Packets that end the connection, or that memcached does not answer at once."""
    for opcode in range(0x25):
        if opcode in (VERBOSITY, 0x1f, SASL_LIST, SASL_AUTH, SASL_STEP):
            continue
        for key in (b"", b"k"):
            for extras in (b"", b"\0" * 4, b"\0" * 8, b"\0" * 20, b"\0" * 255):
                if opcode != STAT or extras: # else statistics, which differ
                    yield request(opcode, key, extras) + END
        yield request(opcode, b"k" * 251) + END
        yield request(opcode, b"key", body=1) + END
        yield request(opcode, b"", b"\0" * 8, body=5) + END
    for opcode in (GET, DELETE, NOOP, VERSION, QUIT, INCR):
        yield request(opcode, b"" if opcode > DECR else b"k", b"\0" * 20 if opcode == INCR else b"", b"value") + END
    yield END + b"get a\r\n" + END
    yield END + request(NOOP, magic=0x81) + END
    yield b"\x80"
    yield b"get a\r\n" + END + b"\r\nget a\r\n"


class Session:
    """Random packets on a few keys. CAS ids are those of each server."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.prefix = b"s%d" % seed

    def value(self):
        """Never empty: memcached looks for a number in what lies behind an empty value."""
        if self.random.random() < 0.4:
            return b"%d" % self.random.choice([0, 1, 9, 10, 99, 1 << 63, (1 << 64) - 1, self.random.randrange(1000)])
        return self.random.choice([b"x", b"y"]) * self.random.choice([1, 5, 50, 300, 5000, 20000])

    def make(self, last):
        pick = self.random.choice
        key, cas, opaque = self.prefix + pick([b"a", b"b", b"n"]), pick([0, 0, 0, last, 1]), self.random.randrange(1 << 32)
        more = {"cas": cas, "opaque": opaque}
        return pick([
            lambda: request(pick([GET, GETK, GETQ, GETKQ]), key, **more),
            lambda: put(pick([SET, SETQ, ADD, ADDQ, REPLACE, REPLACEQ]), key, self.value(), pick([0, 7, 1 << 31]),
                        pick([0, 100, 1000]), **more),
            lambda: request(pick([APPEND, APPENDQ, PREPEND, PREPENDQ]), key, value=self.value(), **more),
            lambda: request(pick([DELETE, DELETEQ]), key, **more),
            lambda: delta(pick([INCR, INCRQ, DECR, DECRQ]), key, pick([1, 7, (1 << 64) - 1]), pick([0, 5]),
                          pick([0, 100, 0xffffffff]), **more),
            lambda: touch(pick([TOUCH, GAT, GATQ, GATK, GATKQ]), key, pick([0, 100, 1000]), **more),
            lambda: request(pick([NOOP, VERSION, VERBOSITY, 0x60]), **more)])()

    def command(self, ids):
        """One packet for each server: the same but for its own CAS id."""
        state, made = self.random.getstate(), []
        for last in ids:
            self.random.setstate(state)
            made.append(self.make(last))
        return made


def read_to_end(connection):
    data = b""
    while True:
        found = packets(data)
        if found and not isinstance(found[-1], bytes) and found[-1][2] == 0xfeedbeef:
            return data
        chunk = connection.recv(1 << 20)
        if not chunk:
            raise AssertionError(f"the connection ended after {data[-100:]!r}")
        data += chunk


class BinaryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = [shared.Server(stock=True), shared.Server()]

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.stop()

    def test_every_command_gets_the_same_answer(self):
        for stream in streams():
            for server in self.servers:
                server.ask(request(FLUSH))
            stock, ours = (Ids().shown(server.ask(stream + END)) for server in self.servers)
            self.assertEqual(ours, stock, stream[:200])

    def test_wrong_packets_get_the_same_answer(self):
        for stream in wrong():
            stock, ours = (Ids().shown(server.ask(stream)) for server in self.servers)
            self.assertEqual(ours, stock, stream[:200])

    def test_random_sessions_get_the_same_answers(self):
        stock = shared.Server("-o", "no_lru_maintainer,no_lru_crawler,no_slab_reassign", stock=True)
        self.addCleanup(stock.stop)
        ours = shared.Server("-t", "1")
        self.addCleanup(ours.stop)
        connections = [server.connect() for server in (stock, ours)]
        for seed in range(SESSIONS):
            session, ids, history = Session(seed), [Ids(), Ids()], []
            for _ in range(COMMANDS):
                made = session.command([names.last for names in ids])
                history.append(made[0][:60])
                for connection, packet in zip(connections, made):
                    connection.sendall(packet + END)
                answers = [names.shown(read_to_end(connection)) for connection, names in zip(connections, ids)]
                self.assertEqual(*answers, f"seed {seed}: {history}")
        for connection in connections:
            connection.close()

    def test_an_unknown_command_with_a_body_is_skipped(self):
        for stream in (request(0x50, b"key", b"\0" * 4, b"value"), request(VERBOSITY, extras=b"\0" * 4),
                       request(0x50, body=5) + b"abcde"):
            answer = packets(self.servers[1].ask(stream + END))
            self.assertEqual([packet[:3] for packet in answer], [(stream[1], 0x81, 0), (NOOP, 0, 0xfeedbeef)])

    def test_packets_may_come_byte_by_byte(self):
        stream = put(SET, b"a", b"", 1) + SEE + put(SET, b"a", b"12345") + request(GETK, b"a") + request(0x50, value=b"xyz") + END
        with self.servers[1].connect() as connection:
            for at in range(len(stream)):
                connection.sendall(stream[at:at + 1])
            pieces = Ids().shown(read_to_end(connection))
        self.assertEqual(pieces, Ids().shown(self.servers[0].ask(stream)))

    def test_a_value_that_ends_with_what_was_received_is_answered_at_once(self):
        for length in (0, 1, 4096, 16384, 100000, 1000000):
            with self.servers[1].connect() as connection:
                head = put(SET, b"a", b"x" * length)
                connection.sendall(head[:32])
                connection.sendall(head[32:])
                self.assertEqual(connection.recv(1000)[6:8], b"\0\0", length)

    def test_statistics_have_the_names_of_the_text_protocol(self):
        servers = [shared.Server("-o", "no_lru_maintainer,no_lru_crawler,no_slab_reassign", stock=True), shared.Server()]
        for server in servers: # of which no thread moves items between two looks
            self.addCleanup(server.stop)
        for group in (b"", b"settings", b"slabs", b"items"):
            for server in servers:
                with self.subTest(group=group, server=server.port):
                    found = [packet[5].decode() for packet in packets(server.ask(put(SET, b"a", b"1") + request(STAT, group)))[1:]]
                    self.assertEqual(found[-1], "")
                    self.assertEqual(found[:-1], list(server.stats(group.decode())))

    def test_flush_may_be_forbidden(self):
        for flags in (("-F",), ("-F", "-B", "binary")):
            answers = []
            for stock in (True, False):
                server = shared.Server(*flags, stock=stock)
                self.addCleanup(server.stop)
                answers.append(packets(server.ask(request(FLUSH) + request(FLUSHQ) + END)))
            self.assertEqual(*answers)

    def test_the_first_byte_decides_unless_the_protocol_is_fixed(self):
        for protocol in ("auto", "ascii", "binary"):
            servers = [shared.Server("-B", protocol, stock=stock) for stock in (True, False)]
            for server in servers:
                self.addCleanup(server.stop)
            for stream in (END, b"version\r\n", END + b"\r\nversion\r\n", b"version\r\n" + END + b"\r\n"):
                self.assertEqual(*(packets(server.ask(stream)) for server in servers), f"{protocol} {stream}")

    def test_pipelines_longer_than_every_buffer_are_answered_in_order(self):
        many = 20000
        stream = put(SET, b"a", b"v" * 500) + b"".join(request(GETK, b"a", opaque=i) for i in range(many)) + END
        answers = packets(self.servers[1].ask(stream))
        self.assertEqual([packet[2] for packet in answers], [0, *range(many), 0xfeedbeef])


if __name__ == "__main__":
    unittest.main()
