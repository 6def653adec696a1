# SPDX-License-Identifier: Apache-2.0
"""Kerberos, with SASL for blocks and calls in each quality of protection, and delegation tokens of a job."""
import contextlib
import os
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from case import new_key  # noqa: E402  (needs the path above)
from cluster.secure import ALICE, DAEMON, Secure  # noqa: E402
from moded import TIERS, Moded, ModeCase  # noqa: E402
from test_rpc import by_core  # noqa: E402

QUALITY = {"authentication": "auth", "integrity": "auth-int", "privacy": "auth-conf"}
TOLD = "\nlog4j.logger.org.apache.hadoop.hdfs.protocol.datatransfer.sasl=DEBUG\n"


class SecureModed(Secure, Moded):
    pass


class SecureCase(ModeCase):
    nodemanagers = 0

    @classmethod
    def make(cls, shm):
        return SecureModed(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more,
                           by_core(new_key(cls.folder / "rpc.key")), datanodes=cls.datanodes, nodemanagers=cls.nodemanagers)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.cluster.client_conf(), "log4j.properties"), "a", encoding="utf-8") as file:
            file.write(TOLD)
        for words in (("-mkdir", "-p", "/tmp", "/user/alice"), ("-chmod", "1777", "/tmp"),
                      ("-chmod", "755", "/user"), ("-chown", "alice", "/user/alice")):
            done = cls.client.run("hdfs", "dfs", *words)
            if done.returncode != 0:
                raise AssertionError(f"{words}: {done.stdout}{done.stderr}")

    @contextlib.contextmanager
    def alice(self):
        """Commands in JVMs of their own are hers."""
        self.cluster.user = ALICE
        try:
            yield
        finally:
            self.cluster.user = DAEMON

    def alone(self, *words):
        with self.alice():
            done = self.cluster.run(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def log(self, name):
        return pathlib.Path(self.cluster.log(name)).read_text(errors="replace")

    def copied(self, level):
        """Alice writes and reads a file with one quality of protection for blocks and calls."""
        source = self.file(level, 3)
        chosen = ("-D", f"dfs.data.transfer.protection={level}", "-D", f"hadoop.rpc.protection={level}")
        path = f"/user/alice/{level}"
        done = self.alone("hdfs", "dfs", *chosen, "-put", str(source), path)
        self.assertRegex(done.stderr, rf"negotiated = {QUALITY[level]}\n")
        self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP")
        self.assertRegex(done.stderr, r"RPC server \S+ is reached by the core: shm")
        self.wait_for_tiers(path, [TIERS[self.mode]] * 3)
        copy = self.folder / f"{level}-copy"
        done = self.alone("hdfs", "dfs", *chosen, "-get", path, str(copy))
        self.assertRegex(done.stderr, rf"negotiated = {QUALITY[level]}\n")
        self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP")
        self.assertEqual(copy.read_bytes(), source.read_bytes())


class QualitiesTest(SecureCase):
    mode = "hhh"

    def test_blocks_and_calls_are_authenticated_inside_streams(self):
        self.copied("authentication")

    def test_blocks_and_calls_are_protected_from_changes_inside_streams(self):
        self.copied("integrity")

    def test_blocks_and_calls_are_encrypted_inside_streams(self):
        self.copied("privacy")

    def test_small_files_are_written_to_all_replicas_at_once_in_each_quality(self):
        self.dfs("-mkdir", "/small")
        self.dfs("-chown", "alice", "/small")
        for level in QUALITY:
            with self.alice(), self.small_files(f"/small/{level}", {"dfs.data.transfer.protection": level}):
                pass
        self.assertNotIn("Hadoop's pipeline writes the file", self.log("mix"))
        self.dfs("-rm", "-r", "-skipTrash", "/small")

    def test_small_reads_are_right_in_each_quality(self):
        source = self.file("reads", 3)
        self.alone("hdfs", "dfs", "-put", str(source), "/user/alice/reads")
        for level, quality in QUALITY.items():
            with self.alice(), self.small_reads("/user/alice/reads", source, {"dfs.data.transfer.protection": level}) as reader:
                self.assertIn(f"negotiated = {quality}\n", reader.text())
        for name in self.names():
            for text in ("Hadoop answers all reads by the core: ", "Hadoop's receiver takes all blocks: "):
                self.assertEqual(len(self.lines(text, name)), 1)
        self.dfs("-rm", "-skipTrash", "/user/alice/reads")

    def test_the_doctor_looks_at_a_secure_cluster(self):
        done = self.cluster.run("org.verbena.hadoop.Doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(re.findall(r"ok    DataNode \S+ is reached by the core: shm", done.stdout)), 3, done.stdout)
        self.assertRegex(done.stdout, r"ok    RPC server \S+ is reached by the core: shm")

    def test_a_client_without_a_ticket_gets_nothing(self):
        self.cluster.user = "nobody"
        try:
            done = self.cluster.run("hdfs", "dfs", "-ls", "/")
        finally:
            self.cluster.user = DAEMON
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_belongs_to_another_user_stays_closed(self):
        self.hdfs("dfs", "-mkdir", "-p", "/closed")
        self.hdfs("dfs", "-chmod", "700", "/closed")
        with self.alice():
            done = self.cluster.run("hdfs", "dfs", "-ls", "/closed")
        self.assertIn("Permission denied: user=alice", done.stderr)


class PrivacyCases:
    """For each other mode."""

    def test_files_are_written_appended_to_and_read_with_all_encrypted_inside_streams(self):
        self.copied("privacy")
        source, copy = self.file("appended", 1), self.folder / "appended-copy"
        chosen = ("-D", "dfs.data.transfer.protection=privacy", "-D", "hadoop.rpc.protection=privacy")
        self.alone("hdfs", "dfs", *chosen, "-appendToFile", str(source), "/user/alice/privacy")
        self.alone("hdfs", "dfs", *chosen, "-get", "/user/alice/privacy", str(copy))
        self.assertEqual(copy.read_bytes(), (self.folder / "privacy").read_bytes() + source.read_bytes())
        self.wait_for_tiers("/user/alice/privacy", [TIERS[self.mode]] * 4)
        self.dfs("-mkdir", "/small")
        self.dfs("-chown", "alice", "/small")
        with self.alice(), self.small_files("/small/files", {"dfs.data.transfer.protection": "privacy"}):
            pass
        self.assertNotIn("Hadoop's pipeline writes the file", self.log("mix"))


class MemoryTest(PrivacyCases, SecureCase):
    mode = "hhh-m"


class SharedPathTest(PrivacyCases, SecureCase):
    mode = "hhh-l"

    def test_the_volume_of_a_dead_data_node_is_adopted_by_one_that_has_asked_the_name_node_with_its_ticket(self):
        source = self.file("alone", 2)
        self.dfs("-mkdir", "/alone")
        self.put(source, "/alone/file", 1)
        dead = min(self.holders("/alone/file", "ARCHIVE"))
        self.kill(dead)
        self.wait_for("another DataNode owns its volume", lambda: self.owned()[dead] == 0)
        self.wait_for("no block is missing", self.is_healthy)
        self.assert_same(source, "/alone/file")
        self.start(dead)


class JobTest(SecureCase):
    mode, nodemanagers = "hhh", 1

    def setUp(self):
        self.dfs("-chmod", "755", "/user/history")  # of the JobHistoryServer, whose folder for jobs of all users is below

    def test_jobs_write_and_read_with_delegation_tokens(self):
        """Jobs without reducers: the shuffle of a secure YARN needs libhadoop, which Maven Central does not have."""
        done = self.alone("examples", "randomtextwriter", "-D", "mapreduce.randomtextwriter.totalbytes=300000", "-D",
                          "mapreduce.randomtextwriter.bytespermap=150000", "/user/alice/text")
        self.assertRegex(done.stderr, r"Created token for alice: HDFS_DELEGATION_TOKEN")
        self.alone("hadoop", "distcp", "/user/alice/text", "/user/alice/copy")
        text, copy = (self.dfs("-cat", f"/user/alice/{name}/part-*").stdout for name in ("text", "copy"))
        self.assertGreater(len(text), 300_000)
        self.assertEqual(copy, text)
        self.assertRegex(self.log("nodemanager1"), r"RPC server \S+ is reached by the core: shm")


if __name__ == "__main__":
    unittest.main(verbosity=2)
