# SPDX-License-Identifier: Apache-2.0
"""What goes wrong between two hosts for longer than connections bear it: the long form of core.py's faults."""
import re
import time

import traffic
from traffic import IMPATIENT, ROUNDS

RESUME = "VBN_LINK_RESUME_TIMEOUT=60s VBN_LINK_PEER_TIMEOUT=60s VBN_LOG_LEVEL=info"
LONG_SECONDS = 8  # longer than 7 tries of 268 ms


class LongFaultsTest(traffic.TrafficTest):
    def resources(self, guest):
        """What lives on the devices, by kind."""
        return re.findall(r"\b(qp|cq|mr|pd|ctx|srq) (\d+)", guest.run("rdma resource show").output)

    def check_left(self, before):
        self.assertEqual([self.resources(guest) for guest in (self.a, self.b)], before)

    def test_a_link_down_for_longer_than_every_retry_is_an_error_that_names_peer_device_and_cause(self):
        before = [self.resources(guest) for guest in (self.a, self.b)]
        server, driver = self.start("rc", 100 * ROUNDS, IMPATIENT)
        self.b.cable(False)
        status = driver.wait()
        self.b.cable(True)
        server.signal(15)
        server.wait()
        self.assertEqual(status, 3, driver.output)
        self.assertRegex(driver.output, r"lost: VBN_ERR_PEER_LOST: connection over rxe0:1 to queue pair \d+ at GID "
                         r"::ffff:10\.0\.0\.1: no answer within 7 tries .*; peer [0-9a-f]{16} .* has acknowledged \d+ of \d+")
        self.check_left(before)

    def test_a_link_down_for_longer_than_every_retry_is_resumed_when_it_is_back(self):
        for way in ("rc", "rc,ud"):
            with self.subTest(way):
                server, driver = self.start(way, 4 * ROUNDS, RESUME)
                self.b.cable(False)
                time.sleep(LONG_SECONDS)
                self.b.cable(True)
                self.finish(server, driver)

    def test_a_link_that_stays_down_is_left_for_tcp_on_another_network(self):
        settings = RESUME + " VBN_TL_VERBS_DEVICE=rxe1"
        server, driver = self.start("rc,tcp", 4 * ROUNDS, settings)
        self.b.cable(False, rail=1)
        self.addCleanup(self.b.cable, True, rail=1)
        self.finish(server, driver)
        self.assertRegex(driver.output, r"over rc broke: connection over rxe1:1 (.*\n)*.* resumed over tcp")

    def test_a_card_that_is_removed_is_left_for_tcp_at_once_and_a_deleted_device_serves_its_users_to_their_end(self):
        server, driver = self.start("rc,ud,tcp", 2 * ROUNDS, RESUME + " VBN_LINK_PROMOTE_AFTER=4 VBN_TL_VERBS_DEVICE=rxe0")
        driver.wait_output("one lane more, over rc")
        deletion = self.b.start("rdma link delete rxe0", 100)
        self.finish(server, driver)  # this kernel removes a device when nobody uses it any more
        self.assertEqual(deletion.wait(), 0, deletion.output)
        server, driver = self.start("rc,ud,tcp", 4 * ROUNDS, RESUME + " VBN_LINK_PROMOTE_AFTER=4 VBN_TL_VERBS_DEVICE=rxe1")
        driver.wait_output("one lane more, over rc")
        self.b.start("cd /sys/class/net/eth1/device && basename $(pwd -P) >driver/unbind", 20)
        self.addCleanup(self.b.kill)  # its card is gone: the next test gets a new guest
        self.finish(server, driver)
        self.assertRegex(driver.output, "the address of rxe1:1 has changed from ::ffff:10.0.1.2 to none")
        self.assertIn("resumed over tcp", driver.output)

    def test_loss_of_ten_percent_changes_nothing_over_connections(self):
        for guest in (self.a, self.b):
            guest.netem("loss 10%")
        self.finish(*self.start("rc", ROUNDS // 2, RESUME, 200))

    def test_a_host_that_dies_is_noticed_over_datagrams_with_default_settings(self):
        server, driver = self.start("ud", 100 * ROUNDS, "")
        self.a.kill()
        self.assertEqual(driver.wait(), 3, driver.output)
        self.assertRegex(driver.output, r"lost: VBN_ERR_PEER_LOST: no answer over ud for \d+ ms \(link.peer_timeout=30000 ms")
