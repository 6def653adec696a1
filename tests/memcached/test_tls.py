# SPDX-License-Identifier: Apache-2.0
"""-Z: TLS on sockets, its settings, handshakes that fail or stall, new certificates."""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

import shared

PROGRAM = shared.BUILD / "verbena-memcached"
HELLO = b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\n"
BIG = 1000000
FAILED = 50000 if os.environ.get("VERBENA_TEST_FULL") else 1000
KEPT = 4 << 20 # bytes that a server may take more, by its allocator and its sanitizers
SILENT = 100


def certificate(folder, name):
    """A key and a certificate that is its own CA."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                    "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem", "-subj", f"/CN={name}"],
                   check=True, timeout=60, capture_output=True)


@unittest.skipUnless(shutil.which("openssl"), "no openssl, which makes the certificates")
class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.certificates = tempfile.TemporaryDirectory()
        for name in ("server", "other", "client"):
            certificate(pathlib.Path(cls.certificates.name), name)

    @classmethod
    def tearDownClass(cls):
        cls.certificates.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.use("server")

    def use(self, name):
        """The server's files are those of this certificate."""
        for ending in ("key", "pem"):
            shutil.copy(f"{self.certificates.name}/{name}.{ending}", self.folder / f"tls.{ending}")

    def words(self, *more):
        return ["-Z", "-o", ",".join([f"ssl_chain_cert={self.folder}/tls.pem", f"ssl_key={self.folder}/tls.key", *more])]

    def server(self, *flags, words=(), **how):
        server = shared.Server(*self.words(*words), *flags, **how)
        self.addCleanup(server.stop)
        return server

    def context(self, ca="server", **settings):
        context = ssl.create_default_context(cafile=f"{self.certificates.name}/{ca}.pem")
        context.check_hostname = False
        for name, value in settings.items():
            setattr(context, name, value)
        return context

    def connected(self, server, context=None, session=None):
        connection = (context or self.context()).wrap_socket(server.connect(), session=session)
        self.addCleanup(connection.close)
        return connection

    def ask(self, server, data, **how):
        """The answer to commands; the last one is to be mn."""
        with self.connected(server, **how) as connection:
            connection.sendall(data)
            return self.until(connection, b"MN\r\n")

    def until(self, connection, end):
        data = b""
        while not data.endswith(end):
            chunk = connection.recv(1 << 16)
            if not chunk:
                raise AssertionError(f"the connection ended after {data[-200:]!r}")
            data += chunk
        return data

    def stats(self, server, group=b""):
        lines = self.ask(server, b"stats " + group + b"\r\nmn\r\n").decode().splitlines()
        return dict(line.split(" ", 2)[1:] for line in lines if line.startswith("STAT "))

    def test_commands_and_statistics_are_those_of_memcached(self):
        stock, ours = (self.server(words=["ssl_session_cache"], stock=is_stock) for is_stock in (True, False))
        data = b"set a 0 0 1\r\nx\r\nget a\r\nms b 5\r\nhello\r\nmg b v\r\nrefresh_certs\r\nmn\r\n"
        self.assertEqual(self.ask(ours, data), self.ask(stock, data))
        for group in (b"", b"settings"):
            self.assertEqual(list(self.stats(ours, group)), list(self.stats(stock, group)))
        shown = [{name: value for name, value in self.stats(server, b"settings").items() if name.startswith("ssl_")}
                 for server in (ours, stock)]
        self.assertEqual(*shown)

    def test_each_version_from_the_lowest_that_is_allowed(self):
        server = self.server(words=["ssl_min_version=3"])
        self.assertEqual(self.connected(server).version(), "TLSv1.3")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.connected(server, self.context(maximum_version=ssl.TLSVersion.TLSv1_2))
        server = self.server()
        self.assertEqual(self.connected(server, self.context(maximum_version=ssl.TLSVersion.TLSv1_2)).version(), "TLSv1.2")

    @unittest.skipUnless(os.path.exists("/proc/self/io"), "the kernel does not count reads")
    def test_a_request_costs_one_read(self):
        server = self.server("-t", "1")
        with self.connected(server) as connection:
            def reads(count):
                before = self.reads(server)
                for _ in range(count):
                    connection.sendall(b"mn\r\n")
                    self.assertEqual(connection.recv(100), b"MN\r\n")
                return self.reads(server) - before
            reads(10)
            self.assertLess(reads(1000), 1100) # other threads read, too

    @staticmethod
    def reads(server):
        """Calls of read by the process; those of recvmsg are not among them."""
        return int(re.search(r"^syscr: (\d+)", pathlib.Path(f"/proc/{server.process.pid}/io").read_text(), re.MULTILINE)[1])

    def test_long_answers_are_whole_for_a_reader_that_pauses_while_small_ones_queue_up(self):
        server = self.server("-t", "1")
        value = os.urandom(BIG)
        self.ask(server, b"set big 0 0 %d\r\n%s\r\nset small 0 0 10\r\n0123456789\r\nmn\r\n" % (BIG, value))
        small = b"VALUE small 0 10\r\n0123456789\r\nEND\r\n"
        connection = self.connected(server)
        connection.sendall(b"get big\r\n" + b"get small\r\n" * 500 + b"get big\r\nmn\r\n")
        data = b""
        while not data.endswith(b"MN\r\n"):
            data += connection.recv(16384)
            self.ask(server, b"mn\r\n")  # the server does something else between two parts
        big = b"VALUE big 0 %d\r\n%s\r\nEND\r\n" % (BIG, value)
        self.assertEqual(data, big + small * 500 + big + b"MN\r\n")

    def test_a_client_that_pipelines_more_than_a_record_gets_every_answer(self):
        server = self.server("-t", "1")
        connection = self.connected(server)
        for value in (b"x" * 100, b"y" * 16384, b"z" * 70000):
            connection.sendall(b"".join(b"set k%d 0 0 %d\r\n%s\r\n" % (i, len(value), value) for i in range(50)) + b"mn\r\n")
            self.assertEqual(self.until(connection, b"MN\r\n"), b"STORED\r\n" * 50 + b"MN\r\n")

    def test_failed_handshakes_leave_nothing_and_are_counted(self):
        with shared.few_freed_bytes():
            server = self.server("-t", "1")

        def fail(times):
            for i in range(times):
                with server.connect() as connection:
                    connection.sendall(b"get a\r\n" if i % 2 else b"\x16\x03\x01\x02\x00\x01")
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(4096):
                            pass

        fail(60) # what is kept for the next ones
        descriptors, before = server.descriptors(), server.resident()
        fail(FAILED)
        shared.wait_for(lambda: server.descriptors() == descriptors, "the descriptors of before")
        self.assertLess(server.resident() - before, KEPT)
        shared.wait_for(lambda: self.stats(server)["curr_connections"] == "1", "the end of the connections")
        self.assertGreaterEqual(int(self.stats(server)["ssl_handshake_errors"]), FAILED / 2)
        status, said = server.stop()
        self.assertEqual((status, said), (0, ""))  # the leak detector of the build has found nothing

    def test_clients_that_send_nothing_hold_up_nobody(self):
        server = self.server("-t", "1")
        for _ in range(SILENT):
            connection = server.connect()
            self.addCleanup(connection.close)
            connection.sendall(b"\x16\x03\x01")
        self.assertEqual(self.ask(server, b"set a 0 0 1\r\nx\r\nget a\r\nmn\r\n"), b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\nMN\r\n")

    def test_a_handshake_that_does_not_end_is_closed(self):
        server = self.server("-o", "idle_timeout=1")
        for first in (b"", b"\x16\x03\x01"):
            connection = server.connect()
            self.addCleanup(connection.close)
            connection.sendall(first)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(connection.recv(1), b"")

    def test_new_certificates_count_all_together_or_not_at_all(self):
        server = self.server()
        before = self.connected(server)
        self.use("other")
        shutil.copy(f"{self.certificates.name}/server.key", self.folder / "tls.key")  # not the certificate's
        self.assertRegex(self.ask(server, b"refresh_certs\r\nmn\r\n"), rb"\AError loading the key: .*tls\.key: .*\r\nMN\r\n\Z")
        self.assertEqual(self.ask(server, b"mn\r\n"), b"MN\r\n")
        self.use("other")
        self.assertEqual(self.ask(server, b"refresh_certs\r\nmn\r\n"), b"OK\r\nMN\r\n")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connected(server)
        self.assertEqual(self.ask(server, b"mn\r\n", context=self.context("other")), b"MN\r\n")
        before.sendall(b"mn\r\n")
        self.assertEqual(self.until(before, b"MN\r\n"), b"MN\r\n")

    def test_a_client_without_a_certificate_is_refused_where_one_is_required(self):
        server = self.server(words=["ssl_verify_mode=2", f"ssl_ca_cert={self.certificates.name}/client.pem"])
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.ask(server, b"mn\r\n")
        context = self.context()
        context.load_cert_chain(f"{self.certificates.name}/client.pem", f"{self.certificates.name}/client.key")
        self.assertEqual(self.ask(server, b"mn\r\n", context=context), b"MN\r\n")

    def test_sessions_are_resumed_with_and_without_a_certificate_of_the_client(self):
        verify = [], ["ssl_verify_mode=2", f"ssl_ca_cert={self.certificates.name}/client.pem"]
        for words in verify:
            server = self.server(words=["ssl_session_cache", *words])
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = self.context(maximum_version=version, minimum_version=version)
                context.load_cert_chain(f"{self.certificates.name}/client.pem", f"{self.certificates.name}/client.key")
                first = self.connected(server, context)
                first.sendall(b"mn\r\n")
                self.until(first, b"MN\r\n")
                again = self.connected(server, context, session=first.session)
                self.assertTrue(again.session_reused, (version, words))
                again.sendall(b"mn\r\n")
                self.until(again, b"MN\r\n")

    def test_addresses_with_notls_and_unix_sockets_are_plain(self):
        plain = shared.HeldPort()
        self.addCleanup(plain.close)
        server = self.server("-l", f"notls:127.0.0.1:{plain.number}")
        self.assertEqual(shared.at_port(plain.number).ask(b"mn\r\n"), b"MN\r\n")
        self.assertEqual(self.ask(server, b"mn\r\n"), b"MN\r\n")
        self.assertEqual(self.server(unix=f"{self.folder}/socket").ask(b"mn\r\n"), b"MN\r\n")

    def test_messages_are_off_unless_a_key_is_named(self):
        stats = self.stats(self.server(), b"verbena")
        self.assertEqual(stats["messages"], "off")
        self.assertIn("-Z protects sockets", stats["messages_off_because"])
        key = self.folder / "key"
        self.assertEqual(self.stats(self.server("-o", f"verbena_key={key}"), b"verbena")["messages"], "on")

    def test_wrong_settings_end_the_start_with_a_reason(self):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        encrypted = self.folder / "encrypted.key"
        subprocess.run(["openssl", "pkey", "-in", self.folder / "tls.key", "-aes128", "-passout", "pass:secret", "-out", encrypted],
                       check=True, timeout=60, capture_output=True)
        chain, key = f"ssl_chain_cert={self.folder}/tls.pem", f"ssl_key={self.folder}/tls.key"
        for words, status, text in (
                ([], 71, "-Z: no -o ssl_chain_cert"), ([chain], 71, "-Z: no -o ssl_key"),
                ([chain, key, "ssl_verify_mode=2"], 71, "-Z: no -o ssl_ca_cert"),
                (["ssl_chain_cert=/nowhere", key], 71, "chain: /nowhere: No such file"),
                ([chain, f"ssl_key={self.folder}/tls.pem"], 71, "Error loading the key"),
                ([chain, f"ssl_key={encrypted}"], 71, "Error loading the key"),
                ([chain, key, "ssl_ciphers=none"], 71, "Error setting the provided cipher(s): none"),
                ([chain, key, "ssl_ca_cert=/nowhere"], 71, "CA certificate: /nowhere"),
                ([chain, key, "ssl_verify_mode=4"], 64, "from 0 to 3"), ([chain, key, "ssl_keyformat=9"], 64, "from 1 to 2"),
                ([chain, key, "ssl_min_version=tlsv1.9"], 64, "tlsv1.2"), ([chain, key, "ssl_wbuf_size=x"], 64, "from 1 to")):
            with self.subTest(words):
                result = subprocess.run([PROGRAM, *user, "-p", "0", "-Z", *(["-o", ",".join(words)] if words else [])],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
