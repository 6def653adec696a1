# SPDX-License-Identifier: Apache-2.0
"""Every row of memcached-rdma/server/options.def and words.def on the command line; the tables of the page."""
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import shared

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "memcached-rdma/tools"))
import gen_tables  # noqa: E402  (needs the path above)

PROGRAM = shared.BUILD / "verbena-memcached"
# Of `stats settings`, for each flag with a default.
STATISTICS = {"a": "umask", "m": "maxbytes", "c": "maxconns", "t": "num_threads", "R": "reqs_per_event", "b": "tcp_backlog",
              "B": "binding_protocol", "I": "item_size_max", "f": "growth_factor", "n": "chunk_size"}
# A wrong value, and what the error says, of each flag whose value a function reads.
WRONG = {"p": ("65536", "give a number from 0 to 65535"), "a": ("8", "give an access mask in octal"),
         "m": ("0", "give a number from 1"), "t": ("513", "give a number from 1 to 512"),
         "B": ("udp", "give auto, ascii or binary"), "I": ("1025m", "give a size from 1k to 1024m"),
         "U": ("11211", "-U is not there yet"), "o": ("track_size", "did you mean track_sizes"),
         "D": ("", "give the sign behind the prefix"), "l": (",".join(["127.0.0.1"] * 33), "too many addresses"),
         "f": ("1", "give a factor above 1")}
WRONG_WORDS = {"idle_timeout": "x", "read_buf_mem_limit": "-1", "verbena_auth": "some", "verbena_core": "tl.enabel=shm",
               "verbena_onesided": "maybe", "verbena_lease": "99", "verbena_pinned": "81", "ext_path": "/tmp/items:5K",
               "ext_page_size": "0", "ext_wbuf_size": "1025", "ext_item_size": "-1", "ext_item_age": "never",
               "ext_threads": "65", "sock_cookie_id": "x", "ssl_keyformat": "3",
               "ssl_verify_mode": "4", "ssl_wbuf_size": "0", "ssl_min_version": "tlsv1.4"}
# A right value of each word without effect that has one.
USELESS = {"hashpower": "20", "tail_repair_time": "3600", "hash_algorithm": "xxh3", "lru_crawler_sleep": "100",
           "lru_crawler_tocrawl": "0", "hot_lru_pct": "20", "warm_lru_pct": "40", "hot_max_factor": "0.2", "warm_max_factor": "2.0",
           "temporary_ttl": "61", "slab_chunk_max": "512", "slab_sizes": "100-200-300", "slab_automove": "1",
           "slab_automove_ratio": "0.8", "slab_automove_window": "30", "slab_automove_freeratio": "0.01",
           "watcher_logbuf_size": "256", "worker_logbuf_size": "64", "ext_io_depth": "1", "ext_low_ttl": "0",
           "ext_recache_rate": "2000", "ext_compact_under": "2", "ext_drop_under": "10", "ext_max_frag": "0.8",
           "ext_max_sleep": "1000000"}
ODD_VALUES = ("", "x", "-1", "0", "99") # some of them are wrong for each word with a number
PROXY = {"proxy_config", "proxy_arg", "proxy_memprofile", "proxy_uring"} # another program, which memcached has inside
ANY_VALUE = {"verbena_key", "ssl_chain_cert", "ssl_key", "ssl_ca_cert", "ssl_ciphers"} # it is looked at later


def command(*arguments, program=PROGRAM):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)


class OptionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.options = gen_tables.load(ROOT, gen_tables.OPTIONS, gen_tables.Option)
        cls.words = gen_tables.load(ROOT, gen_tables.WORDS, gen_tables.Word)

    def refused(self, text, *arguments):
        result = command(*arguments)
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertIn(text, result.stderr)

    def with_value(self, option):
        return [f"-{option.letter}"] + (["2"] if option.value else [])

    def test_help_has_the_rows_that_are_accepted_and_no_other(self):
        help_text = command("-h").stdout
        for option in self.options:
            with self.subTest(option.letter):
                start = ", --" if option.name else " "  # memcached has one without a name, too
                row = re.search(rf"^-{option.letter}{start}(.*?) +(\S.*)$", help_text, re.MULTILINE)
                self.assertEqual(row is not None, option.effect != "ABSENT")
                if row:
                    self.assertEqual(row[1], option.name + (f"{'=' * bool(option.name)}{option.value}" if option.value else ""))
                    self.assertIn(option.help, row[2])
                    self.assertIn(f"(default: {option.standard})" if option.standard else "", row[2])
        for word in self.words:
            with self.subTest(word.name):
                self.assertEqual(f"- {word.name}" in help_text, word.effect == "WORKS")

    def test_each_flag_has_the_letter_and_the_name_that_it_has_in_memcached(self):
        stock = shutil.which("memcached")
        for option in self.options:
            for words in (self.with_value(option), [f"--{option.name}" + "=1" * bool(option.value)]):
                if words != ["--=1"]: # a flag without a name
                    with self.subTest(words):
                        said = command(*words, "-V", program=stock).stderr
                        self.assertNotRegex(said, "unrecognized option|invalid option|allow an argument|requires an argument")

    def test_defaults_are_those_of_memcached(self):
        servers = [shared.Server(stock=True), shared.Server()]
        for server in servers:
            self.addCleanup(server.stop)
        stock, ours = (server.stats("settings") for server in servers)
        for option in self.options:
            if option.standard and option.letter != "p": # the servers of the tests get a port
                with self.subTest(option.letter):
                    self.assertEqual(*(settings[STATISTICS[option.letter]] for settings in (ours, stock)))

    def test_a_flag_or_word_that_is_refused_is_named(self):
        for option in self.options:
            if option.effect == "ABSENT":
                with self.subTest(option.letter):
                    self.refused(f"-{option.letter} is not there yet", *self.with_value(option))
        for word in self.words:
            if word.effect == "ABSENT":
                with self.subTest(word.name):
                    self.refused(f"-o {word.name} is not there yet", "-o", word.name + "=1")

    def test_a_flag_or_word_without_effect_is_named_and_accepted(self):
        for option in self.options:
            result = command(*self.with_value(option), "-V") if option.effect == "NO_EFFECT" else None
            with self.subTest(option.letter):
                said = (result.returncode, result.stderr) if result else None
                self.assertIn(said, (None, (0, f"verbena-memcached: -{option.letter} is accepted, no effect\n")))
        useless = [word for word in self.words if word.effect == "NO_EFFECT"]
        idle = [f"{word.name}={USELESS[word.name]}" if word.value else word.name for word in useless]
        result = command("-o", ",".join(idle), "-V")
        self.assertEqual(result.stderr.splitlines(), [f"verbena-memcached: -o {name} is accepted, no effect" for name in idle])

    def test_a_wrong_value_is_answered_by_the_right_ones(self):
        for option in self.options:
            bounds = re.fullmatch(r"NUMBER\(\w+, (\d+), (\d+)\)", option.taken)
            with self.subTest(option.letter):
                if bounds:
                    for value in ("x", "", str(int(bounds[1]) - 1), str(int(bounds[2]) + 1)):
                        self.refused(f"give a number from {bounds[1]} to {bounds[2]}", f"-{option.letter}", value)
                elif option.value and option.taken.startswith("CALL"):
                    self.refused(WRONG[option.letter][1], f"-{option.letter}", WRONG[option.letter][0])
                if option.value:
                    self.refused(f"-{option.letter} needs a value", f"-{option.letter}")

    def test_a_wrong_value_of_a_word_is_an_error_as_is_none(self):
        for word in self.words:
            if word.effect == "WORKS" and word.value:
                with self.subTest(word.name):
                    self.refused(f"-o {word.name}=: give a value", "-o", word.name)
                    if word.name not in ANY_VALUE:
                        self.refused(f"-o {word.name}={WRONG_WORDS[word.name]}: ", "-o",
                                     f"{word.name}={WRONG_WORDS[word.name]}")


class StockTest(unittest.TestCase):
    """What memcached takes is taken, and a value that it refuses is refused."""

    def setUp(self):
        self.words = gen_tables.load(ROOT, gen_tables.WORDS, gen_tables.Word)
        self.ours = {word.name for word in self.words if word.effect != "ABSENT"}

    def stocks(self):
        """Each memcached that is here, and the file with its words."""
        stock = shutil.which("memcached")
        yield stock, pathlib.Path(stock)
        if shared.LATER:
            yield shared.LATER, pathlib.Path(shared.LATER).parent / "usr/bin/memcached" # LATER is a script

    @staticmethod
    @functools.cache
    def words_of(stock, file):
        """The words of its -o: texts in the program that begin as words of ours do, and that it does not call illegal."""
        begins = {word.name.split("_")[0] for word in gen_tables.load(ROOT, gen_tables.WORDS, gen_tables.Word)}
        texts = {text.decode() for text in re.findall(rb"(?<=\0)[a-z0-9]+(?:_[a-z0-9]+)*(?=\0)", file.read_bytes())}
        texts |= {text.removeprefix("no_") for text in texts} # the compiler keeps one text for both
        texts = {text for text in texts if text.split("_")[0] in begins}
        return {text for text in texts if "llegal suboption" not in command("-o", f"{text}=1", "-V", program=stock).stderr}

    def test_each_word_of_memcached_is_taken(self):
        for stock, file in self.stocks():
            words = self.words_of(stock, file)
            self.assertLess({"ext_path", "hashpower", "slab_automove", "track_sizes", "no_lru_crawler", "drop_privileges"}, words)
            self.assertEqual(words - self.ours - PROXY, set(), stock)

    def test_right_values_of_words_without_effect_are_right_for_memcached(self):
        for stock, file in self.stocks():
            known = self.words_of(stock, file)
            for name, value in USELESS.items():
                with self.subTest(name):
                    self.assertEqual(command("-o", f"{name}={value}", "-V").returncode, 0)
                    if name in known:
                        self.assertEqual(command("-o", f"{name}={value}", "-V", program=stock).returncode, 0)

    def refused_alike(self, words):
        """How many of these words memcached refuses; so does ours."""
        refused = [given for given in words if any(self.refuses(stock, given) for stock, _ in self.stocks())]
        for given in refused:
            with self.subTest(given):
                self.assertEqual(command(*given, "-V").returncode, 64)
        return len(refused)

    def refuses(self, stock, given):
        said = command(*given, "-V", program=stock)
        return said.returncode != 0 and "llegal suboption" not in said.stderr # an older one may not have the word

    def test_values_of_words_that_memcached_refuses_are_refused(self):
        words = [word for word in self.words if word.name in self.ours and word.value]
        self.assertGreater(self.refused_alike([("-o", f"{word.name}={value}") for word in words for value in ODD_VALUES]), 90)

    def test_values_of_flags_that_memcached_refuses_are_refused(self):
        flags = [option for option in gen_tables.load(ROOT, gen_tables.OPTIONS, gen_tables.Option) if option.value]
        self.assertGreater(self.refused_alike([(f"-{flag.letter}", value) for flag in flags for value in ODD_VALUES]), 25)


class PageTest(unittest.TestCase):
    def run_generator(self, root, option):
        result = subprocess.run([sys.executable, "-B", gen_tables.__file__, root, option], capture_output=True, text=True,
                                timeout=60, check=False)
        return result.returncode, result.stderr

    def test_a_page_with_another_table_is_an_error_that_names_the_command(self):
        changes = ((gen_tables.FLAGS, "META_FLAG('f', MG,", "META_FLAG('f', MG | MS,", "| `f` | `mg ms` |"),
                   (gen_tables.OPTIONS, '"64", WORKS', '"65", WORKS', "| `65` | memory"),
                   (gen_tables.WORDS, '"1000", WORKS', '"1001", WORKS', "| `1001` | time"),
                   (gen_tables.CLIENT, '"5000"', '"5001"', "| `5001` | time-out"))
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for name in (gen_tables.PAGE, *(change[0] for change in changes)):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
            for table, was, becomes, row in changes:
                self.assertEqual(self.run_generator(copy, "--check"), (0, ""))
                text = (copy / table).read_text()
                (copy / table).write_text(text.replace(was, becomes))
                status, said = self.run_generator(copy, "--check")
                self.assertEqual(status, 1)
                self.assertIn("gen_tables.py . --page", said)
                self.assertEqual(self.run_generator(copy, "--page"), (0, ""))
                self.assertIn(row, (copy / gen_tables.PAGE).read_text())

    def test_the_header_of_the_client_describes_each_option_with_its_default(self):
        header = (ROOT / "memcached-rdma/client/include/verbena/mc.h").read_text(encoding="utf-8")
        for option in gen_tables.load(ROOT, gen_tables.CLIENT, gen_tables.ClientOption):
            with self.subTest(option.name):
                described = re.search(rf"^ \*   {option.name}=([^ ]+) (.*?)(?=^ \*   \w|^ \* \w)", header, re.MULTILINE | re.DOTALL)
                self.assertIsNotNone(described)
                self.assertEqual(described[1].lower(), option.value.strip("<>"))
                self.assertIn(f"({option.standard})" if option.standard else "(default: ", described[2])

    def test_a_row_that_the_page_cannot_show_is_an_error_that_names_the_row(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / gen_tables.FLAGS
            table.parent.mkdir(parents=True)
            for row, text in (("'s', MG, ASKS, none, \"\", sizes, \"\"", "s: sizes is none of"),
                              ("'s', MX, ASKS, none, \"\", size, \"\"", "s: MX is none of"),
                              ("'s', MG, ASKS, size, \"\"", "has not the columns letter, commands")):
                table.write_text(f"META_FLAG({row})\n")
                with self.assertRaisesRegex(gen_tables.TableError, text):
                    gen_tables.load_flags(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
