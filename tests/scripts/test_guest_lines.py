# SPDX-License-Identifier: Apache-2.0
"""Lines of bash that tests run in guests, for builds below a folder whose name needs quotes. Bash of this host runs them."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import command

LIMIT = 120
NAME = "it's a clone"
SAYS = "#!/bin/sh\npwd\nprintf '%s\\n' \"$0\" \"$@\"\n"
PROGRAMS = ("release/multi_tags", "memcached-release/mchosts", "mpi/bin/mpiexec", "mpi/bin/oshrun")
LINES = """import subprocess, sys
sys.path.insert(0, sys.argv[1])
import fetch, memcached, mpi, programs, shared

class Guest:
    def run(self, line, limit=60):
        subprocess.run(["bash", "-c", line], check=True)

    start = run

guest = Guest()
programs.run(guest, "./multi_tags")
ranks, calls = mpi.MpiTest(), memcached.MemcachedTest()
ranks.guest = calls.b = guest
ranks.launch("rc", 2, "order 1")
ranks.launch_shmem("rc", 2, "litmus")
calls.client("rc", "check")
fetch._libraries = lambda root: []
guest.run(fetch.command(sys.argv[2], str(shared.RELEASE), "rc"))
"""


def make(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SAYS)
    path.chmod(0o755)


class GuestLinesTest(unittest.TestCase):
    def test_programs_are_found_in_a_clone_whose_path_has_spaces(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / NAME
            builds, spark = root / "builds", root / "spark-rdma-shuffle"
            for path in (*(builds / name for name in PROGRAMS), root / "bin" / "java"):
                make(path)
            (spark / "common/target/test-classes/org").mkdir(parents=True)
            make(spark / "dist/target/spark-rdma-shuffle-1.jar")
            env = {**os.environ, "VERBENA_BUILDS": str(builds), "LC_ALL": "C.UTF-8", "PATH": f"{root}/bin:{os.environ['PATH']}"}
            done = subprocess.run([sys.executable, "-c", LINES, command.ROOT / "tests" / "guest", root], env=env,
                                  capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            said = done.stdout.splitlines()
            for word in (f"{builds}/release", f"{builds}/memcached-release/mchosts", f"{builds}/mpi/bin/mpiexec",
                         f"{builds}/mpi/tests/order", f"{builds}/mpi/bin/oshrun", f"{builds}/mpi/shmem-tests/litmus",
                         f"-Dverbena.native.path={builds}/release/libvbnjni.so",
                         f"{spark}/common/target/test-classes:{spark}/dist/target/spark-rdma-shuffle-1.jar"):
                self.assertIn(word, said)
