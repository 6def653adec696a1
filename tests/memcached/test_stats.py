# SPDX-License-Identifier: Apache-2.0
"""Statistics that move: commands by class and by prefix of the key, beside Debian's memcached; names that exporters read."""
import pathlib
import unittest

import shared

COMMANDS = (b"set a:1 0 0 1\r\n5\r\nset a:2 0 0 1\r\nx\r\nget a:1 a:2 a:3 nope\r\ngat 0 a:1\r\ntouch a:1 0\r\n"
            b"incr a:1 1\r\ndecr a:1 1\r\nincr none 1\r\ndelete a:2\r\ndelete a:9\r\nset noprefix 0 0 1\r\nx\r\n"
            b"set b:c:d 0 0 1\r\nx\r\nset :x 0 0 1\r\nx\r\n"
            b"ms m:1 1\r\nx\r\nmg m:1 v\r\nmd m:1\r\nadd a:1 0 0 1\r\nx\r\ncas a:1 0 0 1 99999\r\nx\r\ncas none 0 0 1 1\r\nx\r\n"
            b"set big:1 0 0 2000000\r\n" + b"x" * 2000000 + b"\r\n")
HUGE = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
CLASS = ("get_hits", "cmd_set", "delete_hits", "incr_hits", "decr_hits", "cas_hits", "cas_badval", "touch_hits")
# What memcached_exporter reads of each class; without one of the others it reports the server as down.
SLABS = ("chunk_size", "chunks_per_page", "total_pages", "total_chunks", "used_chunks", "free_chunks", "free_chunks_end")
ITEMS = ("number", "age", "mem_requested", "evicted", "evicted_nonzero", "evicted_time", "outofmemory", "tailrepairs", "reclaimed",
         "expired_unfetched", "evicted_unfetched", "crawler_reclaimed", "crawler_items_checked", "lrutail_reflocked",
         "moves_to_cold", "moves_to_warm", "moves_within_lru", "direct_reclaims", "hits_to_hot",
         "hits_to_warm", "hits_to_cold", "hits_to_temp")


class StatisticsTest(unittest.TestCase):
    def server(self, *flags, **how):
        server = shared.Server(*flags, **how)
        self.addCleanup(server.stop)
        return server

    def both(self, *flags):
        return self.server("-t", "1", *flags, stock=True), self.server("-t", "1", *flags)

    def prefixes(self, server, first=b""):
        return sorted(server.ask(first + b"stats detail dump\r\n").splitlines())

    def test_commands_are_counted_by_class(self):
        sums = []
        for server in self.both():
            server.ask(COMMANDS)
            slabs = server.stats("slabs")
            sums.append({name: sum(int(value) for key, value in slabs.items() if key.endswith(":" + name)) for name in CLASS})
        stock, ours = sums
        self.assertEqual(ours, stock)
        self.assertGreater(ours["get_hits"], 0)

    def test_each_class_has_the_names_that_exporters_read(self):
        server = self.server()
        server.ask(COMMANDS)
        for group, names in (("slabs", (*SLABS, *CLASS)), ("items", ITEMS)):
            found = {key.split(":")[-1] for key in server.stats(group)}
            self.assertEqual([name for name in names if name not in found], [])

    def test_commands_are_counted_by_prefix_while_it_is_on(self):
        stock, ours = self.both()
        for data in (b"stats detail dump\r\n", b"stats detail on\r\n", COMMANDS, b"stats detail dump\r\nstats detail off\r\n"):
            answers = [sorted(server.ask(data + b"mn\r\n").splitlines()) for server in (stock, ours)]
            self.assertEqual(*answers)
        before = self.prefixes(ours)
        ours.ask(COMMANDS)
        self.assertEqual(self.prefixes(ours), before)
        self.assertEqual(self.prefixes(ours, b"stats reset\r\n"), [b"END", b"RESET"])

    def test_another_delimiter_turns_it_on(self):
        for delimiter in ("-", "::"):
            stock, ours = self.both("-D", delimiter)
            data = b"set a-1 0 0 1\r\nx\r\nset a:1 0 0 1\r\nx\r\n"
            self.assertEqual(self.prefixes(ours, data), self.prefixes(stock, data))
            shown = [{name: server.stats("settings")[name] for name in ("stat_key_prefix", "detail_enabled")}
                     for server in (stock, ours)]
            self.assertEqual(*shown)

    def test_clients_cannot_make_prefixes_without_bound(self):
        server = self.server("-D", ":")
        server.ask(b"".join(b"get prefix%d:x\r\n" % i for i in range(6000)) + b"get prefix1:x\r\nmn\r\n")
        prefixes = self.prefixes(server)
        self.assertEqual(len(prefixes), 4096 + 1)
        self.assertIn(b"PREFIX prefix1 get 2 hit 0 set 0 del 0", prefixes)

    @unittest.skipUnless(HUGE.exists(), "this kernel has no huge pages of 2 MiB")
    def test_large_pages_are_asked_for(self):
        free = int(HUGE.read_text(encoding="ascii"))
        server = self.server("-L")
        said = server.stop()[1]
        if free == 0:
            self.assertIn("-L: no huge page is free", said)


if __name__ == "__main__":
    unittest.main()
