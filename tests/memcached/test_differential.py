# SPDX-License-Identifier: Apache-2.0
"""The same bytes to our server and to Debian's memcached: the same answers, byte by byte, where the protocol fixes them.

Meta commands are also compared with Debian 13's memcached, which has more flags.
Not fixed, and so compared loosely: CAS ids (each server counts its own; equal ids must stay equal), seconds since the last
access, TTLs within some seconds of each other, slab class and size of `me`."""
import base64
import os
import random
import re
import unittest

import lines
import shared

SESSIONS = 10000 if os.environ.get("VERBENA_TEST_FULL") else 800
COMMANDS = 40
CAS = re.compile(rb"(?m)(?<=^VALUE )(\S+ \d+ \d+) (\d+)(?=\r)|(?<= c)(\d+)(?=[ \r])|(?<= cas=)(\d+)")
LOOSE = re.compile(rb" l\d+(?=[ \r])| la=\d+| cls=\d+| size=\d+")
TTL = re.compile(rb" (t|exp=)-?(\d\d+)(?=[ \r])")


class Names:
    """CAS ids of one server, named by the order in which they appeared."""

    def __init__(self):
        self.names = {b"0": b"0"}
        self.last = b"1"

    def name(self, number):
        self.last = number
        return self.names.setdefault(number, b"#%d" % len(self.names))

    def replace(self, match):
        if match[1] is not None:
            return match[1] + b" " + self.name(match[2])
        return self.name(match[3] or match[4])


def ttl_class(match):
    """TTLs in these tests are multiples of 10 that lost some seconds, fewer than ten, or have passed."""
    value = int(match[2])
    return b" " + match[1] + (b"(past)" if value >= 1 << 31 else b"%d" % ((value + 8) // 10 * 10))


def normal(answer, names):
    return TTL.sub(ttl_class, LOOSE.sub(b"", CAS.sub(names.replace, answer)))


class Session:
    """Random commands on a few keys. Values are letters or digits, so that no value looks like an answer."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.prefix = b"s%d" % seed

    def key(self):
        return self.prefix + self.random.choice([b"a", b"b", b"n", b"n2"])

    def value(self):
        if self.random.random() < 0.4:
            return b"%d" % self.random.choice([0, 1, 9, 10, 99, 1 << 63, (1 << 64) - 1, self.random.randrange(1000)])
        length = self.random.choice([0, 1, 5, 50, 300, 5000, 20000])
        return self.random.choice([b"x", b"y"]) * length

    def noreply(self):
        return self.random.choice([b"", b"", b" noreply"])

    def storage(self, cas):
        command = self.random.choice([b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas"])
        value = self.value()
        number = b" " + self.random.choice([cas, cas, b"1"]) if command == b"cas" else b""
        return b"%s %s %d %d %d%s%s\r\n%s\r\n" % (command, self.key(), self.random.choice([0, 1, 1 << 31]),
                                                  self.random.choice([0, 0, 100, 1000, -1]), len(value), number,
                                                  self.noreply(), value)

    def retrieval(self, _cas):
        keys = b" ".join(self.key() for _ in range(self.random.randint(1, 4)))
        return self.random.choice([b"get ", b"gets ", b"gat 100 ", b"gats 1000 ", b"gat 0 "]) + keys + b"\r\n"

    def other(self, _cas):
        key = self.key()
        return self.random.choice([b"delete %s%s", b"incr %s 1%s", b"decr %s 7%s", b"incr %s 18446744073709551615%s",
                                   b"touch %s 100%s", b"touch %s 0%s"]) % (key, self.noreply()) + b"\r\n"

    def flags(self, *choices, always=()):
        flags = self.random.sample(choices, self.random.randint(0, min(5, len(choices)))) + list(always)
        self.random.shuffle(flags)
        return b"".join(b" " + flag for flag in flags)

    def meta(self, cas):
        key, value = self.key(), self.value()
        read = (b"v", b"t", b"s", b"f", b"c", b"k", b"q", b"O1", b"T100", b"u", b"N100", b"R500")
        write = (b"c", b"k", b"O22", b"q", b"T100", b"F9", b"I", self.random.choice([b"ME", b"MA", b"MP", b"MR", b"MS"]),
                 b"C" + self.random.choice([cas, b"1"]))
        return self.random.choice([
            lambda: b"mg %s%s" % (key, self.flags(*read)),
            lambda: b"ms %s %d%s\r\n%s" % (key, len(value), self.flags(*write), value),
            lambda: b"md %s%s" % (key, self.flags(b"q", b"k", b"O3", b"I", b"T100", b"C" + cas)),
            lambda: b"ma %s%s" % (key, self.flags(b"v", b"t", b"c", b"q", b"k", b"N100", b"J5", b"D3", b"MD", b"C" + cas)),
            lambda: b"me " + key])() + b"\r\n"

    def command(self, ids):
        """One command for each server: the same but for its own CAS id."""
        state = self.random.getstate()

        def make(number):
            self.random.setstate(state)
            return self.random.choice([self.storage, self.retrieval, self.other, self.meta, self.meta])(number)

        return [make(number) for number in ids]


class LaterSession(Session):
    """With all flags of memcached 1.6.38. CAS ids that the client chooses are above every other, and so in the same order."""

    def own_cas(self):
        return b"E%d" % (10 ** 15 + self.random.randrange(10 ** 6))

    def name(self):
        """A key and the flag that belongs to it; no other command has keys that are written in base64."""
        return (base64.b64encode(self.prefix + b"\n"), (b"b",)) if self.random.random() < 0.2 else (self.key(), ())

    def meta(self, cas):
        (key, written), value = self.name(), self.value()
        compare = b"C" + self.random.choice([cas, cas, b"1", b"0"])
        read = (b"v", b"t", b"s", b"f", b"c", b"k", b"q", b"O1", b"T100", b"u", b"R500", b"h", self.own_cas(), b"I", b"x")
        write = (b"c", b"k", b"O22", b"q", b"T100", b"F9", b"I", b"s", b"N300", self.own_cas(), compare,
                 self.random.choice([b"ME", b"MR", b"MS"]))
        count = (b"v", b"t", b"c", b"q", b"k", b"J5", b"D3", b"MD", b"O4", compare, b"s") # no E: docs/memcached.md
        delete = (b"q", b"k", b"O3", b"I", b"T100", compare, self.own_cas())
        if not written: # else docs/memcached.md, "Differences from memcached"
            read, write, count, delete = read + (b"N100",), write + (b"MA", b"MP"), count + (b"N100",), delete + (b"x",)
        return self.random.choice([
            lambda: b"mg %s%s" % (key, self.flags(*read, always=written)),
            lambda: b"ms %s %d%s\r\n%s" % (key, len(value), self.flags(*write, always=written), value),
            lambda: b"md %s%s" % (key, self.flags(*delete, always=written)),
            lambda: b"ma %s%s" % (key, self.flags(*count, always=written)),
            lambda: b"me %s%s" % (key, b" b" if written else b"")])() + b"\r\n"


def read_until(connection, end):
    data = b""
    while not data.endswith(end):
        chunk = connection.recv(1 << 20)
        if not chunk:
            raise AssertionError(f"the connection ended after {data[-200:]!r}")
        data += chunk
    return data


class DifferentialTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.servers = [shared.Server(stock=True), shared.Server()]

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.stop()

    def compare_streams(self, streams, stock, ours):
        wrong = []
        for stream in streams:
            expected, answer = (normal(server.ask(stream), Names()) for server in (stock, ours))
            if expected != answer:
                wrong.append(f"{stream[:120]!r}\n  stock {expected[-300:]!r}\n  ours  {answer[-300:]!r}")
        self.assertFalse(wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:30]))

    def test_every_line_of_the_specification_gets_the_same_answer(self):
        self.compare_streams(lines.streams(), *self.servers)

    @unittest.skipUnless(shared.LATER, shared.NO_LATER)
    def test_every_meta_command_gets_the_answer_of_memcached_1_6_38(self):
        servers = [shared.Server(program=shared.LATER), shared.Server()]
        for server in servers:
            self.addCleanup(server.stop)
        self.compare_streams(lines.later(), *servers)

    def test_random_sessions_get_the_same_answers(self):
        self.compare_sessions(Session, SESSIONS, stock=True)

    @unittest.skipUnless(shared.LATER, shared.NO_LATER)
    def test_random_sessions_get_the_answers_of_memcached_1_6_38(self):
        self.compare_sessions(LaterSession, SESSIONS // 4, program=shared.LATER)

    def compare_sessions(self, kind, sessions, **which):
        # No thread beside: memcached keeps a number's length only when none of its threads looks at the item just then.
        stock = shared.Server("-o", "no_lru_maintainer,no_lru_crawler,no_slab_reassign", **which)
        self.addCleanup(stock.stop)
        ours = shared.Server("-t", "1") # one shard: CAS ids of different keys compare as memcached's
        self.addCleanup(ours.stop)
        connections = [stock.connect(), ours.connect()]
        for seed in range(sessions):
            session, names, history = kind(seed), [Names(), Names()], []
            for _ in range(COMMANDS):
                commands = session.command([name.last for name in names])
                history.append(commands[0][:100])
                # Not in one go: whether memcached keeps a number's length depends on answers that it has not sent yet.
                for connection, command in zip(connections, commands):
                    connection.sendall(command + b"mn\r\n")
                answers = [normal(read_until(connection, b"MN\r\n"), name)
                           for connection, name in zip(connections, names)]
                self.assertEqual(*answers, f"seed {seed}: {history}")
        for connection in connections:
            connection.close()

    def test_statistics_have_the_same_names_in_the_same_order(self):
        for group in ("", "settings"):
            stock, ours = (list(server.stats(group)) for server in self.servers)
            self.assertEqual(stock, ours, group)

    def test_the_counters_of_commands_agree(self):
        names = ("cmd_get", "cmd_set", "cmd_touch", "cmd_flush", "get_hits", "get_misses", "delete_hits",
                 "delete_misses", "incr_hits", "incr_misses", "decr_hits", "decr_misses", "cas_hits", "cas_misses", "cas_badval",
                 "touch_hits", "touch_misses", "store_too_large")
        servers = [shared.Server(stock=True), shared.Server()]
        try:
            for server in servers:
                server.ask(b"set a 0 0 1\r\n5\r\nset b 0 0 1\r\n5\r\nget a b c\r\ntouch a 10\r\ntouch zz 10\r\ngat 10 a zz\r\n"
                           b"incr a 1\r\nincr zz 1\r\ndecr a 1\r\ndecr zz 1\r\ndelete zz\r\ndelete b\r\nadd a 0 0 1\r\nx\r\n"
                           b"cas zz 0 0 1 1\r\nx\r\ncas a 0 0 1 999999\r\nx\r\nmg a v\r\nmg zz\r\nms m 1\r\nx\r\nmd m\r\n"
                           b"set big 0 0 2000000\r\n" + b"x" * 2000000 + b"\r\nset last 0 0 1\r\nx\r\nflush_all 1000\r\nmn\r\n")
            stock, ours = ({name: server.stats()[name] for name in names} for server in servers)
            groups = [list(server.stats("items")) for server in servers]
        finally:
            for server in servers:
                server.stop()
        self.assertEqual(stock, ours)
        first = [[name.split(":")[-1] for name in group][:28] for group in groups] # of one class
        self.assertEqual(first[0], first[1])


if __name__ == "__main__":
    unittest.main()
