# SPDX-License-Identifier: Apache-2.0
"""What the server says at its start: where it listens, its memory, whether there are messages, and why not."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import unittest
import unittest.mock

import shared

PROGRAM = shared.BUILD / "verbena-memcached"
OTHER = 65532 # a user that nobody is
LIMIT = 60


def listening(process):
    """Addresses, as hexadecimal digits of the kernel, at which a process listens by TCP, each as often as it does."""
    mine = set()
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            mine.add(os.readlink(entry))
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in mine:
                found.append(words[1].split(":")[0])
    return found


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


class ListenTest(unittest.TestCase):
    """Nothing listens where -l and -s do not say so: messages are on in each."""

    def started(self, *flags, **how):
        without = {name: value for name, value in os.environ.items() if name not in ("VBN_TL_ENABLE", "VBN_TL_TCP_INTERFACE")}
        with unittest.mock.patch.dict(os.environ, without, clear=True):
            server = shared.Server("-t", "2", *flags, **how)
        self.addCleanup(server.stop)
        self.assertEqual(server.stats("verbena")["messages"], "on")
        return server

    def test_on_loopback_the_core_listens_on_loopback(self):
        server = self.started()
        found = listening(server.process)
        self.assertEqual(set(found), {"0100007F"})
        self.assertGreater(len(found), 1)  # the core's beside the server's own
        self.assertEqual(server.stats("verbena")["messages_transports"], "self,shm,tcp")

    def test_beside_a_unix_socket_no_port_is_open(self):
        with tempfile.TemporaryDirectory() as folder:
            server = self.started(unix=f"{folder}/socket")
            self.assertEqual(listening(server.process), [])
            self.assertEqual(server.stats("verbena")["messages_transports"], "self,shm")
            server.stop()

    def test_what_somebody_has_chosen_stays(self):
        server = self.started("-o", "verbena_core=tl.enable=self")
        self.assertEqual(server.stats("verbena")["messages_transports"], "self")


class StartTest(unittest.TestCase):
    def greeting(self, *flags, **how):
        server = shared.Server(*flags, **how)
        status, rest = server.stop()
        self.assertEqual((status, rest), (0, ""))
        return server.greeting.replace(f"port {server.port}", "port N").replace(f"-{server.port}.key", "-N.key")

    def test_one_line_names_port_memory_and_the_key_of_messages(self):
        with unittest.mock.patch.dict(os.environ, {"VBN_TL_ENABLE": "self,shm,tcp"}):
            self.assertEqual(self.greeting("-m", "100"),
                             "verbena-memcached: port N, 100 MiB, messages on (self,shm,tcp; key "
                             f"{os.environ['XDG_RUNTIME_DIR']}/verbena/memcached-N.key)\n")
            self.assertEqual(self.greeting("-o", "verbena_auth=none"), "verbena-memcached: port N, 64 MiB, messages on "
                             "(self,shm,tcp; for everybody, as verbena_auth=none)\n")

    def test_a_socket_is_named_and_so_is_what_keeps_messages_off(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "key"
            key.write_text("a" * 64)
            key.chmod(0o604)
            self.assertEqual(self.greeting("-o", f"verbena_key={key}", unix=f"{folder}/socket"),
                             f"verbena-memcached: socket {folder}/socket, 64 MiB, messages off: {key} is mode 0604: others can "
                             f"read the key; run: chmod 600 {key}\n")

    def test_a_daemon_says_it_to_whoever_started_it(self):
        port = shared.HeldPort()
        user = ["-u", "root"] if os.geteuid() == 0 else []
        with tempfile.TemporaryDirectory() as folder:
            words = [PROGRAM, *user, "-l", "127.0.0.1", "-p", str(port.number), "-d", "-P", f"{folder}/pid",
                     "-o", "verbena_key=key"]
            # Ends when nobody has stderr any more: the daemon lets go of it after its line.
            done = subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False, cwd=folder)
            pid = pathlib.Path(folder) / "pid"
            shared.wait_for(lambda: pid.exists() and pid.read_text().strip(), "the file of -P")
            os.kill(int(pid.read_text()), signal.SIGTERM)
            shared.wait_for(lambda: not pid.exists(), "the end of the daemon")
        port.close()
        self.assertEqual(done.returncode, 0)
        key = os.path.realpath(folder) + "/key"
        self.assertRegex(done.stderr, rf"\Averbena-memcached: port {port.number}, 64 MiB, messages on \(.*; key {key}\)\n\Z")


def line_of(process, start):
    """The first line on stderr that begins so."""
    for line in process.stderr:
        if line.startswith(start):
            return line
    raise AssertionError(f"no line begins with {start!r}")


class ProcessTest(unittest.TestCase):
    """The process: signals, locked memory, threads, a port that nobody has chosen."""

    def started(self, *flags, **environment):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        process = subprocess.Popen([PROGRAM, *user, *flags], stderr=subprocess.PIPE, text=True, env=dict(os.environ, **environment),
                                   preexec_fn=shared.end_with_the_test)
        self.addCleanup(process.communicate, timeout=LIMIT)
        self.addCleanup(process.terminate)
        return process

    def ports(self, *words):
        """The port of the line of the start, and what the file says."""
        with tempfile.TemporaryDirectory() as folder:
            process = self.started("-p", "-1", *words, MEMCACHED_PORT_FILENAME=f"{folder}/ports")
            port = line_of(process, "verbena-memcached: port ").split()[2].rstrip(",")
            self.assertEqual(os.listdir(folder), ["ports"])
            return port, pathlib.Path(folder, "ports").read_text().splitlines()

    def test_any_free_port_is_told(self):
        port, told = self.ports("-l", "127.0.0.1")
        self.assertEqual(told, [f"TCP INET: {port}"])

    @unittest.skipUnless(has_ipv6(), "this host has no IPv6 on loopback")
    def test_any_free_port_is_the_same_for_each_address(self):
        for _ in range(5):  # another program may have the port of the first address at the second
            port, told = self.ports("-l", "127.0.0.1,::1")
            if told == [f"TCP INET: {port}", f"TCP INET6: {port}"]:
                return
        self.fail(f"{port}: {told}")

    def test_a_hangup_does_not_end_the_server(self):
        server = shared.Server()
        self.addCleanup(server.stop)
        server.process.send_signal(signal.SIGHUP)
        status = pathlib.Path(f"/proc/{server.process.pid}/status")
        shared.wait_for(lambda: "SigPnd:\t0000000000000000" in status.read_text() and
                        "ShdPnd:\t0000000000000000" in status.read_text(), "the signal to be delivered")
        self.assertEqual(server.ask(b"mn\r\n"), b"MN\r\n")
        self.assertEqual(server.stop()[0], 0)

    def test_more_threads_than_processors_are_a_warning(self):
        server = shared.Server("-t", "65", "-m", "256")
        self.addCleanup(server.stop)
        self.assertEqual(server.stats()["threads"], "65")
        self.assertEqual(server.ask(b"set a 0 0 1\r\nx\r\nget a\r\n"), b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n")
        self.assertIn("-t 65: more threads than processors gain nothing", server.stop()[1])

    def test_the_protocol_is_shown_as_it_was_given(self):
        for flags, shown in (([], "auto-negotiate"), (["-B", "auto"], "auto-negotiate"), (["-B", "ascii"], "ascii")):
            with self.subTest(flags):
                server = shared.Server(*flags)
                self.addCleanup(server.stop)
                self.assertEqual(server.stats("settings")["binding_protocol"], shown)

    def test_a_daemon_has_its_memory_locked(self):
        def locked(pid):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            return int(status.split("VmLck:")[1].split()[0])

        process = self.started("-p", "-1", "-l", "127.0.0.1", "-m", "16", "-k")
        try:
            line_of(process, "verbena-memcached: port ")
        except AssertionError:
            self.skipTest("this user may not lock so much memory: raise ulimit -l")
        if locked(process.pid) == 0:
            self.skipTest("a sanitizer of this build ignores mlockall")
        with tempfile.TemporaryDirectory() as folder:
            pid = pathlib.Path(folder) / "pid"
            self.started("-p", "-1", "-l", "127.0.0.1", "-m", "16", "-k", "-d", "-P", str(pid)).wait(LIMIT)
            shared.wait_for(lambda: pid.exists() and pid.read_text().strip(), "the file of -P")
            daemon = int(pid.read_text())
            self.addCleanup(os.kill, daemon, signal.SIGTERM)
            self.assertGreater(locked(daemon), 0)


class WithoutSessionTest(unittest.TestCase):
    """As root, services and containers are: without XDG_RUNTIME_DIR."""

    def remove(self, path):
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError): # others of this user may have keys there
            path.parent.rmdir()

    def start(self, environment):
        with unittest.mock.patch.dict(os.environ, environment):
            if "XDG_RUNTIME_DIR" not in environment:
                del os.environ["XDG_RUNTIME_DIR"]
            server = shared.Server()
            self.addCleanup(server.stop)
            path = pathlib.Path(f"/tmp/verbena-{os.geteuid()}/memcached-{server.port}.key")
            self.addCleanup(self.remove, path)
            server.stats() # a server that answers has made its key
            return server, path

    def explained(self, server, **environment):
        variables = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        return subprocess.run([shared.BUILD / "mcexample", f"127.0.0.1:{server.port};connect={LIMIT}000;timeout={LIMIT}000"],
                              env=dict(variables, **environment), capture_output=True, text=True, timeout=LIMIT, check=True).stdout

    def test_server_and_client_meet_by_a_key_in_a_folder_of_the_user(self):
        server, path = self.start({})
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        self.assertIn("messages through the core", self.explained(server))
        with tempfile.TemporaryDirectory() as folder: # a folder of many servers may have a key that a killed one has left
            self.assertIn("messages through the core", self.explained(server, XDG_RUNTIME_DIR=folder))

    @unittest.skipUnless(os.geteuid() == 0, "only root can make folders of other users")
    def test_a_session_of_another_user_is_not_used(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chown(folder, OTHER, OTHER)
            _, path = self.start({"XDG_RUNTIME_DIR": folder})
            self.assertTrue(path.exists())
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
