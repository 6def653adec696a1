# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of HDFS by the core, and who means no good: one line says it, Hadoop's own path goes on, no JVM dies."""
import os
import pathlib
import random
import re
import secrets
import socket
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LIMIT, LONG, WITH_PLUGIN, HdfsCase  # noqa: E402  (needs the path above)
from daemons import ports, processes  # noqa: E402

NOBODY = 65534
ROOT_ONLY = unittest.skipUnless(os.getuid() == 0, "needs root to be another user, or to mount")


def listening(pid):
    """The TCP ports on which a process listens."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor))
        except OSError:
            continue
        inodes.update(found.groups() if found else ())
    rows = [line.split() for table in ("tcp", "tcp6")
            for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in inodes}


class PoorClientTest(HdfsCase):
    """Clients that lack something."""

    def put_and_get(self, *prefix, options=(), settings=()):
        """A file there and back by clients that are started so; what they said."""
        said, path = [], f"/poor-{secrets.token_hex(4)}"
        for words in (["-put", str(self.source), path], ["-cat", path]):
            argv = [*prefix, *self.cluster.argv(["hdfs", "dfs", *settings, *words], options)]
            done = subprocess.run(argv, env={**self.cluster.environment(), "HADOOP_USER_NAME": "root"}, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=300, check=False)
            said.append(done.stderr.decode(errors="replace"))
            self.assertEqual(done.returncode, 0, said[-1][-4000:])
        self.assertTrue(done.stdout == self.source.read_bytes(), "the file that came back differs")
        self.dfs("-rm", "-skipTrash", path)
        return "\n".join(said)

    def put_and_get_until(self, pattern, *prefix, **more):
        """The same until it is said: one file in nine goes to, and comes from, the DataNode without the plugin."""
        text = ""
        for _ in range(8):
            text += self.put_and_get(*prefix, **more)
            if re.search(pattern, text):
                break
        self.assertRegex(text, pattern)

    @LONG
    def test_a_jvm_without_direct_memory_says_so_and_its_files_go_by_tcp(self):
        self.put_and_get_until("MaxDirectMemorySize", options=["-XX:MaxDirectMemorySize=768k"])

    @LONG
    def test_few_open_files_and_no_locked_memory_are_borne(self):
        self.put_and_get_until(r"Verbena ends: [1-9]\d* connections by the core", "prlimit", "--nofile=400", "--memlock=0")

    @LONG
    @ROOT_ONLY
    def test_a_tiny_dev_shm_is_borne(self):
        script = 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"'
        self.put_and_get_until(r"Verbena ends: [1-9]\d* connections by the core", "unshare", "--mount", "sh", "-c", script, "sh")

    @LONG
    @ROOT_ONLY
    def test_another_user_with_the_key_goes_by_the_core(self):
        """It may read everything, so that jars and site files need not be copied, and is another user to DataNodes."""
        stranger = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+dac_read_search",
                    "--ambient-caps=+dac_read_search"]
        self.folder.chmod(0o711)
        self.addCleanup(self.folder.chmod, 0o700)
        key = self.folder / "strangers-key"
        key.write_bytes(pathlib.Path(self.key).read_bytes())
        key.chmod(0o600)
        os.chown(key, NOBODY, NOBODY)
        if subprocess.run([*stranger, "test", "-r", key], check=False).returncode != 0:
            self.skipTest(f"another user cannot read {key}: a folder above it is closed")
        text = ""
        for _ in range(8):  # each time one file in nine comes from, and goes to, the DataNode without the plugin
            text += self.put_and_get(*stranger, settings=["-D", f"verbena.hdfs.key.file={key}"])
            if "is reached by the core" in text:
                break
        self.assertNotIn("stands aside", text)
        self.assertRegex(text, r"is reached by the core: shm")

    @LONG
    def test_a_client_without_the_jar_reads_what_one_with_it_has_written(self):
        self.dfs("-put", str(self.source), "/jar")
        plugin, self.cluster.plugin = self.cluster.plugin, None
        try:
            done = self.cluster.run("hdfs", "dfs", "-D", "hadoop.rpc.socket.factory.class.ClientProtocol=", "-checksum", "/jar")
        finally:
            self.cluster.plugin = plugin
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Verbena", done.stderr)


class HostileTest(HdfsCase):
    """Bytes that are nobody's protocol, for all ports that the plugin listens on, and greetings that are none."""

    def test_random_and_truncated_bytes_at_the_data_nodes_ports_do_no_harm(self):
        own = {number for name, number in self.cluster.ports.items() if name.startswith("datanode")}
        dice = random.Random(17)
        for name in WITH_PLUGIN:
            process = self.cluster.daemons[name]
            found = listening(process[0]) - own
            self.assertGreaterEqual(len(found), 2, "greeting and engine")
            for port in found:
                for _ in range(60):
                    self.send(port, dice.randbytes(dice.choice((0, 1, 3, 8, 64, 4096))))
            self.assertTrue(processes.alive(*process))
        self.await_moved("/after-hostile")
        self.assert_same("/after-hostile")

    @staticmethod
    def send(port, data):
        try:
            with socket.create_connection((ports.HOST, port), timeout=LIMIT) as connection:
                connection.sendall(data)
        except OSError:
            pass  # it may hang up before all is sent

    @LONG
    def test_greetings_that_are_damaged_or_endless_are_one_line_and_tcp(self):
        """A stranger has the port where the DataNode without the plugin would greet."""
        offset = self.greeting_port(WITH_PLUGIN[0]) - self.cluster.ports[WITH_PLUGIN[0]]
        begins, rest = b"VBNG\0\4", b"\0\x28\0\1" + b"t" * 16
        answers = [begins + b"\3", b"HTTP/1.1 200 OK\r\n\r\n", begins + b"\xff\xff" + b"x" * 70000,
                   begins + b"\0\x10" + rest + b"\xff" * 16, b"VBNG\0\x09\0\1x", b"VBNG\0\3\0\1x", b""]
        asked = []
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((ports.HOST, self.cluster.ports["datanode3"] + offset))
            server.listen()
            stranger = threading.Thread(target=self.answer, args=(server, answers, asked), daemon=True)
            stranger.start()
            said = ""
            for _ in range(len(answers)):  # each client asks anew; one that asks for no block of datanode3 does not ask
                if len(asked) >= 3:
                    break
                said += self.dfs_alone("-put", "-f", str(self.source), "/greeted").stderr
                said += self.assert_same("/greeted", self.dfs_alone).stderr
            server.shutdown(socket.SHUT_RDWR)
            stranger.join(LIMIT)
        logs = said + "".join(pathlib.Path(self.cluster.log(name)).read_text(errors="replace") for name in WITH_PLUGIN)
        self.assertTrue(asked, "somebody asked the stranger")
        self.assertRegex(logs, r"is reached by TCP( for now)?: ")

    @staticmethod
    def answer(server, answers, asked):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.sendall(answers[len(asked) % len(answers)])
                except OSError:
                    pass
            asked.append(1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
