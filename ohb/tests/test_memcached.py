# SPDX-License-Identifier: Apache-2.0
"""The row memcached: whose turn it is, the rows of the demonstration, and that what servers hold is compared."""
import contextlib
import socket
import tempfile
import threading
import types
import unittest
import unittest.mock

from driver import turns
from driver.procs import Failed
from sides import memcached, memcached_demo, memcached_disk

PLACE = ("near", 0, 1)


class Scripted:
    """A server that answers a request in a given time; it notes what it was asked."""

    def __init__(self, name, microseconds, asked):
        self._name, self._microseconds, self._asked = name, microseconds, asked

    def pin(self, cpu):
        self._asked.append((self._name, "pin", cpu))

    def ask(self, *words):
        self._asked.append((self._name, *words))
        return {"p50_us": self._microseconds, "p99_us": 3 * self._microseconds, "rate": 1e6 / self._microseconds}

    def ask_native(self, *words):
        self._asked.append((self._name, *words))
        return {"p50_us": self._microseconds / 10}

    def ask_pylibmc(self, operation, ops, cpu, ours):
        self._asked.append((self._name, operation, ops, cpu, ours))
        return {"p50_us": self._microseconds}


class Pairs(unittest.TestCase):
    def test_both_are_asked_the_same_and_the_first_one_changes(self):
        for index, order in ((0, ["stock", "ours"]), (1, ["ours", "stock"])):
            asked = []
            sides = Scripted("stock", 20, asked), Scripted("ours", 10, asked)
            memcached.socket_pair(sides, "tcp", PLACE, 1, memcached.SOCKET_CELLS[0], index)
            requests = [words for words in asked if words[1] != "pin"]
            self.assertEqual([words[0] for words in requests], order)
            self.assertEqual({words[1:] for words in requests}, {("get", memcached.SIZE, 1, memcached.LATENCY_OPS, 0)})

    def test_a_client_beside_others_that_pipeline_has_a_row_of_its_own(self):
        asked = []
        sides = Scripted("stock", 700, asked), Scripted("ours", 250, asked)
        cell = memcached.socket_pair(sides, "tcp", PLACE, 0.1, memcached.BESIDE, 0)
        self.assertEqual([words[1:] for words in asked if words[1] != "pin"],
                         [("beside", memcached.BESIDE_SIZE, memcached.THREADS, memcached.BESIDE[2], 0)] * 2)
        self.assertEqual((cell["row"], cell["metric"], cell["unit"], cell["raw"], cell["ours"]),
                         ("memcached.beside", "latency", "us", 700, 250))

    def test_the_slowest_of_many_clients_and_tls_have_rows_of_their_own(self):
        found = {name: (Scripted("stock", 20, []), Scripted("ours", 10, [])) for name in ("tcp", "unix", "tls")}
        with unittest.mock.patch.object(memcached, "placements", lambda: [PLACE]), \
                unittest.mock.patch.object(memcached, "has_pylibmc", lambda: False):
            cells = memcached.pairs(found, 0.1, 0)
        values = {(cell["row"], cell["transport"], cell["metric"]): (cell["raw"], cell["ours"]) for cell in cells}
        self.assertEqual(len(values), len(cells))
        self.assertEqual(values["memcached.get", "tcp", "p99-64"], (60, 30))
        self.assertEqual(values["memcached.get", "tls", "latency"], (20, 10))
        self.assertEqual(values["memcached.get", "messages-for-tls", "latency"], (20, 1))

    def test_pylibmc_asks_each_server_with_the_library_that_belongs_to_it(self):
        for index in (0, 1):
            asked = []
            cell = memcached.pylibmc_pair((Scripted("stock", 20, asked), Scripted("ours", 10, asked)), PLACE, 0.1, "get", index)
            requests = sorted(words for words in asked if words[1] != "pin")
            self.assertEqual(requests, [("ours", "get", 4000, 0, True), ("stock", "get", 4000, 0, False)])
            self.assertEqual((cell["row"], cell["transport"], cell["raw"], cell["ours"]), ("memcached.get", "pylibmc", 20, 10))

    def test_rows_of_the_demonstration_are_times_of_a_request(self):
        sides = Scripted("stock", 20, []), Scripted("ours", 10, [])
        cells = [memcached.socket_pair(sides, "tcp", PLACE, 1, cell, 0) for cell in memcached.SOCKET_CELLS]
        cells.append(memcached.native_pair(sides, PLACE, 1, memcached.NATIVE[2], 1))
        rows = memcached_demo.values(cells)
        self.assertEqual(rows["get, TCP, one client"], {turns.TIME: (20, 10, "us")})
        self.assertEqual(rows["set, TCP, 50 connections"], {turns.TIME: (20, 10, "us")})
        self.assertEqual(rows["get, one-sided beside TCP, one client"], {turns.TIME: (20, 1, "us")})


class Disk(unittest.TestCase):
    ROW = types.SimpleNamespace(name="memcached.disk.slow", disk="slow")

    def test_both_get_the_same_load_and_the_first_one_changes(self):
        for index, order in ((0, ["stock", "ours"]), (1, ["ours", "stock"])):
            asked = []

            def ask(name, _program, keys, ops, cpus, where, asked=asked):
                asked.append((name, keys, ops, tuple(cpus), where))
                return ({"rate": 200.0, "hits": 0.9, "p99_us": 50.0} if name == "ours" else
                        {"rate": 100.0, "hits": 0.75, "p99_us": 80.0})
            with unittest.mock.patch.object(memcached_disk, "ask", ask), \
                    unittest.mock.patch.object(memcached, "placements", lambda: [PLACE]):
                rate, tail, misses = memcached_disk.pairs(self.ROW, "/folder", {"keys": 1000, "ops": 5000}, index)
            self.assertEqual([name for name, *_ in asked], order)
            self.assertEqual({tuple(more) for _, *more in asked}, {(1000, 5000, (0, 1), "/folder")})
            self.assertEqual((rate["row"], rate["unit"], rate["raw"], rate["ours"]), (self.ROW.name, "ops/s", 100.0, 200.0))
            self.assertEqual((tail["metric"], tail["unit"], tail["raw"], tail["ours"]), ("p99-16", "us", 80.0, 50.0))
            self.assertEqual((misses["unit"], misses["raw"]), ("%", 25.0))
            self.assertAlmostEqual(misses["ours"], 10.0)

    def test_the_files_of_a_slow_row_are_on_the_slow_disk_as_this_process_sees_it(self):
        slow = unittest.mock.MagicMock()
        entered = types.SimpleNamespace(folder="/mount/local", seen=lambda path: f"/seen{path}")
        slow.Disk.return_value.__enter__.return_value = entered
        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.object(memcached_disk, "slowdisk", slow):
            with memcached_disk.disk(self.ROW, work) as where:
                self.assertEqual(where, "/seen/mount/local")
            slow.Disk.assert_called_once_with(work)
            slow.Disk.reset_mock()
            with memcached_disk.disk(types.SimpleNamespace(disk="cached"), work) as where:
                self.assertNotEqual(where, "/seen/mount/local")
            slow.Disk.assert_not_called()


class Cells(unittest.TestCase):
    def test_every_row_is_there_once_and_both_kinds_alternate(self):
        asked = []
        servers = {name: (Scripted("stock", 20, asked), Scripted("ours", 10, asked)) for name in ("tcp", "unix")}
        pages = unittest.mock.Mock(while_running=lambda call: call())
        with unittest.mock.patch.object(memcached, "placements", lambda: [PLACE]):
            rows = [name for cell in memcached_demo.cells(servers, pages) for name in cell(0)]
        self.assertEqual((len(rows), len(set(rows))), (9, 9))
        self.assertEqual(rows[:2], ["get, TCP, one client", "get, messages beside TCP, one client"])


class Content(unittest.TestCase):
    @contextlib.contextmanager
    def server(self, values):
        """A socket that answers gets out of a dictionary."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        with listener.accept()[0] as peer, peer.makefile("rwb") as file:
                            for line in file:
                                key = line.split()[1]
                                found = b"VALUE %s 0 %u\r\n%s\r\n" % (key, len(values[key]), values[key]) if key in values else b""
                                file.write(found + b"END\r\n")
                                file.flush()
            threading.Thread(target=serve, daemon=True).start()
            yield types.SimpleNamespace(address=f"tcp:{listener.getsockname()[1]}")
            listener.shutdown(socket.SHUT_RDWR)

    def compare(self, stock, ours):
        with unittest.mock.patch.object(memcached, "KEYS", 3), self.server(stock) as first, self.server(ours) as second:
            memcached_demo.same_content({"tcp": (first, second)})

    def test_equal_values_pass_and_others_fail(self):
        plain = {b"key-%012u" % number: b"v" * 100 for number in range(3)}
        native = {b"mcload:%08u" % number: memcached.value(number) for number in range(3)}
        self.compare(plain, {**plain, **native})
        both = {**plain, **native}
        for wrong in ({**both, b"key-000000000001": b"w" * 100}, {**both, b"mcload:00000002": b"v" * 100}, plain):
            with self.assertRaisesRegex(Failed, "the results differ"):
                self.compare(plain, wrong)

    def test_two_empty_servers_show_nothing(self):
        with self.assertRaisesRegex(Failed, "the results differ"):
            self.compare({}, {})


if __name__ == "__main__":
    unittest.main()
