# SPDX-License-Identifier: Apache-2.0
"""The ./verbena command itself: help, wrong input, use from another folder and through a link; tests side by side."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBENA = ROOT / "verbena"
COMMANDS = ["demo", "test", "fuzz", "build", "bench", "doctor", "guest", "spark", "hadoop", "hbase", "memcached", "mpiexec", "oshrun", "clean"]


def run(*arguments, program=VERBENA, cwd=None):
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60)


class VerbenaTest(unittest.TestCase):
    def test_help_names_every_command(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for command in COMMANDS:
            self.assertIn(command, result.stdout)

    def test_every_command_has_help_of_its_own(self):
        for command in COMMANDS:
            with self.subTest(command):
                result = run(command, "--help")
                self.assertEqual(result.returncode, 0)
                self.assertIn(f"usage: ./verbena {command}", result.stdout)

    def test_help_of_demo_names_every_demonstration(self):
        text = run("demo", "--help").stdout
        for name in re.search(r"^    ([a-z| ]+)\)\n        \"demo_\$1\"$", VERBENA.read_text(), re.MULTILINE)[1].split(" | "):
            self.assertIn(f"./verbena demo {name}\n", text)
        self.assertIn("shmem", run("bench", "--help").stdout)

    def test_an_unknown_command_is_named_and_fails(self):
        result = run("frobnicate")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown command 'frobnicate'", result.stderr)

    def test_an_unknown_test_part_is_named_with_the_known_ones(self):
        result = run("test", "nosuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown part 'nosuch'", result.stderr)
        self.assertIn("core", result.stderr)

    def test_options_of_the_tests_are_taken_before_a_part_and_after_it(self):
        for words in (["--stress", "nosuch"], ["--full", "core", "--stress", "nosuch"]):
            self.assertIn("unknown part 'nosuch'", run("test", *words).stderr)
        self.assertIn("--stress", run("test", "--help").stdout)

    def test_a_bad_number_of_minutes_is_named_before_anything_is_built(self):
        result = run("fuzz", "tcp", "soon")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'soon' is not a number of minutes", result.stderr)

    def test_no_test_program_has_a_shorter_limit_of_its_own(self):
        """CMake's property would win over the limit that ./verbena gives to all."""
        for file in [*ROOT.glob("*/CMakeLists.txt"), *ROOT.glob("*/cmake/*.cmake"), *ROOT.glob("*/tests/*.cmake")]:
            self.assertNotRegex(file.read_text(), r"PROPERTIES[^)]*\bTIMEOUT\b", str(file))

    def test_it_works_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "v"
            link.symlink_to(VERBENA)
            result = run("test", "nosuch", program=link, cwd=folder)
            self.assertIn("unknown part 'nosuch'", result.stderr)


def script(folder, body):
    """The functions of ./verbena and then body, with its state in folder."""
    lines = [line for line in VERBENA.read_text().splitlines() if not line.startswith(("ROOT=", "main "))]
    text = f"ROOT={ROOT}\n" + "\n".join(lines) + f"\nSTATE={folder}\n{body}\n"
    return subprocess.Popen(["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ours may be ignored


class BuildTest(unittest.TestCase):
    def test_the_jar_of_one_system_is_built_without_the_others(self):
        for part, modules in (("spark", "spark-rdma-shuffle/dist"), ("hadoop", "hadoop-rdma/dist"), ("hbase", "hbase-rdma/dist")):
            with self.subTest(part), tempfile.TemporaryDirectory() as folder:
                output, _ = script(folder, f"""
                    ensure_packages() {{ :; }}
                    maven() {{ shift; echo "maven $*"; }}
                    cmd_build {part}""").communicate(timeout=60)
                self.assertIn(f" -pl {modules} -am\n", output)
                self.assertIn("verbena: built\n", output)

    def test_the_jars_get_the_library_for_aarch64_where_it_can_be_built(self):
        for can, told in (("true", "-Dverbena.native.aarch64={}/build/aarch64/libvbnjni.so"),
                          ("false", "nothing to build for aarch64 with (see {}/log/arm64.log")):
            with self.subTest(can), tempfile.TemporaryDirectory() as folder:
                started = script(folder, f"""
                    ensure_packages() {{ :; }}
                    ensure_cross() {{ {can}; }}
                    build_cross() {{ echo cross; }}
                    maven() {{ shift; echo "maven $*"; }}
                    cmd_build aarch64""")
                output, _ = started.communicate(timeout=60)
                self.assertIn(told.format(folder), output)
                self.assertEqual((started.returncode == 0, "cross\n" in output), (can == "true", can == "true"))

    def test_a_part_that_does_not_build_ends_the_build(self):
        for part in ("build_native", "maven", "build_memcached", "build_mpi"):
            with self.subTest(part), tempfile.TemporaryDirectory() as folder:
                started = script(folder, f"""
                    ensure_packages() {{ :; }}
                    for made in build_native maven build_memcached build_mpi; do eval "$made() {{ :; }}"; done
                    {part}() {{ false; }}
                    mkdir -p "$STATE/log" && touch "$STATE/log/build-java.log"
                    cmd_build""")
                output, _ = started.communicate(timeout=60)
                self.assertNotEqual(started.returncode, 0)
                self.assertNotIn("verbena: built", output)


class LanesTest(unittest.TestCase):
    def test_counts_of_lanes_are_added_and_their_lines_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                lane one suite one echo '3 passed, 0 failed, 1 skipped'
                lane two suite two sh -c 'echo "2 passed, 1 failed, 0 skipped"; exit 1'
                suite here echo '5 passed, 0 failed, 0 skipped'
                lane_end one
                lane_end two
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertIn("sum 10 1 1", output)
        for name in ("one", "two", "here"):
            self.assertIn(f"verbena: {name} ", output)

    def test_a_part_waits_for_its_own_lane_and_for_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                lane other sh -c 'until [ -e "$0/go" ]; do sleep 0.05; done' "$STATE"
                lane own suite own echo '3 passed, 0 failed, 0 skipped'
                lane_end own
                echo "so far $TESTS_PASSED"
                touch "$STATE/go"
                lane_end other
                echo "sum $TESTS_PASSED $TESTS_FAILED" """).communicate(timeout=60)
        self.assertIn("so far 3\nsum 3 0\n", output)

    def test_a_suite_says_how_much_processor_time_its_processes_took(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                echo 'while __import__("time").process_time() < 1.5: sum(range(100000))' >"$STATE/burn.py"
                suite busy sh -c '"$0" "$1"; echo "1 passed, 0 failed"' "$PYTHON" "$STATE/burn.py"
                """).communicate(timeout=60)
        self.assertRegex(output, r"busy +1 passed +0 failed +0 skipped +\d+ s +[1-9]\d* CPU s")

    def test_what_failed_in_a_suite_is_kept_for_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            script(folder, """
                suite good echo '1 passed, 0 failed'
                suite bad sh -c 'echo "x.cc:1: Failure"; echo "0 passed, 1 failed"; exit 1' """).communicate(timeout=60)
            told = (pathlib.Path(folder) / "log/failed").read_text()
        self.assertRegex(told, r"\Abad: x.cc:1: Failure\n(bad: .*\n)*bad: whole output: \S+/test-bad.log\n\Z")

    def test_a_suite_that_could_not_run_here_is_skipped_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                suite elsewhere sh -c 'echo much; echo no machine here; exit 77'
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertRegex(output, r"elsewhere +0 passed +0 failed +1 skipped .*\nno machine here\nsum 0 0 1\n")

    def test_a_lane_that_ends_early_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                lane lost exit 3
                lane_end lost
                echo "sum $TESTS_PASSED $TESTS_FAILED $TESTS_SKIPPED" """).communicate(timeout=60)
        self.assertIn("sum 0 1 0", output)
        self.assertIn("the tests 'lost' ended before they had counted", output)

    def test_lanes_end_with_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            started = script(folder, """
                lane long sleep 600
                echo "${LANES[0]}"
                wait """)
            lane = int(started.stdout.readline().split(":")[1])
            started.send_signal(signal.SIGTERM)
            started.communicate(timeout=60)
            await_end(self, lane)


class StressTest(unittest.TestCase):
    PARTS = """
        ensure_packages() { :; }
        test_core() { echo "core $MODEL $NAMED ${STRESS:+long}"; }
        test_java() { echo "java $MODEL $NAMED"; } """

    def _output(self, words):
        with tempfile.TemporaryDirectory() as folder:
            return script(folder, f"{self.PARTS}\nBUSY_COUNT=1\ncmd_test {words} || true").communicate(timeout=60)[0]

    def _parts(self, words):
        return sorted(line for line in self._output(words).split("\n") if line.startswith(("core ", "java ")))

    def test_under_stress_java_runs_with_the_costs_of_both_slower_hosts_and_the_core_with_all(self):
        self.assertEqual(self._parts("core java"), ["core near  ", "java near "])
        self.assertEqual(self._parts("core java --stress"), ["core near  long", "java far -far", "java slow -slow"])

    def test_parts_that_start_daemons_run_beside_those_that_compute(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, """
                ensure_packages() { :; }
                await() { for _ in $(seq 600); do [ ! -e "$STATE/$1" ] || return 0; sleep 0.1; done; return 1; }
                test_core() { touch "$STATE/core"; await java; suite core echo '2 passed, 0 failed'; }
                test_java() { touch "$STATE/java"; await core; suite java echo '3 passed, 1 failed'; }
                cmd_test core java; echo "status $?" """).communicate(timeout=120)
        self.assertIn("verbena: java run beside core\n", output)
        self.assertRegex(output, r"(?m)^verbena: core +2 passed +0 failed")
        self.assertRegex(output, r"(?m)^verbena: java +3 passed +1 failed")
        self.assertIn("5 passed, 1 failed, 0 skipped\n", output)

    def test_who_has_jars_open_waits_for_the_part_that_writes_them_where_it_runs_beside(self):
        for words, order in (("verbs java", ["java", "verbs"]), ("ohb java", ["ohb", "java"]), ("verbs", ["verbs"])):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                output, _ = script(folder, f"""
                    ensure_packages() {{ :; }}
                    test_java() {{ sleep 1; echo java; }}
                    for part in verbs ohb; do eval "test_$part() {{ echo $part; }}"; done
                    cmd_test {words}""").communicate(timeout=60)
                self.assertEqual([line for line in output.splitlines() if line in order], order)

    def _busy(self, folder, rest):
        """A script beside two busy processes, and these."""
        started = script(folder, f"busy_start 2\necho ${{BUSY[@]}}\n{rest}")
        groups = [int(word) for word in started.stdout.readline().split()]
        self.assertEqual(len(groups), 2)
        for group in groups:
            os.killpg(group, 0)
        return started, groups

    def test_busy_processes_compute_until_the_script_ends_however_it_does(self):
        for rest, signals in (("wait", (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)),
                              ("exit 0", (None,))):
            for number in signals:
                with self.subTest(number), tempfile.TemporaryDirectory() as folder:
                    started, groups = self._busy(folder, rest)
                    if number is not None:
                        os.killpg(started.pid, number)
                    started.communicate(timeout=60)
                    for group in groups:
                        await_end(self, group)

    def test_busy_processes_use_a_processor_each(self):
        with tempfile.TemporaryDirectory() as folder:
            started, groups = self._busy(folder, "wait")
            for group in groups:
                before = ticks(group)
                await_true(lambda: ticks(group) > before + 5)
            os.killpg(started.pid, signal.SIGKILL)
            started.communicate(timeout=60)


def ticks(pid):
    """Processor time that a process has taken."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return sum(int(word) for word in text.rpartition(")")[2].split()[11:13])


def await_true(condition):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("not within a minute")
        time.sleep(0.05)


def await_end(test, group):
    """Until the process group is gone."""
    with test.assertRaises(ProcessLookupError):
        await_true(lambda: os.killpg(group, 0))


if __name__ == "__main__":
    unittest.main()
