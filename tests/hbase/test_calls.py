# SPDX-License-Identifier: Apache-2.0
"""Calls of programs that know nothing of Verbena, on a cluster of a region server with the plugin and one without."""
import os
import pathlib
import socket
import sys
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from servers import conf  # noqa: E402  (needs the path above)
from daemons import key, processes  # noqa: E402
from shared import LONG, OURS, STOCK, ClusterTest  # noqa: E402

ROWS = 300
TRIES = 8  # programs, of which one has its time on a machine of any load


class CallsTest(ClusterTest):
    def test_a_program_reads_what_it_wrote_by_the_core_and_from_a_stock_server_by_tcp(self):
        done = self.run_client("Rows", "check", "mixed", ROWS)
        self.assertIn(f"checked {ROWS}", done.stdout)
        core, tcp, not_answered, connecting, failures, _, sent, received = self.counts(done.stderr)
        self.assertGreater(core, ROWS, done.stderr[-3000:])
        self.assertGreater(not_answered, ROWS)
        self.assertEqual((connecting, failures), (0, 0), self.said(done.stderr))
        self.assertEqual(tcp, not_answered)
        self.assertGreater(min(sent, received), ROWS * 100)
        self.assertRegex(done.stderr, rf"calls to \S+:{self.cluster.ports[OURS]} go by the core: shm")
        self.assertRegex(done.stderr, rf"calls to \S+:{self.cluster.ports[STOCK]} go by TCP: ")

    def test_the_first_calls_of_a_jvm_go_by_the_core_with_the_settings_as_they_come(self):
        folder = self.cluster.client("as-it-comes", **{"verbena.hbase.connect.wait.ms": None})
        for number in range(TRIES):
            done = self.run_client("Rows", "check", f"first{number}", 20, folder=folder)
            core, _, _, too_late, failures, *_ = self.counts(done.stderr)
            self.assertEqual(failures, 0, self.said(done.stderr))
            if core > 20 and not too_late:
                return
        self.fail(self.said(done.stderr))

    @LONG
    def test_a_region_server_on_all_addresses_serves_at_the_one_by_which_zookeeper_knows_it(self):
        """On a host whose own name means another loopback address, as Debian's do."""
        hosts, log = pathlib.Path(self.cluster.work, "hosts"), pathlib.Path(self.cluster.log(OURS))
        hosts.write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
        length = self.end()
        try:
            conf.write(self.cluster.conf(OURS), {**self.cluster.site(OURS), "hbase.regionserver.ipc.address": "0.0.0.0"})
            with unittest.mock.patch.dict(os.environ, JAVA_TOOL_OPTIONS=f"-Djdk.net.hosts.file={hosts}"):
                self.cluster.launch(OURS)
            self.cluster.await_all()
            done = self.run_client("Rows", "check", "everywhere", 50)
        finally:
            conf.write(self.cluster.conf(OURS), self.cluster.site(OURS))
            self.end()
        self.assertGreater(self.counts(done.stderr)[0], 50)
        self.assertIn("it listens on all addresses, and the one that ZooKeeper sees is 127.0.0.1; set verbena.core.tl.tcp.",
                      log.read_text(errors="replace")[length:])

    def end(self):
        """Ends the region server, which the next test starts again; gives the length of its log."""
        processes.end([self.cluster.daemons[OURS]])
        return len(pathlib.Path(self.cluster.log(OURS)).read_text(errors="replace"))

    @LONG
    def test_a_program_without_the_plugin_reads_from_all(self):
        stock = self.cluster.client("stock", **{conf.CLIENT: None})
        done = self.run_client("Rows", "check", "stock", 50, folder=stock, plugin=False)
        self.assertIn("checked 50", done.stdout)
        self.assertEqual(self.said(done.stderr), [])

    def test_what_was_written_by_one_way_is_read_by_the_other(self):
        self.run_client("Rows", "check", "ways", 50)
        stock = self.cluster.client("stock", **{conf.CLIENT: None})
        self.assertIn("verified 100", self.run_client("Rows", "verify", "ways", 100, folder=stock, plugin=False).stdout)

    def test_the_cores_tcp_carries_calls_too(self):
        over_tcp = self.cluster.client("tcp", **{"verbena.core.tl.enable": "tcp"})
        done = self.run_client("Rows", "check", "tcp", 50, folder=over_tcp)
        self.assertRegex(done.stderr, rf"calls to \S+:{self.cluster.ports[OURS]} go by the core: tcp")
        self.assertGreater(self.counts(done.stderr)[0], 50)

    @LONG
    def test_servers_say_what_they_do_and_who_calls(self):
        self.run_client("Console", "list")
        log = pathlib.Path(self.cluster.log("master")).read_text()
        self.assertRegex(log, r"Verbena 0\.1\.0 answers calls of master\S+ at \S+ by self,shm,tcp from 127\.0\.0\.1, "
                              r"with the key of ")
        self.assertRegex(log, r"Verbena: 127\.0\.0\.1 calls by the core: ")
        self.assertEqual(self.said(pathlib.Path(self.cluster.log(STOCK)).read_text()), [])


class SettingsTest(ClusterTest):
    """Clients that cannot use the core."""

    def rows(self, name, **properties):
        done = self.run_client("Rows", "check", name, 20, folder=self.cluster.client(name, **properties))
        self.assertIn("checked 20", done.stdout)
        return done.stderr

    def test_a_wrong_key_leads_to_tcp_with_a_line(self):
        path = os.path.join(self.cluster.work, "wrong")
        key.new(path)
        log = self.rows("wrong", **{"verbena.hbase.key.file": path})
        core, tcp, *_ = self.counts(log)
        self.assertEqual(core, 0)
        self.assertGreater(tcp, 20)
        self.assertRegex(log, r"Verbena: calls to \S+ go by TCP for a while: .*the same key \(verbena\.hbase\.key\.file\)")

    @LONG
    def test_no_key_leads_to_tcp_with_the_cure(self):
        log = self.rows("none", **{"verbena.hbase.key.file": None})
        self.assertEqual(self.counts(log)[0], 0)
        self.assertRegex(log, r"go by TCP for a while: no cluster key: set verbena\.hbase\.key\.file to a file")

    @LONG
    def test_a_port_that_is_taken_leads_to_tcp_with_a_line(self):
        log = self.rows("port", **{"verbena.core.tl.enable": "tcp", "verbena.core.tl.tcp.port": self.cluster.ports[STOCK]})
        self.assertEqual(self.counts(log)[0], 0)
        self.assertRegex(log, r"go by TCP for a while: .*taken by another worker or program")

    @LONG
    def test_it_can_be_switched_off(self):
        log = self.rows("off", **{"verbena.hbase.enabled": "false"})
        self.assertEqual([line for line in self.said(log) if "stands aside" not in line], [])
        self.assertIn("verbena.hbase.enabled is false", log)

    def test_a_wrong_setting_stops_a_client_with_the_right_name(self):
        wrong = self.cluster.client("typo", **{"verbena.hbase.kye.file": "x"})
        done = self.cluster.run("Console", "list", folder=wrong)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did you mean verbena.hbase.key.file?", done.stdout + done.stderr)

    @LONG
    def test_tls_and_sasl_stay_with_hbase(self):
        tls = self.cluster.client("tls", **{"hbase.client.netty.tls.enabled": "true", "hbase.client.retries.number": 0,
                                            "hbase.rpc.client.event-loop.config": ""})
        done = self.cluster.run("Console", "status", folder=tls)
        self.assertIn("the core carries no connections with TLS (hbase.client.netty.tls.enabled)", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
