# SPDX-License-Identifier: Apache-2.0
"""tests/command/packages.sh: what is missing is installed where that can be, else told in one line, and what is there is used."""
import pathlib
import re
import sys
import tempfile
import unittest

import command

ROOT = command.ROOT
TABLE = ROOT / "tests/command/packages.table"
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
DEBIAN = {row[3] for row in ROWS}
BASIC = ["native", "tables", "rdma", "tests", "java", "downloads", "spark", "results"]
NO_ROOT = """
id() { echo 1000; }
sudo() { false; }
apt-get() { echo "apt-get $*" >>"$STATE/calls"; }
"""


def missing(*ways):
    """Lines after which these ways of the table find nothing, and all others do."""
    return "is_there() { case $1 in " + "".join(f"'{way}') return 1 ;; " for way in ways) + "esac; }\n"


class Case(unittest.TestCase):
    def run_lines(self, *lines, **environment):
        with tempfile.TemporaryDirectory(prefix="verbena packages ") as folder:
            state = pathlib.Path(folder) / "state"
            status, output = command.run(folder, "\n".join(lines), VERBENA_NO_APT=environment.pop("no_apt", ""), **environment)
            self.calls = (state / "calls").read_text().splitlines() if (state / "calls").exists() else []
            return status, output


class WithoutRootTest(Case):
    def test_one_line_names_all_and_what_is_there_is_used(self):
        status, output = self.run_lines(NO_ROOT, missing("module:matplotlib", "program:shellcheck", "program:qemu-system-x86_64"),
                                        "ensure_packages", "try_packages shellcheck || echo without", "require native", "echo on")
        told, *rest = output.splitlines()
        self.assertEqual((status, rest), (0, ["without", "on"]))
        self.assertIn("missing here: matplotlib; installing takes root or sudo.", told)
        self.assertIn(" apt-get update && apt-get install -y --no-install-recommends "
                      "python3-matplotlib qemu-system-x86 shellcheck. ", told)
        self.assertEqual(self.calls, [])

    def test_what_cannot_go_on_without_one_ends_with_a_line_that_names_it_and_the_cure(self):
        status, output = self.run_lines(NO_ROOT, missing("program:ninja"), "ensure_packages", "require results", "require native",
                                        "echo on")
        self.assertEqual((status, len(output.splitlines())), (1, 2), output)
        self.assertIn("cannot go on without Ninja: install ninja-build (", output)

    def test_a_package_that_a_command_asks_for_is_needed(self):
        status, output = self.run_lines(NO_ROOT, missing("program:memcached"), "ensure_packages memcached", "echo on")
        self.assertEqual(status, 1)
        self.assertIn("cannot go on without memcached: install memcached", output.splitlines()[-1])

    def test_nothing_is_told_where_nothing_is_missing(self):
        self.assertEqual(self.run_lines(NO_ROOT, missing(), "ensure_packages memcached @guest", "require native"), (0, ""))


class InstalledTest(Case):
    ROOT_LINES = 'id() { echo 0; }\napt-cache() { echo "Package: x"; }\n'

    def test_root_installs_what_is_missing(self):
        status, output = self.run_lines(self.ROOT_LINES, """
            apt-get() { echo "apt-get $*" >>"$STATE/calls"; }
            is_there() { [ "$1" != program:cmake ] || grep -qs install "$STATE/calls"; }
            ensure_packages""")
        self.assertEqual((status, output), (0, "verbena: installing Debian packages: cmake\n"))
        self.assertEqual([re.sub(r"-o \S+ ", "", call) for call in self.calls],
                         ["apt-get update -q", "apt-get install -y --no-install-recommends cmake"])

    def test_without_a_network_the_line_says_so_and_what_is_there_is_used(self):
        status, output = self.run_lines(self.ROOT_LINES, """
            apt-get() { echo "E: Temporary failure resolving 'deb.debian.org'"; return 100; }""", missing("program:shellcheck"),
                                        "try_packages shellcheck || echo without")
        self.assertEqual((status, output.splitlines()[-1]), (0, "without"))
        self.assertRegex(output, r"could not install: E: Temporary failure resolving 'deb.debian.org' .*check the network")

    def test_of_two_starts_at_once_the_second_finds_what_the_first_has_installed(self):
        """The list is looked at again when apt is free."""
        _, output = self.run_lines(self.ROOT_LINES, """
            alone() { touch "$STATE/there"; shift; "$@"; }
            apt-get() { echo "apt-get $*" >>"$STATE/calls"; }
            is_there() { [ -e "$STATE/there" ] || [ "$1" != program:cmake ]; }
            ensure_packages && echo on""")
        self.assertEqual((output, self.calls), ("on\n", []))


class OtherSystemTest(Case):
    def other(self, release, *lines, **environment):
        return self.run_lines(NO_ROOT, f"OS_RELEASE=\"$STATE/release\"; printf '{release}' >\"$OS_RELEASE\"", *lines, **environment)

    def test_apt_is_not_asked_where_it_is_not_wanted(self):
        status, output = self.run_lines("apt-get() { echo CALLED; }\napt-cache() { echo CALLED; }", missing("program:shellcheck"),
                                        "ensure_packages", "try_packages shellcheck || echo without", no_apt="1")
        self.assertEqual((status, output.splitlines()[-1]), (0, "without"))
        self.assertNotIn("CALLED", output)
        self.assertIn("packages are installed by hand on this system", output)

    def test_the_names_are_those_of_the_system(self):
        for release, wanted in (("ID=rocky\\nID_LIKE=\"rhel centos fedora\"\\n", "dnf install -y openssl-devel"),
                                ("ID=sles\\nID_LIKE=suse\\n", "zypper install -y libopenssl-3-devel"),
                                ("ID=ubuntu\\nID_LIKE=debian\\n", "--no-install-recommends libssl-dev")):
            with self.subTest(release):
                status, output = self.other(release, missing("library:openssl"), "ensure_packages", "require native", no_apt="1")
                self.assertEqual(status, 1)
                self.assertIn(f"{wanted}. ", output)
                self.assertIn("cannot go on without OpenSSL 3: install " + wanted.split()[-1], output)

    def test_a_thing_without_a_package_is_installed_by_hand(self):
        status, output = self.other("ID=rhel", missing("file:/usr/aarch64-linux-gnu/lib/libc.so.6"), "ensure_packages @aarch64",
                                    no_apt="1")
        self.assertEqual(status, 1)
        self.assertIn("cannot go on without libc for aarch64: install it by hand", output)

    def test_it_works_where_neither_apt_nor_dpkg_is(self):
        """Whatever of them is here is hidden."""
        status, output = self.run_lines("hash -r; command() { [ \"$2\" != apt-get ] && builtin command \"$@\"; }",
                                        missing("program:mvn"), "ensure_packages", "require native", "echo on")
        self.assertEqual((status, output.splitlines()[-1]), (0, "on"), output)
        self.assertIn("missing here: Maven; packages are installed by hand on this system", output)


class NamesOfTestsTest(Case):
    """./verbena test NAME installs what reads the names, and no more before it has read them."""
    CALLS = "id() { echo 0; }\nsay() { :; }\nas_root() { echo \"$*\" >>\"$STATE/calls\"; }\n"
    CHECK = ("eval \"$(sed -n '/^check_names()/,/^}/p' \"$ROOT/verbena\")\"",)

    def check(self, hidden, *words, more=""):
        return self.run_lines(self.CALLS, hidden, more, *self.CHECK, f"check_names {' '.join(words)}", "echo on")

    def test_a_name_of_no_test_ends_it_before_packages_are_installed(self):
        status, output = self.check(missing("program:ninja"), "nosuch")
        self.assertEqual((status, self.calls), (2, []), output)
        self.assertIn("verbena: test: nothing is named 'nosuch': no part, no suite, no test", output)

    def test_a_name_of_a_test_goes_on(self):
        for word in ("core", "mpi-unit", "NamesOfTestsTest", "--quick"):
            self.assertEqual(self.check(missing("program:ninja"), word), (0, "on\n"))
        self.assertEqual(self.calls, [])

    def test_without_what_reads_the_table_that_alone_is_installed(self):
        self.check(missing("program:ninja", "module:yaml"), "nosuch", more="has_apt() { true; }")
        self.assertEqual([line.split()[-1] for line in self.calls if " install " in line], ["python3-yaml"])

    def test_where_nothing_is_missing_the_runner_reads_the_names(self):
        self.assertEqual(self.check(missing(), "nosuch"), (0, "on\n"))


class FoundTest(Case):
    def test_a_thing_is_found_by_what_it_brings(self):
        lines = ["read_needs", "look_for_modules",
                 "for way in program:bash library:nosuch file:/nosuch,/* module:nosuch program:nosuch,sh; do",
                 "is_there $way && echo $way", "done; true"]
        self.assertEqual(self.run_lines(*lines)[1].split(), ["program:bash", "file:/nosuch,/*", "program:nosuch,sh"])

    def test_a_file_that_cannot_be_run_is_no_program(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "frob").touch()
            lines = [f"PATH='{folder}':$PATH", "is_there program:frob || echo missing", f"chmod 755 '{folder}/frob'",
                     "is_there program:frob && echo there"]
            self.assertEqual(self.run_lines(*lines), (0, "missing\nthere\n"))

    def test_a_module_of_python_is_found_without_loading_it(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "one_v.py").write_text("raise SystemExit('loaded')")
            (pathlib.Path(folder) / "two_v").mkdir()  # a folder is no module
            output = self.run_lines("NEEDS=('x|x|module:one_v|x|x|x' 'y|x|module:two_v|y|y|y')", "missing_rows",
                                    PYTHONPATH=folder)[1]
        self.assertEqual(output, "y|x|module:two_v|y|y|y\n")


class TableTest(Case):
    def test_each_row_is_whole_and_no_package_stands_there_for_two_kinds(self):
        for row in ROWS:
            self.assertEqual((len(row), "" in row), (6, False), row)
            self.assertRegex(row[2], r"^(program|library|module|file|fuzzer):\S+$")
        self.assertEqual(len(DEBIAN), len(ROWS))
        self.assertEqual([kind for kind in BASIC if kind not in {row[1] for row in ROWS}], [])

    def test_whatever_a_command_asks_for_stands_in_the_table(self):
        names = set()
        for name in ("verbena", "tests/runner/products.sh"):
            for words in re.findall(r"(?:try|ensure)_packages ([^;&|)\\\n]+)", (ROOT / name).read_text()):
                names |= {word for word in words.split() if not word.startswith(('"', "#", "}", "<"))}
        self.assertTrue(names)
        kinds = {f"@{row[1]}" for row in ROWS}
        self.assertEqual(names - DEBIAN - kinds, set())

    def test_the_packages_of_guests_are_those_that_the_harness_looks_for(self):
        sys.path.insert(0, str(ROOT / "tests/guest"))
        from vm import errors
        essential = {"dpkg", "util-linux", "coreutils"}
        self.assertEqual(set(errors.PACKAGES.values()) - DEBIAN, essential)

    def test_the_page_shows_the_table(self):
        rows = [f"| {what} | {kind} | {debian} | {redhat} | {suse} |"
                for what, kind, _, debian, redhat, suse in ROWS]
        _, _, page = (ROOT / "docs/install.md").read_text().partition("| software | for |")
        shown = [line for line in page.splitlines() if line.startswith("| ")]
        self.assertEqual(shown, [row.replace("@CLANG@", "N").replace("/", " or ") for row in rows])

    def test_the_list_has_each_package_and_marks_the_missing_ones(self):
        hidden = missing("program:valgrind", "program:qemu-system-x86_64")
        apt = 'apt-cache() { echo "Package: x"; }\n'
        _, output = self.run_lines(apt, hidden, "OS_RELEASE=/nosuch; cmd_packages")
        lines = output.splitlines()
        self.assertEqual(len(lines), len(ROWS) + 2)
        self.assertEqual([line.split()[0] for line in lines if " missing " in line and not line.startswith("verbena")],
                         ["valgrind", "qemu-system-x86"])
        self.assertTrue(lines[-1].endswith("apt-get install -y --no-install-recommends qemu-system-x86 valgrind"), lines[-1])
        self.assertEqual(self.run_lines(apt, hidden, "OS_RELEASE=/nosuch; cmd_packages --missing"),
                         (0, "qemu-system-x86\nvalgrind\n"))


if __name__ == "__main__":
    unittest.main()
