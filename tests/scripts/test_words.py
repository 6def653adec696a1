# SPDX-License-Identifier: Apache-2.0
"""Words that no command knows are refused, with the one that was meant, before anything is built, installed or downloaded."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import command

VERBENA = command.ROOT / "verbena"
COSTLY = ("apt-get", "sudo", "cmake", "ninja", "mvn", "gcc", "flock", "mkdir")
REFUSED = {
    "dmeo": "unknown command 'dmeo'; did you mean demo?",
    "demo mpy": "unknown demonstration 'mpy'; did you mean mpi?",
    "demo --mintes 3": "unknown option '--mintes'; did you mean --minutes?",
    "demo --minutes soon": "--minutes needs a number, not 'soon'",
    "demo --minutes": "--minutes needs a number, not ''",
    "demo mpi --sf 1": "demo mpi: unknown option '--sf'; there are: --minutes",
    "demo mpi 3": "demo mpi: takes options alone, not '3'",
    "doctor nosuch": "unknown system 'nosuch'; there are: spark hadoop hbase memcached mpi",
    "doctor memcached a:1 b:1": "takes one server",
    "doctor hadoop now": "takes no more words",
    "bench nosuch": "unknown row or group 'nosuch'; './verbena bench list' shows all",
    "bench spark.gruopby": "did you mean spark.groupby?",
    "bench core --quik": "unknown option '--quik'; did you mean --quick?",
    "bench --quick": "the row comes first",
    "guest": "no command",
    "guest --limit 3 --pair": "no command",
    "guest --limt 3 -- true": "unknown option '--limt'; did you mean --limit?",
    "build naitve": "unknown part 'naitve'; did you mean native?",
    "build native mpi": "takes one part",
    "fuzz tpc": "unknown target 'tpc'; did you mean tcp?",
    "fuzz tcp soon": "'soon' is not a number of minutes",
    "fuzz tcp 1 2": "takes one target",
    "spark shel": "unknown program 'shel'; did you mean shell?",
    "hadoop": "give a command: start stop status run",
    "hadoop strat": "unknown command 'strat'; did you mean start?",
    "hadoop start --yran": "unknown option '--yran'; did you mean --yarn?",
    "hbase stop now": "takes no more words",
    "mpiexec": "no program",
    "packages --mising": "unknown option '--mising'; did you mean --missing?",
    "clean all": "takes no words",
}


class RefusedTest(unittest.TestCase):
    def test_a_word_that_is_wrong_is_named_before_anything_is_done(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in COSTLY:
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\necho {name} >>'{folder}/called'\nexit 1\n")
                program.chmod(0o755)
            for words, told in REFUSED.items():
                with self.subTest(words):
                    done = subprocess.run([VERBENA, *words.split()], env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
                                          capture_output=True, text=True, timeout=120)
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    self.assertIn(told, done.stderr)
            self.assertFalse((pathlib.Path(folder) / "called").exists())

    def test_what_spark_submit_takes_is_no_wrong_word(self):
        with tempfile.TemporaryDirectory() as folder:
            for word in ("--version", "job.jar", "./job", "hdfs://a/job.py", "shell"):
                self.assertEqual(command.run(folder, f"check_spark {word} x"), (0, ""))

    def test_a_command_for_a_guest_is_found_behind_its_options(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in ("-- vbn-info", "vbn-info --wrong", "--pair --netem 'loss 1%' -- a ::: b", "--limit=3 -- a", "--check"):
                self.assertEqual(command.run(folder, f"check_guest {words}"), (0, ""))


class NearestTest(unittest.TestCase):
    def near(self, word, *known):
        with tempfile.TemporaryDirectory() as folder:
            return command.run(folder, f"nearest '{word}' {' '.join(known)}")[1].strip()

    def test_letters_put_taken_away_changed_and_swapped_are_near(self):
        self.assertEqual([self.near(word, "memcached", "mpi", "hdfs") for word in ("memcachedd", "memached", "mpy", "hfds")],
                         ["memcached", "memcached", "mpi", "hdfs"])

    def test_the_nearest_of_several_is_told(self):
        self.assertEqual(self.near("hbas", "hdfs", "hbase"), "hbase")

    def test_a_word_far_from_all_is_near_to_none(self):
        self.assertEqual([self.near(word, "mpi", "hdfs") for word in ("nosuch", "xy", "a b")], ["", "", ""])


if __name__ == "__main__":
    unittest.main()
