# SPDX-License-Identifier: Apache-2.0
"""NameNodes with a standby, in each mode, with blocks and calls by the core: failover by command, by the death of
the active one, by ZooKeeper; an observer."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from case import new_key  # noqa: E402  (needs the path above)
from cluster import conf, java, ready  # noqa: E402
from cluster.ha import OBSERVED, PROXY, SITE, HighlyAvailable  # noqa: E402
from daemons import processes  # noqa: E402
from moded import SMALL_FILES, TIERS, Moded, ModeCase  # noqa: E402
from test_rpc import by_core  # noqa: E402

WRITER = HERE.parent / "java" / "Writer.java"
PIECE = 700_000  # bytes of each step of a writer


class HaModed(HighlyAvailable, Moded):
    pass


class Automatic(HaModed):
    automatic = True


class Observed(HaModed):
    namenodes = 3


class Journaled(HaModed):
    journals = 3


class HaCase(ModeCase):
    """One cluster for the tests of a class; which NameNode is active changes."""

    kind = HaModed

    @classmethod
    def make(cls, shm):
        core = by_core(new_key(cls.folder / "rpc.key"))
        return cls.kind(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, core, datanodes=cls.datanodes)

    def setUp(self):
        for name in [*self.cluster.nameservers(), *self.names()]:
            if name not in self.cluster.running():
                self.cluster.launch(name)
        self.cluster.await_hdfs()
        self.report_blocks()
        self.empty_memory()

    def other(self):
        return next(name for name in self.cluster.nameservers() if self.cluster.role(name) == "standby")

    def fail_over(self, *names):
        self.cluster.admin("-failover", *(name.replace("namenode", "nn") for name in names))

    def log(self, name):
        return pathlib.Path(self.cluster.log(name)).read_text(errors="replace")

    # ------------------------------------------------------------------------------- writers and readers

    def writer(self, path, *settings):
        argv = java.argv(str(WRITER), [path, *settings], self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)
        with open(self.cluster.log("writer"), "ab") as log:
            program = subprocess.Popen(argv, env=self.cluster.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=log, text=True)
        self.addCleanup(self.end, program)
        return program

    @staticmethod
    def end(program):
        program.kill()
        program.wait()
        for stream in (program.stdin, program.stdout):
            stream.close()

    def ask(self, program, command):
        program.stdin.write(command + "\n")
        program.stdin.flush()
        answer = program.stdout.readline()
        self.assertRegex(answer, r"^done \d+$", self.log("writer")[-3000:])
        return int(answer.split()[1])

    def assert_pattern(self, path, length):
        copy = self.folder / "pattern"
        copy.unlink(missing_ok=True)
        self.dfs("-get", path, str(copy))
        whole = bytes(range(251)) * (length // 251 + 1)
        self.assertTrue(copy.read_bytes() == whole[:length], "what was read differs")

    def through(self, path, fail_over):
        """Writes and reads while the active NameNode changes."""
        source = self.file("source", 3)
        self.put(source, path + "-before", 3)
        program = self.writer(path, "dfs.replication=3")
        self.ask(program, f"flush {PIECE}")
        with subprocess.Popen(self.cluster.argv(["hdfs", "dfs", "-cat", path + "-before"]), env=self.cluster.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as reader:
            begin = reader.stdout.read(1000)
            fail_over()
            for _ in range(4):
                total = self.ask(program, f"flush {PIECE}")
            self.assertTrue(begin + reader.stdout.read() == source.read_bytes(), "what was read differs")
        self.assertEqual(self.ask(program, "close"), total)
        self.assert_pattern(path, total)
        self.assert_same(source, path + "-before")
        self.put(source, path + "-after", 3)
        self.wait_for_tiers(path + "-after", [TIERS[self.mode]] * 3)
        self.wait_for("no block is missing", self.is_healthy)
        self.dfs("-rm", "-skipTrash", path, f"{path}-*")


class FailoverCases:
    """For each mode."""

    def test_a_writer_and_a_reader_go_on_when_an_administrator_fails_over(self):
        before, after = self.cluster.active(), self.other()
        self.through("/moved", lambda: self.fail_over(before, after))
        self.assertEqual(self.cluster.active(), after)
        self.assertIn("Verbena serves calls to", self.log(after))
        self.assertRegex(self.log(self.names()[0]), r"RPC server \S+ is reached by the core: shm")
        self.assertRegex(self.log("writer"), r"DataNode \S+ is reached by the core: shm")

    def test_a_writer_and_a_reader_go_on_when_the_active_namenode_is_killed(self):
        before, after = self.cluster.active(), self.other()

        def fail_over():
            self.kill(before)
            self.fail_over(before, after)
        self.through("/killed", fail_over)
        self.assertEqual(self.cluster.active(), after)


class HhhTest(FailoverCases, HaCase):
    mode, kind = "hhh", Journaled

    def test_small_files_are_written_to_all_replicas_while_the_active_namenode_changes_and_is_killed(self):
        with self.small_files("/small") as writers:
            self.fail_over(self.cluster.active(), self.other())
            self.wait_for("small files after a failover", writers.more_closed(SMALL_FILES))
            before, after = self.cluster.active(), self.other()
            self.kill(before)
            self.fail_over(before, after)
        self.assertEqual(self.cluster.active(), after)
        self.dfs("-rm", "-r", "-skipTrash", "/small")

    def test_the_doctor_looks_at_the_active_namenode(self):
        done = self.cluster.run("org.verbena.hadoop.Doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"ok    cluster: hdfs://{SITE} has 3 DataNodes", done.stdout)
        self.assertEqual(len(re.findall(r"ok    DataNode \S+ is reached by the core: shm", done.stdout)), 3, done.stdout)
        port = self.cluster.ports[self.cluster.active()]
        self.assertRegex(done.stdout, rf"ok    RPC server \S+:{port} is reached by the core: shm")


class MemoryTest(FailoverCases, HaCase):
    mode = "hhh-m"


class SharedPathTest(FailoverCases, HaCase):
    mode = "hhh-l"

    def test_a_volume_is_adopted_after_a_failover(self):
        """The DataNodes ask the NameNode that is active then, who lives."""
        source = self.file("adopted", 2)
        self.put(source, "/adopted", 1)
        self.wait_for("each DataNode owns a volume", lambda: all(self.owned()[name] for name in self.names()))
        dead = min(self.holders("/adopted", "ARCHIVE"))
        self.kill(dead)
        before, after = self.cluster.active(), self.other()
        self.kill(before)
        self.fail_over(before, after)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("no block is missing", self.is_healthy)
        self.assert_same(source, "/adopted")


class AutomaticTest(HaCase):
    mode, kind = "hhh", Automatic

    def test_zookeeper_fails_over_when_the_active_namenode_is_killed_and_it_comes_back_as_the_standby(self):
        before = self.cluster.active()
        self.through("/automatic", lambda: self.kill(before))
        self.assertNotEqual(self.cluster.active(), before)
        self.cluster.launch(before)
        self.wait_for("the killed NameNode is the standby", lambda: self.cluster.role(before) == "standby")
        self.assertRegex(self.log("controller1"), r"RPC server \S+ is reached by the core: shm")


class ObserverTest(HaCase):
    """Reads go to an observer, and see what their client has written before: state ids of answers go by the core, too."""

    mode, kind, more = "hhh", Observed, {PROXY: OBSERVED, "dfs.client.failover.observer.auto-msync-period." + SITE: "0ms"}

    def opened(self, name):
        """How many files a NameNode has opened for readers."""
        port = self.cluster.ports[name]
        bean = ready.bean(self.cluster.ports[f"{name}-http"], f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{port}")
        return bean.get("GetBlockLocationsNumOps", 0)

    def test_an_observer_answers_reads_and_no_read_is_older_than_what_its_client_wrote(self):
        if self.cluster.role("namenode3") != "observer":
            self.cluster.admin("-transitionToObserver", "nn3")
        source = self.file("source", 1)
        before = self.opened("namenode3")
        for number in range(30):
            self.put(source, f"/observed{number}", 3)
            self.assert_same(source, f"/observed{number}")
            self.dfs("-rm", "-skipTrash", f"/observed{number}")
        self.assertGreater(self.opened("namenode3") - before, 15)
        afresh = ("-D", "verbena.rpc.first.calls=2")  # with them the resident JVM says of servers again how it reaches them
        line = rf"RPC server \S+:{self.cluster.ports['namenode3']} is reached by the core: shm"
        self.wait_for("the observer is called by the core", lambda: re.search(line, self.dfs(*afresh, "-ls", "/").stderr))


if __name__ == "__main__":
    unittest.main(verbosity=2)
