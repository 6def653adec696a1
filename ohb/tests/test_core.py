# SPDX-License-Identifier: Apache-2.0
"""The row core beside two versions of UCX, with programs in the place of vbn-perf and of PyPI's ucx_info."""
import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

from driver import plan, report
from driver.run import Runner
from sides import core

LINE = {"row": "core.am.latency", "transport": "shm", "size": 8, "metric": "latency", "unit": "ns", "ours": 100, "raw": 200}
OTHER = {**LINE, "row": "core.pypi-ucx.am.latency"}
PERF = """#!/bin/sh
echo '{line}'
case "$*" in *"--pypi-ucx {ucx}"*) echo '{other}' ;; *) echo '# left out' ;; esac
"""
INFO = """#!/bin/sh
[ "$LD_LIBRARY_PATH $1" = '{ucx}/lib -v' ] && echo '# Library version: 1.22.0' && echo '# API headers version: 7.0.0'
"""


def program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)


class BesideUcx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.ucx = f"{self.root}/ucx-1.22 [a]/lib/python3.11/site-packages/libucx"
        texts = {"ucx": self.ucx, "line": json.dumps(LINE), "other": json.dumps(OTHER)}
        program(f"{self.root}/.verbena/build/release/vbn-perf", PERF.format(**texts))
        program(f"{self.ucx}/bin/ucx_info", INFO.format(**texts))

    def measured(self, installed):
        environment = {name: value for name, value in os.environ.items() if name not in ("VERBENA_NATIVE_BIN", "VERBENA_UCX")}
        with unittest.mock.patch.dict(os.environ, {**environment, **installed}, clear=True):
            with unittest.mock.patch.object(core, "jni_pairs", return_value=[]):
                return Runner(self.root, self.root, f"{self.root}/result.json", True, 1).run(plan.select("core"))

    def test_the_ucx_of_pypi_has_cells_of_its_own_and_its_version_stands_in_the_result(self):
        document = self.measured({"VERBENA_UCX": f"{self.root}/ucx-1.22 [a]"})
        run = document["runs"][0]
        self.assertEqual((run["status"], run["sides"]["a"]["versions"]), ("complete", {"pypi-ucx": "1.22.0"}), run["notes"])
        cells = {name.rsplit(".", 1)[0] for name in run["result"]}
        self.assertEqual(cells, {"am.latency.shm.8.latency", "pypi-ucx.am.latency.shm.8.latency"})
        self.assertIn("pypi-ucx.am.latency.shm.8.latency", report.table(document))

    def test_without_it_the_row_goes_on(self):
        run = self.measured({})["runs"][0]
        self.assertEqual((run["status"], run["sides"]["a"]["versions"]), ("complete", {}), run["notes"])
        self.assertEqual({name.rsplit(".", 1)[0] for name in run["result"]}, {"am.latency.shm.8.latency"})

    def test_a_result_stays_where_the_version_of_its_ucx_cannot_be_told(self):
        os.unlink(f"{self.ucx}/bin/ucx_info")
        run = self.measured({"VERBENA_UCX": f"{self.root}/ucx-1.22 [a]"})["runs"][0]
        self.assertEqual((run["status"], run["sides"]["a"]["versions"]), ("complete", {"pypi-ucx": "unknown"}), run["notes"])
        self.assertTrue(any(name.startswith("pypi-ucx.am.latency.") for name in run["result"]), run["result"])
        late = unittest.mock.Mock(side_effect=subprocess.TimeoutExpired("ucx_info", 60))
        with unittest.mock.patch.object(core.subprocess, "run", late):
            self.assertEqual(core.ucx_versions(["ucx.am"]), {"ucx": "unknown"})


if __name__ == "__main__":
    unittest.main()
