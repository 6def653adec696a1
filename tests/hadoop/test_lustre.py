# SPDX-License-Identifier: Apache-2.0
"""MapReduce over lustre: as the only file system, with and without local disks; the shell; errors that the kernel tells late."""
import collections
import contextlib
import hashlib
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402  (needs the path above)
from case import JOBS, LONG  # noqa: E402
from cluster import conf, java  # noqa: E402
from cluster.cluster import Cluster  # noqa: E402
from resident import Resident  # noqa: E402

FILES, ROWS = 2, 20_000
PATIENT = {"verbena.shuffle.connect.wait.ms": "600000"}  # a loaded machine may take long to connect
LATE = HERE / "late"


class Diskless(Cluster):
    """Without local disks: containers and map outputs lie on the shared folder, each node's in a folder of its own."""

    def local(self):
        return os.path.join(self._root, "yarn-" + self.identity)


class Jobs(unittest.TestCase):
    """What is computed is compared with what Python computes of the same rows, as for stock's output on HDFS."""

    def temporary(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def start(self, kind, umask=0o022, nodemanagers=2, **more):
        self.folder = self.temporary()
        whole = contextlib.ExitStack()
        self.addCleanup(whole.close)
        self.root = self.folder / "root"
        self.root.mkdir()
        whole.callback(os.umask, os.umask(umask))
        self.cluster = whole.enter_context(kind(
            self.folder / "hadoop", nodemanagers=nodemanagers, quick=True, tied=True, plugin=os.environ["VERBENA_HADOOP_JAR"],
            properties=conf.merged(conf.OURS, JOBS), root=str(self.root), **more))
        self.client = Resident(self.cluster)
        whole.callback(self.client.stop)

    def fs(self, *words, fails=False):
        done = self.client.run("hadoop", "fs", *words)
        self.assertEqual(done.returncode != 0, fails, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def left(self, *ends):
        return [name for _, _, names in os.walk(self.root) for name in names if name.endswith(ends)]

    def sort(self, ours, more=None):
        """TeraSort of rows that the test has put there."""
        name = secrets.token_hex(4)
        source = self.root / f"rows-{name}"
        source.mkdir()
        rows = [row for number in range(FILES) for row in jobs.rows(source / f"part{number}", number * ROWS, ROWS)]
        counters, text = jobs.run(self.client, "terasort", ours, [f"/rows-{name}", f"/sorted-{name}"],
                                  {**PATIENT, **(more or {})})
        parts = sorted((self.root / f"sorted-{name}").glob("part-*"))
        self.assertEqual({part.stat().st_mode & 0o777 for part in parts}, {0o644}, "Hadoop's modes, not those of the umask")
        found = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()
        self.assertEqual(found, hashlib.sha256(b"".join(sorted(rows))).hexdigest())
        return counters, text

    def count(self, ours):
        """WordCount, by the jar of the examples as users start it."""
        name = secrets.token_hex(4)
        words = [f"w{i * i % 977}" for i in range(20_000)]
        (self.root / f"words-{name}").write_text(" ".join(words) + "\n")
        done = self.cluster.run("yarn", "jar", java.examples_jar(), "wordcount", *jobs.side(ours, PATIENT), f"/words-{name}",
                                f"/counted-{name}", timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = "".join(part.read_text() for part in (self.root / f"counted-{name}").glob("part-*")).split("\n")
        found = {line.split("\t")[0]: int(line.split("\t")[1]) for line in lines if line}
        self.assertEqual(found, collections.Counter(words))

    def generate(self):
        """TeraGen, TeraSort, TeraValidate: Hadoop's own check of its rows."""
        jobs.run(self.client, "teragen", True, ["30000", "/generated"])
        jobs.run(self.client, "terasort", True, ["/generated", "/generated-sorted"], PATIENT)
        jobs.run(self.client, "teravalidate", True, ["/generated-sorted", "/valid"], PATIENT)
        report = "".join(part.read_text() for part in (self.root / "valid").glob("part-*"))
        self.assertIn("checksum", report)
        self.assertNotIn("error", report)
        self.assertEqual(sum(part.stat().st_size for part in (self.root / "generated-sorted").glob("part-*")), 3_000_000)


@LONG
class LustreJobsTest(Jobs):
    def test_with_local_disks_jobs_compute_what_they_do_on_hdfs(self):
        self.start(Cluster)
        counters, _ = self.sort(ours=True)
        self.assertEqual(counters[jobs.GROUP]["Bytes by shm"], counters["Map-Reduce Framework"]["Reduce shuffle bytes"])
        self.assertGreaterEqual(counters["File System Counters"]["LUSTRE: Number of bytes written"], FILES * ROWS * 100)
        self.sort(ours=False)
        self.generate()
        self.count(ours=False)
        self.assertEqual(self.left(".crc"), [])
        self.shell()

    def shell(self):
        """What users do by hand."""
        text = self.folder / "text"
        text.write_text("one\ntwo\n")
        self.fs("-mkdir", "-p", "/shell/dir")
        self.fs("-put", str(text), "/shell/a")
        self.fs("-appendToFile", str(text), "/shell/a")
        self.assertEqual(self.fs("-cat", "/shell/a"), "one\ntwo\n" * 2)
        self.fs("-cp", "-p", "/shell/a", "/shell/dir/b")
        self.fs("-mv", "/shell/a", "/shell/dir")
        self.fs("-mv", "/shell/dir/a", "/shell/dir/b", fails=True)
        self.fs("-chmod", "640", "/shell/dir/b")
        self.assertEqual((self.root / "shell/dir/b").stat().st_mode & 0o7777, 0o640)
        self.fs("-touchz", "/shell/empty")
        self.fs("-test", "-z", "/shell/empty")
        self.fs("-truncate", "-w", "4", "/shell/dir/b")
        self.assertEqual((self.root / "shell/dir/b").read_text(), "one\n")
        self.assertEqual(self.fs("-count", "/shell").split()[:3], ["2", "3", "20"])
        self.fs("-get", "/shell/dir/b", str(self.folder / "b"))
        self.assertEqual((self.folder / "b").read_text(), "one\n")
        self.fs("-D", "fs.trash.interval=60", "-rm", "-r", "/shell/dir")
        user = self.fs("-stat", "%u", "/shell/empty").strip()
        self.assertTrue((self.root / f"user/{user}/.Trash/Current/shell/dir/b").is_file())
        self.fs("-rm", "-r", "-skipTrash", "/shell")
        done = self.cluster.run("hadoop", "distcp", "-D", "mapreduce.framework.name=local", "-p", "/generated", "/copied")
        self.assertEqual(done.returncode, 0, done.stderr)
        copied, generated = ((self.root / name / "part-m-00000").read_bytes() for name in ("copied", "generated"))
        self.assertEqual(copied, generated)
        self.assertFalse((self.root / "shell").exists())

    def test_without_local_disks_and_with_a_narrow_umask_jobs_compute_the_same(self):
        self.start(Diskless, umask=0o077)
        for source, way in (("shared", "Bytes by shared files"), ("core", "Bytes by shm")):
            counters, _ = self.sort(ours=True, more={"verbena.shuffle.source": source})
            moved = counters["Map-Reduce Framework"]["Reduce shuffle bytes"]
            self.assertEqual(counters[jobs.GROUP][way], moved)
        little = {"verbena.shuffle.source": "shared", "verbena.shuffle.memory": "0"}  # all of it goes to the stock merge
        counters, _ = self.sort(ours=True, more=little)
        self.assertEqual(counters[jobs.GROUP]["Bytes by shared files"], moved)
        self.assertNotIn("Bytes kept in memory", counters[jobs.GROUP])
        self.generate()
        self.count(ours=False)


class LateErrorsTest(unittest.TestCase):
    """A library in the JVM plays a file system that accepts bytes for which it has no space, and has no locks and hard links."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        root = self.folder / "bare"
        root.mkdir()
        conf.write(self.folder / "conf", conf.merged(conf.lustre(root), {"core-site": {"fs.defaultFS": "lustre:///"}}))
        self.library = self.folder / "late.so"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(self.library), str(LATE / "late.c"),
                        "-ldl"], check=True, timeout=120)

    def run_with_it(self, program, *arguments, status=0):
        argv = java.argv(program, list(arguments), str(self.folder / "conf"), os.environ["VERBENA_HADOOP_JAR"], options=java.QUICK)
        done = subprocess.run(argv, env={**os.environ, "LD_PRELOAD": str(self.library), "LC_ALL": "C"},
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_an_error_that_comes_at_a_write_at_fsync_or_at_close_and_a_file_that_is_too_short_reach_the_writer(self):
        output, logged = self.run_with_it(str(LATE / "Late.java"), "unsynced", "none", "write", "fsync", "close", "short",
                                          "accent")
        told = dict(line.split(": ", 1) for line in output.splitlines())
        self.assertEqual((told["unsynced"], told["none"]), ("whole", "whole"))
        self.assertRegex(told["write"], r"^\[.*No space left on device, .*has lost bytes: an earlier write failed: ")
        self.assertRegex(told["fsync"], r"^\[.*Disk quota exceeded, .*has lost bytes: an earlier write failed: ")
        self.assertRegex(told["close"], r"^\[null, .*Disk quota exceeded\]$")
        self.assertRegex(told["short"], r"^\[null, .*has 524288 bytes after its close, and 1048576 were written")
        self.assertEqual(told["rename"], "true false", "without hard links, too")
        self.assertRegex(told["accent"], r"cannot be written in the character set of this JVM: start it with LC_ALL=C.UTF-8")
        # An fsync of a shared file system may take a minute: hsync alone waits for one, and the write fails before its own.
        self.assertEqual(logged.count("late.c: fsync"), 4, logged)

    def test_a_rename_that_cannot_remove_the_old_name_names_both(self):
        root = self.folder / "kept"
        root.mkdir()
        (root / "late-unlink").write_text("text")
        conf.write(self.folder / "conf", conf.merged(conf.lustre(root), {"core-site": {"fs.defaultFS": "lustre:///"}}))
        _, told = self.run_with_it("org.apache.hadoop.fs.FsShell", "-mv", "/late-unlink", "/moved", status=1)
        self.assertRegex(told, f"{root}/late-unlink.*has the new name {root}/moved as well, .*Operation not permitted.*: remove "
                               "one as the owner")
        self.assertEqual((root / "moved").read_text(), "text")

    def test_a_flusher_bears_a_folder_whose_list_breaks_off(self):
        copies = self.folder / "late-list"
        copies.mkdir()
        root = self.folder / "shared"
        records = root / ".verbena-buffer"
        records.mkdir(parents=True)
        (root / "file").write_text("text")
        os.link(root / "file", records / f"{(root / 'file').stat().st_ino}.data")  # of a file that the shared folder has whole
        conf.write(self.folder / "conf", conf.merged(conf.lustre(root), {"core-site": {
            "verbena.lustre.buffer.servers": "127.0.0.1:1", "verbena.lustre.buffer.local": copies}}))
        output, logged = self.run_with_it("org.verbena.hadoop.lustre.LustreFlusher", "--once")
        said = re.findall(rf"copies of this host stay in {copies}, which cannot be listed \(.*Stale file handle\)", output + logged)
        self.assertEqual(len(said), 1, output + logged)
        self.assertFalse(records.exists())

    def test_the_doctor_says_that_there_are_no_hard_links_and_no_locks_and_that_none_are_needed(self):
        output, _ = self.run_with_it("org.verbena.hadoop.Doctor")
        self.assertIn("ok    lustre: locks: none (Function not implemented); lustre: needs none", output)
        self.assertIn("warn  lustre: links: no hard links (", output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
