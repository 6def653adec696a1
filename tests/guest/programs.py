# SPDX-License-Identifier: Apache-2.0
"""The core's own test programs over RDMA in a guest. Over the other transports they run on the host, by ctest."""
import concurrent.futures
import os
import re
import unittest

import shared
from shared import vm
from traffic import IMPATIENT, SETTINGS

FILTER = "--gtest_filter='*/rc:*/ud:*/rc_ud'"  # tests that are parametrised over transports end so
CUT = {"multi_calls": "VBN_TEST_SEED=1 ./multi_calls --gtest_filter='*/rc'"}  # slow; tests/verbs has all of it
BY_CM = "multi_onesided"  # once more over connections by rdma_cm
PROGRAM_SECONDS = 600
AT_ONCE = SHARDS = 3  # shards of a program take every third test: one transport each
RAN = re.compile(r"^\[==========\] [1-9]\d* tests? from .* ran", re.M)


class ProgramsTest(unittest.TestCase):
    """A handful that covers much, one after another on one host: eager and rendezvous messages, puts and gets, tags, ends."""

    def check(self, program, tests, settings=SETTINGS):
        """The named tests, all of which must exist."""
        command = f"cd {shared.CORE} && {settings} ./{program} --gtest_filter='{':'.join(tests)}'"
        result = shared.pair()[0].run(command, PROGRAM_SECONDS)
        self.assertEqual(result.status, 0, result.output)
        self.assertRegex(result.output, rf"(?m)^\[  PASSED  \] {len(tests)} tests?\.")

    def test_messages_of_all_sizes_arrive(self):
        self.check("multi_messages", [f"Over/Processes.two_exchange_all_sizes_in_both_directions_at_once/{way}"
                                      for way in ("rc", "ud", "rc_ud")])

    def test_puts_and_gets_reach_memory_until_it_is_revoked(self):
        self.check("multi_messages", [f"Over/Processes.puts_and_gets_reach_the_owners_memory_until_it_is_revoked/{way}"
                                      for way in ("rc", "ud")])

    def test_writes_with_fences_and_strides_arrive(self):
        self.check("multi_onesided", [f"Over/OneSidedOver.{test}/{way}" for way in ("rc", "ud")
                                      for test in ("four_write_to_everyone_with_fences_and_flush_all_peers_at_once",
                                                   "a_matrix_is_written_and_read_by_columns")])

    def test_writes_arrive_over_connections_by_rdma_cm(self):
        self.check("multi_onesided", ["Over/OneSidedOver.a_matrix_is_written_and_read_by_columns/rc"],
                   SETTINGS + " VBN_TL_VERBS_CONNECT=cm")

    def test_tagged_messages_of_every_size_arrive_over_both_transports(self):
        self.check("multi_tags", ["Over/Tags.four_exchange_every_size_with_receives_before_and_after/rc_ud"])

    def test_tagged_messages_of_each_sender_arrive_in_order(self):
        self.check("multi_tags", [f"Over/Tags.a_receiver_from_anybody_sees_each_sender_in_order/{way}"
                                  for way in ("rc", "ud")])

    def test_a_killed_sender_ends_receives(self):
        self.check("multi_tags", [f"Over/Tags.a_killed_sender_ends_its_receives_and_leaves_what_came_whole/{way}"
                                  for way in ("rc", "ud")], IMPATIENT)

    def test_what_is_pending_with_a_lost_peer_says_why(self):
        self.check("multi_error_text", [f"Over/ErrorText.{test}/{way}" for way in ("rc", "ud")
                                        for test in ("of_an_operation_that_the_peer_refuses_says_why",
                                                     "of_what_was_pending_with_a_lost_peer_says_why_it_is_lost")])


@shared.long
class MemoryLimitTest(unittest.TestCase):
    """Limits of version 2 of control groups, which hosts with version 1 do not offer."""

    def test_memory_beyond_the_limit_of_a_group_is_refused(self):
        place = "/sys/fs/cgroup"
        command = (f"(mountpoint -q {place} || mount -t cgroup2 cgroup2 {place}) && echo +memory > {place}/cgroup.subtree_control"
                   f" && cd {shared.CORE} && ./multi_room")
        result = shared.one().run(command, PROGRAM_SECONDS)
        self.assertEqual(result.status, 0, result.output)
        self.assertRegex(result.output, r"(?m)^\[  PASSED  \] [1-9]\d* tests?\.")
        self.assertNotIn("SKIPPED", result.output)


def programs():
    """All that there are, built or not."""
    sources = (shared.ROOT / "native-core" / "tests" / "multi").glob("test_*.cc")
    return sorted("multi_" + path.stem.removeprefix("test_") for path in sources)


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
    return guest.run(f"cd {shared.CORE} && {IMPATIENT} {command}", PROGRAM_SECONDS)


@shared.long
class AllProgramsTest(unittest.TestCase):
    def test_programs_that_know_transports_pass_over_rdma(self):
        shared.need_packages()
        self.assertEqual([name for name in programs() if not os.access(shared.RELEASE / name, os.X_OK)], [], "not built")
        with vm.one(cpus=2, seconds=shared.RUN_SECONDS) as guest:
            listing = guest.run(f"cd {shared.CORE} && for p in {' '.join(programs())}; do ./$p {FILTER} --gtest_list_tests "
                                "2>/dev/null | grep -q '^  ' && echo ran:$p; done", PROGRAM_SECONDS).output
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
