# SPDX-License-Identifier: Apache-2.0
"""Faults of HDFS by the core at moments that the test chooses: killed clients, stopped and full DataNodes, damaged replicas."""
import pathlib
import re
import resource
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import LIMIT, LONG, MIB, NO_OTHERS, WITH_PLUGIN  # noqa: E402  (needs the path above)
from writing import WritingCase  # noqa: E402

ALONE = ("-D", NO_OTHERS)


class FaultsTest(WritingCase):
    def recover(self, path):
        """Ends the lease of a client that is gone."""
        done = self.client.run("hdfs", "debug", "recoverLease", "-path", path, "-retries", "20")
        self.assertIn("recoverLease SUCCEEDED", done.stdout, done.stderr)

    def test_what_a_killed_client_has_flushed_is_readable(self):
        with self.writer("/killed-client") as program:
            self.ask(program, f"flush {3 * MIB + 17}")
            flushed = self.ask(program, f"sync {MIB}")
            program.stdin.write(f"write {5 * MIB}\n")
            program.stdin.flush()
            program.kill()
            program.wait(LIMIT)
        self.recover("/killed-client")
        self.assert_content("/killed-client", flushed)
        self.assert_healthy()

    @LONG
    def test_what_was_flushed_is_readable_after_data_nodes_and_then_the_client_were_killed(self):
        with self.writer("/killed-both") as program:
            self.ask(program, f"flush {2 * MIB + 5}")
            self.kill(WITH_PLUGIN[0])
            self.ask(program, f"flush {2 * MIB}")
            self.kill(WITH_PLUGIN[1])
            flushed = self.ask(program, f"sync {MIB + 1}")
            program.kill()
            program.wait(LIMIT)
        self.setUp()
        self.recover("/killed-both")
        self.assert_content("/killed-both", flushed)
        self.assert_healthy()

    @LONG
    def test_a_data_node_that_stands_still_is_left_by_writers_and_readers(self):
        """Wherever in the pipeline it stands: there is more to write than its window takes."""
        self.dfs("-put", str(self.source), "/standing-read")
        for place in range(3):
            self.write_past_one_that_stands_still(f"/standing-write{place}", place)
        self.assert_healthy()

    def write_past_one_that_stands_still(self, path, place):
        argv = self.cluster.argv(["hdfs", "dfs", *ALONE, "-put", "-", path])
        content = self.source.read_bytes()
        with self.process(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            client.stdin.write(content[:4 * MIB])
            client.stdin.flush()
            stopped = self.pipeline(f"{path}._COPYING_")[place]
            self.cluster.kill(stopped, signal.SIGSTOP)
            try:
                _, said = client.communicate(content[4 * MIB:], LIMIT)
                self.assertEqual(client.returncode, 0, said)
                copy = self.folder / f"standing{place}"
                self.dfs(*ALONE, "-get", "/standing-read", str(copy))
                self.assertTrue(copy.read_bytes() == content, "what was read differs")
            finally:
                self.cluster.kill(stopped, signal.SIGCONT)
        self.assert_same(path)
        self.setUp()

    @LONG
    def test_writers_and_readers_of_another_data_node_go_on_by_the_core_beside_one_that_stands_still(self):
        with self.writer_by_core("/beside") as (program, name):
            path = sorted(self.dfs("-ls", "-C", "/beside*").stdout.split())[-1]
            before = self.moved(name)
            other, = set(WITH_PLUGIN) - {name}
            self.cluster.kill(other, signal.SIGSTOP)
            try:
                self.ask(program, f"flush {MIB}")
                self.assert_content(path, MIB)
                self.wait_for("both have gone by the core", lambda: self.moved(name) - before >= 2 * MIB)
            finally:
                self.cluster.kill(other, signal.SIGCONT)
            self.ask(program, "close")
        self.setUp()

    @LONG
    def test_damaged_replicas_are_found_and_others_read(self):
        self.dfs("-D", f"dfs.blocksize={MIB}", "-put", str(self.source), "/damaged")
        self.wait_for("the NameNode knows of all replicas", lambda: self.blocks("/damaged").count("Live_repl=3") == 21)
        blocks = set(re.findall(r"(blk_\d+)_", self.blocks("/damaged")))
        self.assertEqual(len(self.finished(blocks)), 2 * len(blocks))
        for path in self.finished(blocks):
            with open(path, "r+b") as file:
                file.seek(1000)
                byte = file.read(1)[0]
                file.seek(1000)
                file.write(bytes([byte ^ 1]))
        done = self.assert_same("/damaged")  # of 21 blocks some are asked of a damaged replica first
        self.assertIn("hecksum", done.stderr)
        self.dfs("-rm", "-skipTrash", "/damaged")
        self.assert_healthy()

    def blocks(self, path):
        return self.client.run("hdfs", "fsck", path, "-files", "-blocks").stdout

    def finished(self, blocks):
        """The files of these blocks at the DataNodes with the plugin."""
        return [path for name in WITH_PLUGIN
                for path in pathlib.Path(self.cluster.data()).glob(f"{name}/current/*/current/finalized/**/blk_*")
                if path.name in blocks]

    @LONG
    def test_a_data_node_whose_disk_is_full_in_the_middle_of_a_block_is_left_by_the_writer(self):
        """The kernel refuses to write files beyond a limit, as it refuses to on a full disk."""
        pid = self.cluster.daemons[WITH_PLUGIN[1]][0]
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (6 * MIB, before[1]))
        try:
            done = self.dfs(*ALONE, "-put", str(self.source), "/full")
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.assertIn("xception", done.stderr)
        self.assert_same("/full")
        self.assert_healthy()

    @LONG
    def test_every_data_node_is_killed_at_many_moments_of_a_write(self):
        for moment in range(6):
            name = WITH_PLUGIN[moment % 2]
            path = f"/moment{moment}"
            with self.writer(path) as program:
                flushed = self.ask(program, f"flush {moment * 300_000 + 1}")
                program.stdin.write(f"write {MIB * (moment + 1)}\n" if moment % 3 else f"flush {MIB}\n")
                program.stdin.flush()
                self.kill(name)
                self.assertRegex(program.stdout.readline(), r"^done \d+$")
                total = self.ask(program, "close")
            self.assertGreater(total, flushed)
            self.assert_content(path, total)
            self.setUp()
        self.assert_healthy()

    @LONG
    def test_a_gibibyte_that_distcp_has_copied_is_the_same(self):
        mib = 1024
        large = self.folder / "for-distcp"
        with open(large, "wb") as file:
            for piece in range(mib // 16):
                file.write(self.source.read_bytes()[piece:16 * MIB + piece])
        self.dfs("-D", "dfs.replication=1", "-put", str(large), "/from")
        before = sum(map(self.moved, WITH_PLUGIN))
        source = f"hdfs://127.0.0.1:{self.cluster.ports['namenode']}/from"
        here = ("-D", "mapreduce.framework.name=local")
        done = self.cluster.run("hadoop", "distcp", *here, "-pb", source, "/to", timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core")
        self.wait_for("bytes by the core", lambda: sum(map(self.moved, WITH_PLUGIN)) - before >= mib * MIB)
        copy = self.folder / "from-distcp"
        self.dfs("-get", "/to", str(copy))
        self.assertEqual(subprocess.run(["cmp", large, copy], check=False).returncode, 0)
        self.dfs("-rm", "-skipTrash", "/from", "/to")


if __name__ == "__main__":
    unittest.main(verbosity=2)
