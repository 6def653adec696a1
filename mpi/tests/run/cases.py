# SPDX-License-Identifier: Apache-2.0
"""Named tests of a runner: listed, chosen by their names, run one after the other, each with the seconds it took."""
import dataclasses
import pathlib
import sys
import time
from collections.abc import Callable

from runner import Skipped

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "tests/lib"))
import program  # noqa: E402  (needs the path above)


@dataclasses.dataclass(frozen=True)
class Case:
    """A test: `run` takes the build folder and gives a list of what is wrong. long: only with --full or by its name."""
    name: str
    run: Callable
    long: bool = False


def run(case, build, tally):
    began, before = time.monotonic(), program.processor_seconds()
    try:
        problems = case.run(build)
    except Skipped as reason:
        tally.skip(case.name, reason)
        return
    tally.tell(case.name, problems, f"  ({time.monotonic() - began:.1f} s, {program.processor_seconds() - before:.1f} CPU s)")


def run_all(cases, build):
    """Ends with "N passed, N failed, N skipped"; gives the exit status."""
    tally = program.Tally()
    for case in cases:
        run(case, build, tally)
    return tally.end()


def main(text, cases):
    """Serves the command line of a runner; text: what it is for. Gives the exit status."""
    words = program.read(program.parser(text, build="the build folder of mpi/; --list looks at nothing in it"))
    by_name = {case.name: case for case in cases}
    usual = [case.name for case in cases if words.full or not case.long]
    return program.serve(words, lambda names: program.choose(list(by_name), names, usual),
                         lambda names: run_all([by_name[name] for name in names], words.build.resolve()))
