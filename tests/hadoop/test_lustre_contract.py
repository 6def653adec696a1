# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own contract tests of file systems with lustre: on a local folder, which is POSIX as well."""
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from cluster import conf, java  # noqa: E402

CONTRACTS, LEFT_OUT = 23, 2  # of Hadoop 3.4 and 3.5; contract/resources/contract/lustre.xml has the reasons
TESTS = 273  # that pass, of 304; on 3.5.0 281: the others skip themselves, for the reasons of the same file


class LustreContractTest(unittest.TestCase):
    def test_hadoops_contracts_hold(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        work = pathlib.Path(folder.name)
        root = work / "root"
        root.mkdir()
        (work / "core-site.xml").write_text(conf.site({**conf.lustre(root)["core-site"], "hadoop.tmp.dir": work / "tmp"}))
        junit = "junit4" if java.VERSION.startswith(("3.3", "3.4")) else "junit5"
        source = HERE / "contract" / "java"
        names = launcher.compiled(work / "classes", source / "LustreContracts.java", source / junit / "LustrePathHandle.java")
        self.assertEqual(len(names), CONTRACTS - LEFT_OUT)
        output = launcher.run(work, [work / "classes", HERE / "contract" / "resources"], names)
        self.assertEqual(launcher.count(output, "failed"), 0, launcher.told(output))
        passed = launcher.count(output, "successful")
        print(f"{passed} tests of {len(names)} contracts", flush=True)
        self.assertGreaterEqual(passed, TESTS, launcher.told(output))
        left = [name for _, _, files in os.walk(root) for name in files if name.endswith(".crc") or name.startswith(".verbena")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
