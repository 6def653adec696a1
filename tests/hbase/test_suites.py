# SPDX-License-Identifier: Apache-2.0
"""HBase's own tests of RPC (AbstractTestIPC) with our client and server, beside HBase's."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from servers import java  # noqa: E402  (needs the path above)
from daemons import jvm  # noqa: E402
from shared import FULL, LONG  # noqa: E402

LIMIT = 600  # seconds for all of them, also on a loaded machine
TESTS = 17  # of AbstractTestIPC


class SuitesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        libraries = [f"{java.suites()}/*", f"{java.library()}/*", os.environ["VERBENA_HBASE_JAR"]]
        cls.folder = folder.name
        java.compiled(HERE / "suites/java", cls.folder, libraries)
        cls.path = ":".join([cls.folder, *libraries])

    def run_suite(self, name, runs=""):
        argv = [jvm.program(), "-Xmx1g", *jvm.QUICK, *java.OPTIONS, f"-Dverbena.ipc.runs={runs}", "-cp", self.path,
                "org.junit.runner.JUnitCore", f"org.apache.hadoop.hbase.ipc.{name}"]
        done = subprocess.run(argv, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=LIMIT, check=False)
        count = max(1, len(runs.split(","))) * TESTS
        self.assertRegex(done.stdout, rf"\nOK \({count} tests\)\n", done.stdout[-6000:])
        print("".join(re.findall(r"calls of .*", done.stdout)), f"{count} tests", flush=True)

    def test_our_client_with_our_server_and_those_of_hbase(self):
        self.run_suite("VbnIPC", "shm,tcp,netty,simple" if FULL else "shm")

    @LONG
    def test_hbases_client_with_our_server(self):
        self.run_suite("StockClientIPC")


if __name__ == "__main__":
    unittest.main(verbosity=2)
