# SPDX-License-Identifier: Apache-2.0
"""vbn-info tells what this host offers, and what would be used towards a running worker. TOOLS: folder of the tools."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["TOOLS"]
LIMIT = 60  # seconds for anything here


def run(program, *options, code=None):
    done = subprocess.run([os.path.join(BIN, program), *options], capture_output=True, text=True, timeout=LIMIT)
    if code is not None and done.returncode != code:
        raise AssertionError(f"{program} {options} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Info(unittest.TestCase):
    def listen(self, *options):
        """A listening vbn-info and its address."""
        process = subprocess.Popen([os.path.join(BIN, "vbn-info"), "--listen", "--seconds", str(LIMIT), *options],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, LIMIT)
        self.addCleanup(process.kill)
        return process.stdout.readline().strip()

    def key_file(self, digit):
        file = tempfile.NamedTemporaryFile("w", suffix=".key")
        self.addCleanup(file.close)
        file.write(digit * 64 + "\n")
        file.flush()
        return file.name

    def test_each_fact_of_the_host_has_a_value_and_each_problem_a_cure(self):
        done = run("vbn-info", "--json")
        facts = {fact["name"]: fact for fact in json.loads(done.stdout)}
        for name in ("transport self", "transport shm", "transport tcp", "ulimit -n", "ulimit -l", "/dev/shm", "memfd",
                     "userfaultfd", "cross-memory copy", "huge pages"):
            self.assertTrue(facts[name]["value"])
        problems = [fact for fact in facts.values() if not fact["ok"]]
        self.assertTrue(all(fact["cure"] for fact in problems), problems)
        self.assertEqual(done.returncode, 1 if problems else 0)
        self.assertIn("shm", facts["transport shm"]["value"])

    def test_a_small_limit_is_told_with_its_cure(self):
        command = f"ulimit -n 200; exec {os.path.join(BIN, 'vbn-info')} --json"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LIMIT)
        fact = next(fact for fact in json.loads(done.stdout) if fact["name"] == "ulimit -n")
        self.assertEqual((done.returncode, fact["ok"], fact["value"]), (1, False, "200"))
        self.assertIn("ulimit -n", fact["cure"])

    def test_towards_a_peer_it_says_transport_ways_and_reasons(self):
        address = self.listen()
        facts = json.loads(run("vbn-info", "--towards", address, "--json", code=0).stdout)
        self.assertEqual(facts[0]["name"], "connection")
        self.assertIn("over shm", facts[0]["value"])
        ways = " ".join(fact["value"] for fact in facts)
        for words in ("active message of 8 bytes goes whole", "tagged message of 65536 bytes is announced", "put of",
                      "get of", "atomic of 8 bytes"):
            self.assertIn(words, ways)

    def test_a_peer_with_a_job_key_is_reached_with_the_key_only(self):
        address = self.listen("--key", self.key_file("a"))
        run("vbn-info", "--towards", address, "--key", self.key_file("a"), code=0)
        for options in ([], ["--key", self.key_file("b")]):
            done = run("vbn-info", "--towards", address, "--json", *options, code=1)
            self.assertIn("--key", json.loads(done.stdout)[0]["cure"])

    def test_wrong_use_names_the_right_one(self):
        for options in (["--towards", "xyz"], ["--towards", "0"], ["--colour"], ["--listen", "--seconds", "0"],
                        ["--towards", "00", "--key", "/nonexistent"], ["more"]):
            done = run("vbn-info", *options, code=2)
            self.assertIn("vbn-info", done.stderr)

    def test_every_program_has_help(self):
        for program in ("vbn-info", "vbn-perf", "vbn-top"):
            text = run(program, "--help", code=0).stdout
            self.assertIn(f"usage: {program}", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
