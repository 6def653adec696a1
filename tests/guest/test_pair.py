# SPDX-License-Identifier: Apache-2.0
"""Two guests joined by a network: verbs between them, and the faults that tests inject."""
import unittest

import shared
from shared import vm

LIMIT = 60


class PairTest(unittest.TestCase):
    def setUp(self):
        self.a, self.b = shared.pair()

    def between(self, server, client, port=18515):
        """Runs the server in a and the client in b; both must succeed. Returns the client's output."""
        job = self.a.start(server, LIMIT)
        self.a.wait_port(port)
        result = self.b.run(client, LIMIT)
        self.assertEqual((result.status, job.wait()), (0, 0), result.output + job.output)
        return result.output

    def test_messages_go_over_a_reliable_connection(self):
        output = self.between("ibv_rc_pingpong -g 1 -n 100", "ibv_rc_pingpong -g 1 -n 100 guest-a")
        self.assertIn("100 iters", output)

    def test_messages_go_as_datagrams(self):
        self.between("ibv_ud_pingpong -g 1 -n 20 -s 1024", "ibv_ud_pingpong -g 1 -n 20 -s 1024 guest-a")

    def test_the_connection_manager_works(self):
        server = self.a.start("exec rping -s -a 10.0.0.1 -C 5", LIMIT)
        client = self.b.run("for i in 1 2 3 4 5; do rping -c -a 10.0.0.1 -C 5 && exit 0; sleep 0.5; done; exit 1", LIMIT)
        self.assertEqual((client.status, server.wait()), (0, 0), client.output + server.output)

    def test_loss_shows_in_the_counters_and_all_is_delivered(self):
        before = self.b.counters()
        self.b.netem("loss 20%")
        self.addCleanup(self.b.netem)
        server = self.a.start("ibv_rc_pingpong -g 1 -n 50", LIMIT)
        self.a.wait_port(18515)
        client = self.b.run("ibv_rc_pingpong -g 1 -n 50 guest-a", LIMIT)
        server.signal(15)  # the acknowledgement that it waits for may be lost, and its retries have no end
        server.wait()
        self.assertEqual(client.status, 0, client.output)
        self.assertGreater(self.b.counters()["completer_retry_err"], before["completer_retry_err"])

    def test_a_pulled_cable_delivers_nothing_and_a_plugged_one_again(self):
        reach = "timeout 3 bash -c 'exec 3<>/dev/tcp/guest-a/9999'"
        several = f"for i in $(seq 15); do {reach} 2>&1 | grep refused && break; done"
        self.assertIn("refused", self.b.run(several, LIMIT).output)
        self.b.cable(False)
        self.assertEqual(self.b.run(reach).status, 124)
        self.b.cable(True)
        self.assertIn("refused", self.b.run(several, LIMIT).output)

    def test_a_link_that_is_down_stops_the_device_and_it_comes_back(self):
        self.b.link(False)
        state = "cat /sys/class/infiniband/rxe0/ports/1/state"
        self.assertIn("DOWN", self.b.run(state).output)
        self.b.link(True)
        self.assertIn("ACTIVE", self.b.run(f"until {state} | grep ACTIVE; do sleep 0.1; done").output)
        self.between("ibv_rc_pingpong -g 1 -n 20", "ibv_rc_pingpong -g 1 -n 20 guest-a")

    def test_a_stopped_guest_goes_on_where_it_was(self):
        job = self.a.start("for i in 1 2 3; do echo $i; sleep 0.2; done")
        self.a.stop()
        self.assertEqual(self.a.machine.qmp("query-status")["status"], "paused")
        self.a.cont()
        self.assertEqual((job.wait(), job.output), (0, "1\n2\n3\n"))

    def test_a_killed_guest_is_an_error_there_and_is_reachable_after_its_reboot(self):
        job = self.a.start("sleep 1000", LIMIT)
        self.a.kill()
        with self.assertRaisesRegex(vm.Failed, "the guest ended"):
            job.wait()
        self.a.reboot()
        self.between("ibv_rc_pingpong -g 1 -n 20", "ibv_rc_pingpong -g 1 -n 20 guest-a")

    def test_guests_of_one_snapshot_differ_in_random_numbers_names_and_addresses(self):
        look = "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/boot_id; hostname; " \
            "cat /sys/class/net/eth0/address"
        for ours, theirs in zip(self.a.run(look).output.splitlines(), self.b.run(look).output.splitlines()):
            self.assertNotEqual(ours, theirs)

    def test_two_rails_carry_apart_from_each_other(self):
        before = self.b.counters(rail=0), self.b.counters(rail=1)
        self.b.cable(False, rail=0)
        self.addCleanup(self.b.cable, True, rail=0)
        server = self.a.start("ibv_rc_pingpong -d rxe1 -g 1 -n 20", LIMIT)
        self.a.wait_port(18515)
        client = self.b.run("ibv_rc_pingpong -d rxe1 -g 1 -n 20 guest-a-1", LIMIT)
        self.assertEqual((client.status, server.wait()), (0, 0), client.output)
        self.assertGreater(self.b.counters(rail=1)["sent_pkts"], before[1]["sent_pkts"])
        self.assertEqual(self.b.counters(rail=0)["sent_pkts"], before[0]["sent_pkts"])


if __name__ == "__main__":
    unittest.main()
