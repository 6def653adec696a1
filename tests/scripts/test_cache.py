# SPDX-License-Identifier: Apache-2.0
"""Two clones with one cache: what both want is fetched or built once, and the second one waits for it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import command
import test_verbena

LIMIT = 120
# What is wanted, and what would fetch or build it.
DOWNLOADS = {
    "ensure_venv a a==1": ["pip_install"],
    "ensure_cross": ["unpack_arm64"],
    "ensure_mpi4py": ["fetch_mpi4py", "build_mpi4py"],
    "ensure_sshd": ["apt-get"],
}
FAKES = """
. "$ROOT/tests/runner/products.sh"
CACHE='{folder}/cache'
require() {{ :; }}
try_packages() {{ :; }}
dpkg-deb() {{ :; }}
fake() {{
    echo "$1" >>'{folder}/made'
    until [ -e '{folder}/go' ]; do sleep 0.05; done
    mkdir -p "$CACHE/a" "$CACHE/arm64" "$CACHE/mpi4py-$MPI4PY"
    touch "$CACHE/x.deb"
}}
"""
MAVEN = """#!/bin/sh
echo mvn >>'{folder}/made'
until [ -e '{folder}/go' ]; do sleep 0.05; done
mkdir -p '{folder}/cache/it'
"""


class OnceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena cache ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make_twice(self, start, made):
        """start(number) starts one of two, with an end of its own in 'there'. The second starts while the first is at work."""
        first = start(1)
        while not (self.folder / "made").exists():
            self.assertIsNone(first.poll())
            time.sleep(0.01)
        second = start(2)
        try:
            line = next((line for line in second.stdout if "waiting for another" in line), None)
            self.assertIsNotNone(line, "the second one has not waited")
            (self.folder / "go").touch()
            for process in (first, second):
                output, _ = process.communicate(timeout=LIMIT)
                self.assertEqual((process.returncode, output.splitlines()[-1:]), (0, ["there"]))
        finally:
            for process in (first, second):
                if process.poll() is None:
                    os.killpg(process.pid, 9)
                process.stdout.close()
        self.assertEqual((self.folder / "made").read_text().split(), made)
        for name in ("made", "go"):
            (self.folder / name).unlink()

    def test_what_verbena_downloads(self):
        for wanted, makers in DOWNLOADS.items():
            lines = FAKES.format(folder=self.folder) + "".join(f"{maker}() {{ fake {maker}; }}\n" for maker in makers)
            with self.subTest(wanted):
                self.make_twice(lambda number: test_verbena.script(
                    self.folder / f"clone{number}", f"{lines}{wanted}\necho there"), makers)

    def test_jars_of_maven(self):
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "mvn").write_text(MAVEN.format(folder=self.folder))
        (programs / "mvn").chmod(0o755)
        lines = f"import sys; sys.path.insert(0, {str(command.ROOT / 'tests/lib')!r})\n" \
            "import jars; jars.fetched('it', 'pom.xml'); print('there')"
        self.make_twice(lambda _number: subprocess.Popen(
            [sys.executable, "-Bc", lines], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "VERBENA_CACHE": str(self.folder / "cache")}), ["mvn"])

    def test_a_demo_waits_for_the_bench_of_its_clone(self):
        lines = "cmd_{0}() {{ echo in; until [ -e '{1}/go' ]; do sleep 0.05; done; }}\nmain {0}"
        first = test_verbena.script(self.folder / "clone", lines.format("bench", self.folder))
        self.assertEqual(first.stdout.readline(), "in\n")
        second = test_verbena.script(self.folder / "clone", lines.format("demo", self.folder))
        self.assertEqual(second.stdout.readline(), "verbena: waiting for another demo or bench of this clone\n")
        (self.folder / "go").touch()
        for process, rest in ((first, ""), (second, "in\n")):
            self.assertEqual((process.communicate(timeout=LIMIT)[0], process.returncode), (rest, 0))


if __name__ == "__main__":
    unittest.main()
