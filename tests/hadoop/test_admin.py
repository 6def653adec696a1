# SPDX-License-Identifier: Apache-2.0
"""What an administrator asks of a DataNode reaches the writers and readers that have come by the core: restart messages, evictions,
limits, decommissioning, the way back to stock."""
import contextlib
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LIMIT, LONG, MIB, WITH_PLUGIN, Shared  # noqa: E402  (needs the path above)
from cluster import conf, ready  # noqa: E402
from daemons import processes  # noqa: E402
from daemons.ports import HOST  # noqa: E402
from writing import FILES, WritingCase  # noqa: E402

PATIENT = f"dfs.client.datanode-restart.timeout={LIMIT}s"
SLOW = str(MIB)  # bytes a second
READ_LIMIT, WRITE_LIMIT = (f"dfs.datanode.data.{what}.bandwidthPerSec" for what in ("read", "write"))
THREADS = "dfs.datanode.max.transfer.threads"


class AdminTest(WritingCase):
    def admin(self, *words):
        done = self.client.run("hdfs", "dfsadmin", *words)
        if "EOFException" in done.stdout + done.stderr:  # of a connection to the DataNode that another test has restarted
            done = self.client.run("hdfs", "dfsadmin", *words)
        return self.ended(done, words)

    def ipc(self, name):
        return f"{HOST}:{self.cluster.ports[name + '-ipc']}"

    def log(self, name):
        return pathlib.Path(self.cluster.log(name))

    def stacks(self, name):
        """The threads of a DataNode, as its page tells them."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{HOST}:{self.cluster.ports[name + '-http']}/stacks", timeout=LIMIT) as answer:
            return answer.read().decode()

    def restart_for_upgrade(self, name):
        process = self.cluster.daemons[name]
        self.client.end_for_upgrade(name)
        self.wait_for(f"{name} ends", lambda: not processes.alive(*process))
        self.cluster.launch(name)

    def back_to_stock(self, name):
        """Takes the DataNode's plugin, and lets it register again."""
        site = self.cluster.site(name)
        site["hdfs-site"].pop("dfs.datanode.plugins")
        conf.write(self.cluster.conf(name), site)
        self.restart_for_upgrade(name)
        self.await_registered()
        self.assertEqual(self.counters(name), {}, "it has no plugin")

    def await_registered(self):
        self.wait_for("every DataNode has registered", lambda: ready.hdfs(self.cluster.ports, 3) is None)

    def with_plugin_again(self):
        for name in WITH_PLUGIN:
            conf.write(self.cluster.conf(name), self.cluster.site(name))
            if not self.counters(name):
                self.kill(name)
        self.setUp()

    @contextlib.contextmanager
    def reader(self, path):
        """A program that has read a part of a file, and waits in the middle of its first block."""
        with self.process(self.cluster.argv(["hdfs", "dfs", "-cat", path]), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as program:
            yield program, program.stdout.read(100_000)

    def single(self, path):
        """Writes a file of one replica to a DataNode with the plugin; gives its name."""
        for number in range(FILES):  # the NameNode chooses the DataNode
            self.dfs("-D", "dfs.replication=1", "-put", str(self.source), f"{path}{number}")
            found = self.client.run("hdfs", "fsck", f"{path}{number}", "-files", "-blocks", "-locations").stdout
            if any(f":{self.cluster.ports[name]}," in found for name in WITH_PLUGIN):
                return f"{path}{number}"
        return self.fail("no file went to a DataNode with the plugin")

    def reconfigure(self, name, changes):
        """Writes the DataNode's site file anew and lets it read it."""
        site = self.cluster.site(name)
        site["hdfs-site"].update(changes)
        conf.write(self.cluster.conf(name), site)
        self.admin("-reconfig", "datanode", self.ipc(name), "start")
        self.wait_for("the reconfiguration is finished", lambda: "finished at" in self.admin(
            "-reconfig", "datanode", self.ipc(name), "status").stdout)
        said = self.admin("-reconfig", "datanode", self.ipc(name), "status").stdout
        for property_name in changes:
            self.assertRegex(said, rf"SUCCESS: Changed property {re.escape(property_name)}")

    # -------------------------------------------------------------------------------- in the default tier

    def test_a_writer_of_one_replica_outlives_the_upgrade_of_its_data_node(self):
        with self.writer_by_core("/upgraded", PATIENT) as (program, name):
            self.restart_for_upgrade(name)
            self.ask(program, f"flush {MIB}")
            total = self.ask(program, "close")
        self.assertEqual(total, MIB + 100_000)
        self.setUp()

    def test_a_writer_that_is_told_to_leave_leaves(self):
        with self.writer_by_core("/evicted") as (program, name):
            length = self.log(name).stat().st_size
            self.admin("-evictWriters", self.ipc(name))
            self.wait_for("the writer is stopped",
                          lambda: "Stopped the writer: CorePeer" in self.new_text(self.log(name), length))
            self.assertEqual(self.answer(program, f"flush {MIB}"), "", "it had no other DataNode")

    def test_a_limit_of_bandwidth_that_is_set_later_holds_for_readers_by_the_core(self):
        self.dfs("-put", str(self.source), "/limited")
        name = WITH_PLUGIN[0]
        self.reconfigure(name, {READ_LIMIT: SLOW})
        try:
            self.assert_throttled(name, ["hdfs", "dfs", "-cat", "/limited"], "readBlock")
        finally:
            self.reconfigure(name, {READ_LIMIT: "0"})

    def assert_throttled(self, name, words, what):
        """Of commands of that kind one waits for the limit of this DataNode after it has opened a stream to it; to which
        DataNodes a command goes is the NameNode's choice."""
        running, accepted = [], []

        def throttled():
            if not running or running[-1].poll() is not None:
                accepted.append(self.counters(name)["stream.accepted"])
                running.append(subprocess.Popen(self.cluster.argv(words), env=self.cluster.environment(), stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            waits = [stack for stack in self.stacks(name).split("\nThread ") if "DataTransferThrottler.throttle" in stack]
            return any(what in stack for stack in waits) and self.counters(name)["stream.accepted"] > accepted[-1]

        try:
            self.wait_for("somebody who has come by the core waits for the limit", throttled)
        finally:
            for client in running:
                client.kill()
                client.wait()

    # ------------------------------------------------------------------------------------- with --full

    @LONG
    def test_a_pipeline_of_three_keeps_all_its_data_nodes_through_a_rolling_upgrade(self):
        with self.writer("/rolling", "dfs.replication=3", PATIENT) as program:
            self.ask(program, "flush 100000")
            before = self.pipeline("/rolling")
            for name in WITH_PLUGIN:
                self.restart_for_upgrade(name)
                self.ask(program, f"flush {MIB}")
                self.assertEqual(sorted(self.pipeline("/rolling")), sorted(before))
                self.setUp()
            self.ask(program, "close")
        self.assert_healthy()

    @LONG
    def test_an_idle_writer_outlives_six_upgrades_of_its_data_nodes(self):
        """Hadoop's client gives up after five recoveries at one place of a block that were not announced."""
        with self.writer("/idle", "dfs.replication=3", PATIENT) as program:
            total = self.ask(program, "flush 100000")
            for number in range(6):
                self.restart_for_upgrade(WITH_PLUGIN[number % len(WITH_PLUGIN)])
                self.setUp()
            self.assertEqual(self.ask(program, f"flush {MIB}"), total + MIB)
            self.ask(program, "close")
        self.assert_content("/idle", total + MIB)
        self.assert_healthy()

    @LONG
    def test_data_nodes_go_back_to_stock_one_by_one_beneath_writers_and_readers(self):
        self.dfs("-put", str(self.source), "/three-read")
        paths = ["/three-read", self.single("/one-read")]
        try:
            with self.writer("/three-written", "dfs.replication=3", PATIENT) as three, \
                    self.writer_by_core("/one-written", PATIENT) as (one, _), contextlib.ExitStack() as open_readers:
                self.ask(three, "flush 100000")
                before = self.pipeline("/three-written")
                readers = [open_readers.enter_context(self.reader(path)) for path in paths]
                for name in WITH_PLUGIN:
                    self.back_to_stock(name)
                    for program in (three, one):
                        self.ask(program, f"flush {MIB}")
                self.assertEqual(sorted(self.pipeline("/three-written")), sorted(before))
                for program, begin in readers:
                    self.assertTrue(begin + program.stdout.read() == self.source.read_bytes(), "what was read differs")
                for program in (three, one):
                    self.assertEqual(self.ask(program, "close"), 100_000 + 2 * MIB)
            for path in paths:
                done = self.assert_same(path, self.dfs_alone)
                self.assertIn("Verbena ends: 0 connections by the core", done.stderr)
        finally:
            self.with_plugin_again()
        self.assert_healthy()

    @LONG
    def test_a_limit_of_bandwidth_that_is_set_later_holds_for_writers_by_the_core(self):
        name = WITH_PLUGIN[0]
        self.reconfigure(name, {WRITE_LIMIT: SLOW})
        try:
            self.assert_throttled(name, ["hdfs", "dfs", "-put", "-f", str(self.source), "/limited-write"], "writeBlock")
        finally:
            self.reconfigure(name, {WRITE_LIMIT: "0"})

    @LONG
    def test_a_limit_of_transfer_threads_that_is_set_later_holds_for_streams(self):
        for name in WITH_PLUGIN:
            self.reconfigure(name, {THREADS: "1"})
        lengths = {name: self.log(name).stat().st_size for name in WITH_PLUGIN}
        line = re.compile(r"CorePeer\(.* is not served: xceiver count \d+ exceeds the limit of concurrent xceivers: 1")
        try:
            with contextlib.ExitStack() as open_writers:
                for number in range(3):  # Hadoop lets one more in than the limit says
                    program = open_writers.enter_context(self.writer(f"/many{number}", "dfs.replication=3"))
                    open_writers.callback(program.kill)
                    self.answer(program, "flush 1")
                self.wait_for("a stream too many", lambda: any(
                    line.search(self.new_text(self.log(name), lengths[name])) for name in WITH_PLUGIN))
        finally:
            for name in WITH_PLUGIN:
                self.reconfigure(name, {THREADS: "4096"})

    @LONG
    def test_a_data_node_that_is_decommissioned_is_left_by_its_replicas_by_the_core(self):
        self.dfs("-setrep", "-R", "2", "/")  # only two DataNodes will be left
        self.dfs("-D", "dfs.replication=2", "-D", f"dfs.blocksize={MIB}", "-put", str(self.source), "/leaving")
        name = WITH_PLUGIN[0]
        Shared.excluded.write_text(f"{HOST}:{self.cluster.ports[name]}\n")
        try:
            self.admin("-refreshNodes")
            self.wait_for("it is decommissioned", lambda: re.search(
                rf"Name: {HOST}:{self.cluster.ports[name]} [\s\S]*?Decommission Status : Decommissioned",
                self.admin("-report").stdout))
            self.assert_same("/leaving")
        finally:
            Shared.excluded.write_text("")
            self.admin("-refreshNodes")
        self.setUp()

    @LONG
    def test_the_bandwidth_of_balancing_is_one_for_both_kinds_of_connections(self):
        """A quota is a server's of data transfers, so a DataNode may have only one of those."""
        self.admin("-setBalancerBandwidth", str(3 * MIB))
        for name in WITH_PLUGIN:
            self.wait_for("the DataNode has heard of it", lambda: f"is {3 * MIB} bytes per second" in self.admin(
                "-getBalancerBandwidth", self.ipc(name)).stdout)
            self.assertEqual(self.stacks(name).count("DataXceiverServer.run("), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
