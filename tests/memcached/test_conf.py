# SPDX-License-Identifier: Apache-2.0
"""verbena-memcached-conf starts the server with the lines of a file such as /etc/memcached.conf; the unit of systemd."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

import shared

SERVICE = pathlib.Path(__file__).resolve().parents[2] / "memcached-rdma/service"
FILTERED = pathlib.Path(__file__).resolve().parent / "filtered.py"
DEBIAN = pathlib.Path("/etc/memcached.conf")
LIMIT = 120
# A file, and the words of the command.
LINES = (("-m 64\n-p 11211\n", ["-m", "64", "-p", "11211"]), ("-m 64", ["-m", "64"]), ("# -m 64\n  # x\n\n", []),
         ("-m 64 # more\n", ["-m", "64"]), ("-d\n-h\nlogfile /var/log/memcached.log\n-vv\n", ["-vv"]),
         ("\t-l 127.0.0.1,::1  \n", ["-l", "127.0.0.1,::1"]),
         ("--memory-limit=64\n-o idle_timeout=5,track_sizes\n", ["--memory-limit=64", "-o", "idle_timeout=5,track_sizes"]),
         ("-s '/run/a b/socket'\n", ["-s", "/run/a b/socket"]), ("-P $HOME/`id`\n", ["-P", "$HOME/`id`"]))


class ConfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "verbena-memcached-conf"
        shutil.copy(SERVICE / "verbena-memcached-conf", self.program)
        os.symlink(shared.BUILD / "verbena-memcached", self.folder / "verbena-memcached")
        self.file = self.folder / "memcached.conf"

    def call(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, timeout=LIMIT, check=False)

    def words(self, file, *more):
        result = self.call("-n", file, *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        program, *words = result.stdout.splitlines()
        self.assertEqual(os.path.realpath(program), os.path.realpath(self.folder / "verbena-memcached"))
        return words

    def test_each_line_gives_its_words(self):
        root = ["-u", "root"] if os.geteuid() == 0 else []
        for text, words in LINES:
            self.file.write_text(text)
            with self.subTest(text):
                self.assertEqual(self.words(self.file), words + root)
        self.file.write_text("-u memcache\n")
        self.assertEqual(self.words(self.file, "-v"), ["-u", "memcache", "-v"])

    @unittest.skipUnless(DEBIAN.exists(), "Debian's memcached.conf is not here")
    def test_the_server_takes_the_file_of_debian(self):
        result = subprocess.run([shared.BUILD / "verbena-memcached", *self.words(DEBIAN), "-V"], capture_output=True, text=True,
                                timeout=LIMIT, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_server_runs_in_the_foreground_with_the_flags_of_the_file(self):
        port = shared.HeldPort()
        self.addCleanup(port.close)
        self.file.write_text(f"-d\nlogfile /nowhere\n-m 32\n-l 127.0.0.1\n-p {port.number} # port\n")
        process = subprocess.Popen([self.program, self.file, "-t", "2"], stderr=subprocess.PIPE, text=True,
                                   preexec_fn=shared.end_with_the_test)
        self.addCleanup(process.communicate, timeout=LIMIT)
        self.addCleanup(process.terminate)
        self.assertRegex(process.stderr.readline(), rf"^verbena-memcached: port {port.number}, 32 MiB, ")
        self.assertEqual(shared.at_port(port.number).stats()["threads"], "2")

    def test_a_file_that_is_missing_or_wrong_is_named(self):
        self.file.write_text("-m 64\n-s '/run\n")
        for words, text in (([], "no file"), ([self.folder / "nothing"], "cannot read"), ([self.file], "-s '/run: a quote")):
            result = self.call(*words)
            self.assertEqual(result.returncode, 64)
            self.assertIn(text, result.stderr)

    def test_the_unit_starts_the_installed_program(self):
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", shared.BUILD, "--prefix", prefix], check=True, timeout=LIMIT, capture_output=True)
        unit = prefix / "lib/systemd/system/verbena-memcached.service"
        start = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
        program = start[0].removeprefix("ExecStart=").split()[0]
        self.assertTrue(os.access(program, os.X_OK), program)
        self.assertEqual(pathlib.Path(program).parent, prefix / "bin")
        if shutil.which("systemd-analyze"):
            checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=LIMIT,
                                     check=False)
            self.assertNotIn("verbena-memcached.service:", checked.stderr)


NUMBERS = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def allowed_calls(unit):
    """Numbers of the system calls that the unit's SystemCallFilter allows, as this host's systemd expands it."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], capture_output=True, text=True, timeout=LIMIT,
                            check=True)
    sets, name = {}, None
    for line in listed.stdout.splitlines():
        if line.startswith("@"):
            name = line.strip()
            sets[name] = []
        elif name and line.startswith("    ") and "#" not in line:
            sets[name].append(line.strip())
    wanted = [word for line in unit.read_text().splitlines() if line.startswith("SystemCallFilter=")
              for word in line.removeprefix("SystemCallFilter=").split()]
    found = set()
    while wanted:
        word = wanted.pop()
        found |= set() if word.startswith("@") else {word}
        wanted += sets[word] if word.startswith("@") else []
    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", NUMBERS.read_text()))
    return sorted(int(numbers[name]) for name in found if name in numbers)


@unittest.skipUnless(shutil.which("systemd-analyze") and NUMBERS.exists(), "no systemd-analyze, or no headers of x86-64")
class FilterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = allowed_calls(SERVICE / "verbena-memcached.service.in")

    def filtered(self, calls, *flags):
        program = self.folder / "program"
        words = [FILTERED, ",".join(map(str, calls)), shared.BUILD / "verbena-memcached"]
        program.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, words))} \"$@\"\n")
        program.chmod(0o755)
        # the leak detector stops threads by ptrace, which no service needs
        with unittest.mock.patch.dict(os.environ, ASAN_OPTIONS="detect_leaks=0"):
            server = shared.Server(*flags, program=str(program))
        self.addCleanup(server.stop)
        return server

    def use(self, server):
        """Commands, clients by messages and one-sided, and a value that the kernel fetches from its client."""
        answer = server.ask(b"set a 0 100 1\r\nb\r\nget a\r\nset big 0 0 900000\r\n" + b"x" * 900000 + b"\r\nmg big v\r\nstats\r\n"
                            b"stats verbena\r\nlru_crawler metadump all\r\nflush_all 100\r\ncache_memlimit 32\r\nmn\r\n")
        self.assertTrue(answer.endswith(b"OK\r\nOK\r\nMN\r\n"), answer[-100:])
        patient = f"127.0.0.1:{server.port};connect=60000;timeout=60000"
        result = subprocess.run([shared.BUILD / "mcexample", patient], capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("messages through the core", result.stdout)
        os.kill(server.process.pid, signal.SIGHUP)
        self.assertEqual(server.ask(b"mn\r\n"), b"MN\r\n")

    def test_the_server_makes_no_call_that_the_unit_forbids(self):
        items = self.folder / "items"
        for _ in range(2): # a cold start, and a warm one
            server = self.filtered(self.calls, "-e", str(items), "-o", f"ext_path={self.folder}/disk:64M")
            self.use(server)
            server.process.send_signal(signal.SIGUSR1)
            server.process.wait(LIMIT)
            self.assertEqual(server.stop()[0], 0)
        self.assertTrue(items.exists())

    def test_a_call_that_is_not_allowed_would_end_it(self):
        number = int(re.search(r"#define __NR_sendmsg (\d+)", NUMBERS.read_text())[1]) # of answers
        server = self.filtered([call for call in self.calls if call != number])
        self.assertEqual(server.ask(b"mn\r\n"), b"")
        self.assertEqual(server.process.wait(LIMIT), -signal.SIGSYS)


if __name__ == "__main__":
    unittest.main()
