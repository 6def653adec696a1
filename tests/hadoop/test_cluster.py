# SPDX-License-Identifier: Apache-2.0
"""The cluster: real daemons, their end, and what users read when one cannot live."""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LONG, MIB, WITH_PLUGIN, HdfsCase  # noqa: E402  (needs the path above)
from cluster import java, ready  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from daemons import ports, processes, sites  # noqa: E402
from daemons.errors import Failed  # noqa: E402


class PiecesTest(unittest.TestCase):
    def test_free_ports_are_different_and_can_be_bound(self):
        found = ports.free(40)
        self.addCleanup(ports.give_back, found)
        self.assertEqual(len(set(found)), 40)
        for port in found:
            with socket.socket() as probe:
                # as daemons do: a connection that has just ended is no owner
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((ports.HOST, port))

    def test_a_port_that_was_drawn_is_not_drawn_by_another_process_until_it_is_given_back(self):
        port, = ports.free(1)
        asks = [sys.executable, "-c", f"from daemons import ports; print(ports.take({port}))"]
        for expected in ("False", "True"):
            done = subprocess.run(asks, cwd=HERE.parent / "lib", capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(done.stdout.strip(), expected)
            ports.give_back([port])

    def test_a_port_that_somebody_has_is_not_free(self):
        with socket.socket() as taken:
            taken.bind((ports.HOST, 0))
            taken.listen()
            self.assertFalse(ports.is_free(taken.getsockname()[1]))

    def test_site_files_escape_what_xml_would_take_for_its_own(self):
        self.assertIn("<value>a &lt;&amp;&gt; b</value>", sites.site({"name": "a <&> b"}))

    def test_an_unknown_command_is_named_with_those_that_are_known(self):
        with self.assertRaisesRegex(Failed, "'hdfs frobnicate' is not known; known are: hdfs dfs"):
            java.program(["hdfs", "frobnicate"])

    def test_a_process_of_another_start_time_is_not_killed(self):
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        self.addCleanup(child.kill)
        processes.kill(child.pid, processes.start_time(child.pid) + 1)
        self.assertIsNone(child.poll())
        processes.kill(child.pid, processes.start_time(child.pid))
        self.assertNotEqual(child.wait(60), 0)

    def test_a_process_whose_first_thread_has_ended_lives_until_its_last_one_has(self):
        program = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(3600,)).start(); " \
                  "ctypes.CDLL(None).pthread_exit(None)"
        child = subprocess.Popen([sys.executable, "-c", program])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        started = processes.start_time(child.pid)
        while pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2][0] != "Z":
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        self.assertTrue(processes.alive(child.pid, started))
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        self.assertFalse(processes.alive(child.pid, started))

    def test_processes_are_found_by_the_folder_they_work_in(self):
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, "container")
            os.mkdir(inner)
            child = subprocess.Popen(["sleep", "60"], cwd=inner)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            self.assertEqual([pid for pid, _ in processes.below(folder)], [child.pid])


COUNTED = 32  # MiB
TRIES = 20  # each of three DataNodes is as likely
REPLICA = ("-D", "dfs.replication=1")


class HdfsTest(HdfsCase):
    """The cluster that tests share."""

    def test_a_command_of_another_process_finds_it_and_copies_a_file_in_and_out(self):
        script = [sys.executable, HERE / "hadoop.py", "--work", self.cluster.work]
        status = subprocess.run([*script, "status"], capture_output=True, text=True, timeout=120)
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("datanode1", status.stdout)
        self.assertRegex(status.stdout, rf"(?m)^  class path: \S+:{re.escape(self.cluster.plugin)}$")
        source, copy = self.folder / "in", self.folder / "out"
        source.write_bytes(os.urandom(3 << 20))
        for words in (["-put", source, "/in"], ["-get", "/in", copy]):
            done = subprocess.run([*script, "run", "hdfs", "dfs", *words], capture_output=True, text=True, timeout=180)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"Verbena ends: (1 \w+ by the core and 0|0 \w+ by the core and 1) by TCP")
        self.assertEqual(source.read_bytes(), copy.read_bytes())

    def test_a_second_start_in_the_same_folder_says_what_to_do(self):
        with self.assertRaisesRegex(Failed, "a Hadoop is running in .*: end it first"):
            Cluster(self.cluster.work).start()

    @LONG
    def test_the_end_of_a_daemon_is_seen_and_a_new_one_registers(self):
        self.cluster.kill("datanode1")
        pid, started = self.cluster.daemons["datanode1"]
        processes.end([(pid, started)])
        with self.assertRaisesRegex(Failed, "the datanode1 has ended; the last lines of its log"):
            self.cluster.check_alive()
        self.cluster.launch("datanode1")
        self.setUp()

    def test_files_by_the_core_cost_no_system_call_beyond_those_for_the_replicas(self):
        """The kernel counts what a process reads and writes: by the core the DataNodes' files alone, by TCP each hop once more at
        either end. This is what the speed comes from, and depends on no processor."""
        self.wait_for("no DataNode copies blocks for another test", self.quiet, self.replicas)
        source = self.folder / "counted"
        source.write_bytes(os.urandom(COUNTED * MIB))
        core, tcp = (self.written(source, f"/counted-{enabled}", f"verbena.hdfs.enabled={enabled}")
                     for enabled in ("true", "false"))
        print(f"a DataNode's reads and writes for {COUNTED} MiB: {core} MiB by the core, {tcp} MiB by TCP", flush=True)
        self.assertLess(core, COUNTED * 1.15)  # the replica, checksums, what else a DataNode does
        self.assertGreater(tcp - core, COUNTED * 0.9)

    def quiet(self):
        state = ready.bean(self.cluster.ports["namenode-http"], "Hadoop:service=NameNode,name=FSNamesystemState")
        return state.get("UnderReplicatedBlocks") == 0 and state.get("PendingReplicationBlocks") == 0

    def replicas(self):
        return self.client.run("hdfs", "fsck", "/", "-files", "-blocks", "-locations").stdout

    def written(self, source, path, setting):
        """MiB that a DataNode with the plugin read and wrote by system calls for a file, its logs included."""
        for number in range(TRIES):  # the NameNode chooses which one
            before = self.calls()
            self.dfs(*REPLICA, *self.afresh(), "-D", setting, "-put", str(source), f"{path}-{number}")
            after = self.calls()
            text = self.client.run("hdfs", "fsck", f"{path}-{number}", "-files", "-blocks", "-locations").stdout
            self.dfs("-rm", "-skipTrash", f"{path}-{number}")
            names = [name for name in WITH_PLUGIN if f"[127.0.0.1:{self.cluster.ports[name]}," in text]
            if names:
                return (after[names[0]] - before[names[0]]) >> 20
        return self.fail(f"{TRIES} files went to the DataNode without the plugin")

    def calls(self):
        """{DataNode: bytes}"""
        counts = {}
        for name in WITH_PLUGIN:
            text = pathlib.Path(f"/proc/{self.cluster.daemons[name][0]}/io").read_text()
            counts[name] = sum(int(line.split()[1]) for line in text.splitlines() if line[:5] in ("rchar", "wchar"))
        return counts


class EndTest(unittest.TestCase):
    @LONG
    def test_a_daemon_that_cannot_live_stops_the_start_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = {"namenode": {"hdfs-site": {"dfs.namenode.http-address": "127.0.0.1:notaport"}}}
            cluster = Cluster(os.path.join(folder, "hadoop"), datanodes=1, quick=True, tied=True, own=wrong)
            with self.assertRaisesRegex(Failed, "the namenode has ended; the last lines of its log"):
                cluster.start()
            self.assertEqual(cluster.daemons, {})
            self.assertTrue(os.path.exists(cluster.log("namenode")), "the log is kept for the user")

    def test_without_a_cluster_commands_say_how_to_start_one(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, HERE / "hadoop.py", "--work", folder, "run", "hdfs", "dfs", "-ls", "/"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no Hadoop is running here: ./verbena hadoop start", done.stderr)
