# SPDX-License-Identifier: Apache-2.0
"""Hadoop's own tests of its RPC, out of its test jar, with our engine."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import launcher  # noqa: E402  (needs the path above)
from case import LONG  # noqa: E402
from cluster import conf, java  # noqa: E402
from test_rpc import ENGINE  # noqa: E402

PACKAGE = "org.apache.hadoop.ipc."
# Hadoop keeps clients by socket factory, and ours has a factory of its own.
CACHE = "counts connections in Hadoop's entry of its cache of clients"
KERBEROS = "needs a Kerberos realm of the machine"
# The client has an answer earlier than the server has counted its call: so it may be by TCP, too, on a busy machine.
COUNTED_LATER = "reads numbers that the server writes after the answer"
# {class: {test: why it may fail}}; all others pass.
SUITES = {
    "TestRPC": {"testConnectionWithSocketFactory": CACHE, "testErrorMsgForInsecureClient": KERBEROS,
                **dict.fromkeys(["testNumInProcessHandlerMetrics", "testRpcMetrics", "testRpcMetricsInNanos", "testCalls",
                                 "testOverallRpcProcessingTimeMetric", "testRpcCallSuccessesMetric"], COUNTED_LATER)},
    "TestSaslRPC": {"testPerConnectionConf": CACHE},
    "TestMultipleProtocolServer": {}, "TestRPCServerShutdown": {}, "TestCallerContext": {},
    "TestRPCWaitForProxy": {"testInterruptedWaitForProxy": "its interrupt may come too late on a busy machine, by TCP, too"},
}


@LONG
@unittest.skipIf(java.VERSION.startswith("3.4"), "its tests need another protobuf on the class path")
class RpcSuitesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        engines = {f"rpc.engine.{PACKAGE}TestRpcBase${name}": ENGINE for name in ("TestRpcService", "CustomProto")}
        (self.folder / "core-site.xml").write_text(conf.site(
            {**engines, "verbena.rpc.auth": "none", "verbena.rpc.first.calls": 1, "verbena.core.proto.cost_file": "none"}))
        # Before Hadoop's jars: its own tests bring protocols of their own.
        self.before = [os.environ["VERBENA_HADOOP_JAR"],
                       f"{launcher.beside()}/hadoop-common-{java.VERSION}-test-sources.jar"]

    def test_hadoops_own_tests_of_rpc_pass_with_our_engine(self):
        by_core = 0
        for name, known in SUITES.items():
            with self.subTest(name):
                output = launcher.run(self.folder, self.before, [PACKAGE + name])
                self.assertRegex(output, r"\[ *[1-9]\d* tests successful", output[-3000:])
                failed = set(re.findall(r"JUnit Jupiter:\w+:(\w+)\(", output))
                self.assertLessEqual(failed, set(known), output[-6000:])
                by_core += len(re.findall("is reached by the core", output))
        self.assertGreaterEqual(by_core, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
