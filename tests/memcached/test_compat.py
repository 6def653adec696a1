# SPDX-License-Identifier: Apache-2.0
"""Our libmemcached.so.11 beside Debian's: names, layouts, placement of keys, and unmodified programs with the same answers."""
import contextlib
import functools
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import shared

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "memcached-rdma"
OURS = shared.BUILD / "compat"
LIBRARIES = ("libmemcached.so.11", "libmemcachedutil.so.2", "libhashkit.so.2")
HEADERS = os.environ.get("VERBENA_LIBMEMCACHED") # Debian's libmemcached-dev, unpacked
PHP = os.environ.get("VERBENA_PHP")              # Debian's PHP with its extension memcached, unpacked
PYTHON = "/usr/bin/python3"
LIMIT = 600 # of what takes seconds where nothing else runs
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))
SASL = "typedef struct sasl_callback sasl_callback_t;\n" # all that libmemcached's headers take of libsasl's
_BUILT = tempfile.TemporaryDirectory(prefix="mc-compat-")


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT).stdout


def stock_library(name):
    for line in read("/sbin/ldconfig", "-p").splitlines():
        if line.split()[:1] == [name]:
            return pathlib.Path(line.split()[-1])
    raise unittest.SkipTest(f"Debian's {name} is not here: it comes with libmemcached-tools")


def preloaded():
    """What is loaded before a program, where the library was built with sanitizers."""
    needed = read("readelf", "-d", str(OURS / LIBRARIES[0]))
    names = [name for name in ("libasan.so", "libubsan.so") if f"[{name}" in needed]
    if not names:
        return ""
    library = pathlib.Path(_BUILT.name) / "dlopen.so"
    if not library.exists():
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, HERE / "compat/dlopen.c"], check=True,
                       timeout=LIMIT)
    return ":".join([str(library)] + [read("gcc", f"-print-file-name={name}").strip() for name in names])


def environment(command, ours):
    env = dict(os.environ)
    if ours:
        env["LD_LIBRARY_PATH"] = str(OURS)
        env["LD_PRELOAD"] = preloaded()
        leaks = _BUILT.name in command[0] # others may leave memory of theirs
        env["ASAN_OPTIONS"] = f"verify_asan_link_order=0:detect_leaks={int(leaks)}:{os.environ.get('ASAN_OPTIONS', '')}"
    return env


def run(command, ours, status=0):
    """A program with one of the libraries: its output, after which it has to have ended with this status."""
    result = subprocess.run(command, env=environment(command, ours), capture_output=True, text=True, timeout=LIMIT, check=False)
    if result.returncode != status or "ERROR: " in result.stderr:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
    return result.stdout


def compiled(name, *flags):
    """A program of compat/, compiled with Debian's headers; the libraries are found when it starts."""
    program = pathlib.Path(_BUILT.name) / (name + "".join(flags).replace("/", "_")[:20])
    if program.exists():
        return str(program)
    sasl = pathlib.Path(_BUILT.name) / "sasl/sasl.h"
    sasl.parent.mkdir(exist_ok=True)
    sasl.write_text(SASL)
    libraries = [] if flags else [str(stock_library(library)) for library in LIBRARIES[:2]]
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-g", *flags, "-I", _BUILT.name, "-I", f"{HEADERS}/usr/include",
                    "-I", str(SOURCES), "-o", program, str(HERE / f"compat/{name}.c"), *libraries, "-Wl,--allow-shlib-undefined"],
                   check=True, timeout=LIMIT)
    return str(program)


def exported(path):
    return sorted(line.split()[-1] for line in read("nm", "-D", "--defined-only", str(path)).splitlines())


class Servers(unittest.TestCase):
    """Ours, two of Debian's, and the lists of them that programs are run with."""

    @classmethod
    def setUpClass(cls):
        cls.servers = [shared.Server(), shared.Server(stock=True), shared.Server(stock=True)]
        ports = [str(server.port) for server in cls.servers]
        cls.lists = [ports[:1], ports[1:2], ports]

    @classmethod
    def tearDownClass(cls):
        ends = [server.stop() for server in cls.servers]
        if ends[0] != (0, ""):
            raise AssertionError(f"our server ended with {ends[0]}")

    def check_same(self, command, ports):
        with self.subTest(command=command, ports=ports):
            wanted = run([*command, *ports], ours=False)
            self.assertEqual(run([*command, *ports], ours=True), wanted)


class AbiTest(unittest.TestCase):
    def test_exported_names_and_sonames_are_those_of_debian(self):
        for name in LIBRARIES:
            with self.subTest(library=name):
                self.assertEqual(exported(OURS / name), exported(stock_library(name)))
                self.assertIn(f"soname: [{name}]", read("readelf", "-d", str(OURS / name)))

    def test_a_program_gets_the_sasl_library_that_it_uses_without_naming_it(self):
        self.assertIn("[libsasl2.so.2]", read("readelf", "-d", str(OURS / LIBRARIES[0])))

    @unittest.skipUnless(HEADERS, "Debian's libmemcached-dev is not here")
    def test_sizes_members_and_numbers_are_those_of_debians_headers(self):
        wanted = read(compiled("layout", "-O0"))
        self.assertGreater(len(wanted.splitlines()), 150)
        self.assertEqual(read(compiled("layout", "-DOURS")), wanted)


@unittest.skipUnless(HEADERS, "Debian's libmemcached-dev is not here")
class PlacementTest(unittest.TestCase):
    def test_each_key_has_the_same_server_for_every_hash_distribution_and_setting(self):
        command = [compiled("placement"), "2000" if FULL else "40"]
        wanted = run(command, ours=False).splitlines()
        self.assertGreater(len(wanted), 5000)
        for ours, stock in zip(run(command, ours=True).splitlines(), wanted, strict=True):
            self.assertEqual(ours, stock)


@unittest.skipUnless(HEADERS, "Debian's libmemcached-dev is not here")
class SessionTest(Servers):
    def test_every_call_has_the_same_answer(self):
        for setting in ("text", "binary", "text buffer", "text prefix ketama", "binary noblock"):
            for ports in self.lists:
                self.check_same([compiled("session"), setting], ports)

    def test_calls_without_answers_do_the_same(self):
        for ports in self.lists[:2]: # with more servers Debian's library mixes up answers
            self.check_same([compiled("session"), "text noreply"], ports)

    def test_items_stored_without_answers_are_all_found(self):
        """Debian's library takes answers of one call for those of another here."""
        for setting in ("text noreply", "binary noreply"):
            output = run([compiled("session"), setting, *self.lists[2]], ours=True)
            self.assertIn("fetch: 133 items, sum 125995, SERVER END\nfetch again: 0 items", output)

    def test_each_replica_has_the_item_and_one_that_is_gone_is_not_missed(self):
        replicas = compiled("replicas")
        self.assertEqual(run([replicas, *self.lists[2]], ours=True),
                         "set: SUCCESS, on 3 servers\nget: SUCCESS, value\ndelete: SUCCESS, on 0 servers\n")
        with socket.socket() as dead:
            dead.bind(("127.0.0.1", 0))
            for place in range(3):
                ports = list(self.lists[2])
                ports[place] = str(dead.getsockname()[1])
                self.assertIn("get: SUCCESS, value\n", run([replicas, *ports], ours=True))

    def test_pools_options_allocators_lists_and_results_are_the_same(self):
        for ports in self.lists[:2]:
            self.check_same([compiled("parts")], ports)

    def test_failures_have_the_same_results(self):
        with socket.socket() as silent, socket.socket() as dead:
            for server in (silent, dead):
                server.bind(("127.0.0.1", 0))
            silent.listen(100)
            ports = [str(server.getsockname()[1]) for server in (silent, dead)]
            for words in (["silent", ports[0]], ["refused", ports[1]], ["eject", ports[1], self.lists[1][0]], ["name"]):
                self.check_same([compiled("failures"), *words], [])


class Relay:
    """Between a client and a server: a port of loopback, and the number of segments with data that came from the client."""

    def __init__(self, port):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port, self._server, self._clients, self._servers = self._listener.getsockname()[1], port, [], []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self._clients.append(client)
                server = socket.create_connection(("127.0.0.1", int(self._server)))
                self._servers.append(server)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def segments(self):
        """tcpi_data_segs_in of all clients."""
        return sum(struct.unpack_from("I", client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 152)[0]
                   for client in self._clients)

    def close(self):
        for each in (self._listener, *self._clients, *self._servers):
            each.close()


@unittest.skipUnless(HEADERS, "Debian's libmemcached-dev is not here")
class WritesTest(Servers):
    GETS = 20

    def test_a_get_is_one_write_and_sends_what_is_buffered_first(self):
        """The second one of two writes would wait for the server's delayed acknowledgement of the first, up to 40 ms."""
        for protocol in ("text", "binary"):
            relay = Relay(self.lists[1][0])
            self.addCleanup(relay.close)
            command = [compiled("writes"), str(relay.port), str(self.GETS), protocol]
            with self.subTest(protocol), subprocess.Popen(command, env=environment(command, ours=True), stdin=subprocess.PIPE,
                                                          stdout=subprocess.PIPE, text=True, bufsize=1,
                                                          preexec_fn=shared.end_with_the_test) as client:
                self.assertEqual([client.stdout.readline() for _ in range(2)], ["first not found\n", "begin\n"])
                before = relay.segments()
                client.stdin.write("go\n")
                self.assertEqual(client.stdout.readline(), "end\n")
                self.assertLess(relay.segments() - before, 2 * self.GETS)
                rest, _ = client.communicate("go\n", timeout=LIMIT)
                self.assertEqual(rest, "a is new\ntouch: SUCCESS\n")


class ToolsTest(Servers):
    """Debian's libmemcached-tools."""

    def check(self, *command, hidden=r"(?!)"):
        outputs = [re.sub(hidden, "", run(list(command), ours)) for ours in (False, True)]
        self.assertEqual(*outputs)

    def check_dump(self, where):
        """Stock lists the items of its cold LRU alone, where its maintainer moves each a moment after it was stored."""
        dump = functools.partial(run, ["memcdump", where])
        shared.wait_for(lambda: "item\n" in dump(ours=False), f"the item in a dump of {where}")
        self.assertEqual(sorted(dump(ours=True).split()), sorted(dump(ours=False).split()))

    def test_they_print_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "item"
            path.write_text("bytes of a file\n" * 1000)
            for ports in self.lists:
                where = "--servers=" + ",".join(f"127.0.0.1:{port}" for port in ports)
                self.check("memccp", where, str(path))
                self.check("memccat", where, "item")
                self.check("memcexist", where, "item")
                self.check("memctouch", where, "--expire=100", "item")
                self.check("memcping", where)
                self.check_dump(where)
                self.check("memcstat", where, hidden=r"\d+")
                self.check("memcflush", where)
                for ours in (False, True):
                    run(["memccp", where, str(path)], ours=not ours)
                    run(["memcrm", where, "item"], ours)
                    run(["memcexist", where, "item"], ours, status=1)

    def test_a_line_that_never_ends_is_given_up(self):
        """Where it was not, the line would fill the memory until the time-out."""
        def send(listener):
            with contextlib.suppress(OSError), listener.accept()[0] as connection:
                while True:
                    connection.sendall(b"x" * 65536)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = threading.Thread(target=send, args=(listener,))
            sender.start()
            command = ["memcping", f"--servers=127.0.0.1:{listener.getsockname()[1]}"]
            result = subprocess.run(command, env=environment(command, ours=True), capture_output=True, text=True, timeout=LIMIT,
                                    check=False)
            sender.join()
        self.assertEqual(result.returncode, 1)
        self.assertIn("PROTOCOL ERROR", result.stderr)

    def test_memccapable_passes(self):
        output = run(["memccapable", "-h", "127.0.0.1", "-p", self.lists[0][0], "-t", "60"], ours=True)
        self.assertIn("All tests passed", output)


class PylibmcTest(Servers):
    def session(self, name, *words):
        return run([PYTHON, str(HERE / f"clients/{name}.py"), *words], ours=True)

    def test_every_call_works(self):
        for ports in self.lists[:2]:
            for protocol in ([], ["binary"]):
                output = self.session("pylibmc_session", f"127.0.0.1:{ports[0]}", *protocol)
                self.assertIn("all steps passed", output)

    def test_children_and_threads_get_their_own_answers(self):
        for ports in self.lists:
            output = self.session("pylibmc_together", *(f"127.0.0.1:{port}" for port in ports))
            self.assertIn("all steps passed", output)

    def test_a_server_that_is_killed_and_started_again_is_lost_and_used_again(self):
        for stock in (False, True):
            with self.subTest(stock=stock), tempfile.TemporaryDirectory() as folder:
                self.check_restart(f"{folder}/memcached.sock", stock)

    def check_restart(self, path, stock):
        command = [PYTHON, str(HERE / "clients/pylibmc_restart.py"), path]
        server = shared.Server(unix=path, stock=stock)
        client = subprocess.Popen(command, env=environment(command, ours=True), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, preexec_fn=shared.end_with_the_test)
        with client:
            try:
                self.assertEqual(client.stdout.readline(), "stored\n")
                server.process.kill()
                server.process.wait()
                client.stdin.write("killed\n")
                client.stdin.flush()
                self.assertEqual(client.stdout.readline(), "lost\n")
                server.stop()
                server = shared.Server(unix=path, stock=stock)
                client.stdin.write("started\nend\n")
                client.stdin.flush()
                self.assertEqual(client.stdout.read(), "back\n")
            finally:
                client.kill()
                server.stop()

    def test_gets_do_without_the_server(self):
        """They read its memory as soon as that is mapped, which is in the background."""
        output = self.session("pylibmc_onesided", f"127.0.0.1:{self.lists[0][0]}")
        self.assertIn("all steps passed", output)


@unittest.skipUnless(PHP, "Debian's PHP with its extension memcached is not here")
class PhpTest(Servers):
    def test_every_call_has_the_same_answer(self):
        program = next((path for path in pathlib.Path(PHP).glob("usr/bin/php*") if re.fullmatch(r"php[\d.]+", path.name)), None)
        folder = next((path.parent for path in pathlib.Path(PHP).glob("usr/lib/php/*/memcached.so")), None)
        if program is None or folder is None:
            self.skipTest("Debian's packages have no PHP with its extension memcached")
        extensions = [f"-dextension={name}.so" for name in ("igbinary", "msgpack", "memcached")]
        if subprocess.run([program, "-n", "-v"], capture_output=True, timeout=LIMIT, check=False).returncode != 0:
            self.skipTest("Debian's PHP does not start here: libraries of it are missing")
        command = [str(program), "-n", f"-dextension_dir={folder}", *extensions, str(HERE / "clients/php_session.php")]
        for setting in ("text", "binary", "text ketama weights prefix"):
            for ports in self.lists:
                self.check_same([*command, setting], ports)


if __name__ == "__main__":
    sys.exit(unittest.main())
