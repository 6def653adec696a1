# SPDX-License-Identifier: Apache-2.0
"""The slow disk: its device has the limit, its page cache holds what may be there, nothing stays."""
import os
import subprocess
import tempfile
import unittest
import unittest.mock

from sides import slowdisk

RATE = 50 << 20


def device_reads(path):
    """Bytes read from the device on which path is, since the machine's start."""
    device = os.stat(path).st_dev
    with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat") as stat:
        return int(stat.read().split()[2]) * 512


class Missing(unittest.TestCase):
    @unittest.skipIf(slowdisk.missing(), f"no slow disk here: {slowdisk.missing()}")
    def test_a_kernel_that_cannot_bound_what_waits_to_be_written_is_named_where_that_matters(self):
        with unittest.mock.patch.object(slowdisk.glob, "glob", return_value=[]):
            self.assertIsNone(slowdisk.missing())
            self.assertIn("needs Linux 6.2", slowdisk.missing(bounded=True))


@unittest.skipIf(slowdisk.missing(), f"no slow disk here: {slowdisk.missing()}")
class SlowDisk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = folder.name

    @staticmethod
    def limits():
        """Devices with a limit, of each way."""
        found = []
        for path in slowdisk._LIMITS:
            with open(path) as file:
                found.append(dict(line.split() for line in file))
        return found

    def test_the_device_has_the_limit_and_nothing_stays(self):
        with slowdisk.Disk(self.work, RATE) as disk:
            device = os.stat(disk.seen(disk.folder)).st_dev
            number = f"{os.major(device)}:{os.minor(device)}"
            self.assertEqual([limits[number] for limits in self.limits()], [str(RATE)] * 2)
            inside = subprocess.run([*disk.enter(), "stat", "--format", "%d", disk.folder], capture_output=True, text=True,
                                    check=True)
            self.assertEqual(int(inside.stdout), device)
            self.assertFalse(os.path.exists(disk.folder), "only those inside see the mount")
        self.assertTrue(all(number not in limits for limits in self.limits()))
        self.assertEqual(os.listdir(os.path.join(self.work, "slow-disk")), [])
        self.assertFalse(os.path.exists(os.path.join(self.work, "slow-disk.img")))

    def test_what_may_not_stay_in_the_page_cache_is_read_from_the_device_and_what_may_is_not(self):
        with slowdisk.Disk(self.work, RATE) as disk:
            folder = disk.seen(disk.folder)
            sizes = {"old": 8 << 20, "new": 4 << 20}
            disk.keep(sizes["new"])
            for name, size in sizes.items():  # "new" is the last one written
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(os.urandom(size))
                    os.fsync(file.fileno())
            disk.drop()
            read = {}
            for name in ("new", "old"):
                before = device_reads(folder)
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertEqual(len(file.read()), sizes[name])
                read[name] = device_reads(folder) - before
            self.assertLess(read["new"], sizes["new"] // 4)
            self.assertGreaterEqual(read["old"], sizes["old"])


if __name__ == "__main__":
    unittest.main()
