# SPDX-License-Identifier: Apache-2.0
"""Lists of items (lru_crawler metadump and mgdump, stats cachedump), and commands that tune memcached's slabs, LRU and crawler."""
import os
import re
import socket
import unittest
import urllib.parse

import shared

ITEMS = 200000 if os.environ.get("VERBENA_TEST_FULL") else 30000
TIME = re.compile(rb"(?<=exp=)(\d+)|(?<=la=)(\d+)|(?<=b; )([1-9]\d+)")
SIZE = re.compile(rb" cls=\d+ size=\d+")
APART = 600  # seconds at most between times of two servers, which are filled one after the other and count from their starts
STORED = b"set a:1 5 0 3\r\nabc\r\nset b 0 1000 10\r\n0123456789\r\nms Zm9vCiD/ 2 b\r\nab\r\nget a:1\r\ngat 500 b\r\n"
PRINTABLE = bytes(range(33, 127))
TUNING = [b"lru_crawler " + words for words in (
    b"metadump", b"mgdump", b"metadump 99", b"metadump 0", b"metadump x", b"metadump 1,x", b"metadump all all", b"foo", b"foo bar",
    b"enable", b"disable", b"metadump all", b"crawl all", b"enable", b"crawl 1", b"crawl 1,3", b"crawl 0", b"crawl 300", b"crawl x",
    b"crawl", b"crawl hash", b"sleep 10", b"sleep x", b"sleep 2000000", b"sleep", b"tocrawl 5", b"tocrawl x", b"tocrawl",
    b"enable noreply", b"tocrawl 5 noreply", b"sleep x noreply")]
TUNING += [b"lru " + words for words in (
    b"mode flat", b"mode segmented", b"mode x", b"mode", b"tune 10 25 0.1 2.0", b"tune 50 50 1 1", b"tune 10 10 0 1", b"tune",
    b"tune x y z w", b"temp_ttl 60", b"temp_ttl -1", b"temp_ttl x", b"temp_ttl", b"foo bar", b"tune 10 25 0.1 2.0 noreply",
    b"mode x noreply")]
TUNING += [b"slabs " + words for words in (b"reassign 1 2", b"reassign -1 2", b"reassign 1 1", b"reassign 99 1", b"reassign x y",
                                           b"reassign", b"automove 0", b"automove 1", b"automove 2", b"automove 3", b"automove x",
                                           b"automove", b"foo bar", b"foo", b"automove 1 noreply", b"reassign 1 2 noreply")]
TUNING += [b"lru", b"slabs", b"lru_crawler", b"refresh_certs", b"refresh_certs x", b"stats extstore"]
TUNING += [b"stats cachedump" + words for words in (b"", b" 1", b" 64 0", b" 63 0", b" 0 0", b" x 0", b" 1 x", b" 1 -1",
                                                b" 40 0 x")]


def times(answer):
    return [int(match[0]) for match in TIME.finditer(answer)]


def in_order(answer):
    return b"\n".join(sorted(answer.split(b"\n")))


def idle_answer(stock, data):
    """Memcached's crawler may still be busy with the request before this one."""
    answers = []
    shared.wait_for(lambda: answers.append(stock.ask(data)) or not answers[-1].startswith(b"BUSY "), "memcached's crawler is idle")
    return answers[-1]


class DumpTest(unittest.TestCase):
    def server(self, *flags, **how):
        server = shared.Server(*flags, **how)
        self.addCleanup(server.stop)
        return server

    def both(self, *flags):
        return self.server(*flags, stock=True), self.server(*flags)

    def same(self, stock, ours, data, order=lambda answer: answer):
        with self.subTest(data):
            answers = [order(SIZE.sub(b"", answer)) for answer in (ours.ask(data), idle_answer(stock, data))]
            self.assertEqual(*(TIME.sub(b"", answer) for answer in answers))
            for one, other in zip(*map(times, answers), strict=True):
                self.assertLess(abs(one - other), APART)

    def test_commands_that_tune_get_the_answer_of_memcached(self):
        stock, ours = self.both()
        for line in TUNING:
            self.same(stock, ours, line + b"\r\nmn\r\n")
        stock, ours = self.both("-X")
        for line in (b"lru_crawler metadump all", b"lru_crawler metadump", b"lru_crawler metadump x", b"stats cachedump 1 0",
                     b"stats cachedump", b"lru_crawler crawl all"):
            self.same(stock, ours, line + b"\r\nmn\r\n")
        self.assertEqual(ours.ask(b"lru_crawler mgdump all\r\n"), b"ERROR key dump not allowed\r\n")

    def test_lines_of_a_dump_are_those_of_memcached(self):
        stock, ours = self.both("-t", "1")  # of one shard, so that CAS ids are equal
        for server in (stock, ours):
            server.ask(STORED + b"set " + PRINTABLE + b" 0 0 1\r\nx\r\nadd long%s 0 0 1\r\nx\r\n" % (b"k" * 246))
        for classes in (b"all", b"hash"):
            self.same(stock, ours, b"lru_crawler metadump %s\r\n" % classes, in_order)
        self.assertTrue(ours.ask(b"lru_crawler metadump all\r\nmn\r\n").endswith(b"\nEND\r\nMN\r\n"))
        self.same(stock, ours, b"lru_crawler metadump 1,2,3,4,5,6,7,8\r\n", in_order)
        self.assertNotEqual(ours.ask(b"lru_crawler metadump 1\r\n"), ours.ask(b"lru_crawler metadump all\r\n"))

    def test_lines_of_mgdump_can_be_sent_back(self):
        server = self.server()
        server.ask(STORED)
        dump = server.ask(b"lru_crawler mgdump all\r\n")
        self.assertEqual(sorted(dump.splitlines()), [b"EN", b"mg Zm9vCiD/ b", b"mg a:1", b"mg b"])
        self.assertEqual(server.ask(dump.replace(b"EN\r\n", b"mn\r\n")), b"HD\r\n" * 3 + b"MN\r\n")

    def test_each_item_has_one_line_while_others_are_stored_and_read(self):
        server = self.server("-m", "256", "-t", "3")
        server.ask(b"".join(b"set key:%d 0 0 1 noreply\r\nx\r\n" % i for i in range(ITEMS)) + b"mn\r\n")
        found, more = [], 0
        with server.connect() as dumping, server.connect() as other:
            dumping.sendall(b"lru_crawler metadump all\r\n")
            data = b""
            while not data.endswith(b"\nEND\r\n"):
                data += dumping.recv(4096)
                other.sendall(b"set more:%d 0 0 1\r\nx\r\nget key:%d\r\n" % (more, more % ITEMS))
                more += 1
                answer = b""
                while not answer.endswith(b"END\r\n"):
                    part = other.recv(1000)
                    self.assertTrue(part, answer)  # else the server has ended
                    answer += part
                self.assertTrue(answer.startswith(b"STORED"), answer)
        for line in data.splitlines()[:-1]:
            key = urllib.parse.unquote(line.split()[0].decode().removeprefix("key="))
            found += [key] if key.startswith("key:") else []
        self.assertEqual(len(found), ITEMS)
        self.assertEqual(len(set(found)), ITEMS)

    def test_a_client_that_takes_nothing_or_leaves_holds_up_nobody(self):
        server = self.server("-m", "256", "-t", "1")
        server.ask(b"".join(b"set key:%d 0 0 1 noreply\r\nx\r\n" % i for i in range(ITEMS)) + b"mn\r\n")
        stalled = server.connect()
        stalled.sendall(b"lru_crawler metadump all\r\n" * 4)
        for closed in range(20):
            with server.connect() as leaving:
                leaving.sendall(b"lru_crawler metadump all\r\n")
                leaving.recv(closed + 1, socket.MSG_WAITALL)
            self.assertEqual(server.ask(b"set a 0 0 1\r\nx\r\nget a\r\n"), b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n")
        data = b""
        stalled.shutdown(socket.SHUT_WR)
        while chunk := stalled.recv(1 << 20):
            data += chunk
        stalled.close()
        self.assertEqual(data.count(b"END\r\n"), 4)
        self.assertGreaterEqual(data.count(b"\n"), 4 * (ITEMS + 1))

    def test_cachedump_has_memcached_s_lines_and_stops_at_its_limits(self):
        stock, ours = self.both()
        for server in (stock, ours):
            server.ask(b"set a 0 0 3\r\nabc\r\nms Zm9vCiD/ 2 b\r\nab\r\n")
        shared.wait_for(lambda: b"ITEM a" in stock.ask(b"stats cachedump 1 0\r\n"),
                        "memcached's maintainer puts the item into the cold LRU, whose items it lists (but no binary keys)")
        self.same(stock, ours, b"stats cachedump 1 0\r\n")
        self.same(stock, ours, b"stats cachedump 1 1\r\n")
        ours.ask(b"set b 0 1000000 1\r\nx\r\n")
        others = b"".join(ours.ask(b"stats cachedump %d 10\r\n" % number) for number in range(2, 64))
        self.assertRegex(others, rb"\A(END\r\n)*ITEM b \[1 b; [1-9]\d+ s\]\r\n(END\r\n)*\Z")
        ours.ask(b"".join(b"set key:%d%s 0 0 1 noreply\r\nx\r\n" % (i, b"k" * 200) for i in range(12000)) + b"mn\r\n")
        for most in (1, 7, 300):
            self.assertEqual(ours.ask(b"stats cachedump 1 %d\r\n" % most).count(b"ITEM "), most)
        whole = ours.ask(b"stats cachedump 1 0\r\nmn\r\n")
        self.assertTrue(whole.endswith(b" s]\r\nEND\r\nMN\r\n"))
        self.assertLess(abs(len(whole) - (2 << 20)), 1000)


if __name__ == "__main__":
    unittest.main()
