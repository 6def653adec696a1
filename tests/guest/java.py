# SPDX-License-Identifier: Apache-2.0
"""The Java core and the Spark plugin's fetch path over RDMA, in a guest each. Part of the long form."""
import re
import shlex
import unittest

import fetch
import shared
from shared import vm

WAYS = ("rc", "ud", "rc,ud")
LIMIT = 600


class JavaTest(unittest.TestCase):
    def test_java_gets_its_messages_back_unchanged_and_reads_memory_over_rdma(self):
        tests = shared.ROOT / "native-core" / "java" / "target" / "test-classes"
        jars = list((shared.ROOT / "spark-rdma-shuffle" / "dist" / "target").glob("spark-rdma-shuffle-[0-9]*.jar"))
        if not jars or not (tests / "org").is_dir():
            self.skipTest("the Java core is not built: ./verbena build")
        path = shlex.quote(f"{jars[0]}:{tests}")
        program = f"java -Xmx256m -XX:+UseSerialGC -Dverbena.native.path={shared.CORE}/libvbnjni.so -cp {path}"
        # One processor: with two that are emulated a JVM has died in its own compiled code (once in twenty runs).
        with vm.one(memory=2048) as guest:
            for way in WAYS:
                with self.subTest(way):
                    result = guest.run(f"{program} org.verbena.core.Child talk {way}", LIMIT)
                    said = result.output.splitlines()
                    for line in ("reply 0", "reply 100", "reply 100000", "reply 5000003", "talked"):
                        self.assertIn(line, said, result.output)
                    self.assertEqual(result.status, 0, result.output)

    def test_blocks_of_a_shuffle_are_fetched_over_rdma_with_their_bytes(self):
        try:
            command = fetch.command(str(shared.ROOT), str(shared.RELEASE), "rc")  # a minute each for ud and both, on a busy machine
        except fetch.Missing as reason:
            self.skipTest(str(reason))
        with vm.one(memory=2048) as guest:
            result = guest.run(command, LIMIT)
        self.assertEqual(result.status, 0, result.output)
        self.assertIn("fetched", result.output.splitlines(), result.output)
        blocks = [int(count) for count in re.findall(r" rdma \d+ bytes in (\d+) blocks", result.output)]
        self.assertEqual(len(blocks), 2, result.output)
        self.assertTrue(all(count > 10 for count in blocks), result.output)
