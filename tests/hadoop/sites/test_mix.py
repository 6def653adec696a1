# SPDX-License-Identifier: Apache-2.0
"""Ten minutes of faults in each mode beneath writers that append, delete and read (java/Mix.java): every byte for which hflush,
hsync or close returned is there in the end, and fsck finds all healthy."""
import contextlib
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cluster import java  # noqa: E402  (needs the path above)
from daemons import processes  # noqa: E402
from daemons.ports import HOST  # noqa: E402
from moded import LIMIT, ModeCase  # noqa: E402

SECONDS = int(os.environ.get("VERBENA_TEST_MIX_SECONDS") or 600)
SEED = int(os.environ.get("VERBENA_TEST_SEED") or random.SystemRandom().randrange(1 << 31))
PROGRAM = HERE.parent / "java" / "Mix.java"
SMALL = 400_000  # bytes of a file that a DataNode may write on a full disk


class Acknowledged:
    """What HDFS has acknowledged, as the writers' programs say it."""

    def __init__(self):
        self.files, self.wrong, self.failed = {}, [], []
        self._lock = threading.Lock()

    def read(self, stream):
        for line in stream:
            kind, path, what = line.rstrip("\n").split(" ", 2)
            with self._lock:
                if kind in ("flushed", "closed"):
                    self.files[path] = kind, int(what)
                elif kind == "deleting":
                    self.files.pop(path, None)
                else:
                    (self.wrong if kind == "wrong" else self.failed).append(line)

    def lines(self):
        return [f"{kind} {path} {length}" for path, (kind, length) in sorted(self.files.items())]


class MixCase(ModeCase):
    def argv(self, *words):
        return java.argv(str(PROGRAM), list(words), self.cluster.client_conf(), self.cluster.plugin, options=java.QUICK)

    @contextlib.contextmanager
    def writers(self, acknowledged):
        """A function that kills the writers and starts others."""
        running, readers = [], []

        def end():
            for program in running:
                program.kill()
                program.wait()
            for reader in readers:
                reader.join()  # a dead program's last lines count
            for program in running:
                program.stdout.close()
            del running[:], readers[:]

        def start():
            end()
            start.count += 1
            with open(self.cluster.log("mix"), "ab") as log:
                running.append(subprocess.Popen(
                    self.argv("write", f"/mix/{start.count}", str(SEED + start.count)), env=self.cluster.environment(),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True))
            readers.append(threading.Thread(target=acknowledged.read, args=(running[-1].stdout,), daemon=True))
            readers[-1].start()
        start.count = 0
        try:
            yield start
        finally:
            end()

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
        self.hdfs("dfsadmin", "-shutdownDatanode", f"{HOST}:{self.cluster.ports[name + '-ipc']}", "upgrade")
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

    def mixed(self):
        print(f"seed {SEED} (VERBENA_TEST_SEED)", flush=True)
        chance, acknowledged = random.Random(SEED), Acknowledged()
        faults = [self.killed, self.stopped, self.upgraded, self.full] + ([self.away] if self.mode == "hhh-l" else [])
        counts = dict.fromkeys([fault.__name__ for fault in faults] + ["writers"], 0)
        with self.writers(acknowledged) as restart:
            restart()
            self.wait_for("the first file", lambda: acknowledged.files)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                fault = chance.choice([*faults, None])
                counts[fault.__name__ if fault else "writers"] += 1
                if fault:
                    fault(chance.choice(self.names()), chance)
                else:
                    restart()
                self.settled()
                time.sleep(chance.uniform(0, 3))
        print(f"{self.mode}: {counts}; {len(acknowledged.files)} files, {len(acknowledged.failed)} writes failed", flush=True)
        return acknowledged

    def assert_all_there(self, acknowledged):
        lines = acknowledged.lines()
        done = subprocess.run(self.argv("verify"), env=self.cluster.environment(), input="\n".join(lines) + "\n", text=True,
                              capture_output=True, timeout=4 * LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        answers = done.stdout.splitlines()
        self.assertEqual([line for line in answers if not line.startswith("right ")], [], f"seed {SEED}")
        self.assertEqual(len(answers), len(lines))
        self.assertEqual(acknowledged.wrong, [])
        self.wait_for("no block is missing", self.is_healthy)


class HhhTest(MixCase):
    mode = "hhh"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_all_there(self.mixed())


class MemoryTest(MixCase):
    mode = "hhh-m"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_all_there(self.mixed())


class SharedPathTest(MixCase):
    mode = "hhh-l"

    def test_nothing_that_was_acknowledged_is_lost(self):
        self.assert_all_there(self.mixed())


if __name__ == "__main__":
    unittest.main(verbosity=2)
