#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The core over a real RDMA device of the kernel, in software: its own test programs in one guest, and two hosts.

usage: core.py BUILD [unittest options]. Over the other transports the same programs run on the host, by ctest.
"""
import concurrent.futures
import os
import pathlib
import re
import sys
import unittest

import fetch
import shared
import traffic
from shared import procs, vm
from traffic import IMPATIENT, ROUNDS, SETTINGS

BUILD = pathlib.Path(os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "."))
ROOT = shared.HERE.parents[1]
WAYS = ("rc", "ud", "rc,ud")
FILTER = "--gtest_filter='*/rc:*/ud:*/rc_ud'"  # tests that are parametrised over transports end so
CUT = {"multi_calls": "VBN_TEST_SEED=1 ./multi_calls --gtest_filter='*/rc'"}  # slow; tests/verbs has all of it
BY_CM = "multi_onesided"  # once more over connections by rdma_cm
PROGRAM_SECONDS = 400
AT_ONCE = SHARDS = 3  # shards of a program take every third test: one transport each
RAN = re.compile(r"^\[==========\] [1-9]\d* tests? from .* ran", re.M)


def programs():
    return sorted(path.name for path in BUILD.glob("multi_*") if path.is_file() and os.access(path, os.X_OK))


def parts(names):
    """(what to run, its command line): each program in shards, the slow ones cut."""
    for name in names:
        if name == BY_CM:
            yield f"{name} by rdma_cm", f"VBN_TL_VERBS_CONNECT=cm ./{name} --gtest_filter='*/rc'"
        if name in CUT:
            yield name, CUT[name]
            continue
        for shard in range(SHARDS):
            yield f"{name}, part {shard + 1}", f"GTEST_TOTAL_SHARDS={SHARDS} GTEST_SHARD_INDEX={shard} ./{name} {FILTER}"


def run(guest, command):
    return guest.run(f"cd {BUILD} && {IMPATIENT} {command}", PROGRAM_SECONDS)


class ProgramsTest(unittest.TestCase):
    def test_programs_that_know_transports_pass_over_rdma(self):
        with vm.one(cpus=2, seconds=shared.RUN_SECONDS) as guest:
            listing = guest.run(f"cd {BUILD} && for p in {' '.join(programs())}; do ./$p {FILTER} --gtest_list_tests "
                                "2>/dev/null | grep -q '^  ' && echo ran:$p; done", 120).output
            chosen = re.findall(r"^ran:(\w+)", listing, re.M)
            self.assertIn("multi_messages", chosen, listing)
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                results = list(pool.map(lambda part: run(guest, part[1]), parts(chosen)))
        self.assertIn(BY_CM, chosen)
        failed = []
        for (name, _), result in zip(parts(chosen), results):
            print(f"{name} in a guest: status {result.status}\n{result.output}", flush=True)
            if result.status != 0 or not RAN.search(result.output):
                failed.append(f"{name} (status {result.status})")
        print("ran in a guest over rc, ud and both:", " ".join(chosen))
        print("not run there, as they are not about transports between hosts:",
              " ".join(sorted(set(programs()) - set(chosen))))
        self.assertEqual(failed, [])


class InfoTest(unittest.TestCase):
    def test_vbn_info_shows_the_device_and_that_both_transports_carry_messages(self):
        output = shared.pair()[0].run(f"{BUILD}/vbn-info").output
        self.assertRegex(output, r"(?m)^device rxe0:1 +ok .*GID 1 ::ffff:10\.0\.0\.1, MTU 4096")
        self.assertRegex(output, r"(?m)^taken +ok +rxe0:1: the first active port; its GID 1: RoCE v2 with an IPv4 address")
        for way in ("rc", "ud"):
            self.assertRegex(output, rf"(?m)^transport {way} +ok ")

    def test_a_host_that_does_not_answer_is_named(self):
        a = shared.pair()[0]
        server = a.start(f"VBN_TL_ENABLE=ud stdbuf -oL {BUILD}/vbn-info --listen --seconds 20", 60)
        server.wait_output("\n")
        address = re.search(r"\b[0-9a-f]{40,}\b", server.output)[0]
        silent = address.replace("ffff0a000001", "ffff0a00004d")  # 10.0.0.77
        self.assertNotEqual(address, silent)
        client = a.run(f"VBN_TL_ENABLE=ud {BUILD}/vbn-info --towards {silent}", 60)
        server.signal(15)
        server.wait()
        self.assertIn("the host of GID ::ffff:10.0.0.77 does not answer on the network of rxe0:1", client.output)

    def test_two_hosts_reach_each_other_over_each_transport(self):
        a, b = shared.pair()
        for way, first in (("rc", "rc"), ("ud", "ud"), ("rc,ud", "ud"), ("tcp", "tcp"), ("rc VBN_TL_VERBS_CONNECT=cm", "rc")):
            with self.subTest(way):
                settings = f"VBN_TL_ENABLE=self,{way}"
                server = a.start(f"{settings} stdbuf -oL {BUILD}/vbn-info --listen --seconds 40", 60)
                server.wait_output("\n")
                address = re.search(r"\b[0-9a-f]{40,}\b", server.output)
                self.assertIsNotNone(address, server.output)
                client = b.run(f"{settings} {BUILD}/vbn-info --towards {address[0]}", 60)
                server.signal(15)
                server.wait()
                self.assertEqual(client.status, 0, client.output + server.output)
                self.assertIn(f"a message went there and back over {first}", client.output)


class FaultsTest(traffic.TrafficTest):
    build = BUILD

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

    def test_loss_changes_nothing(self):
        for way, faults in (("rc", "loss 1%"), ("ud", "loss 1%"), ("rc,ud", "loss 1%"), ("ud", "loss 10%")):
            with self.subTest(way + " " + faults):
                self.b.netem(faults)
                self.a.netem(faults)
                self.finish(*self.start(way, ROUNDS))

    def test_reordering_duplication_and_corruption_change_nothing(self):
        for way, faults in (("ud", "delay 2ms reorder 25%"), ("rc,ud", "duplicate 10%"), ("rc,ud", "corrupt 2%")):
            with self.subTest(way + " " + faults):
                self.b.netem(faults)
                self.a.netem(faults)
                self.finish(*self.start(way, ROUNDS))

    def test_a_cable_that_is_pulled_for_a_while_changes_nothing(self):
        server, driver = self.start("rc,ud", 4 * ROUNDS)
        self.b.cable(False)
        self.b.run("sleep 2")
        self.b.cable(True)
        self.finish(server, driver)

    def test_several_connections_to_one_host_change_nothing_but_share_what_is_large(self):
        rails = IMPATIENT + " VBN_LINK_RAILS=3 VBN_LINK_PROMOTE_AFTER=4 VBN_LOG_LEVEL=info"
        for way, lanes in (("rc", 3), ("rc,ud", 4)):
            with self.subTest(way):
                self.b.netem("loss 0.5%")
                server, driver = self.start(way, 4 * ROUNDS, rails)
                driver.wait_output(f"one lane more, over rc ({lanes} now)")
                self.finish(server, driver)

    def test_one_of_two_rails_that_dies_changes_nothing(self):
        devices = IMPATIENT + " VBN_TL_VERBS_DEVICE=rxe0,rxe1 VBN_LINK_PROMOTE_AFTER=4 VBN_LOG_LEVEL=info"
        for rail in (0, 1):
            with self.subTest(rail=rail):
                server, driver = self.start("rc,ud", 4 * ROUNDS, devices)
                driver.wait_output("one lane more, over rc.1")
                self.b.cable(False, rail)
                self.finish(server, driver)
                self.b.cable(True, rail)
                self.assertRegex(driver.output, f"over rc.* broke: connection over rxe{rail}:1 .*; packets fail over to the other lanes")

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
    def test_members_of_a_multicast_group_on_two_hosts_and_within_one_hear_each_other(self):
        for device, group in (("rxe0", "239.1.2.3"), ("rxe0:1:0", "ff15::77")):
            with self.subTest(group):
                program = f"VBN_TL_ENABLE=self,ud VBN_TL_VERBS_DEVICE={device} {BUILD}/hosts_group {group} 3"
                members = [guest.start(program, 90) for guest in shared.pair() for _ in range(2)]
                for member in members:
                    self.assertEqual(member.wait(), 0, member.output)
                    self.assertIn("heard 3 others, of whom 3 have heard all of theirs", member.output)


class SilentTest(traffic.TrafficTest):
    build = BUILD

    def test_a_host_that_does_not_answer_holds_up_no_traffic_with_another(self):
        for way in ("rc", "ud"):
            with self.subTest(way):
                server, driver = self.start(way, 2 * ROUNDS, IMPATIENT, silent="0a00004d")  # 10.0.0.77
                self.finish(server, driver)
                self.assertRegex(driver.output, r"silent: VBN_ERR_UNREACHABLE after [1-9]\d* replies: .*"
                                 "the host of GID ::ffff:10.0.0.77 does not answer on the network of rxe0:1")


class JavaTest(unittest.TestCase):
    def test_java_gets_its_messages_back_unchanged_and_reads_memory_over_rdma(self):
        tests = ROOT / "native-core" / "java" / "target" / "test-classes"
        jars = list((ROOT / "spark-rdma-shuffle" / "dist" / "target").glob("spark-rdma-shuffle-[0-9]*.jar"))
        if not jars or not (tests / "org").is_dir():
            self.skipTest("the Java core is not built: ./verbena build")
        program = f"java -Xmx256m -XX:+UseSerialGC -Dverbena.native.path={BUILD}/libvbnjni.so -cp {jars[0]}:{tests}"
        # One processor: with two that are emulated a JVM has died in its own compiled code (once in twenty runs).
        with vm.one(memory=2048) as guest:
            for way in WAYS:
                with self.subTest(way):
                    result = guest.run(f"{program} org.verbena.core.Child talk {way}", PROGRAM_SECONDS)
                    said = result.output.splitlines()
                    for line in ("reply 0", "reply 100", "reply 100000", "reply 5000003", "talked"):
                        self.assertIn(line, said, result.output)
                    self.assertEqual(result.status, 0, result.output)

    def test_blocks_of_a_shuffle_are_fetched_over_rdma_with_their_bytes(self):
        try:
            command = fetch.command(str(ROOT), str(BUILD), "rc")  # a minute each for ud and both, on a busy machine
        except fetch.Missing as reason:
            self.skipTest(str(reason))
        with vm.one(memory=2048) as guest:
            result = guest.run(command, PROGRAM_SECONDS)
        self.assertEqual(result.status, 0, result.output)
        self.assertIn("fetched", result.output.splitlines(), result.output)
        blocks = [int(count) for count in re.findall(r" rdma \d+ bytes in (\d+) blocks", result.output)]
        self.assertEqual(len(blocks), 2, result.output)
        self.assertTrue(all(count > 10 for count in blocks), result.output)


if __name__ == "__main__":
    procs.install_signals()
    unittest.main(verbosity=2)
