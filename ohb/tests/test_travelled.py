# SPDX-License-Identifier: Apache-2.0
"""The core's statistics pages, as the demonstrations read them."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from driver import noise, travelled

CORE = pathlib.Path(__file__).resolve().parents[2] / "native-core/src/base"
NAMES = ("shm.tx.bytes", "tcp.tx.bytes", "get.mapped.bytes", "peers.connected")


def page(rows, magic=travelled.MAGIC, names=NAMES):
    """The bytes of a page whose workers have these values."""
    texts = b"".join(name.encode() + b"\0" for name in names)
    texts += b"\0" * (-len(texts) % 64)
    row_bytes = 8 * len(names) + 32
    header = travelled.HEADER.pack(magic, len(names), len(rows), row_bytes, len(texts), 1, 2, 3, 8 * len(names), 1, 1, 1)
    return header + texts + b"".join(b"".join(value.to_bytes(8, "little") for value in row) + b"\1" * 32 for row in rows)


class Reading(unittest.TestCase):
    def read(self, content):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            return travelled.Page(file.name)

    def test_the_workers_of_a_process_are_added_up(self):
        self.assertEqual(self.read(page([(1, 20, 300, 1), (2, 0, 5, 0)])).counters(), dict(zip(NAMES, (3, 20, 305, 1))))

    def test_pages_of_another_layout_and_other_files_are_refused(self):
        for content in (page([(1, 2, 3, 4)], magic=b"VBNSTAT9"), page([(1, 2, 3, 4)])[:-1], b"short", b"\0" * 200):
            with self.assertRaises(ValueError):
                self.read(content)

    def test_the_layout_is_that_of_the_core(self):
        text = (CORE / "stats_format.h").read_text()
        self.assertIn(f'STATS_MAGIC "{travelled.MAGIC.decode()}"', text)
        self.assertIn(f"sizeof(stats_header_t) == {travelled.HEADER.size}", text)
        self.assertIn('STATS_MEMFD_NAME "vbn-stats"', text)

    def test_every_counter_that_is_added_up_is_one_of_the_core(self):
        known = set(re.findall(r'COUNTER\(\w+, "([a-z._]+)"', (CORE / "counters.def").read_text()))
        for names, _ in travelled.WAYS:
            self.assertLessEqual(set(names), known)


class Processes(unittest.TestCase):
    PROGRAM = ("import os, sys; fd = os.memfd_create('vbn-stats'); os.write(fd, bytes.fromhex(sys.argv[1]));"
               "print('open', flush=True); sys.stdin.read()")

    def start(self, *values):
        child = subprocess.Popen([sys.executable, "-c", self.PROGRAM, page([values]).hex()], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        self.assertEqual(child.stdout.readline(), "open\n")
        return child

    def test_what_a_process_has_counted_is_known_after_its_end_and_once(self):
        child, pages = self.start(7, 0, 5, 2), travelled.Pages()
        pages.look()
        pages.look()
        child.communicate()
        pages.look()
        self.assertEqual(pages.totals(), dict(zip(NAMES, (7, 0, 5, 2))))

    def test_processes_below_this_one_are_found_and_no_others(self):
        child, pages = self.start(7, 0, 5, 2), travelled.Pages()
        self.assertIn(child.pid, noise.tree(os.getpid()))
        pages.look(self.start(1, 1, 1, 1).pid)
        self.assertEqual(pages.totals(), dict(zip(NAMES, (1, 1, 1, 1))))


class Text(unittest.TestCase):
    def test_the_ways_stand_in_the_order_of_their_bytes(self):
        self.assertEqual(travelled.lines({"shm.tx.bytes": 5 << 20, "get.mapped.bytes": 40 << 20}, "of blocks"),
                         ["Through Verbena went 45 MiB of blocks: 40 MiB in place, in memory that both sides map; 5,120 KiB in "
                          "packets over shared memory."])

    def test_nothing_counted_is_said_to_be_nothing(self):
        self.assertIn("no proof", travelled.lines({"shm.tx.bytes": 0, "peers.connected": 2}, "of blocks")[0])

    def test_sizes_have_units(self):
        self.assertEqual([travelled.size(count) for count in (0, 5000, 12 << 20, 20 << 30)],
                         ["0 bytes", "5,000 bytes", "12 MiB", "20.0 GiB"])


if __name__ == "__main__":
    unittest.main()
