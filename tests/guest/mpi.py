# SPDX-License-Identifier: Apache-2.0
"""Programs of mpi/tests/run and mpi/shmem/tests over each RDMA transport.

Ranks of one host take shared memory, so VBN_TL_ENABLE leaves them one transport of the device only; what they send goes
through the device to itself, as soft-RoCE does it. Hydra of MPICH starts ranks on two hosts, which choose by themselves.
"""
import re
import shutil
import unittest

import shared

LIMIT = 300
RULES = (("order", 2), ("any_source", 3), ("moves", 3), ("computes", 2), ("synchronous", 2), ("truncate", 2),
         ("blocks", 3), ("persistent", 2))
WINDOWS = (("win_computes", 2), ("win_moves", 3), ("win_accumulates", 2), ("win_epochs", 3), ("win_locks", 2), ("win_dynamic", 2),
           ("win_random 1 1", 3))
SHMEM_RULES = (("every_signal", 2), ("litmus", 2), ("computes", 2))
WAYS = ("rc", "ud")


class MpiTest(unittest.TestCase):
    def setUp(self):
        self.guest, self.other = shared.pair()

    def launch(self, way, ranks, words):
        return self.guest.run(f"VBN_TL_ENABLE=self,{way} {shared.MPI}/bin/mpiexec -n {ranks} {shared.MPI}/tests/{words}", LIMIT)

    def launch_shmem(self, way, pes, name):
        return self.guest.run(f"VBN_TL_ENABLE=self,{way} SHMEM_SYMMETRIC_SIZE=16m {shared.MPI}/bin/oshrun -n {pes} "
                              f"{shared.MPI}/shmem-tests/{name}", LIMIT)

    def hold(self, launch, rules):
        """Each program says nothing and ends with 0, and its messages have gone through the device."""
        for way in WAYS:
            for name, ranks in rules:
                with self.subTest(f"{name} n={ranks} {way}"):
                    before = self.guest.counters()["sent_pkts"]
                    result = launch(way, ranks, name)
                    self.assertEqual((result.status, result.output), (0, ""))
                    self.assertGreater(self.guest.counters()["sent_pkts"], before + ranks)

    def test_messages_of_two_ranks_stay_in_order(self):
        self.hold(self.launch, RULES[:1])

    def test_a_target_that_computes_answers_accesses_to_its_window(self):
        self.hold(self.launch, WINDOWS[:1])

    @shared.long
    def test_rules_of_the_standard_hold(self):
        self.hold(self.launch, RULES[1:])

    @shared.long
    def test_rules_of_windows_hold(self):
        self.hold(self.launch, WINDOWS[1:])

    @shared.long
    def test_rules_of_openshmem_hold(self):
        self.hold(self.launch_shmem, SHMEM_RULES)

    @shared.long
    def test_a_killed_rank_ends_the_job_and_is_named(self):
        for way in WAYS:
            for call in ("Allreduce", "Igather", "receive"):
                with self.subTest(f"{call} {way}"):
                    result = self.launch(way, 3, f"dies kill {call}")
                    self.assertEqual(result.status, 137, result.output)
                    self.assertIn("rank 1 on guest-a ended by signal 9", result.output)

    @unittest.skipUnless(shutil.which("mpiexec.hydra"), "no mpiexec.hydra: apt-get install mpich")
    def test_ranks_on_two_hosts_choose_the_device_by_themselves(self):
        before = self.other.counters()["sent_pkts"]
        launcher = self.guest.start(f"cd /tmp && exec mpiexec.hydra -launcher manual -hosts guest-a,guest-b -ppn 2 -n 4 "
                                    f"{shared.MPI}/tests/moves", LIMIT)
        launcher.wait_output("HYDRA_LAUNCH_END")  # it has printed the command for each host
        commands = re.findall(r"^HYDRA_LAUNCH: (.*)$", launcher.output, re.M)
        self.assertEqual(len(commands), 2, launcher.output)
        proxies = [guest.start(f"cd /tmp && exec {command}", LIMIT)
                   for guest, command in zip((self.guest, self.other), commands)]
        statuses = [launcher.wait(), *(proxy.wait() for proxy in proxies)]
        self.assertEqual(statuses, [0, 0, 0], launcher.output + proxies[0].output + proxies[1].output)
        self.assertGreater(self.other.counters()["sent_pkts"], before + 10)
