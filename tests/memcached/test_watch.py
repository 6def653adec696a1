# SPDX-License-Identifier: Apache-2.0
"""The command watch: memcached's lines for each kind of event, and watchers that hold up nobody."""
import re
import socket
import subprocess
import tempfile
import unittest

import shared

MOVING = re.compile(rb"ts=\d+\.\d+ gid=\d+ |(?<=cfd=)\d+|(?<=clsid=)[1-9]\d*|(?<=rport=)[1-9]\d*")
TTL = re.compile(rb"(?<=ttl=)\d+") # a multiple of 10, of which a second or more may be over
# Commands, and the events that memcached and this server both report for them.
SESSION = (b"set a:1 5 0 3\r\nabc\r\nget a:1\r\nget nope\r\n",
           b"set b 0 100 1 noreply\r\nx\r\nadd b 0 0 1\r\nx\r\nappend b 0 0 1\r\nx\r\n",
           b"prepend b 0 0 1\r\ny\r\nreplace b 0 50 1\r\ny\r\nreplace qq 0 0 1\r\nx\r\n",
           b"ms c 2 T90\r\nab\r\nmg c v\r\nmg zz v\r\n",
           b"ms c 3 MR\r\nabc\r\nms c 1 ME\r\na\r\nms c 1 MA\r\na\r\nms c 1 MP\r\na\r\n",
           b"gat 10 a:1\r\ntouch nope 5\r\ntouch a:1 50\r\n",
           b"ms Zm9vCiD/ 2 b\r\nab\r\nmg Zm9vCiD/ b v\r\n", b"get a:1 b nope\r\n", b"get " + b"k" * 251 + b"\r\n")


def normal(line):
    return TTL.sub(lambda match: b"%d" % ((int(match[0]) + 9) // 10 * 10), MOVING.sub(b"", line))


class WatchTest(unittest.TestCase):
    def server(self, *flags, **how):
        server = shared.Server(*flags, **how)
        self.addCleanup(server.stop)
        return server

    def watcher(self, server, kinds):
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(b"watch " + kinds + b"\r\n")
        self.assertEqual(connection.recv(4, socket.MSG_WAITALL), b"OK\r\n")
        shared.wait_for(lambda: int(server.stats()["log_watchers"]) > 0, "the watcher")
        return connection

    def lines_until(self, connection, last):
        data = b""
        while not data.endswith(b"\n") or last not in data:
            chunk = connection.recv(1 << 16)
            if not chunk:
                raise AssertionError(f"the watcher's connection ended after {data[-300:]!r}")
            data += chunk
        return data.splitlines()

    def test_lines_are_those_of_memcached(self):
        answers = []
        for stock in (True, False):
            server = self.server("-t", "1", stock=stock)  # lines of several threads come in any order
            watcher = self.watcher(server, b"fetchers mutations")
            for part in SESSION:
                server.ask(part)
            server.ask(b"get last\r\n")
            answers.append([normal(line) for line in self.lines_until(watcher, b"key=last ")])
        stock, ours = answers
        # Memcached also reports as item_get that a command which stores an item looks it up first.
        # What is not stored has no class here.
        stores = [[line.replace(b"clsid=0 ", b"clsid= ") for line in lines if b"item_store" in line] for lines in (stock, ours)]
        self.assertEqual(*stores)
        self.assertEqual([line for line in ours if b"item_get" in line and line not in stock], [])
        gets = [line.split()[1:3] for line in ours if b"item_get" in line]
        self.assertEqual(gets, [[b"key=" + key, b"status=" + status] for key, status in (
            (b"a%3A1", b"found"), (b"nope", b"not_found"), (b"c", b"found"), (b"zz", b"not_found"), (b"a%3A1", b"found"),
            (b"nope", b"not_found"), (b"a%3A1", b"found"), (b"foo%0A%20%FF", b"found"), (b"a%3A1", b"found"), (b"b", b"found"),
            (b"nope", b"not_found"), (b"last", b"not_found"))])

    def test_words_that_are_wrong_or_forbidden_get_memcached_s_answer(self):
        for flags, words in (([], (b"watch x", b"watch fetchers x")), (["-W"], (b"watch", b"watch fetchers", b"watch x"))):
            stock, ours = self.server(*flags, stock=True), self.server(*flags)
            for line in words:
                with self.subTest(line):
                    self.assertEqual(ours.ask(line + b"\r\nmn\r\n"), stock.ask(line + b"\r\nmn\r\n"))

    def test_the_twenty_first_watcher_is_refused(self):
        server = self.server()
        watchers = [self.watcher(server, b"fetchers") for _ in range(20)]
        self.assertEqual(server.ask(b"watch\r\n"), b"WATCHER_TOO_MANY log watcher limit reached\r\n")
        watchers.pop().close()

        def ended():
            server.ask(b"get a\r\n")  # a watcher may have closed its sending side alone: sending tells
            return server.stats()["log_watchers"] == "19"

        shared.wait_for(ended, "the end of a watcher")
        self.watcher(server, b"fetchers")

    def test_connections_are_reported_with_the_reason_of_their_end(self):
        server = self.server("-o", "idle_timeout=1")
        watcher = self.watcher(server, b"connevents")
        with server.connect() as silent:
            self.assertEqual(silent.recv(1), b"")
            port = silent.getsockname()[1]
        closed = b"type=conn_close rip=127.0.0.1 rport=%d " % port # others may be closed before
        lines = [normal(line) for line in self.lines_until(watcher, closed) if b"rport=%d " % port in line]
        self.assertEqual(lines, [b"type=conn_new rip=127.0.0.1 rport= transport=tcp cfd=",
                                 b"type=conn_close rip=127.0.0.1 rport= transport=tcp reason=idle_timeout cfd="])
        server.ask(b"x" * 3000)
        self.lines_until(watcher, b"reason=error")
        server.ask(b"quit\r\n")
        self.lines_until(watcher, b"reason=normal")
        with tempfile.TemporaryDirectory() as folder:
            server = self.server(unix=f"{folder}/socket")
            watcher = self.watcher(server, b"connevents")
            server.ask(b"mn\r\n")
            self.assertIn(b"type=conn_new rip=unix rport=0 transport=local cfd=",
                          [normal(line) for line in self.lines_until(watcher, b"type=conn_new")])

    def test_evictions_are_reported(self):
        server = self.server("-m", "16", "-t", "1")
        watcher = self.watcher(server, b"evictions")
        server.ask(b"".join(b"set k%d 0 %d 20000 noreply\r\n%s\r\n" % (i, 1000 * (i % 2), b"x" * 20000)
                            for i in range(1000)) + b"mn\r\n")
        found = self.lines_until(watcher, b"key=k1 ")
        self.assertRegex(found[0], rb"^ts=\d+\.\d+ gid=\d+ type=eviction key=k0 fetch=no ttl=-1 la=\d+ clsid=\d+ size=20000$")
        self.assertRegex([line for line in found if b"key=k1 " in line][0], rb" fetch=no ttl=\d+ la=")

    def test_a_watcher_that_has_closed_its_sending_side_gets_events(self):
        server = self.server()
        watcher = self.watcher(server, b"fetchers")
        watcher.shutdown(socket.SHUT_WR)
        for key in (b"one", b"two"):
            server.ask(b"get " + key + b"\r\n")
            self.lines_until(watcher, b"key=" + key)

    def test_a_watcher_that_reads_nothing_loses_whole_lines_and_holds_up_nobody(self):
        server = self.server("-t", "2")
        watcher = self.watcher(server, b"fetchers")
        for _ in range(500):
            server.ask(b"get" + (b" " + b"k" * 200) * 300 + b"\r\n")
            if int(server.stats()["log_watcher_skipped"]) > 1000:
                break
        else:
            self.fail("no line was skipped")
        data = b""
        while b"key=after " not in data:
            data += watcher.recv(1 << 20)
            if data.endswith(b"\n"):  # what was there has been read, perhaps
                server.ask(b"get after\r\n")
        for line in data.split(b"\n")[:-1]:
            self.assertRegex(line, rb"^ts=\d+\.\d+ gid=\d+ type=item_get key=\w+ status=not_found clsid=0 cfd=\d+ size=0$")

    def test_requests_by_message_are_reported_too(self):
        server = self.server()
        watcher = self.watcher(server, b"fetchers mutations")
        subprocess.run([shared.BUILD / "mcexample", f"127.0.0.1:{server.port};connect=60000;timeout=60000"], timeout=120,
                       check=False, stdout=subprocess.DEVNULL)
        lines = self.lines_until(watcher, b"type=item_store key=greeting")
        self.assertRegex(lines[0], rb"type=item_store key=\S+ status=stored cmd=set ttl=\d+ clsid=\d+ cfd=0 size=\d+$")


if __name__ == "__main__":
    unittest.main()
