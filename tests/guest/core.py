# SPDX-License-Identifier: Apache-2.0
"""The core between two hosts over RDMA: what vbn-info says, checked traffic beside faults, multicast groups."""
import re
import unittest

import shared
import traffic
from shared import vm
from traffic import IMPATIENT, ROUNDS, SETTINGS


LIMIT = 300
TRIES = 10  # vbn-info gives a message 5 s to come back, and a guest beside others may stand still for as long


def tried(guest, command, condition):
    """What the command says; the last of TRIES where the condition is true of none."""
    for _ in range(TRIES):
        result = guest.run(command, LIMIT)
        if condition(result):
            break
    return result


class InfoTest(unittest.TestCase):
    def listen(self, guest, settings):
        """(vbn-info that answers in the guest, its address)."""
        job = guest.start(f"{settings} stdbuf -oL {shared.CORE}/vbn-info --listen --seconds {LIMIT}", 2 * LIMIT)
        self.addCleanup(self.end, job)
        job.wait_output("\n")
        address = re.search(r"\b[0-9a-f]{40,}\b", job.output)
        self.assertIsNotNone(address, job.output)
        return job, address[0]

    def end(self, job):
        if job.status is None:
            job.signal(15)
            job.wait()

    def test_vbn_info_shows_the_device_and_that_both_transports_carry_messages(self):
        output = tried(shared.pair()[0], f"{shared.CORE}/vbn-info", lambda result: len(re.findall(
            r"(?m)^transport (?:rc|ud) +ok ", result.output)) == 2).output
        self.assertRegex(output, r"(?m)^device rxe0:1 +ok .*GID 1 ::ffff:10\.0\.0\.1, MTU 4096")
        self.assertRegex(output, r"(?m)^taken +ok +rxe0:1: the first active port; its GID 1: RoCE v2 with an IPv4 address")
        for way in ("rc", "ud"):
            self.assertRegex(output, rf"(?m)^transport {way} +ok ")

    def test_a_host_that_does_not_answer_is_named(self):
        a = shared.pair()[0]
        _, address = self.listen(a, "VBN_TL_ENABLE=ud")
        silent = address.replace("ffff0a000001", "ffff0a00004d")  # 10.0.0.77
        self.assertNotEqual(address, silent)
        reason = "the host of GID ::ffff:10.0.0.77 does not answer on the network of rxe0:1"
        client = tried(a, f"VBN_TL_ENABLE=ud {shared.CORE}/vbn-info --towards {silent}", lambda result: reason in result.output)
        self.assertIn(reason, client.output)

    def test_a_device_that_is_not_there_is_named(self):
        output = shared.pair()[0].run(f"VBN_TL_VERBS_DEVICE=rxe7 {shared.CORE}/vbn-info", LIMIT).output
        self.assertRegex(output, r"(?m)^taken +! +none: no RDMA device is named rxe7 \(tl\.verbs\.device\)")
        self.assertRegex(output, r"(?m)^transport rc +! ")

    def test_two_hosts_reach_each_other_over_each_transport(self):
        a, b = shared.pair()
        for way, first in (("rc", "rc"), ("ud", "ud"), ("rc,ud", "ud"), ("tcp", "tcp"), ("rc VBN_TL_VERBS_CONNECT=cm", "rc")):
            with self.subTest(way):
                settings = f"VBN_TL_ENABLE=self,{way}"
                server, address = self.listen(a, settings)
                client = tried(b, f"{settings} {shared.CORE}/vbn-info --towards {address}", lambda result: result.status == 0)
                self.end(server)
                self.assertEqual(client.status, 0, client.output + server.output)
                self.assertIn(f"a message went there and back over {first}", client.output)


class FaultsTest(traffic.TrafficTest):
    @shared.long
    def test_loss_changes_nothing_for_connections_by_rdma_cm(self):
        self.b.netem("loss 1%")
        self.a.netem("loss 1%")
        self.finish(*self.start("rc", ROUNDS, SETTINGS + " VBN_TL_VERBS_CONNECT=cm"))

    def test_a_peer_of_rdma_cm_that_is_killed_is_noticed_at_once(self):
        server, driver = self.start("rc", 100 * ROUNDS, IMPATIENT + " VBN_TL_VERBS_CONNECT=cm")
        server.signal(9)
        self.assertEqual(driver.wait(), 3, driver.output)
        self.assertRegex(driver.output, "lost: VBN_ERR_PEER_LOST: .*the peer closed its side")
        server.wait()

    def change(self, *cases):
        """Traffic over each way while both hosts do that to what they send."""
        for way, faults in cases:
            with self.subTest(way + " " + faults):
                self.b.netem(faults)
                self.a.netem(faults)
                self.finish(*self.start(way, ROUNDS))

    def test_loss_changes_nothing(self):
        self.change(("rc", "loss 1%"), ("ud", "loss 1%"), ("rc,ud", "loss 1%"))

    @shared.long
    def test_loss_of_ten_percent_of_datagrams_changes_nothing(self):
        self.change(("ud", "loss 10%"))

    @shared.long
    def test_reordering_duplication_and_corruption_change_nothing(self):
        self.change(("ud", "delay 2ms reorder 25%"), ("rc,ud", "duplicate 10%"), ("rc,ud", "corrupt 2%"))

    @shared.long
    def test_a_cable_that_is_pulled_for_a_while_changes_nothing(self):
        server, driver = self.start("rc,ud", 4 * ROUNDS)
        self.b.cable(False)
        self.b.run("sleep 2")
        self.b.cable(True)
        self.finish(server, driver)

    @shared.long
    def test_several_connections_to_one_host_change_nothing_but_share_what_is_large(self):
        rails = IMPATIENT + " VBN_LINK_RAILS=3 VBN_LINK_PROMOTE_AFTER=4 VBN_LOG_LEVEL=info"
        for way, lanes in (("rc", 3), ("rc,ud", 4)):
            with self.subTest(way):
                self.b.netem("loss 0.5%")
                server, driver = self.start(way, 4 * ROUNDS, rails)
                driver.wait_output(f"one lane more, over rc ({lanes} now)")
                self.finish(server, driver)

    @shared.long
    def test_one_of_two_rails_that_dies_changes_nothing(self):
        devices = IMPATIENT + " VBN_TL_VERBS_DEVICE=rxe0,rxe1 VBN_LINK_PROMOTE_AFTER=4 VBN_LOG_LEVEL=info"
        for rail in (0, 1):
            with self.subTest(rail=rail):
                server, driver = self.start("rc,ud", 4 * ROUNDS, devices)
                driver.wait_output("one lane more, over rc.1")
                self.b.cable(False, rail)
                self.finish(server, driver)
                self.b.cable(True, rail)
                self.assertRegex(driver.output,
                                 f"over rc.* broke: connection over rxe{rail}:1 .*; packets fail over to the other lanes")

    def test_a_host_that_stands_still_is_an_error_that_says_so(self):
        self.addCleanup(self.a.cont)
        for way in ("rc", "ud"):
            with self.subTest(way):
                server, driver = self.start(way, 100 * ROUNDS, IMPATIENT)
                self.a.stop()
                self.assertEqual(driver.wait(), 3, driver.output)
                self.assertRegex(driver.output, "lost: VBN_ERR_PEER_LOST: .*no answer")
                self.a.cont()
                server.signal(9)
                server.wait()

    @shared.long
    def test_a_host_that_dies_is_an_error_that_says_so(self):
        for way in ("rc", "ud"):
            with self.subTest(way):
                self.a, self.b = shared.pair()
                server, driver = self.start(way, 100 * ROUNDS, IMPATIENT)
                self.a.kill()
                self.assertEqual(driver.wait(), 3, driver.output)
                self.assertRegex(driver.output, "lost: VBN_ERR_PEER_LOST: .*no answer")
                with self.assertRaises(vm.Failed):
                    server.wait()


class GroupsTest(unittest.TestCase):
    def check(self, device, group):
        program = f"VBN_TL_ENABLE=self,ud VBN_TL_VERBS_DEVICE={device} {shared.CORE}/hosts_group {group} 3"
        members = [guest.start(program, LIMIT) for guest in shared.pair() for _ in range(2)]
        for member in members:
            self.assertEqual(member.wait(), 0, member.output)
            self.assertIn("heard 3 others, of whom 3 have heard all of theirs", member.output)

    def test_members_of_a_multicast_group_on_two_hosts_and_within_one_hear_each_other(self):
        self.check("rxe0", "239.1.2.3")

    @shared.long
    def test_members_of_a_group_with_an_address_of_ipv6_hear_each_other(self):
        self.check("rxe0:1:0", "ff15::77")


@shared.long
class SilentTest(traffic.TrafficTest):
    def test_a_host_that_does_not_answer_holds_up_no_traffic_with_another(self):
        for way in ("rc", "ud"):
            with self.subTest(way):
                server, driver = self.start(way, 2 * ROUNDS, IMPATIENT, silent="0a00004d")  # 10.0.0.77
                self.finish(server, driver)
                self.assertRegex(driver.output, r"silent: VBN_ERR_UNREACHABLE after [1-9]\d* replies: .*"
                                 "the host of GID ::ffff:10.0.0.77 does not answer on the network of rxe0:1")
