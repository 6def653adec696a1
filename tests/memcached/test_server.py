# SPDX-License-Identifier: Apache-2.0
"""The server itself: command line, limits, slow and broken clients, a full memory, many connections."""
import base64
import contextlib
import ctypes
import errno
import os
import pathlib
import random
import resource
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import shared

PROGRAM = shared.BUILD / "verbena-memcached"
PIDFD_GETFD = 438 # on every processor
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
FIRST = 500 # connections before the first look: threads, tables and allocators have taken theirs then
IDLE = 10000 if FULL else 2000
IDLE_BYTES_MAX = 4096 # of the server's own memory per idle connection, also with sanitizers


def command(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)


@contextlib.contextmanager
def running(server):
    try:
        yield server
    finally:
        server.stop()


class CommandLineTest(unittest.TestCase):
    def test_the_version_is_that_of_memcached(self):
        self.assertEqual(command("-V").stdout, "memcached 1.6.18\n")

    def test_what_is_wrong_is_named_with_the_nearest_right_word(self):
        for arguments, text in ((["--memory-limt=5"], "did you mean --memory-limit"),
                                (["-o", "maxcons_fast"], "did you mean maxconns_fast"),
                                (["-I", "64m"], "an item may take half of the memory"),
                                (["-o", "verbena_core=tl.enabel=shm"], "tl.enable"),
                                (["-o", "verbena_onesided=on", "-o", "verbena_auth=none"], "everybody could read all items"),
                                (["word"], "unexpected word 'word'")):
            with self.subTest(arguments):
                result = command(*arguments)
                self.assertEqual(result.returncode, 64)
                self.assertIn(text, result.stderr)

    def test_the_key_file_is_made_once_and_one_that_others_read_means_no_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            key = f"{folder}/below/server.key"
            for _ in range(2): # the second start finds it
                with running(shared.Server("-o", f"verbena_key={key}")) as server:
                    self.assertEqual(server.stats("verbena")["messages"], "on")
                self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
                self.assertRegex(open(key, encoding="ascii").read(), "^[0-9a-f]{64}\n$")
            os.chmod(key, 0o644)
            with running(shared.Server("-o", f"verbena_key={key}")) as server:
                stats = server.stats("verbena")
                refused = f"{key} is mode 0644: others can read the key; run: chmod 600 {key}"
                self.assertEqual(stats["messages"], "off")
                self.assertEqual(stats["messages_off_because"], refused)
                hello = server.ask(b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\nvbn1 x\r\nversion\r\n")
                self.assertIn(f"CLIENT_ERROR no messages: {refused}\r\n".encode(), hello)
                self.assertIn(b"CLIENT_ERROR bad hello\r\nVERSION", hello)

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_a_key_file_of_another_user_means_no_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            key = f"{folder}/key"
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o640), "w", encoding="ascii") as file:
                file.write("ab" * 32)
            for owner, messages in ((0, "on"), (65534, "off")):
                os.chown(key, owner, 0)
                with running(shared.Server("-o", f"verbena_key={key}")) as server:
                    stats = server.stats("verbena")
                    self.assertEqual(stats["messages"], messages)
            self.assertEqual(stats["messages_off_because"], f"key file {key}: belongs to user 65534, who knows the key; "
                             "see that this user, or root, owns it (chown)")

    def test_each_port_has_the_default_key_under_its_name(self):
        second = shared.HeldPort()
        self.addCleanup(second.close)
        folder = pathlib.Path(os.environ["XDG_RUNTIME_DIR"]) / "verbena"
        for _ in range(2): # the second time a file of an earlier server is there
            with running(shared.Server("-l", f"127.0.0.1:{second.number}")) as server:
                self.assertEqual(server.stats("verbena")["messages"], "on")
                ports = server.port, second.number
                keys = [(folder / f"memcached-{port}.key").read_text(encoding="ascii") for port in ports]
                self.assertEqual((keys[0], len(keys[0])), (keys[1], 65))
                for port in ports:
                    doctor = subprocess.run([shared.BUILD / "mcdoctor", f"127.0.0.1:{port};connect=60000;timeout=60000"],
                                            capture_output=True, text=True, timeout=120, check=False)
                    self.assertEqual(doctor.returncode, 0, doctor.stdout) # messages
                self.assertEqual(list(folder.glob("*.key.*")), [])

    def test_words_of_o_stand_together_or_in_several_flags(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [f"verbena_key={folder}/key", "verbena_core=tl.enable=tcp:link.peer_timeout=9s", "verbena_lease=2500",
                     "track_sizes"]
            for flags in (["-o", ",".join(words)], [part for word in words for part in ("-o", word)],
                          ["-o", ",".join(words[:2]), "-o", ",".join(words[2:])], ["--extended=" + ",".join(words)]):
                with self.subTest(flags), running(shared.Server(*flags)) as server:
                    stats = server.stats("verbena")
                    self.assertEqual((stats["messages"], stats["messages_transports"]), ("on", "tcp"))
                    self.assertTrue(os.path.exists(f"{folder}/key"))
                    self.assertEqual(server.stats("settings")["track_sizes"], "yes")
                    answer = base64.b64decode(server.ask(b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\n").split()[1])
                    self.assertEqual(int.from_bytes(answer[20:24], "little"), 2500) # proto/hello.h: lease

    def test_rdma_is_offered_only_where_a_device_is_open(self):
        with tempfile.TemporaryDirectory() as folder:
            for transports, offered in (("self,shm,rc,ud,tcp", "self,shm,tcp"), ("tcp", "tcp")):
                settings = {"VBN_TL_VERBS_DEVICE": "nodevice", "VBN_TL_ENABLE": transports}
                with unittest.mock.patch.dict(os.environ, settings), \
                        running(shared.Server("-o", f"verbena_key={folder}/key")) as server:
                    self.assertEqual(server.stats("verbena")["messages_transports"], offered)
                    answer = server.ask(b"vbn1 AQAAAAAAAAAAAAAAAAAAAA==\r\n")
                    flags = base64.b64decode(answer.split()[1])[1]
                    self.assertEqual(flags & 1, 0) # proto/hello.h: HELLO_DEVICES

    def marks(self, process):
        """SO_MARK of the sockets that a process listens on."""
        copy = ctypes.CDLL(None, use_errno=True).syscall
        target = os.pidfd_open(process.pid)
        self.addCleanup(os.close, target)
        for name in os.listdir(f"/proc/{process.pid}/fd"):
            fd = copy(PIDFD_GETFD, target, int(name), 0)
            if fd < 0 and ctypes.get_errno() == errno.EBADF:
                continue # it was closed meanwhile
            if fd < 0:
                self.skipTest(f"no descriptor of another process can be looked at here: {os.strerror(ctypes.get_errno())}")
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.close(fd)
                continue
            with socket.socket(fileno=fd) as copied:
                if copied.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and copied.family == socket.AF_INET:
                    yield copied.getsockopt(socket.SOL_SOCKET, socket.SO_MARK)

    def test_sockets_get_the_mark_of_sock_cookie_id_or_the_start_says_why_not(self):
        try:
            server = shared.Server("-o", "sock_cookie_id=7")
        except RuntimeError as error:
            self.assertIn("Operation not permitted; sock_cookie_id needs CAP_NET_ADMIN", str(error))
            return
        self.addCleanup(server.stop)
        self.assertIn(7, set(self.marks(server.process)))

    def test_a_port_in_use_is_an_error_with_its_cause(self):
        with socket.socket() as busy:
            busy.bind(("127.0.0.1", 0))
            busy.listen()
            user = ["-u", "root"] if os.geteuid() == 0 else []
            result = command("-l", "127.0.0.1", "-p", str(busy.getsockname()[1]), *user)
        self.assertEqual(result.returncode, 71)
        self.assertIn("Address already in use", result.stderr)


class ServerCase(unittest.TestCase):
    def start(self, *flags):
        server = shared.Server(*flags)
        self.addCleanup(self.end, server)
        return server

    def end(self, server):
        status, text = server.stop()
        self.assertEqual((status, text), (0, ""))


class LimitsTest(ServerCase):
    def test_a_full_memory_evicts_and_stays_within_its_limit(self):
        server = self.start("-m", "16", "-t", "2")
        with server.connect() as client:
            for i in range(0, 60000, 100):
                client.sendall(b"".join(b"set key%d 0 0 1000 noreply\r\n%s\r\n" % (j, b"v" * 1000) for j in range(i, i + 100)))
            answer = shared.ask_and_close(client, b"get key59999\r\n")
        self.assertIn(b"VALUE key59999 0 1000", answer)
        stats = server.stats()
        self.assertGreater(int(stats["evictions"]), 40000)
        self.assertLess(int(stats["bytes"]), 16 << 20)
        self.assertGreater(int(stats["bytes"]), 12 << 20)

    def test_stats_items_counts_for_each_class_what_went_and_why(self):
        server = self.start("-m", "16", "-t", "2")
        server.ask(b"".join(b"set key%d 0 %d 1000 noreply\r\n%s\r\n" % (i, 4000 * (i % 2), b"v" * 1000) for i in range(30000)))
        classes, total = server.stats("items"), server.stats()
        counted = {name: [int(value) for key, value in classes.items() if key.endswith(f":{name}")]
                   for name in ("number", "evicted", "evicted_nonzero", "evicted_unfetched", "outofmemory")}
        self.assertEqual(sum(counted["number"]), int(total["curr_items"]))
        self.assertEqual(sum(counted["evicted"]), int(total["evictions"]))
        self.assertEqual(counted["evicted_nonzero"], [0, counted["evicted"][1]])
        self.assertGreater(min(counted["evicted"]), 0)
        self.assertEqual(counted["evicted_unfetched"], counted["evicted"])
        self.assertEqual(counted["outofmemory"], [0, 0])

    def test_a_lower_limit_is_reached_and_flushed_items_go_while_nobody_asks(self):
        server = self.start("-m", "64", "-t", "2")
        server.ask(b"".join(b"set key%d 0 0 1000 noreply\r\n%s\r\n" % (i, b"v" * 1000) for i in range(50000)))
        self.assertEqual(server.ask(b"cache_memlimit 16\r\n"), b"OK\r\n")
        shared.wait_for(lambda: int(server.stats()["bytes"]) < 16 << 20, "the lower limit")
        self.assertEqual(server.ask(b"flush_all\r\n"), b"OK\r\n")
        shared.wait_for(lambda: int(server.stats()["curr_items"]) == 0, "the end of what was flushed")

    def test_without_eviction_a_full_memory_is_an_error(self):
        server = self.start("-m", "8", "-M", "-t", "1")
        store = b"".join(b"set key%d 0 0 1000\r\n%s\r\n" % (i, b"v" * 1000) for i in range(12000))
        answers = server.ask(store).split(b"\r\n")[:-1]
        self.assertEqual(set(answers), {b"STORED", b"SERVER_ERROR out of memory storing object"})
        stored = answers.index(b"SERVER_ERROR out of memory storing object")
        self.assertGreater(stored, 5000)
        self.assertIn(b"VALUE key0 0 1000", server.ask(b"get key0\r\n"))

    def test_items_up_to_the_limit_of_the_command_line(self):
        server = self.start("-m", "256", "-I", "64m", "-t", "2")
        value = bytes(range(256)) * (240 << 10) # 60 MiB
        for name in (b"a", b"b", b"c", b"d", b"e", b"f"):
            answer = server.ask(b"set %s 0 0 %d\r\n%s\r\nget %s\r\n" % (name, len(value), value, name))
            self.assertTrue(answer == b"STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\n" % (name, len(value), value), answer[:80])

    def test_connections_above_the_limit_are_refused_with_a_line(self):
        server = self.start("-c", "5")
        clients = []

        def admitted(): # an earlier connection may still have its place
            client = server.connect()
            try:
                client.sendall(b"mn\r\n")
                if client.recv(100) == b"MN\r\n":
                    clients.append(client)
                    return len(clients) == 5
            except ConnectionError:
                pass
            client.close()
            return False

        shared.wait_for(admitted, "five connections")
        with server.connect() as refused:
            self.assertEqual(refused.recv(100), b"ERROR Too many open connections\r\n")
        for client in clients:
            client.close()
        shared.wait_for(lambda: server.ask(b"mn\r\n") == b"MN\r\n", "a free place")
        shared.wait_for(lambda: int(server.stats().get("rejected_connections", 0)) > 0, "the refused one is counted")

    def test_a_soft_limit_of_descriptors_is_raised_for_the_connections(self):
        server = shared.Server("-c", "1000", "-t", "1", descriptors=(64, 4096))
        clients = [server.connect() for _ in range(200)]
        for client in clients:
            client.sendall(b"mn\r\n")
            self.assertEqual(client.recv(100), b"MN\r\n")
            client.close()
        self.assertEqual(server.stats("settings")["maxconns"], "1000")
        self.assertEqual(server.stop(), (0, ""))

    def test_a_low_hard_limit_admits_fewer_connections_and_says_so(self):
        server = shared.Server("-c", "1000", "-t", "1", descriptors=(64, 300))
        self.assertEqual(server.stats("settings")["maxconns"], "92")
        with contextlib.ExitStack() as clients:
            refused = 0
            for _ in range(120):
                client = clients.enter_context(server.connect())
                client.sendall(b"mn\r\n")
                refused += client.recv(100) != b"MN\r\n"
            self.assertGreaterEqual(refused, 120 - 92)
            self.assertLess(refused, 120 - 92 + 5) # an earlier connection may still have its place
        status, text = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("-c 1000 takes 1208 descriptors, and the hard limit is 300: only 92 connections are "
                      "admitted; raise ulimit -Hn", text)

    def test_a_hard_limit_without_any_place_is_an_error(self):
        with self.assertRaises(RuntimeError) as caught:
            shared.Server("-c", "1000", "-t", "1", descriptors=(64, 100))
        self.assertIn("no connection can be served; raise ulimit -Hn", str(caught.exception))

    def test_idle_connections_take_little_memory(self):
        self.raise_descriptors(FIRST + IDLE + 100)
        server = self.start("-c", str(FIRST + IDLE + 100))
        with contextlib.ExitStack() as clients:
            self.ask_once(server, clients, FIRST)
            before = server.resident()
            self.ask_once(server, clients, IDLE)
            per_client = (server.resident() - before) / IDLE
        print(f"{per_client:.0f} bytes per idle connection", flush=True)
        self.assertLess(per_client, IDLE_BYTES_MAX)

    def raise_descriptors(self, count):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < count:
            self.skipTest(f"{count} connections need ulimit -Hn {count}; it is {hard}")
        if soft != resource.RLIM_INFINITY and soft < count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def ask_once(self, server, clients, count):
        connected = [clients.enter_context(server.connect()) for _ in range(count)]
        for client in connected:
            client.sendall(b"get nothing\r\n")
        for client in connected:
            self.assertEqual(client.recv(100), b"END\r\n")

    def test_flush_and_shutdown_follow_their_flags(self):
        server = self.start("-F", "-C")
        self.assertEqual(server.ask(b"flush_all\r\nshutdown\r\nset a 0 0 1\r\nx\r\ngets a\r\n"),
                         b"CLIENT_ERROR flush_all not allowed\r\nERROR: shutdown not enabled\r\n"
                         b"STORED\r\nVALUE a 0 1 0\r\nx\r\nEND\r\n")
        other = shared.Server("-A")
        self.assertEqual(other.ask(b"shutdown foo\r\n"), b"CLIENT_ERROR invalid shutdown mode\r\n")
        other.ask(b"shutdown\r\n")
        self.assertEqual(other.process.wait(60), 0)
        self.assertEqual(other.stop(), (0, ""))


class ClientsTest(ServerCase):
    def test_a_slow_reader_gets_every_byte(self):
        server = self.start("-m", "64")
        value = random.Random(1).randbytes(900000)
        server.ask(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value))
        with server.connect() as client:
            keys = b" ".join([b"big"] * 40)
            sender = threading.Thread(target=client.sendall, args=((b"get " + keys + b"\r\n") * 2 + b"mn\r\n",))
            sender.start()
            one = b"VALUE big 0 %d\r\n%s\r\n" % (len(value), value)
            wanted = (one * 40 + b"END\r\n") * 2 + b"MN\r\n"
            got = bytearray()
            while len(got) < len(wanted):
                got += client.recv(65536)
            sender.join()
        self.assertTrue(got == wanted)

    def test_a_connection_that_ends_sends_what_was_asked_before(self):
        with tempfile.TemporaryDirectory() as folder:  # a Unix socket's buffer is smaller than the value, on every machine
            server = shared.Server("-m", "64", unix=f"{folder}/socket")
            self.addCleanup(server.stop)
            value = random.Random(1).randbytes(900000)
            server.ask(b"set big 0 0 %d\r\n%s\r\n" % (len(value), value))
            wanted = b"VALUE big 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
            for end in (b"quit\r\n", b"POST / HTTP/1.1\r\n\r\n", b"x" * 20000):
                with self.subTest(end=end[:20]), server.connect() as client:
                    client.sendall(b"get big\r\n" + end)
                    got = bytearray()
                    with contextlib.suppress(ConnectionResetError):  # what the server has not read any more
                        while chunk := client.recv(65536):
                            got += chunk
                    self.assertTrue(got == wanted, f"{len(got)} of {len(wanted)} bytes")

    def test_a_web_page_cannot_store_anything(self):
        server = self.start()
        with server.connect() as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nset evil 0 0 3\r\nbad\r\n")
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(client.recv(1000), b"")
        self.assertEqual(server.ask(b"get evil\r\n"), b"END\r\n")

    def test_commands_cut_anywhere_are_the_same_commands(self):
        server = self.start()
        stream = (b"set a 1 0 10\r\n0123456789\r\nget a b\r\nms b 3 c\r\nxyz\r\nmg b v\r\nincr a 1\r\nset big 0 0 9000\r\n" +
                  b"v" * 9000 + b"\r\nget big\r\nset toolarge 0 0 2000000\r\n" + b"w" * 2000000 + b"\r\nmn\r\n")
        whole = server.ask(b"flush_all\r\n" + stream)
        for seed in range(8):
            cut = random.Random(seed)
            with server.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                at = 0
                data = b"flush_all\r\n" + stream
                while at < len(data):
                    step = cut.choice([1, 2, 3, 7, 100]) if at < 9300 or at > len(data) - 50 else 100000
                    client.sendall(data[at:at + step])
                    at += step
                self.assertEqual(self.without_cas(shared.ask_and_close(client, b"")), self.without_cas(whole), f"seed {seed}")

    @staticmethod
    def without_cas(answer):
        return b"\r\n".join(b"HD" if line.startswith(b"HD c") else line for line in answer.split(b"\r\n"))

    def test_clients_that_break_off_anywhere_leave_nothing_behind(self):
        server = self.start("-m", "8", "-t", "2")
        stream = b"set a 0 0 20\r\n01234567890123456789\r\nget a\r\nset big 0 0 500000\r\n" + b"v" * 500000 + b"\r\nget big\r\n"
        cuts = [*range(0, 70), 1000, 16384, 100000, len(stream) - 20, len(stream) - 1, len(stream)]
        for cut in cuts:
            for reset in (False, True):
                with server.connect() as client:
                    if reset:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    client.sendall(stream[:cut])
        shared.wait_for(lambda: server.stats()["curr_connections"] == "1", "the end of all connections")
        # No pin is left: everything can be overwritten several times.
        answers = server.ask(b"".join(b"set k%d 0 0 300000\r\n%s\r\n" % (i, b"v" * 300000) for i in range(100)))
        self.assertEqual(answers, b"STORED\r\n" * 100)

    def test_stats_conns_lists_listeners_and_clients(self):
        server = self.start()
        conns = {}

        def two_clients(): # a thread may not know yet that the connection of the start has ended
            conns.clear()
            conns.update(server.stats("conns"))
            return len([name for name in conns if name.endswith(":listen_addr")]) == 2

        with server.connect() as client:
            client.sendall(b"mn\r\n")
            client.recv(10)
            shared.wait_for(two_clients, "this client and the one that asks")
        self.assertIn(f"tcp:127.0.0.1:{server.port}", [conns[name] for name in conns if name.endswith(":addr")])

    def test_what_is_disabled_or_unknown_makes_no_client_leave_the_server(self):
        """At SERVER_ERROR clients leave a server for a while."""
        absent = (b"watch", b"watch fetchers", b"lru_crawler metadump all", b"lru_crawler mgdump all", b"stats cachedump 1 1",
                  b"extstore free_memchunks 1 2", b"stats foo", b"foo", b"lru", b"slabs", b"shutdown", b"flush_all", b"flush_all x")
        server = self.start("-X", "-W", "-F")
        for line in absent:
            with self.subTest(line):
                self.assertRegex(server.ask(line + b"\r\nmn\r\n"), rb"^(CLIENT_)?ERROR[^\r]*\r\nMN\r\n$")


if __name__ == "__main__":
    unittest.main()
