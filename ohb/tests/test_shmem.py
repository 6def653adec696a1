# SPDX-License-Identifier: Apache-2.0
"""The row shmem: names, targets, what a job says; the row beside its stock side; the demonstration."""
import os
import pathlib
import re
import tempfile
import unittest
import unittest.mock

from driver import plan, rivals, schema
from driver.run import Runner
from sides import ranks, ranks_demo, shmem, shmem_demo

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOISE = {"idle": 0.0, "steal": 0.0, "foreign": 0.0, "runq": 0.0, "switches": 0.0}


class Names(unittest.TestCase):
    def test_every_row_of_the_program_has_its_unit_here_and_every_unit_a_row(self):
        text = (ROOT / "mpi/shmem/bench/cells.c").read_text()
        units = {name: {"OPERATION": "ns", "BANDWIDTH": "GB/s", "COLLECTIVE": "us"}[kind]
                 for kind, name in re.findall(r'(OPERATION|BANDWIDTH|COLLECTIVE)\("(\w+)"', text)}
        self.assertEqual({**units, "ping_pong": "us", "init": "ms", "launch": "ms", "four": "us"}, shmem.UNITS)

    def test_targets_are_of_known_rows(self):
        for name in (*shmem.TARGETS, *shmem.MOST):
            self.assertIn(name.split(".")[0], shmem.UNITS)
        self.assertEqual(shmem.target("fetch_add.8.far"), (0.7, None))
        self.assertIsNone(shmem.target("broadcast.8.near"))

    def test_bandwidths_are_better_when_higher(self):
        self.assertEqual([shmem.better(name) for name in ("put_bandwidth.1048576.far", "put.8.near", "four.barrier")],
                         ["higher", "lower", "lower"])


class FakeBench:
    """In the place of shmem.Bench: a library whose figures are known."""
    SPEED = {"verbena": 1.0, "oshmem": 2.0}

    def __init__(self, library, _root, _folder):
        self.speed = self.SPEED[library.name]

    def block(self, _side, _seed):
        return {"metrics": {"get.8.near": 15 * self.speed, "put_bandwidth.1048576.near": 20 / self.speed, "init": 40 / self.speed,
                            "four.barrier": 15 * self.speed}, "details": {"dropped": []}}


class BesideDebians(unittest.TestCase):
    def table(self, **speed):
        """The row's table, of libraries with these speeds; the document is valid."""
        def library(name):
            return ranks.Library(name, name, "/bin/true", "/bin/true", cure="install it")

        with tempfile.TemporaryDirectory() as work, unittest.mock.patch.multiple(
                shmem, Bench=FakeBench, ours=lambda _root: library("verbena"), peers=lambda _root: [library("oshmem")]), \
                unittest.mock.patch.dict(FakeBench.SPEED, speed), \
                unittest.mock.patch("driver.noise.between", lambda _before, _after: NOISE):
            document = Runner(work, work, f"{work}/result.json", True, 2).run(plan.select("shmem"))
            schema.validate(document)
        self.assertEqual((document["status"], [run["row"] for run in document["runs"]]), ("complete", ["shmem", "shmem.oshmem"]))
        return {line.split()[0]: line for line in rivals.table(document).splitlines()}

    def test_ratios_stand_beside_what_was_promised(self):
        cells = self.table()
        self.assertRegex(cells["get.8.near"], r"oshmem +0\.50 .* <= 0\.7 +held$")
        self.assertRegex(cells["put_bandwidth.1048576.near"], r"oshmem +2\.00 .* >= 1 +held$")
        self.assertRegex(cells["init"], r"<= 0\.5 +missed$")

    def test_a_promise_of_our_own_value_is_held_whatever_the_peer_does(self):
        self.assertRegex(self.table(oshmem=0.5)["four.barrier"], r"2\.00 .* <= 20 us +held$")
        self.assertRegex(self.table(verbena=1.5)["four.barrier"], r"<= 20 us +missed$")

    def test_what_is_missing_is_said_with_its_cure(self):
        gone = ranks.Library("oshmem", "Debian's oshmem", "/nowhere/oshcc", "/bin/true", cure="install it")
        here = ranks.Library("verbena", "Verbena", "/bin/true", "/bin/true")
        with unittest.mock.patch.multiple(shmem, ours=lambda _root: here, peers=lambda _root: [gone]):
            self.assertEqual(plan.missing(plan.select("shmem")[0], "/nowhere"), "Debian's oshmem is not here; install it")
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("VERBENA_MPI_BIN", None)
            self.assertIn("./verbena build shmem", plan.missing(plan.select("shmem")[0], "/nowhere"))


class Demonstration(unittest.TestCase):
    def test_every_program_that_is_shown_is_an_example(self):
        for name, _, _ in shmem_demo.RUNS:
            self.assertTrue((ROOT / shmem_demo.SHOW.sources / f"{name}.c").is_file(), name)

    def test_the_demonstration_shows_each_run_beside_the_stock_side(self):
        with tempfile.TemporaryDirectory() as folder:
            script, compiler = f"{folder}/run", f"{folder}/cc"
            pathlib.Path(script).write_text("#!/bin/sh\necho 'checksum 7'\necho \"seconds $SECONDS_OF_IT\"\n")
            pathlib.Path(compiler).write_text("#!/bin/sh\nexit 0\n")
            os.chmod(script, 0o755)
            os.chmod(compiler, 0o755)
            ours, stock = (ranks.Library(name, name.title(), compiler, script, environment={"SECONDS_OF_IT": seconds})
                           for name, seconds in (("verbena", "0.1"), ("oshmem", "0.2")))
            shown = ranks_demo.show(shmem_demo.SHOW, ours, stock, folder, folder, seconds=-1)
        lines = list(shown.board.lines())
        self.assertEqual(lines[0][:5], ("bfs 16, 2 PEs", "time, ms", "200", "100", "0.50 (seen: 0.50 to 0.50)"))
        self.assertEqual(len(lines), 2 * len(shmem_demo.RUNS))


if __name__ == "__main__":
    unittest.main()
