# SPDX-License-Identifier: Apache-2.0
"""ext_path: items beyond memory are on disk, every command finds them there, and a fault of the disk never gives a wrong value."""
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest
import unittest.mock

import binary
import shared

MIB = 1 << 20
WORDS = "ext_page_size=1,ext_item_size=512"
HERE = pathlib.Path(__file__).resolve().parent
SHIM = HERE / "shim.c"
IO_URING_SETUP = 425 # on every processor
NO_IO_URING = "as io_uring is not to be had: "
VALUE = re.compile(rb"VALUE (\S+) \d+ (\d+)(?: \d+)?\r\n")


def value_of(number, size=1000):
    return b"%d:" % number + bytes([97 + number % 26]) * size


def values(answer):
    """Keys and values of the answers to get."""
    found, at = {}, 0
    for match in iter(lambda: VALUE.match(answer, at), None):
        size = int(match[2])
        found[match[1]] = answer[match.end():match.end() + size]
        at = match.end() + size + 2
        if answer[at:at + 5] == b"END\r\n":
            at += 5
    return found


class DiskCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "disk"

    def server(self, *flags, size="64M", words=WORDS, program=None):
        server = shared.Server("-m", "16", "-t", "2", "-o", f"ext_path={self.file}:{size},{words}", *flags, program=program)
        self.addCleanup(server.stop)
        return server

    def drained(self, server):
        """Waits until what was put to the buffer is on disk, but for a piece that waits for more."""
        shared.wait_for(lambda: int(server.stats("verbena")["disk_waiting_bytes"]) <= 2 * MIB, "an empty buffer")

    def fill(self, server, numbers, size=1000):
        step = max(1, 2 * MIB // size)
        for first in range(numbers.start, numbers.stop, step):
            chunk = range(first, min(first + step, numbers.stop))
            sets = (b"set k%d 7 0 %d noreply\r\n%s\r\n" % (i, len(value_of(i, size)), value_of(i, size)) for i in chunk)
            server.ask(b"".join(sets) + b"mn\r\n")
            self.drained(server)

    def check(self, server, numbers, size=1000):
        """Every value that is there is right; how many are."""
        count = 0
        for first in range(numbers.start, numbers.stop, 100):
            chunk = range(first, min(first + 100, numbers.stop))
            for key, value in values(server.ask(b"get " + b" ".join(b"k%d" % i for i in chunk) + b"\r\n")).items():
                self.assertEqual(value, value_of(int(key[1:]), size), key)
                count += 1
        return count

    def refused(self, words, *flags):
        with self.assertRaises(RuntimeError) as error:
            shared.Server("-o", words, *flags).stop()
        return str(error.exception)


class OptionsTest(DiskCase):
    """What memcached takes for zero bytes, ignores or crashes at."""

    def test_size_and_unit_are_taken_or_refused_and_never_zero(self):
        for size in ("3M", "3m", "3MB", "3mb"):
            self.assertEqual(self.server(size=size).stats()["extstore_limit_maxbytes"], str(3 * MIB))
            self.file.unlink()
        for wrong in ("", ":", ":0M", ":5", ":5K", ":5GiB", ":-5M"):
            self.assertIn("ext_path=", self.refused(f"ext_path={self.file}{wrong}"))
            self.assertFalse(self.file.exists())

    def test_the_order_of_words_does_not_matter(self):
        for words in (f"ext_page_size=2,ext_path={self.file}:6M", f"ext_path={self.file}:6M,ext_page_size=2"):
            server = shared.Server("-o", words)
            self.addCleanup(server.stop)
            stats = server.stats()
            self.assertEqual((stats["extstore_limit_maxbytes"], stats["extstore_pages_free"]), (str(6 * MIB), "3"))
            server.stop()

    def test_several_files_are_one_disk(self):
        server = self.server(words=f"{WORDS},ext_path={self.folder}/other:5M", size="3M")
        self.assertEqual(server.stats()["extstore_limit_maxbytes"], str(8 * MIB))
        self.fill(server, range(30000))
        self.assertGreater((self.folder / "other").stat().st_blocks, 0)

    def test_files_of_one_and_of_two_pages_are_used(self):
        for pages in (1, 2):
            server = self.server(size=f"{pages}M")
            self.fill(server, range(30000))
            self.assertGreater(int(server.stats()["extstore_objects_used"]), 0)
            self.check(server, range(30000))
            server.stop()
            self.file.unlink()

    def test_what_cannot_work_is_refused_at_the_start(self):
        self.assertIn("raise ext_page_size", self.refused(f"ext_path={self.file}:64M,ext_page_size=2", "-I", "4m"))
        self.assertIn("smaller than a page", self.refused(f"ext_path={self.file}:32M"))
        self.assertIn("No such file", self.refused(f"ext_path={self.folder}/no/file:64M"))
        for loses in ("/dev/null", "/dev/zero"):
            self.assertIn(f"{loses}: it is neither a file nor a block device", self.refused(f"ext_path={loses}:64M"))
        self.server()
        self.assertIn("another server uses it", self.refused(f"ext_path={self.file}:64M"))

    def test_words_without_effect_say_so(self):
        server = self.server(words=f"{WORDS},ext_io_depth=4,ext_recache_rate=2000,ext_max_frag=0.8")
        _, said = server.stop()
        for word in ("ext_io_depth=4", "ext_recache_rate=2000", "ext_max_frag=0.8"):
            self.assertIn(f"-o {word} is accepted, no effect", said)


class CommandsTest(DiskCase):
    ITEMS = range(40000)

    def filled(self, *flags, **how):
        server = self.server(*flags, **how)
        self.fill(server, self.ITEMS)
        return server

    def test_four_times_the_memory_is_all_there_and_nothing_was_evicted(self):
        server = self.server()
        self.fill(server, range(48000))
        stats = server.stats()
        self.assertEqual((stats["evictions"], stats["curr_items"]), ("0", "48000"))
        self.assertEqual(self.check(server, range(48000)), 48000)
        self.assertGreater(int(server.stats()["get_extstore"]), 20000)
        self.assertEqual(server.stats()["get_misses"], "0")

    def test_every_command_finds_an_item_on_disk(self):
        server = self.filled()
        first = iter(range(self.ITEMS.stop))

        def key():
            number = next(first)
            return number, b"k%d" % number, value_of(number)
        number, name, value = key()
        self.assertEqual(server.ask(b"get none %s nothing %s\r\n" % (name, name)),
                         b"VALUE %s 7 %d\r\n%s\r\n" % (name, len(value), value) * 2 + b"END\r\n")
        number, name, value = key()
        cas = server.ask(b"gets %s\r\n" % name).split()[4]
        self.assertEqual(server.ask(b"cas %s 7 0 3 %s\r\nnew\r\nget %s\r\n" % (name, cas, name)),
                         b"STORED\r\nVALUE %s 7 3\r\nnew\r\nEND\r\n" % name)
        number, name, value = key()
        self.assertEqual(server.ask(b"append %s 0 0 4\r\n/end\r\nget %s\r\n" % (name, name)),
                         b"STORED\r\nVALUE %s 7 %d\r\n%s/end\r\nEND\r\n" % (name, len(value) + 4, value))
        number, name, value = key()
        self.assertEqual(server.ask(b"ms %s 2 MP\r\nA/\r\nmg %s v f s\r\n" % (name, name)),
                         b"HD\r\nVA %d f7 s%d\r\nA/%s\r\n" % (len(value) + 2, len(value) + 2, value))
        number, name, value = key()
        head, read, end, left = server.ask(b"gat 1000 %s\r\nmg %s t\r\n" % (name, name)).split(b"\r\n")[:4]
        self.assertEqual((head, read, end), (b"VALUE %s 7 %d" % (name, len(value)), value, b"END"))
        self.assertRegex(left, rb"^HD t(1000|[5-9]\d\d)$")
        number, name, value = key()
        self.assertEqual(server.ask(b"touch %s 100\r\nget %s\r\n" % (name, name)),
                         b"TOUCHED\r\nVALUE %s 7 %d\r\n%s\r\nEND\r\n" % (name, len(value), value))
        number, name, value = key()
        self.assertEqual(server.ask(b"incr %s 1\r\n" % name), b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
        self.assertEqual(server.ask(b"add %s 0 0 1\r\nx\r\nreplace %s 0 0 1\r\ny\r\nget %s\r\n" % (name, name, name)),
                         b"NOT_STORED\r\nSTORED\r\nVALUE %s 0 1\r\ny\r\nEND\r\n" % name)
        number, name, value = key()
        self.assertEqual(server.ask(b"md %s I\r\nmg %s v\r\nget %s\r\n" % (name, name, name)),
                         b"HD\r\nVA %d X W\r\n%s\r\nVALUE %s 7 %d\r\n%s\r\nEND\r\n" %
                         (len(value), value, name, len(value), value))
        number, name, value = key()
        self.assertEqual(server.ask(b"delete %s\r\nget %s\r\n" % (name, name)), b"DELETED\r\nEND\r\n")
        number, name, value = key()
        self.assertEqual(server.ask(b"mg %s s f t\r\n" % name), b"HD s%d f7 t-1\r\n" % len(value))

    def test_numbers_on_disk_are_counted(self):
        server = self.server(words="ext_page_size=1,ext_item_size=0")
        server.ask(b"set number 0 0 2\r\n41\r\nset other 0 0 2\r\n43\r\n")
        self.fill(server, self.ITEMS)
        self.assertEqual(server.ask(b"incr number 1\r\nma other MD v\r\n"), b"42\r\nVA 2\r\n42\r\n")

    def test_commands_behind_a_get_from_disk_keep_their_order(self):
        server = self.filled()
        names = [b"k%d" % i for i in range(300)]
        expected = b"".join(b"VALUE %s 7 %d\r\n%s\r\nEND\r\nMN\r\n" % (name, len(value_of(i)), value_of(i))
                            for i, name in enumerate(names))
        self.assertEqual(server.ask(b"".join(b"get %s\r\nmn\r\n" % name for name in names)), expected)

    def test_packets_of_the_binary_protocol_find_it(self):
        server = self.filled()
        for number in range(20):
            name, value = b"k%d" % number, value_of(number)
            answer = binary.packets(server.ask(binary.request(binary.GETK, name) + binary.touch(binary.GAT, name, 100) +
                                               binary.request(binary.GETQ, name) +
                                               binary.request(binary.NOOP)))
            self.assertEqual([(packet[0], packet[5], packet[6]) for packet in answer],
                             [(binary.GETK, name, value), (binary.GAT, b"", value), (binary.GETQ, b"", value),
                              (binary.NOOP, b"", b"")])

    def test_clients_that_leave_while_the_disk_reads_cost_nothing(self):
        server = self.filled()
        for number in range(300):
            with server.connect() as connection:
                connection.sendall(b"get " + b" ".join(b"k%d" % i for i in range(number, number + 64)) + b"\r\n")
                if number % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(self.check(server, range(1000)), 1000)

    def test_large_values_are_all_there(self):
        """memcached keeps values above its write buffer in memory, or loses them."""
        server = self.server("-I", "8m", "-m", "64", size="512M", words="ext_page_size=16,ext_item_size=512")
        self.fill(server, range(60), 4 * MIB)
        stats = server.stats()
        self.assertEqual((stats["evictions"], stats["curr_items"]), ("0", "60"))
        for number in range(60):
            self.assertEqual(self.check(server, range(number, number + 1), 4 * MIB), 1, number)

    def test_the_file_of_an_earlier_start_is_used_again(self):
        self.filled().stop()
        server = self.server()
        self.assertEqual(server.ask(b"get k1\r\n"), b"END\r\n")
        self.fill(server, range(20000, 60000))
        self.assertEqual(server.stats()["evictions"], "0")
        self.assertEqual(self.check(server, range(20000, 60000)), 40000)

    def test_small_items_do_not_push_out_items_on_disk(self):
        server = self.filled()
        for first in range(0, 100000, 4000):
            server.ask(b"".join(b"set s%d 0 0 1 noreply\r\nx\r\n" % i for i in range(first, first + 4000)) + b"mn\r\n")
            self.drained(server)
        counts = server.stats("verbena")
        self.assertEqual((counts["disk_stubs_evicted"], counts["disk_puts_refused"]), ("0", "0"))
        self.assertEqual(self.check(server, range(20000)), 20000)

    def test_idle_items_go_to_disk_early(self):
        server = self.server(words=f"{WORDS},ext_item_age=1")
        self.fill(server, range(100))
        shared.wait_for(lambda: server.stats("verbena")["disk_stubs"] == "100", "idle items on disk")
        self.assertEqual(self.check(server, range(100)), 100)

    def test_one_key_that_changes_all_the_time_and_its_neighbours(self):
        """memcached's compaction matched pages and not places, so that old values came back."""
        server = self.server(size="4M")
        server.ask(b"set one 0 0 2\r\n-1\r\n")
        for number in range(60):
            value = value_of(number, 20000)
            self.assertEqual(server.ask(b"set one 0 0 %d\r\n%s\r\n" % (len(value), value)), b"STORED\r\n")
            self.fill(server, range(number * 1000, number * 1000 + 1000))
            found = values(server.ask(b"get one\r\n"))
            self.assertIn(found, ({b"one": value}, {}))
            self.check(server, range(max(0, number * 1000 - 2000), number * 1000 + 1000))
        stats = server.stats()
        self.assertGreater(int(stats["extstore_page_evictions"]), 10)
        self.assertLessEqual(int(stats["extstore_bytes_written"]), 2 * int(stats["extstore_objects_written"]) * 21000)


class StatisticsTest(DiskCase):
    @staticmethod
    def names(server, group=""):
        return [name for name in server.stats(group) if "ext" in name]

    def test_the_names_are_those_of_memcached(self):
        with tempfile.TemporaryDirectory() as folder:
            stock = shared.Server("-m", "64", "-o", f"ext_path={folder}/stock:128m", stock=True)
            self.addCleanup(stock.stop)
            ours = self.server()
            self.assertEqual(self.names(ours), self.names(stock))
            self.assertEqual(self.names(ours, "settings"), self.names(stock, "settings"))
            pages = [re.sub(r"^\d+", "N", name) for name in stock.stats("extstore")]
            self.assertLessEqual({re.sub(r"^\d+", "N", name) for name in ours.stats("extstore")}, set(pages))
        self.assertEqual(self.names(shared.Server("-m", "64", stock=True)), [])

    def test_without_a_disk_there_are_none(self):
        server = shared.Server()
        self.addCleanup(server.stop)
        self.assertEqual(self.names(server), [])
        self.assertEqual(server.ask(b"stats extstore\r\n"), b"END\r\n")


class FaultsTest(DiskCase):
    def forbid_growth(self, server, size):
        """Writes of the server beyond this size of a file fail, as on a full disk."""
        server.stats() # when it answers, it has its memory, which is a file as well
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))

    def end_lines(self, server):
        _, said = server.stop()
        return [line for line in said.splitlines() if "ext_path" in line]

    def faults(self, server):
        """Lines about the disk, but for the one where the kernel of this machine refuses io_uring."""
        return [line for line in self.end_lines(server) if NO_IO_URING not in line]

    def test_a_full_disk_means_memory_alone_and_one_line(self):
        server = self.server()
        self.forbid_growth(server, 5 * MIB)
        for first in range(0, 40000, 2000):
            server.ask(b"".join(b"set k%d 7 0 %d noreply\r\n%s\r\n" % (i, len(value_of(i)), value_of(i))
                                for i in range(first, first + 2000)) + b"mn\r\n")
        self.check(server, range(40000))
        shared.wait_for(lambda: server.stats("verbena")["disk"] == "failed", "a write beyond the end of the disk")
        self.assertGreater(self.check(server, range(38000, 40000)), 1900)
        lines = self.faults(server)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("writing: File too large; items are in memory alone", lines[0])

    def without_io_uring(self, words):
        program = self.folder / "program"
        command = [HERE / "filtered.py", f"no:{IO_URING_SETUP}", shared.BUILD / "verbena-memcached"]
        program.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, command))} \"$@\"\n")
        program.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, ASAN_OPTIONS="detect_leaks=0"): # the leak detector looks at another program
            return self.server(program=str(program), words=words)

    def test_without_io_uring_threads_read_and_one_line_says_so(self):
        for words, count, who in ((WORDS, 1, "a thread reads"), (f"{WORDS},ext_threads=3", 3, "threads read")):
            server = self.without_io_uring(words)
            self.fill(server, range(40000))
            self.assertEqual(self.check(server, range(40000)), 40000)
            self.assertGreater(int(server.stats()["get_extstore"]), 10000)
            names = [name.read_text() for name in pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/comm")]
            self.assertEqual(names.count("mc-disk-read\n"), count)
            lines = self.end_lines(server)
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(f"{who} the files, {NO_IO_URING}Operation not permitted", lines[0])

    def test_a_file_that_was_cut_is_never_believed(self):
        server = self.server()
        self.fill(server, range(40000))
        os.truncate(self.file, 5000)
        kept = self.check(server, range(40000))
        self.assertLess(kept, 30000)
        self.assertGreater(kept, 100)
        self.fill(server, range(0)) # the server still serves
        self.assertEqual(server.ask(b"set a 0 0 1\r\nx\r\nget a\r\n"), b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n")
        # A record written behind the cut gives the file its length again: reads are wrong then, and not short.
        failed = server.stats("verbena")["disk"] == "failed"
        self.assertEqual(len(self.faults(server)), failed)

    def test_changed_bytes_are_misses_and_counted(self):
        server = self.server()
        self.fill(server, range(40000))
        with open(self.file, "r+b") as file:
            for at in range(0, 20 * MIB, 40000):
                file.seek(at)
                file.write(b"damaged")
        kept = self.check(server, range(40000))
        stats = server.stats()
        self.assertGreater(int(stats["badcrc_from_extstore"]), 100)
        self.assertEqual(stats["miss_from_extstore"], stats["badcrc_from_extstore"])
        self.assertEqual(kept, 40000 - int(stats["miss_from_extstore"]))
        self.assertLessEqual(self.check(server, range(40000)), kept)


class RestartTest(DiskCase):
    def end(self, server, number=signal.SIGUSR1):
        server.process.send_signal(number)
        server.process.wait(shared.ANSWER_SECONDS)
        status, said = server.stop()
        self.assertEqual(status, 0, said)
        return said

    def with_file(self, *flags, **how):
        return self.server("-e", str(self.folder / "items"), *flags, **how)

    def test_a_warm_restart_finds_what_is_on_disk(self):
        server = self.with_file()
        self.fill(server, range(40000))
        server.ask(b"touch k5 1000\r\ndelete k6\r\nmd k7 I\r\nmn\r\n")
        cas = [server.ask(b"mg k%d c\r\n" % i) for i in range(10, 20)]
        self.assertIn("39998 items are saved", self.end(server)) # not the stale one
        for flags in ([], ["-t", "1"], ["-m", "32"]):
            server = self.with_file(*flags)
            self.assertEqual(server.stats()["curr_items"], "39998")
            self.assertEqual([server.ask(b"mg k%d c\r\n" % i) for i in range(10, 20)], cas)
            self.assertRegex(server.ask(b"mg k5 t\r\n"), rb"^HD t[1-9]\d\d")
            self.assertEqual(self.check(server, range(40000)), 39998)
            self.end(server)
        server = self.with_file()
        self.fill(server, range(40000, 80000)) # eviction and the disk's oldest pages
        self.check(server, range(80000))
        self.assertGreater(self.check(server, range(60000, 80000)), 10000) # what was read came back, and took pages

    def test_without_it_and_after_another_end_the_start_is_cold(self):
        server = self.with_file()
        self.fill(server, range(40000))
        self.end(server, signal.SIGTERM)
        self.assertEqual(self.check(self.with_file(), range(1000)), 0)

    def test_another_disk_keeps_what_was_in_memory(self):
        server = self.with_file()
        self.fill(server, range(40000))
        said = self.end(server)
        self.assertIn("40000 items are saved", said)
        in_memory = 40000 - int(re.search(r"saved, (\d+) of them stay on disk", said)[1]) # statistics would be older
        self.assertTrue(0 < in_memory < 40000, said)
        server = self.with_file(words="ext_page_size=2,ext_item_size=512")
        self.assertEqual(self.check(server, range(40000)), in_memory)
        self.assertIn(f"a warm start with {in_memory} of 40000 items", self.end(server))

    def test_another_file_under_that_name_gives_nothing_wrong(self):
        server = self.with_file()
        self.fill(server, range(40000))
        self.end(server)
        other = self.folder / "other"
        self.file.rename(other)
        (self.folder / "items").rename(self.folder / "kept")
        server = self.server()
        server.ask(b"".join(b"set k%d 7 0 600 noreply\r\n%s\r\n" % (i, b"wrong!" * 100) for i in range(40000)) + b"mn\r\n")
        server.stop()
        (self.folder / "kept").rename(self.folder / "items")
        self.check(self.with_file(), range(40000))

    @unittest.skipUnless(shutil.which("cc"), "no cc, which builds the library that kills a server")
    def test_a_kill_at_any_step_leaves_right_items_or_none(self):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", SHIM, "-o", self.folder / "shim.so", "-ldl"], check=True, timeout=120)
        killed, step = 0, 1
        while step < 40000:
            self.with_kill(step)
            server = self.with_file()
            self.check(server, range(20000))
            self.end(server, signal.SIGTERM)
            killed += self.was_killed
            if not self.was_killed:
                break
            step = step * 4 if not os.environ.get("VERBENA_TEST_FULL") else step + max(1, step // 8)
        self.assertGreater(killed, 2)

    def with_kill(self, step):
        """A server that fills its disk and is told to end, and is killed at this step of writing, saving or loading."""
        sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0:detect_leaks=0"]))
        self.was_killed = True
        with unittest.mock.patch.dict(os.environ, LD_PRELOAD=str(self.folder / "shim.so"), ASAN_OPTIONS=sanitizer,
                                      VERBENA_KILL_AT=str(step), VERBENA_KILL_FILE=str(self.folder)):
            try:
                server = self.with_file()
                self.fill(server, range(20000))
                server.process.send_signal(signal.SIGUSR1)
                self.was_killed = server.process.wait(shared.ANSWER_SECONDS) == -signal.SIGKILL
            except (OSError, RuntimeError, KeyError):
                self.assertEqual(server.process.wait(shared.ANSWER_SECONDS), -signal.SIGKILL)
        server.stop()
