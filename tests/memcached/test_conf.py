# SPDX-License-Identifier: Apache-2.0
"""verbena-memcached-conf starts the server with the lines of a file such as /etc/memcached.conf; the unit of systemd."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import shared

SERVICE = pathlib.Path(__file__).resolve().parents[2] / "memcached-rdma/service"
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


if __name__ == "__main__":
    unittest.main()
