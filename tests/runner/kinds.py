# SPDX-License-Identifier: Apache-2.0
"""The two kinds of suites: how the tests in one are listed, and how some of them are run.

program: any program that takes --list and names (tests/README.md has the protocol). ctest: GoogleTest programs of a build
folder, which ctest runs; their tests are read from the sources, so that nothing has to be built to find one.
"""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import program  # noqa: E402  (needs the path above)

PROGRAM_LIMIT = 1200  # seconds for one program of ctest: it ends one that hangs, and none on a loaded machine
SCRIPT = re.compile(r"^class (\w+)|^    def (test_\w+)", re.M)
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)", re.M)


class NoList(Exception):
    """A program does not tell its tests; the text says why."""


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What runs some tests of a suite. targets: all that has to be built for it; empty: as for the whole suite."""
    argv: list
    env: dict
    targets: list


def fill(words, places):
    return [word.format(**places) for word in words]


def environment(suite, places):
    return {key: value.format(**places) for key, value in suite.env.items()}


# ------------------------------------------------------------------------------------------------- program

def program_command(suite, places, names=()):
    return fill(suite.run, places) + list(names)


def program_list(suite, places):
    """Ids of the tests, by the program itself. Raises NoList."""
    argv = program_command(suite, places, ["--list"])
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                              env={**os.environ, "VERBENA_TEST_FULL": "1", **environment(suite, places)})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoList(str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-200:]
        raise NoList(f"{suite.name} does not list its tests (status {done.returncode}): {said}")
    return done.stdout.splitlines()


def program_sources(suite, places):
    """Ids of the unittests in the folders that a program's command line names."""
    folders = [pathlib.Path(word) for word in program_command(suite, places)]
    return [f"{path.stem}.{group}.{name}" for folder in folders if folder.is_dir()
            for path in sorted(folder.glob("test_*.py")) for group, name in tests_of(path)]


# --------------------------------------------------------------------------------------------------- ctest

def ctest_command(suite, places, programs=()):
    how = suite.ctest
    chosen = ["-R", rf"^({'|'.join(programs)})$"] if programs else how.get("select", [])
    stress = ["-C", "stress"] if places["stress"] and not programs else []
    return ["ctest", "--test-dir", f"{places['state']}/build/{how['build']}", "-V", "--timeout", str(PROGRAM_LIMIT),
            "--no-tests=error", *chosen, *stress]


def programs_of(suite, root):
    """Yields (program, its target, source) by the folder conventions that the suite's table gives: [pattern of the file's name,
    program, target, and maybe a pattern that a line of the file has to have]."""
    for folder in suite.ctest["tests"]:
        for source in sorted((root / folder).rglob("*.*")):
            for pattern, program, target, *lines in suite.ctest["programs"]:
                match = re.fullmatch(pattern, source.relative_to(root / folder).as_posix())
                if match and all(re.search(line, source.read_text(errors="replace"), re.M) for line in lines):
                    yield match.expand(program), match.expand(target), source


def tests_of(source):
    """Yields (class, function) of a file with GoogleTest's tests, or of a script with unittest's."""
    text = source.read_text(errors="replace")
    if source.suffix == ".cc":
        yield from TEST.findall(text)
    elif source.suffix == ".py":
        group = ""
        for new, name in SCRIPT.findall(text):
            group = new or group
            if name:
                yield group, name


def ctest_list(suite, root):
    """{id: (program, target, whether it takes GTEST_FILTER)}; an id is a program, or program.Suite.name."""
    found = {}
    for program, target, source in programs_of(suite, root):
        facts = (program, target, source.suffix == ".cc")
        found[program] = facts
        found.update({f"{program}.{group}.{name}": facts for group, name in tests_of(source)})
    return found


def ctest_chosen(suite, places, root, ids):
    known = ctest_list(suite, root)
    programs = list(dict.fromkeys(known[one][0] for one in ids))
    targets = list(dict.fromkeys(known[one][1] for one in ids))
    functions = [one.split(".", 1)[1] for one in ids if "." in one]
    env = environment(suite, places)
    if all("." in one and known[one][2] for one in ids):
        env["GTEST_FILTER"] = ":".join(f"{name}:{name}/*:*/{name}/*" for name in functions)
    return Chosen(ctest_command(suite, places, programs), env, [] if "" in targets else targets)


# --------------------------------------------------------------------------------------------- either kind

def listed(suite, places, root):
    """Ids of a suite's tests. Raises NoList."""
    return list(ctest_list(suite, root)) if suite.kind == "ctest" else program_list(suite, places)


def whole(suite, places):
    if suite.kind == "ctest":
        return Chosen(ctest_command(suite, places), environment(suite, places), [])
    return Chosen(program_command(suite, places, suite.whole), environment(suite, places), [])


def some(suite, places, root, names):
    """What runs the tests that names mean; each of them means some."""
    if suite.kind == "program":
        return Chosen(program_command(suite, places, names), environment(suite, places), [])
    chosen = program.choose(listed(suite, places, root), names)
    whole_programs = [one for one in chosen if "." not in one]
    return ctest_chosen(suite, places, root, [one for one in chosen if "." not in one or one.split(".")[0] not in whole_programs])
