# SPDX-License-Identifier: Apache-2.0
"""The cluster: real daemons, their end, and what users read when one cannot live."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cluster import java, ready  # noqa: E402  (needs the path above)
from cluster.cluster import Cluster  # noqa: E402
from daemons import ports, processes, sites  # noqa: E402
from daemons.errors import Failed  # noqa: E402
from daemons.ready import until  # noqa: E402


class PiecesTest(unittest.TestCase):
    def test_free_ports_are_different_and_can_be_bound(self):
        found = ports.free(40)
        self.assertEqual(len(set(found)), 40)
        for port in found:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1) # as daemons do: a connection that has just ended is no owner
                probe.bind((ports.HOST, port))

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


JAR = os.environ.get("VERBENA_HADOOP_JAR")
BEAN = "Hadoop:service=DataNode,name=Verbena"
MIB = 1 << 20


class HdfsTest(unittest.TestCase):
    """One cluster of a NameNode and three DataNodes, with our jar if it is built."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        patient = {"core-site": {"verbena.hdfs.connect.wait.ms": 120000}}  # the machine may be busy: no hop by TCP meanwhile
        cls.cluster = Cluster(os.path.join(cls.folder.name, "hadoop"), plugin=JAR, by_core=bool(JAR), quick=True, tied=True,
                              properties=patient if JAR else None)
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)

    def test_a_command_of_another_process_finds_it_and_copies_a_file_in_and_out(self):
        script = [sys.executable, HERE / "hadoop.py", "--work", self.cluster.work]
        status = subprocess.run([*script, "status"], capture_output=True, text=True, timeout=120)
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("datanode1", status.stdout)
        source, copy = (os.path.join(self.folder.name, name) for name in ("in", "out"))
        pathlib.Path(source).write_bytes(os.urandom(3 << 20))
        for words in (["-put", source, "/file"], ["-get", "/file", copy]):
            done = subprocess.run([*script, "run", "hdfs", "dfs", *words], capture_output=True, text=True, timeout=180)
            self.assertEqual(done.returncode, 0, done.stderr)
            if JAR:
                self.assertRegex(done.stderr, r"Verbena ends: 1 connections by the core and 0 by TCP")
        self.assertEqual(pathlib.Path(source).read_bytes(), pathlib.Path(copy).read_bytes())

    def test_a_second_start_in_the_same_folder_says_what_to_do(self):
        with self.assertRaisesRegex(Failed, "a Hadoop is running in .*: end it first"):
            Cluster(self.cluster.work).start()

    def test_the_end_of_a_daemon_is_seen_and_a_new_one_registers(self):
        self.cluster.kill("datanode1")
        pid, started = self.cluster.daemons["datanode1"]
        processes.end([(pid, started)])
        with self.assertRaisesRegex(Failed, "the datanode1 has ended; the last lines of its log"):
            self.cluster.check_alive()
        self.cluster.launch("datanode1")
        until(self.cluster.check_alive, lambda: ready.hdfs(self.cluster.ports, 3), "HDFS", self.cluster.work)
        until(self.cluster.check_alive, lambda: None if not JAR or self.connected() else "no plugin yet", "HDFS", self.cluster.work)

    def connected(self):
        return all(ready.bean(self.cluster.ports[f"datanode{number}-http"], BEAN) for number in (1, 2, 3))

    @unittest.skipUnless(JAR, "the jar is built by ./verbena")
    def test_files_by_the_core_cost_no_system_call_beyond_those_for_the_replicas(self):
        """The kernel counts what a process reads and writes: by the core the DataNodes' files alone, by TCP each hop once more at
        either end. This is what the speed comes from, and depends on no processor."""
        source = os.path.join(self.folder.name, "counted")
        pathlib.Path(source).write_bytes(os.urandom(48 * MIB))
        core, tcp = (self.written(source, f"/counted-{enabled}", ["-D", "dfs.blocksize=64m", "-D", f"verbena.hdfs.enabled={enabled}"])
                     for enabled in ("true", "false"))
        print(f"DataNodes' reads and writes for 3 x 48 MiB: {core} MiB by the core, {tcp} MiB with the client's hop by TCP", flush=True)
        self.assertLess(core, 48 * 3 * 1.15)  # replicas, checksums, what else a DataNode does
        self.assertGreater(tcp - core, 48 * 0.9)

    def written(self, source, path, options):
        """MiB that the DataNodes read and wrote by system calls, pages of their own and logs included."""
        before = self.calls()
        done = self.cluster.run("hdfs", "dfs", *options, "-put", source, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.calls() - before) >> 20

    def calls(self):
        total = 0
        for number in (1, 2, 3):
            text = pathlib.Path(f"/proc/{self.cluster.daemons[f'datanode{number}'][0]}/io").read_text()
            total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("rchar", "wchar")))
        return total


class EndTest(unittest.TestCase):
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
