# SPDX-License-Identifier: Apache-2.0
"""An installed tree has all that a user needs: the examples are built against it by pkg-config and by find_package, with
the shared and the static library, and run. TOOLS: build folder. The tree is moved before it is used."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["TOOLS"])
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = ("pingpong", "put_get", "server", "client")
LIMIT = 250  # seconds for anything here
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(vbn 0.1 REQUIRED COMPONENTS shared static)
foreach(name pingpong put_get server client)
    add_executable(${name}-shared ${EXAMPLES}/${name}.c)
    target_link_libraries(${name}-shared PRIVATE vbn::vbn)
    add_executable(${name}-static ${EXAMPLES}/${name}.c)
    target_link_libraries(${name}-static PRIVATE vbn::vbn_static)
endforeach()
"""


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))} gave {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def cached(name):
    """A value of the build's configuration."""
    return re.search(rf"(?m)^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text())[1]


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        call("cmake", "--install", BUILD, "--prefix", cls.root / "first")
        cls.prefix = (cls.root / "first").rename(cls.root / "moved here")
        cls.libraries = next(cls.prefix.rglob("libvbn.a")).parent
        cls.compiler = cached("CMAKE_C_COMPILER")
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("VBN_")}
        cls.environment["PKG_CONFIG_PATH"] = str(cls.libraries / "pkgconfig")
        # Debian's pkg-config does not know that ${pcfiledir} may hold blanks; find_package copes.
        cls.plain = (cls.root / "plain")
        cls.plain.symlink_to(cls.prefix)
        cls.environment["PKG_CONFIG_PATH"] = str(cls.plain / cls.libraries.relative_to(cls.prefix) / "pkgconfig")

    def run_pair(self, programs, first, second, library_path=None):
        """Output of the second program, which gets what the first one printed as its arguments, and of the first one."""
        environment = dict(self.environment, **({"LD_LIBRARY_PATH": str(library_path)} if library_path else {}))
        key = self.root / "job.key"
        if not key.exists():
            call(self.prefix / "bin/vbn-info", "--new-key", key, env=environment)
        name, lines = first
        serving = subprocess.Popen([programs[name], key], stdout=subprocess.PIPE, text=True, env=environment)
        try:
            words = [serving.stdout.readline().strip() for _ in range(lines)]
            answer = call(programs[second[0]], key, *words, *second[1:], env=environment)
            if name == "server":
                serving.terminate()
            rest, _ = serving.communicate(timeout=LIMIT)
        finally:
            serving.kill()
            serving.wait()
            serving.stdout.close()
        self.assertEqual(serving.returncode, 0, name)
        return answer, rest

    def run_all(self, programs, library_path=None):
        answer, _ = self.run_pair(programs, ("pingpong", 1), ("pingpong",), library_path)
        self.assertRegex(answer, r"\A1000 round trips of \d+ ns over shm: .*\(ready\)\n\Z")
        answer, rest = self.run_pair(programs, ("put_get", 2), ("put_get",), library_path)
        self.assertEqual((answer, rest), ("read back: written from afar\n", "written from afar, counted 1\n"))
        answer, _ = self.run_pair(programs, ("server", 1), ("client", "hello", "", "w" * 100000), library_path)
        self.assertEqual(answer, "HELLO\n\n" + "W" * 100000 + "\n")

    def compile(self, package, name, kind):
        flags = shlex.split(call("pkg-config", "--cflags", "--libs", package, env=self.environment))
        program = self.root / f"{name}-{kind}"
        call(self.compiler, "-O2", "-Wall", "-Wextra", "-Werror", EXAMPLES / f"{name}.c", "-o", program, *flags)
        return program

    def test_pkg_config_finds_the_shared_library(self):
        programs = {name: self.compile("vbn", name, "pc-shared") for name in PROGRAMS}
        self.assertIn("libvbn.so.0", call("readelf", "-d", programs["client"]))
        self.run_all(programs, self.libraries)

    def test_pkg_config_finds_the_static_library(self):
        programs = {name: self.compile("vbn-static", name, "pc-static") for name in PROGRAMS}
        self.assertNotIn("libvbn", call("readelf", "-d", programs["client"]))
        self.run_all(programs)

    def test_find_package_finds_both(self):
        source, build = self.root / "source", self.root / "build"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(PROJECT)
        call("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DEXAMPLES={EXAMPLES}",
             f"-DCMAKE_C_COMPILER={self.compiler}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", env=self.environment)
        call("cmake", "--build", build)
        for kind in ("shared", "static"):
            self.run_all({name: build / f"{name}-{kind}" for name in PROGRAMS})

    def test_a_component_that_is_not_there_is_named(self):
        source = self.root / "strange"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(user LANGUAGES NONE)\n"
                                               "find_package(vbn REQUIRED COMPONENTS shared chrome)\n")
        done = subprocess.run(["cmake", "-S", source, "-B", source / "b", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
                              capture_output=True, text=True, timeout=LIMIT)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'chrome'", done.stderr)

    def test_programs_header_settings_and_examples_are_installed(self):
        for program in ("vbn-info", "vbn-perf", "vbn-top"):
            self.assertIn(program, call(self.prefix / "bin" / program, "--version", env=self.environment))
        self.assertTrue((self.prefix / "include/vbn/vbn.h").is_file())
        settings = (self.prefix / "share/doc/vbn/settings.md").read_text()
        self.assertIn("| `tl.tcp.port` |", settings)
        for path in EXAMPLES.iterdir():
            installed = self.prefix / "share/doc/vbn/examples" / path.name
            self.assertEqual(installed.read_text(), path.read_text())

    @unittest.skipIf(cached("VBN_SANITIZE"), "sanitizers want their objects as they are")
    def test_the_static_library_defines_no_name_that_a_program_may_have(self):
        lines = call("nm", "--defined-only", "--extern-only", self.libraries / "libvbn.a").splitlines()
        names = {line.split()[2] for line in lines if len(line.split()) == 3}
        self.assertIn("vbn_open", names)
        self.assertEqual({name for name in names if not name.startswith("vbn_")}, set())

    def test_the_libraries_have_the_transports_that_tl_enable_names_and_none_of_the_tests(self):
        settings = (self.prefix / "share/doc/vbn/settings.md").read_text()
        enabled = re.search(r"(?m)^\| `tl\.enable` \|.*\| string \| `([a-z,]+)`", settings)[1]
        for library in (self.libraries / "libvbn.a", self.libraries / "libvbn.so"):
            lines = call("nm", "--defined-only", library).splitlines()
            names = {line.split()[2] for line in lines if len(line.split()) == 3}
            tables = {found[1] for found in (re.fullmatch(r"tl_(\w+)_ops", name) for name in names) if found}
            self.assertEqual(tables, set(enabled.split(",")), library)
            self.assertEqual({name for name in names if name.startswith("sim_")}, set(), library)

    def test_no_installed_text_names_the_place_where_it_was_built(self):
        for path in [*self.prefix.rglob("*.pc"), *self.prefix.rglob("*.cmake")]:
            text = path.read_text()
            self.assertNotIn(str(BUILD), text, path)
            self.assertNotIn(str(self.root / "first"), text, path)


class Examples(unittest.TestCase):
    def test_each_has_at_most_a_hundred_lines(self):
        for path in EXAMPLES.glob("*.[ch]"):
            self.assertLessEqual(len(path.read_text().splitlines()), 100, path.name)

    def test_pkg_config_is_here(self):
        self.assertIsNotNone(shutil.which("pkg-config"), "install pkg-config (./verbena test does)")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
