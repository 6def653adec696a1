# SPDX-License-Identifier: Apache-2.0
"""vbn-info tells what this host offers, and what would be used towards a running worker. TOOLS: folder of the tools."""
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["TOOLS"]
LIMIT = 60  # seconds for anything here


def environment(**variables):
    """Ours without what the caller's shell may have set for the core."""
    return {name: value for name, value in os.environ.items() if not name.startswith("VBN_")} | variables


def run(program, *options, code=None, **variables):
    done = subprocess.run([os.path.join(BIN, program), *options], capture_output=True, text=True, timeout=LIMIT,
                          env=environment(**variables))
    if code is not None and done.returncode != code:
        raise AssertionError(f"{program} {options} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Info(unittest.TestCase):
    def listen(self, *options):
        """A listening vbn-info and its address."""
        process = subprocess.Popen([os.path.join(BIN, "vbn-info"), "--listen", "--seconds", str(LIMIT), *options],
                                   stdout=subprocess.PIPE, text=True, env=environment())
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

    def test_a_missing_rdma_device_is_none_and_not_well(self):
        line = next((line for line in run("vbn-info").stdout.splitlines() if line.startswith("RDMA devices ")), None)
        if line is None:
            self.skipTest("this host has an RDMA device")
        self.assertRegex(line, r"^RDMA devices +none [^ ]")
        self.assertIn("none = not", run("vbn-info", "--help").stdout)

    def test_a_small_limit_is_told_with_its_cure(self):
        command = f"ulimit -n 200; ulimit -l 64; exec {os.path.join(BIN, 'vbn-info')} --json"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT)
        facts = {fact["name"]: fact for fact in json.loads(done.stdout)}
        self.assertEqual(done.returncode, 1)
        for name, well, value, cure in (("ulimit -n", False, "200", "ulimit -n 65536"),
                                        ("ulimit -l", True, "64 KiB", "ulimit -l 8192 (KiB)")): # that one is slower
            self.assertEqual((facts[name]["ok"], facts[name]["value"]), (well, value))
            self.assertIn(cure, facts[name]["cure"])

    def test_towards_a_peer_it_says_transport_ways_and_reasons(self):
        address = self.listen()
        facts = json.loads(run("vbn-info", "--towards", address, "--json", code=0).stdout)
        self.assertEqual(facts[0]["name"], "connection")
        self.assertIn("over shm", facts[0]["value"])
        ways = " ".join(fact["value"] for fact in facts)
        for words in ("active message of 8 bytes is sent eagerly", "tagged message of 65536 bytes is sent by rendezvous", "put of",
                      "get of", "atomic of 8 bytes"):
            self.assertIn(words, ways)

    def test_a_peer_with_a_job_key_is_reached_with_the_key_only(self):
        address = self.listen("--key", self.key_file("a"))
        run("vbn-info", "--towards", address, "--key", self.key_file("a"), code=0)
        for options in ([], ["--key", self.key_file("b")]):
            done = run("vbn-info", "--towards", address, "--json", *options, code=1)
            self.assertIn("--key", json.loads(done.stdout)[0]["cure"])

    def test_of_a_peer_that_refuses_nothing_is_said_to_be_ok(self):
        address = self.listen("--key", self.key_file("a"))
        facts = json.loads(run("vbn-info", "--towards", address, "--json", "--key", self.key_file("b"), code=1).stdout)
        self.assertEqual([(fact["name"], fact["ok"]) for fact in facts], [("connection", False)])

    def one_line(self, program, *options, **variables):
        """The line of a program that ends with 2 and has printed nothing else."""
        done = run(program, *options, code=2, **variables)
        self.assertEqual(done.stdout, "", options)
        self.assertRegex(done.stderr, rf"\A{program}: [^\n]+\n\Z", options)
        return done.stderr

    def test_wrong_use_is_told_in_one_line(self):
        for options, word in ((["--towards", "xyz"], "hexadecimal"), (["--towards", "0"], "hexadecimal"),
                              (["--colour"], "--colour"), (["-x"], "-x"), (["--towards"], "--towards needs a value"),
                              (["--listen", "--seconds", "0"], "--seconds"), (["--seconds", "x"], "--seconds"),
                              (["--towards", "00", "--key", "/nonexistent"], "--new-key"), (["more"], "more"),
                              (["--listen", "--settings"], "name one"), (["--json", "--towards", "xyz"], "hexadecimal")):
            self.assertIn(word, self.one_line("vbn-info", *options))

    def test_a_setting_with_a_typo_is_told_once(self):
        for options in ([], ["--json"], ["--settings"], ["--listen"]):
            line = self.one_line("vbn-info", *options, VBN_TL_TCP_PROT="1")
            self.assertIn("did you mean VBN_TL_TCP_PORT?", line)

    def test_a_worker_that_cannot_be_opened_is_an_error(self):
        self.assertIn("no-such", self.one_line("vbn-info", "--listen", VBN_TL_ENABLE="no-such"))

    def test_a_variable_of_somebody_else_disturbs_nobody(self):
        facts = self.facts(VBN_HOME="/opt/x")
        self.assertIn("VBN_HOME", facts["environment"]["value"])
        self.assertTrue(facts["worker"]["ok"])
        self.assertNotIn("environment", self.facts())

    def facts(self, **variables):
        return {fact["name"]: fact for fact in json.loads(run("vbn-info", "--json", **variables).stdout)}

    def test_transports_that_are_not_enabled_are_off_and_what_every_program_would_meet_is_told(self):
        facts = self.facts(VBN_TL_ENABLE="self,tcp")
        self.assertEqual(facts["transport shm"]["value"], "not in tl.enable=self,tcp")
        self.assertIn("tcp", facts["transport tcp"]["value"])
        self.assertTrue(facts["worker"]["ok"])
        text = run("vbn-info", VBN_TL_ENABLE="self,tcp").stdout
        self.assertRegex(text, r"(?m)^transport shm +off +not in")

    @unittest.skipIf(os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"), "an RDMA device is here")
    def test_where_only_rdma_is_wanted_and_missing_nothing_is_ok_and_the_cure_is_named(self):
        facts = self.facts(VBN_TL_ENABLE="rc")
        self.assertFalse(facts["worker"]["ok"])
        self.assertIn("no RDMA device", facts["worker"]["value"])
        self.assertIn("rdma link add", facts["worker"]["value"])
        for name in ("self", "shm", "tcp"):
            self.assertEqual(facts[f"transport {name}"]["value"], "not in tl.enable=rc")
        self.assertEqual(run("vbn-info", VBN_TL_ENABLE="rc").returncode, 1)

    @unittest.skipIf(os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"), "an RDMA device is here")
    def test_nobody_is_told_to_get_a_device_that_nobody_asked_for(self):
        fact = self.facts()["RDMA devices"]
        self.assertTrue(fact["ok"])
        self.assertNotIn("cure", fact)
        self.assertNotRegex(fact["value"], "load|install|rdma link")
        self.assertIn("rdma link", self.facts(VBN_TL_ENABLE="self,tcp,rc")["RDMA devices"]["cure"])

    def test_every_program_has_help_and_a_version(self):
        for program in ("vbn-info", "vbn-perf", "vbn-top"):
            text = run(program, "--help", code=0).stdout
            self.assertIn(f"usage: {program}", text)
            self.assertIn("--version", text)
            self.assertRegex(run(program, "--version", code=0).stdout, rf"\A{program} \d+\.\d+\.\d+\n\Z")


class Settings(unittest.TestCase):
    def test_all_settings_are_printed_with_the_values_in_force(self):
        rows = {row["key"]: row for row in json.loads(run("vbn-info", "--settings", "--json", code=0,
                                                          VBN_TL_TCP_PORT="4711").stdout)}
        root = pathlib.Path(__file__).resolve().parents[4]
        tables = [root / "native-core/config/settings.yaml", root / "mpi/config/settings.yaml"]
        keys = [key for table in tables for key in re.findall(r"(?m)^- \{key: ([a-z0-9_.]+)", table.read_text())]
        self.assertEqual(list(rows), keys)
        port = rows["tl.tcp.port"]
        self.assertEqual((port["value"], port["default"], port["env"], port["type"], port["range"]),
                         ("4711", "0", "VBN_TL_TCP_PORT", "int", "from 0 to 65535"))
        self.assertTrue(all(row["help"] for row in rows.values()))
        self.assertEqual(rows["log.level"]["range"], "error, warn, info, debug")

    def test_the_text_marks_what_is_not_the_default(self):
        text = run("vbn-info", "--settings", code=0, VBN_TL_TCP_PORT="4711").stdout
        self.assertIn("tl.tcp.port = 4711  # default: 0\n    VBN_TL_TCP_PORT; int: from 0 to 65535\n", text)
        self.assertIn("\nlink.rails = 1\n", text)


class NewKey(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "job.key"

    def test_a_key_is_random_and_only_its_owner_can_read_it(self):
        keys = set()
        for mask in (0o000, 0o277):
            self.path.unlink(missing_ok=True)
            before = os.umask(mask)
            run("vbn-info", "--new-key", str(self.path), code=0)
            os.umask(before)
            self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
            self.assertRegex(self.path.read_text(), r"\A[0-9a-f]{64}\n\Z")
            keys.add(self.path.read_text())
        self.assertEqual(len(keys), 2)

    def test_it_never_writes_over_a_file_nor_through_a_link(self):
        self.path.write_text("mine")
        link = self.path.with_name("link")
        link.symlink_to(self.path.with_name("nothing"))
        for path in (self.path, link):
            done = run("vbn-info", "--new-key", str(path), code=2)
            self.assertIn("is there already", done.stderr)
        self.assertEqual(self.path.read_text(), "mine")
        self.assertFalse(self.path.with_name("nothing").exists())

    def test_a_folder_that_is_missing_is_told(self):
        done = run("vbn-info", "--new-key", str(self.path / "key"), code=2)
        self.assertIn("No such file", done.stderr)

    def test_workers_with_that_key_meet_and_one_that_others_could_read_is_refused(self):
        run("vbn-info", "--new-key", str(self.path), code=0)
        listening = subprocess.Popen([os.path.join(BIN, "vbn-info"), "--listen", "--seconds", str(LIMIT), "--key", self.path],
                                     stdout=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(listening.stdout.close)
        self.addCleanup(listening.wait, LIMIT)
        self.addCleanup(listening.kill)
        address = listening.stdout.readline().strip()
        run("vbn-info", "--towards", address, "--key", str(self.path), code=0)
        self.path.chmod(0o640)
        run("vbn-info", "--towards", address, "--key", str(self.path), code=0)
        self.path.chmod(0o604)
        done = run("vbn-info", "--towards", address, "--key", str(self.path), code=2)
        self.assertIn("is mode 0604: others can read the key; run: chmod 600 ", done.stderr)

    def test_what_is_no_key_is_refused_with_the_command_that_makes_one(self):
        for text in ("", "0" * 63, "0" * 65, "g" * 64, "0" * 64 + "\nmore", "00 " * 32):
            self.path.write_text(text)
            self.path.chmod(0o600)
            done = run("vbn-info", "--listen", "--seconds", "1", "--key", str(self.path), code=2)
            self.assertIn("--new-key", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
