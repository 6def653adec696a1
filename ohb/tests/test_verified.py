# SPDX-License-Identifier: Apache-2.0
"""Which rows of cells say that somebody looked at what was delivered."""
import contextlib
import io
import os
import tempfile
import unittest
import unittest.mock

from driver import plan
from driver.run import Runner
from sides import burst, fetch, hbase, hdfs, memcached, merge, mr, netty, rpc, verbs

CELL = {"row": "x", "transport": "t", "size": 8, "metric": "latency", "unit": "us", "raw": 2.0, "ours": 1.0}
SIDES = {"verbs": (verbs, "guest"), "verbs.fetch": (fetch, "guest"), "memcached": (memcached, "servers"),
         "hdfs": (hdfs, "clusters"), "mr": (mr, "sides"), "mr.hosts": (mr, "sides"), "lustre.jobs": (mr, "shared"),
         "lustre.buffer": (burst, "directory"),
         "hbase": (hbase, "clusters"), "netty": (netty, "both"), "rpc": (rpc, "both"), "mr.merge": (merge, "both")}


class Verified(unittest.TestCase):
    def run_of(self, name):
        """The entry of a row whose cells are measured by nobody."""
        module, start = SIDES[name]
        sides = (unittest.mock.MagicMock(), unittest.mock.MagicMock(said=lambda: []))
        with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(unittest.mock.patch("driver.plan.missing", return_value=None))
            stack.enter_context(unittest.mock.patch("sides.core.program", return_value="vbn-perf"))
            stack.enter_context(unittest.mock.patch.object(module, start, lambda *_: contextlib.nullcontext(sides)))
            for done, what in (("pairs", lambda *_: [dict(CELL)]), ("warm", None), ("prepare", None)):
                if hasattr(module, done):
                    stack.enter_context(unittest.mock.patch.object(module, done, what or (lambda *_, **__: None)))
            return Runner(work, work, os.path.join(work, "result.json"), True, 1).run(plan.select(name)[:1])["runs"][0]

    def test_a_row_is_verified_where_its_program_compares_what_it_gets(self):
        found = {}
        for name in SIDES:
            run = self.run_of(name)
            self.assertEqual((run["status"], run["headline"]), ("complete", "x.t.8.latency"), run["notes"])
            found[name] = run["verified"]
        self.assertEqual(found, {name: name != "verbs" for name in SIDES})

    def test_the_row_of_the_burst_buffer_says_what_it_lacks(self):
        with unittest.mock.patch.object(burst, "missing", return_value="the server is not built"):
            self.assertEqual(plan.missing(plan.select("lustre.buffer")[0], "/nowhere"), "the server is not built")


if __name__ == "__main__":
    unittest.main()
