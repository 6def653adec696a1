# SPDX-License-Identifier: Apache-2.0
"""./verbena hadoop and hbase: a start says what it waits for, Ctrl-C ends it with one line, and two starts do not meet."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import command

JARS = {"hadoop": "hadoop-3.5.0", "hbase": "hbase-2.6.4-hadoop3"}
LIMIT = 300  # seconds, also on a loaded machine
# A Java whose daemons are there and never ready, and whose NameNode can be formatted.
JAVA = """#!/bin/sh
case "$*" in *-format*) exit 0 ;; esac
echo $$ >>'{folder}/started'
exec sleep 1000
"""


class StartTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbena-clusters-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        for name, text in (("java", JAVA.format(folder=self.folder)), ("javac", "#!/bin/sh\n")):
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        for name in JARS.values():
            (self.folder / "cache" / name).mkdir(parents=True)
            (self.folder / "cache" / name / ".complete").touch()

    def start(self, system):
        process = subprocess.Popen(
            [sys.executable, "-B", command.ROOT / f"tests/{system}/{system}.py", "--work", self.folder / system, "start"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "JAVA_HOME": str(self.folder), "VERBENA_CACHE": str(self.folder / "cache"),
                 "VERBENA_PROGRESS": "0.1", "VERBENA_HADOOP_VERSION": ""},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGINT))
        return process

    def started(self, system):
        """Ids of all daemons of a cluster, once each of them runs: a signal that comes sooner ends some that never said so."""
        daemons = json.loads((self.folder / system / "cluster.json").read_text())["daemons"]
        wanted, found, deadline = sorted(pid for pid, _ in daemons.values()), [], time.monotonic() + LIMIT
        while not set(wanted) <= set(found):
            self.assertLess(time.monotonic(), deadline, f"not all of {wanted} run: {found}")
            time.sleep(0.01)
            found = self.said()
        self.assertTrue(wanted)
        return wanted

    def said(self):
        """Ids of all that have run."""
        path = self.folder / "started"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def test_a_start_says_what_it_waits_for_and_ctrl_c_ends_it_with_one_line(self):
        for system, what in (("hadoop", "HDFS"), ("hbase", "HBase")):
            with self.subTest(system):
                process = self.start(system)
                self.assertRegex(process.stderr.readline(), rf"^verbena: waiting for {what}, \d+ s: .")
                daemons = self.started(system)
                os.killpg(process.pid, signal.SIGINT)
                rest = [line for line in process.communicate(timeout=LIMIT)[1].splitlines() if "waiting for" not in line]
                self.assertEqual((process.returncode, rest),
                                 (130, ["verbena: stopped by a signal; nothing that this command has started is left running"]))
                self.assertEqual([number for number in daemons if pathlib.Path(f"/proc/{number}").exists()], [])

    def test_a_second_start_waits_for_the_first(self):
        first = self.start("hadoop")
        self.assertIn("waiting for HDFS", first.stderr.readline())
        second = self.start("hadoop")
        self.assertEqual(second.stderr.readline(), f"waiting for another ./verbena, which has {self.folder}/hadoop.lock\n")
        daemons = self.started("hadoop")
        for process in (second, first):
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=LIMIT)
        self.assertEqual(sorted(self.said()), daemons)


if __name__ == "__main__":
    unittest.main()
