# SPDX-License-Identifier: Apache-2.0
"""Ten minutes of faults in each mode beneath writers that append, delete and read (java/Mix.java): every byte for which hflush,
hsync or close returned is there in the end, and fsck finds all healthy."""
import contextlib
import os
import pathlib
import random
import resource
import signal
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from acknowledged import WRITER, Writers  # noqa: E402  (needs the path above)
from cluster import conf  # noqa: E402
from daemons import processes  # noqa: E402
from moded import Moded, ModeCase  # noqa: E402

SECONDS = int(os.environ.get("VERBENA_TEST_MIX_SECONDS") or 600)
SEED = int(os.environ.get("VERBENA_TEST_SEED") or random.SystemRandom().randrange(1 << 31))
SMALL = 400_000  # bytes of a file that a DataNode may write on a full disk


class MixCase(ModeCase):
    core = {}  # more settings of core-site

    @classmethod
    def make(cls, shm):
        return Moded(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, {"core-site": cls.core}, datanodes=cls.datanodes)

    # ------------------------------------------------------------------------------------------------- faults

    def killed(self, name, chance):
        self.kill(name)
        time.sleep(chance.uniform(0, 8))
        self.start(name)

    def stopped(self, name, chance):
        self.cluster.kill(name, signal.SIGSTOP)
        time.sleep(chance.uniform(0, 12))
        self.cluster.kill(name, signal.SIGCONT)

    def upgraded(self, name, chance):
        process = self.cluster.daemons[name]
        self.client.end_for_upgrade(name)
        self.wait_for(f"{name} ends", lambda: not processes.alive(*process))
        time.sleep(chance.uniform(0, 2))
        self.start(name)

    def full(self, name, chance):
        """The kernel refuses to write files beyond a limit, as on a full disk."""
        pid = self.cluster.daemons[name][0]
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (SMALL, before[1]))
        time.sleep(chance.uniform(1, 6))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

    def away(self, _, chance):
        """The shared path is not mounted for a while."""
        hidden = self.folder / "away"
        self.shared.rename(hidden)
        time.sleep(chance.uniform(1, 8))
        hidden.rename(self.shared)

    def settled(self):
        """All DataNodes live, and every finished block has a replica; that of a dead writer is recovered in the end."""
        self.start()
        try:
            self.wait_for("no block is missing", self.is_healthy)
        except AssertionError as error:
            said = self.client.run("hdfs", "fsck", "/", "-files", "-blocks", "-replicaDetails").stdout
            bad = [line for line in said.splitlines() if "MISSING" in line or "CORRUPT" in line or "orrupt" in line]
            raise AssertionError("\n".join([f"seed {SEED}", *bad[:20]])) from error

    def mixed(self, writers):
        print(f"seed {SEED} (VERBENA_TEST_SEED)", flush=True)
        chance = random.Random(SEED)
        faults = [self.killed, self.stopped, self.upgraded, self.full] + ([self.away] if self.mode == "hhh-l" else [])
        counts = dict.fromkeys([fault.__name__ for fault in faults] + ["writers"], 0)
        writers.restart()
        self.wait_for("the first file", lambda: writers.files)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            fault = chance.choice([*faults, None])
            counts[fault.__name__ if fault else "writers"] += 1
            if fault:
                fault(chance.choice(self.names()), chance)
            else:
                writers.restart()
            self.settled()
            time.sleep(chance.uniform(0, 3))
        print(f"{self.mode}: {counts}; {len(writers.files)} files, {len(writers.failed)} writes failed", flush=True)

    def assert_nothing_is_lost(self):
        with contextlib.closing(Writers(self.cluster, "/mix", SEED)) as writers:
            self.mixed(writers)
        self.assertEqual(writers.faults(), [], f"seed {SEED}")
        self.wait_for("no block is missing", self.is_healthy)
        return writers


class HhhTest(MixCase):
    mode = "hhh"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_nothing_is_lost()


class OursTest(MixCase):
    """With our writer and receiver."""

    mode, core = "hhh", conf.PARALLEL

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assertTrue(self.assert_nothing_is_lost().has_loaded(WRITER))
        source = self.file("source", 1)

        def received():
            self.put(source, "/last", 3)
            self.dfs("-rm", "-skipTrash", "/last")
            return any(self.number(name, "receiver.blocks") for name in self.names())
        self.wait_for("our receiver takes blocks of DataNodes that have just restarted", received)


class MemoryTest(MixCase):
    mode = "hhh-m"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_nothing_is_lost()


class SharedPathTest(MixCase):
    mode = "hhh-l"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_nothing_is_lost()


if __name__ == "__main__":
    unittest.main(verbosity=2)
