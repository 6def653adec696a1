# SPDX-License-Identifier: Apache-2.0
"""-Y: a file of users, and no way in without a login. Answers are those of Debian's memcached."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import shared

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = shared.BUILD / "verbena-memcached"
FAILED = 50000 if os.environ.get("VERBENA_TEST_FULL") else 1000
KEPT = 4 << 20 # bytes that a server may take more, by its allocator and its sanitizers
USERS = "foo:bar\nbaz:qu:x\n"
LOGIN = b"set x 0 0 7\r\nfoo bar\r\n"
REFUSED = b"CLIENT_ERROR unauthenticated\r\n"
HELLO = b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\n"
# One connection each: memcached answers the last of several wrong lines only.
LINES = [b"get a\r\n", b"\r\n", b"mn\r\n", b"version\r\n", b"quit\r\n", b"stats settings\r\n", b"shutdown\r\n", b"flush_all\r\n",
         b"add x 0 0 7\r\n", b"ms x 7\r\n", b"gets a\r\n", b"GET / HTTP/1.1\r\n", b"set x 0 0\r\n", b"set x 0 0 -7\r\n",
         b"set x 0 0 7x\r\n", b"watch\r\n", LOGIN, LOGIN + b"set k 0 0 1\r\na\r\nget k\r\ndelete k\r\n",
         b"set x y z 7\r\nfoo bar\r\n", b"set x 0 0 7 noreply\r\nfoo bar\r\n", b"set x 0 0 8\r\nfoo  bar\r\n",
         b"set x 0 0 12\r\nfoo bar more\r\n", b"set x 0 0 7\nfoo bar\r\nget a\r\n", b"set x 0 0 6\r\nfoo ba\r\n",
         b"set x 0 0 8\r\nfoo barx\r\n", b"set x 0 0 6\r\nfo bar\r\n", b"set x 0 0 3\r\nfoo\r\n", b"set x 0 0 0\r\n\r\n",
         b"set x 0 0 8\r\nbaz qu:x\r\n", b"set x 0 0 8\r\nbaz:qu x\r\n", b"set x 0 0 7\r\nfoo\0bar\r\n",
         b"set x 0 0 8\r\nfoo bar\n\r\n", b"set x 0 0 7\r\nfoo barXX", b"set x 0 0 3000\r\n" + b"x" * 3000 + b"\r\n",
         b"set x 0 0 4294967299\r\nfoo\r\n", b"x" * 3000, b"set x 0 0 20000\r\n" + b"x" * 20000 + b"\r\n", b"get " + b"a " * 5000]
# Files that nobody can start with, the number of the line, and what the line says about it.
WRONG = (("foo:bar\nnocolon\n", 2, "is not USER:PASSWORD"), (":x\n", 1, "is not USER:PASSWORD"),
         ("# users\na:b\n", 1, "is not USER"),
         ("a:\n", 1, "has no password"), ("a:b\n" + "x" * 256 + ":y\n", 2, "is too long"), ("a:" + "y" * 256, 1, "is too long"),
         ("a b:c\n", 1, "has a blank"), ("a:b\0c\n", 1, "has a blank or a zero byte"), ("a:b\n" * 65, 65, "is a user too many"))


class LoginTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "users"
        self.file.write_text(USERS)

    def server(self, *flags, **how):
        server = shared.Server("-Y", str(self.file), *flags, **how)
        self.addCleanup(server.stop)
        return server

    def login(self, server, words):
        return server.ask(b"set x 0 0 %d\r\n%s\r\n" % (len(words), words))

    def test_each_line_before_a_login_gets_the_answer_of_memcached(self):
        stock, ours = self.server(stock=True), self.server()
        for line in LINES:
            with self.subTest(line[:60]):
                self.assertEqual(ours.ask(line), stock.ask(line))
        names = ("auth_cmds", "auth_errors")
        counted = [{name: server.stats_after(LOGIN)[name] for name in names} for server in (stock, ours)]
        self.assertEqual(*counted)
        shown = [{name: value for name, value in server.stats_after(LOGIN, "settings").items() if name in
                  ("auth_enabled_ascii", "binding_protocol")} for server in (stock, ours)]
        self.assertEqual(*shown)

    def test_a_client_that_logs_in_late_was_refused_before_and_not_after(self):
        answer = self.server().ask(b"get a\r\nset x 0 0 6\r\nfoo ba\r\nget a\r\n" + LOGIN + b"set a 0 0 1\r\n1\r\nget a\r\n")
        self.assertEqual(answer, REFUSED + b"CLIENT_ERROR authentication failure\r\n" + REFUSED +
                         b"STORED\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n")

    def test_the_last_line_needs_no_end_and_empty_lines_are_skipped(self):
        for text in ("foo:bar", "\nfoo:bar\r\n\n", "a:b\n" * 63 + "foo:bar"):
            self.file.write_text(text, newline="")
            server = self.server()
            self.assertEqual(self.login(server, b"foo bar"), b"STORED\r\n")
            self.assertEqual(self.login(server, b"foo ba"), b"CLIENT_ERROR authentication failure\r\n")

    def test_without_users_nobody_gets_in(self):
        self.file.write_text("")
        self.assertEqual(self.login(self.server(), b"foo bar"), b"CLIENT_ERROR authentication failure\r\n")

    def test_a_wrong_file_stops_the_start_with_the_number_of_the_line(self):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        for text, line, error in WRONG:
            self.file.write_text(text)
            result = subprocess.run([PROGRAM, "-p", "0", *user, "-Y", self.file], capture_output=True, text=True, timeout=60,
                                    check=False)
            with self.subTest(text[:20]):
                self.assertEqual(result.returncode, 71)
                self.assertIn(f"-Y {self.file}: line {line} {error}", result.stderr)
                self.assertNotIn("bar", result.stderr)
        self.file.unlink()
        result = subprocess.run([PROGRAM, *user, "-Y", self.file], capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(f"-Y {self.file}: No such file or directory; give a file", result.stderr)

    def test_a_hangup_reads_the_file_again_and_a_wrong_one_changes_nothing(self):
        server = self.server("-v")
        with server.connect() as before:
            before.sendall(LOGIN)
            self.assertEqual(before.recv(100), b"STORED\r\n")
            self.file.write_text("foo:new\nnocolon\n")
            server.process.send_signal(signal.SIGHUP)
            server.await_line(b"the users stay as they are")
            self.assertEqual(self.login(server, b"foo bar"), b"STORED\r\n")
            self.file.write_text("foo:new\n")
            server.process.send_signal(signal.SIGHUP)
            server.await_line(b"1 users may log in")
            self.assertEqual(self.login(server, b"foo bar"), b"CLIENT_ERROR authentication failure\r\n")
            self.assertEqual(self.login(server, b"foo new"), b"STORED\r\n")
            before.sendall(b"mn\r\n")
            self.assertEqual(before.recv(100), b"MN\r\n")

    def test_every_way_in_is_shut(self):
        second = shared.HeldPort()
        self.addCleanup(second.close)
        server = self.server("-l", f"127.0.0.1:{second.number}")
        for port in (server.port, second.number):
            server.port = port
            self.assertEqual(server.ask(HELLO), REFUSED)
            self.assertEqual(server.ask(b"\x80" + b"\0" * 23), b"")
        unix = self.server(unix=f"{self.folder}/socket")
        self.assertEqual(unix.ask(b"get a\r\n"), REFUSED)
        stats = server.stats_after(LOGIN, "verbena")
        self.assertEqual(stats["messages"], "off")
        self.assertIn("-Y asks for a login", stats["messages_off_because"])
        self.assertIn(b"CLIENT_ERROR no messages: -Y asks for a login", server.ask(LOGIN + HELLO))

    def test_a_key_file_that_is_named_lets_clients_with_this_key_in_and_their_sockets_stay_shut(self):
        key = self.folder / "key"
        server = self.server("-o", f"verbena_key={key}")
        self.assertRegex(server.ask(HELLO), b"^vbn1 ")
        self.assertEqual(server.ask(HELLO + b"get a\r\n").splitlines()[1], REFUSED.strip())
        example = [shared.BUILD / "mcexample", f"127.0.0.1:{server.port};connect=60000;timeout=60000;key="]
        told = subprocess.run([example[0], example[1] + str(key)], capture_output=True, text=True, timeout=120, check=False)
        self.assertIn("messages through the core", told.stdout)
        other = self.folder / "other"
        other.write_text("ab" * 32)
        other.chmod(0o600)
        told = subprocess.run([example[0], example[1] + str(other)], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotIn("messages through the core", told.stdout)
        self.assertNotIn("value", told.stdout)

    def test_messages_for_everybody_and_a_login_exclude_each_other(self):
        result = subprocess.run([PROGRAM, "-Y", self.file, "-o", "verbena_auth=none"], capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn("messages have neither the login of -Y", result.stderr)

    def test_a_daemon_reads_a_file_that_was_named_from_its_folder(self):
        port = shared.HeldPort()
        self.addCleanup(port.close)
        user = ["-u", "root"] if os.geteuid() == 0 else []
        pid = self.folder / "pid"
        subprocess.run([PROGRAM, *user, "-l", "127.0.0.1", "-p", str(port.number), "-d", "-P", pid, "-Y", "users"], timeout=60,
                       check=True, cwd=self.folder, stderr=subprocess.DEVNULL)
        shared.wait_for(lambda: pid.exists() and pid.read_text().strip(), "the file of -P")
        self.addCleanup(os.kill, int(pid.read_text()), signal.SIGTERM)
        server = shared.at_port(port.number)
        self.file.write_text("foo:new\n")
        os.kill(int(pid.read_text()), signal.SIGHUP)
        shared.wait_for(lambda: server.ask(b"set x 0 0 7\r\nfoo new\r\n") == b"STORED\r\n", "the new password")

    def test_failed_logins_leave_nothing(self):
        with shared.few_freed_bytes():
            server = self.server("-t", "1")
        tries = [b"set x 0 0 7\r\nfoo baz\r\n" * 40, b"set x 0 0 3000\r\n" + b"x" * 2000, b"set x 0 0 20000\r\n",
                 b"set x 0 0 7\r\nfoo bar",
                 b"get a\r\n", b"x" * 2000]

        def fail(times):
            for i in range(times):
                with server.connect() as client:
                    client.sendall(tries[i % len(tries)])
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass

        fail(60) # what is kept for the next ones
        descriptors, before = server.descriptors(), server.resident()
        fail(FAILED)
        shared.wait_for(lambda: server.descriptors() == descriptors, "the descriptors of before")
        self.assertLess(server.resident() - before, KEPT)
        self.assertEqual(self.login(server, b"foo bar"), b"STORED\r\n")


class ComparisonTest(unittest.TestCase):
    """login_check takes the same number of instructions whichever byte is wrong; its source is compiled without sanitizers."""

    PROGRAM = r'''
        #include <stdio.h>
        #include <string.h>
        #include "proto/login.h"
        int main(int count, char **words)
        {
            static login_users_t users;
            unsigned line;
            if (count != 3 || login_read(words[1], strlen(words[1]), &users, &line) != NULL)
                return 2;
            printf("%d\n", login_check(&users, words[2], strlen(words[2])) == LOGIN_RIGHT);
            return 0;
        }'''
    USERS = "first:" + "p" * 20 + "\nsecond:" + "q" * 20 + "\n"

    def instructions(self, program, login):
        result = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                                 "--toggle-collect=login_check", program, self.USERS, login], capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return int(re.search(r"Collected : (\d+)", result.stderr)[1]), result.stdout.strip()

    @unittest.skipUnless(shutil.which("valgrind") and shutil.which("cc"), "no valgrind, which counts instructions, or no cc")
    def test_each_wrong_byte_takes_the_same_instructions(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "check.c", pathlib.Path(folder) / "check"
            source.write_text(self.PROGRAM)
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", f"-I{ROOT}/memcached-rdma",
                            f"-I{ROOT}/native-core/src",
                            source, ROOT / "memcached-rdma/proto/login.c", ROOT / "memcached-rdma/util/number.c", "-o", program],
                           check=True, timeout=120)
            self.assertEqual(self.instructions(program, "second " + "q" * 20)[1], "1")
            counted = {self.instructions(program, login) for login in (
                "second x" + "q" * 19, "second " + "q" * 19 + "x", "second " + "p" * 20, "seconx " + "q" * 20)}
            self.assertEqual(len(counted), 1, counted)
            self.assertEqual(counted.pop()[1], "0")


if __name__ == "__main__":
    unittest.main()
