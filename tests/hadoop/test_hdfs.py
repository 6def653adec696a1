# SPDX-License-Identifier: Apache-2.0
"""HDFS by the core on real daemons and with Hadoop's own clients: files, settings, keys, killed DataNodes, ports."""
import os
import pathlib
import re
import secrets
import socket
import subprocess
import sys
import threading
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LIMIT, LONG, MIB, WITH_PLUGIN, HdfsCase  # noqa: E402  (needs the path above)
from cluster import conf, java, ready  # noqa: E402
from daemons import ports  # noqa: E402
from daemons.ready import until  # noqa: E402


TRIES = 8  # first commands, of which one has its time on a machine of any load
FILES = 12  # all of them of the DataNode without the plugin: one in 9 ** 12 times


class HdfsByCoreTest(HdfsCase):
    def test_files_come_back_equal_and_counters_show_by_which_path(self):
        self.await_moved("/counted")
        put = self.dfs_alone("-put", str(self.source), "/file")
        get = self.assert_same("/file", self.dfs_alone)
        self.assertRegex(put.stderr, r"Verbena ends: \d+ connections by the core and \d+ by TCP")
        logs = [pathlib.Path(self.cluster.log(name)).read_text(errors="replace") for name in WITH_PLUGIN]
        self.assertRegex(put.stderr + get.stderr + "".join(logs), "DataNode .* is reached by the core: shm")
        for text in logs:
            self.assertRegex(text, r"Verbena 0\.1\.0 serves blocks of .* greeting at port")
        self.assertRegex("".join(logs), "sends and reads blocks by the core")

    def test_files_come_back_equal_by_the_cores_tcp(self):
        over_tcp, said = ("-D", "verbena.core.tl.enable=tcp", "-D", "verbena.hdfs.over.tcp=core", *self.afresh()), ""
        for number in range(FILES):  # some go to, and come from, the DataNode without the plugin first
            said += self.dfs(*over_tcp, "-put", str(self.source), f"/tcp{number}").stderr
            said += self.assert_same(f"/tcp{number}", lambda *words: self.dfs(*over_tcp, *words)).stderr
            if re.search(r"DataNode \S+ is reached by the core", said):
                break
        self.assertRegex(said, r"DataNode \S+ is reached by the core: tcp")
        self.assertNotIn("by the core: shm", said)
        self.assertNotIn("leaves that to Hadoop", said)

    def test_where_the_core_has_nothing_but_tcp_blocks_go_by_hadoops_own(self):
        over_tcp, said = ("-D", "verbena.core.tl.enable=tcp", *self.afresh()), ""
        left = r"DataNode \S+ is reached by TCP: the core has nothing but TCP to it, and leaves that to Hadoop"
        for number in range(FILES):  # some go to, and come from, the DataNode without the plugin first
            said += self.dfs(*over_tcp, "-put", str(self.source), f"/left{number}").stderr
            said += self.assert_same(f"/left{number}", lambda *words: self.dfs(*over_tcp, *words)).stderr
            if re.search(left, said):
                break
        self.assertRegex(said, left)
        self.assertNotIn("is reached by the core", said)

    def test_the_first_command_of_a_jvm_goes_by_the_core_with_the_settings_as_they_come(self):
        folder = self.cluster.conf("as-it-comes")
        site = self.cluster.site("client")
        site["core-site"]["verbena.hdfs.connect.wait.ms"] = None
        conf.write(folder, site)
        answered = 0
        for number in range(FILES):  # some go to the DataNode without the plugin first
            words = ["hdfs", "dfs", "-put", str(self.source), f"/first{number}"]
            done = self.ended(self.cluster.java(*java.program(words), folder=folder), words)
            by_core, too_late = map(int, re.search(
                r"Verbena ends: (\d+) connections by the core and .*?(\d+) while connecting", done.stderr).groups())
            if by_core and not too_late:
                return
            answered += bool(too_late)
            self.assertLess(answered, TRIES, done.stderr)
        self.fail(f"{answered} commands connected too late, and {FILES - answered} went to the DataNode without the plugin")

    def test_append_replication_and_checksum_are_as_without_us(self):
        self.dfs("-put", str(self.source), "/appended")
        half = self.folder / "half"
        half.write_bytes(os.urandom(MIB + 7))
        self.dfs("-appendToFile", str(half), "/appended")
        ours = self.dfs("-checksum", "/appended").stdout
        stock = self.dfs("-D", "verbena.hdfs.enabled=false", "-checksum", "/appended").stdout
        self.assertEqual(ours, stock)
        self.dfs("-D", "dfs.replication=1", "-put", str(self.source), "/one")
        self.dfs("-setrep", "3", "/one")
        self.wait_for("three replicas", lambda: self.replicas("/one") == 3)  # setrep -w asks only every ten seconds
        copy = self.folder / "appended"
        self.dfs("-get", "/appended", str(copy))
        self.assertEqual(copy.read_bytes(), self.source.read_bytes() + half.read_bytes())
        self.assert_same("/one")
        self.assert_healthy()

    def replicas(self, path):
        """How many the NameNode knows of the block that has fewest; 0 while it does not answer."""
        answer = ready.ask(self.cluster.ports["namenode-http"], f"/webhdfs/v1{path}?op=GETFILEBLOCKLOCATIONS")
        blocks = answer["BlockLocations"]["BlockLocation"] if answer else []
        return min((len(block["hosts"]) for block in blocks), default=0)

    def test_a_data_node_without_the_plugin_is_reached_by_tcp_with_one_line(self):
        done = self.dfs_alone("-D", "dfs.replication=3", "-put", str(self.source), "/mixed")
        lines = [line for line in done.stderr.splitlines() if "is reached by TCP" in line]
        log = "".join(pathlib.Path(self.cluster.log(name)).read_text(errors="replace") for name in WITH_PLUGIN)
        said = re.findall(r"is reached by TCP: no greeting at port", "\n".join(lines) + log)
        self.assertGreaterEqual(len(said), 1, done.stderr)
        self.assertLessEqual(len(lines), 1, "one line for a DataNode")

    def test_a_wrong_setting_fails_the_client_with_the_right_name(self):
        done = self.dfs("-D", "verbena.hdfs.enabeld=true", "-ls", "/", fails=True)
        self.assertIn("did you mean verbena.hdfs.enabled?", done.stdout + done.stderr)

    def test_without_a_key_with_a_public_one_or_another_one_files_go_by_tcp(self):
        public = pathlib.Path(self.new_key("public"))
        public.chmod(0o644)
        for file, text in (("", "no cluster key"), (str(self.folder / "absent"), "absent: No such file or directory"),
                           (str(public), f"{public} is mode 0644: others can read the key; run: chmod 600 {public}"),
                           (self.new_key("other"), "by TCP")):
            target = f"/key-{secrets.token_hex(4)}"
            done = self.dfs("-D", f"verbena.hdfs.key.file={file}", "-put", str(self.source), target)
            self.assertIn(text, done.stderr)
        self.assert_same(target)  # that of the last one

    def test_a_data_node_that_is_killed_while_it_is_written_to_loses_nothing(self):
        paths = (f"/killed-in-write{number}" for number in range(FILES))  # the NameNode chooses the client's DataNode
        path = next((path for path in paths if self.killed_in_write(path)), None)
        self.assertIsNotNone(path, "no file went to a DataNode with the plugin first")
        self.assert_same(path)
        self.setUp()
        self.assert_healthy()

    def killed_in_write(self, path):
        """Writes a file and kills its client's DataNode meanwhile, if that has the plugin; gives whether."""
        before = {name: self.moved(name) for name in WITH_PLUGIN}
        argv = self.cluster.argv(["hdfs", "dfs", "-put", "-", path])
        content = self.source.read_bytes()
        with self.process(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            reader = threading.Thread(target=client.stderr.read)
            reader.start()
            client.stdin.write(content[:10 * MIB])
            client.stdin.flush()
            first = self.pipeline(f"{path}._COPYING_", 1)[0]
            if first in WITH_PLUGIN:
                self.wait_for("bytes by the core", lambda: self.moved(first) - before[first] > MIB)
                self.kill(first)
            client.stdin.write(content[10 * MIB:])
            client.stdin.close()
            self.assertEqual(client.wait(LIMIT), 0)
            reader.join(LIMIT)
        return first in WITH_PLUGIN

    @LONG
    def test_data_nodes_that_are_killed_while_they_are_read_from_are_replaced(self):
        large = self.folder / "large"
        large.write_bytes(self.source.read_bytes() * 4)
        self.dfs("-put", str(large), "/killed-in-read")
        argv = self.cluster.argv(["hdfs", "dfs", "-cat", "/killed-in-read"])
        with self.process(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
            content = client.stdout.read(MIB) # the rest waits behind the pipe and the stream's window
            for name in WITH_PLUGIN:
                self.kill(name)
            content += client.stdout.read()
            self.assertEqual(client.wait(LIMIT), 0)
        self.assertTrue(content == large.read_bytes(), "what was read differs")

    @LONG
    def test_a_data_node_on_all_addresses_serves_at_the_one_by_which_the_name_node_knows_it(self):
        """Hadoop's default, on a host whose own name means another loopback address, as Debian's do."""
        hosts, log = self.folder / "hosts", pathlib.Path(self.cluster.log("datanode2"))
        hosts.write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
        site, port = self.cluster.site("datanode2"), self.cluster.ports["datanode2"]
        site["hdfs-site"]["dfs.datanode.address"] = f"0.0.0.0:{port}"
        self.kill("datanode2")
        length = log.stat().st_size
        try:
            conf.write(self.cluster.conf("datanode2"), site)
            with unittest.mock.patch.dict(os.environ, JAVA_TOOL_OPTIONS=f"-Djdk.net.hosts.file={hosts}"):
                self.cluster.launch("datanode2")
            self.setUp()
        finally:
            conf.write(self.cluster.conf("datanode2"), self.cluster.site("datanode2"))
            self.kill("datanode2")
        said = self.new_text(log, length)
        self.assertIn(f"serves blocks of /127.0.0.1:{port} by ", said)
        self.assertIn("clients of other hosts do not reach this DataNode by the core: the DataNode listens on all addresses, and "
                      "the one that the NameNode sees is 127.0.0.1; set verbena.core.tl.tcp.interface", said)

    @LONG
    def test_a_greeting_port_that_is_taken_is_said_and_blocks_go_by_tcp_until_it_is_free(self):
        self.kill("datanode2")
        log = pathlib.Path(self.cluster.log("datanode2"))
        length = log.stat().st_size
        port = self.greeting_port("datanode2")
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((ports.HOST, port))
            taken.listen()
            self.cluster.launch("datanode2")
            self.wait_for("the line", lambda: "stands aside" in self.new_text(log, length))
            self.assertIn(f"cannot listen for greetings on /127.0.0.1:{port}", self.new_text(log, length))
            until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        self.wait_for("the core", lambda: "serves blocks of " in self.new_text(log, length))
        self.kill("datanode2")


if __name__ == "__main__":
    unittest.main(verbosity=2)
