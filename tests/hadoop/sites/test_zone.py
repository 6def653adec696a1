# SPDX-License-Identifier: Apache-2.0
"""An encryption zone in each mode, with keys in a file and in Hadoop's key server. Clients encrypt; DataNodes keep what they are
sent."""
import contextlib
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cluster.services import WithKms  # noqa: E402  (needs the path above)
from daemons import processes  # noqa: E402
from daemons.errors import Failed  # noqa: E402
from daemons.ports import HOST  # noqa: E402
from moded import MIB, TIERS, Moded, ModeCase  # noqa: E402

KEY = WithKms.KEY


class Zoned(Moded):
    """The key is there before the NameNode, which reads the file of keys when it starts."""

    def special(self, name):
        return {"core-site": {"hadoop.security.key.provider.path": f"jceks://file{self.work}/conf/keys.jceks"}}

    def _format(self, *more):
        done = self.run("hadoop", "key", "create", KEY)
        if done.returncode != 0:
            raise Failed(f"no key for the zone: {done.stdout}{done.stderr}")
        super()._format(*more)


class ZonedByKms(WithKms, Moded):
    pass


class ZoneCase(ModeCase):
    kind = Zoned

    @classmethod
    def make(cls, shm):
        return cls.kind(cls.folder / "hadoop", shm, cls.shared, cls.mode, cls.more, datanodes=cls.datanodes)

    def kept(self):
        """What all DataNodes keep of blocks, in all tiers."""
        roots = (self.memory, self.shared, pathlib.Path(self.cluster.data()))
        kept = []
        for path in [path for root in roots for path in root.rglob("blk_*") if path.suffix != ".meta"]:
            with contextlib.suppress(FileNotFoundError):  # of a file that was deleted a moment ago
                kept.append(path.read_bytes())
        return kept


class ZoneCases:
    def test_a_file_of_a_zone_is_encrypted_in_every_tier_and_the_same_for_its_readers(self):
        source = self.file("source", 3)
        self.dfs("-mkdir", "/zone")
        self.hdfs("crypto", "-createZone", "-keyName", KEY, "-path", "/zone")
        self.put(source, "/zone/file", 3)
        self.wait_for_tiers("/zone/file", [TIERS[self.mode]] * 3)
        self.assert_same(source, "/zone/file")
        plain, kept = source.read_bytes(), self.kept()
        self.assertEqual(sum(map(len, kept)), 3 * len(plain))
        for block in range(3):
            self.assertFalse(any(plain[block * MIB:][:64] in replica for replica in kept))
        self.dfs("-appendToFile", str(source), "/zone/file")
        whole = self.folder / "whole"
        whole.write_bytes(plain * 2)
        self.assert_same(whole, "/zone/file")
        done = self.cluster.run("hdfs", "dfs", "-get", "/zone/file", str(self.folder / "again"))  # its last line tells the path
        self.assertRegex(done.stderr, r"Verbena ends: [1-9]\d* connections by the core and 0 by TCP")
        self.assertTrue(self.is_healthy())

    def test_small_files_of_a_zone_are_written_to_all_replicas_at_once_and_encrypted(self):
        self.dfs("-mkdir", "/small-zone")
        self.hdfs("crypto", "-createZone", "-keyName", KEY, "-path", "/small-zone")
        with self.small_files("/small-zone"):
            pass
        plain = bytes(range(251)) * 2  # any 251 bytes of these files are in it
        self.assertFalse(any(replica[:251] in plain for replica in self.kept() if len(replica) > 251))
        self.dfs("-rm", "-r", "-skipTrash", "/small-zone/*")

    def test_small_reads_of_a_zone_give_plain_bytes(self):
        source = self.file("reads", 3)
        self.dfs("-mkdir", "/reads-zone")
        self.hdfs("crypto", "-createZone", "-keyName", KEY, "-path", "/reads-zone")
        self.put(source, "/reads-zone/file", 3)
        with self.small_reads("/reads-zone/file", source):
            pass
        self.dfs("-rm", "-r", "-skipTrash", "/reads-zone/*")


class HhhTest(ZoneCases, ZoneCase):
    mode = "hhh"


class KmsTest(ZoneCases, ZoneCase):
    """The NameNode has the keys of new files made by the key server, and clients have them opened there."""

    mode, kind = "hhh", ZonedByKms

    def test_a_key_server_that_is_gone_fails_reads_and_writes_with_its_name_and_is_found_again(self):
        source = self.file("kept", 1)
        self.dfs("-mkdir", "/asked")
        self.hdfs("crypto", "-createZone", "-keyName", KEY, "-path", "/asked")
        self.put(source, "/asked/file", 3)
        self.cluster.kill("kms")
        processes.end([self.cluster.daemons["kms"]])
        done = self.cluster.run("hdfs", "dfs", "-cat", "/asked/file")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{HOST}:{self.cluster.ports['kms']}", done.stderr.replace(f"{HOST}/{HOST}", HOST))
        self.cluster.launch_kms()
        self.assert_same(source, "/asked/file")
        self.put(source, "/asked/other", 3)
        self.assert_same(source, "/asked/other")


class MemoryTest(ZoneCases, ZoneCase):
    mode = "hhh-m"


class SharedPathTest(ZoneCases, ZoneCase):
    mode = "hhh-l"


if __name__ == "__main__":
    unittest.main(verbosity=2)
