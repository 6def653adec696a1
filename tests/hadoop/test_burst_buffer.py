# SPDX-License-Identifier: Apache-2.0
"""The burst buffer before lustre: with --full, on real processes: Hadoop's contracts, flushers and writers that are killed."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from burst import FLUSHER, shared  # noqa: E402
from case import LONG  # noqa: E402
from cluster import conf, java  # noqa: E402
from test_lustre_contract import CONTRACTS, LEFT_OUT, TESTS  # noqa: E402

SHELL = "org.apache.hadoop.fs.FsShell"
BYTES = 24 << 20
KILLS = 6
LIMIT = 300  # seconds of one command


@LONG
class BurstBufferTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "root"
        self.root.mkdir()
        self.servers = [shared.Server("-m", "128") for _ in range(2)]
        for server in self.servers:
            self.addCleanup(server.stop)

    def configure(self, **more):
        servers = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        properties = {**conf.lustre(self.root)["core-site"], "fs.defaultFS": "lustre:///", "hadoop.tmp.dir": self.folder / "tmp",
                      "verbena.lustre.buffer.servers": f"{servers};carrier=sockets;connect=60000;timeout=60000",
                      "verbena.lustre.buffer.local": self.folder / "local",
                      **{f"verbena.lustre.buffer.{key}": value for key, value in more.items()}}
        conf.write(self.folder, {"core-site": properties})

    def start(self, program, *arguments):
        argv = java.argv(program, list(arguments), str(self.folder), os.environ["VERBENA_HADOOP_JAR"], options=java.QUICK)
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                   preexec_fn=shared.end_with_the_test)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
        return process

    def done(self, program, *arguments, status=0):
        process = self.start(program, *arguments)
        said, _ = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, status, said)
        return said

    def expect_empty(self):
        self.done(FLUSHER, "--once")
        self.assertFalse((self.root / ".verbena-buffer").exists())
        self.assertEqual(list((self.folder / "local").glob("*")), [])
        self.assertEqual([server.stats("verbena")["pinned_items"] for server in self.servers], ["0", "0"])

    def test_hadoops_contracts_hold_while_a_flusher_works(self):
        self.configure(chunk="4k")
        flusher = self.start(FLUSHER)
        junit = "junit4" if java.VERSION.startswith(("3.3", "3.4")) else "junit5"
        source = HERE / "contract" / "java"
        names = launcher.compiled(self.folder / "classes", source / "LustreContracts.java",
                                  source / junit / "LustrePathHandle.java")
        self.assertEqual(len(names), CONTRACTS - LEFT_OUT)
        output = launcher.run(self.folder, [self.folder / "classes", HERE / "contract" / "resources"], names)
        self.assertEqual(launcher.count(output, "failed"), 0, launcher.told(output))
        self.assertGreaterEqual(launcher.count(output, "successful"), TESTS, launcher.told(output))
        self.assertIsNone(flusher.poll())
        flusher.kill()
        flusher.wait()
        self.expect_empty()

    def file(self, number):
        path = self.folder / f"source{number}"
        path.write_bytes(random.Random(number).randbytes(BYTES))
        return path

    def marked(self):
        """What flushers have said they did: the sizes of their marks, and how many files wait."""
        folder, sizes = self.root / ".verbena-buffer", []
        with contextlib.suppress(FileNotFoundError):  # a flusher removes files, and the folder at last
            for name in sorted(os.listdir(folder)):
                if name.endswith((".data", ".done")):
                    sizes.append((name, (folder / name).stat().st_size if name.endswith(".done") else 0))
        return sizes

    def test_flushers_that_are_killed_lose_nothing(self):
        for fault in ("async", "async-local", "sync"):
            with self.subTest(fault=fault):
                self.configure(fault=fault, chunk="64k")
                for number in range(KILLS):
                    self.done(SHELL, "-put", "-f", str(self.file(number)), f"/{fault}{number}")
                    before = self.marked()
                    flusher = self.start(FLUSHER)
                    end = time.monotonic() + LIMIT
                    while self.marked() == before and before and flusher.poll() is None and time.monotonic() < end:
                        time.sleep(0.001)
                    os.kill(flusher.pid, signal.SIGKILL)
                    flusher.wait()
                self.expect_empty()
                for number in range(KILLS):
                    self.assertEqual((self.root / f"{fault}{number}").read_bytes(), (self.folder / f"source{number}").read_bytes())

    def test_a_writer_that_is_killed_leaves_a_prefix(self):
        self.configure(chunk="64k", **{"lease.s": "1"})
        source = self.file(0)
        writer = self.start(SHELL, "-put", "-d", "-f", str(source), "/file")
        end = time.monotonic() + LIMIT
        while not self.marked() and writer.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        self.expect_empty()
        left = (self.root / "file").read_bytes()
        self.assertEqual(left, source.read_bytes()[:len(left)])

    def test_a_lost_server_is_made_up_for_by_the_writers_host(self):
        self.configure(chunk="64k")
        source = self.file(0)
        self.done(SHELL, "-put", str(source), "/file")
        self.servers[0].process.kill()
        self.servers[0].process.wait()
        self.done(FLUSHER, "--once")
        self.assertEqual((self.root / "file").read_bytes(), source.read_bytes())
        self.assertFalse((self.root / ".verbena-buffer").exists())

    def test_a_flush_that_cannot_end_names_the_file_and_has_a_status_of_its_own(self):
        self.configure(chunk="64k", fault="async")
        self.done(SHELL, "-put", str(self.file(0)), "/file")
        for server in self.servers:
            server.process.kill()
            server.process.wait()
        self.assertRegex(self.done(FLUSHER, "--once", status=1), r"(?m)^.*file.* lacks chunk \d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
