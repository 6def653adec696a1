# SPDX-License-Identifier: Apache-2.0
"""What a run prints: a line for each entry that ended, what failed and the line that runs it alone, budgets, and the sums."""
import re
import shlex
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import failures  # noqa: E402  (needs the path above)

FAILED = [  # how the runners name a failed test, and which words name it to ./verbena test
    (re.compile(r"^\[  FAILED  \] (?:\w+/)?(\w+\.\w+)(?:/\S+?)?(?:,| \(|$)"), "{0}"),  # GoogleTest
    (re.compile(r"^(?:FAIL|ERROR): setUpClass \((?:\S+\.)?(\w+)\)"), "{0}"),
    (re.compile(r"^(?:FAIL|ERROR): (\w+) \((?:\S+\.)?(\w+)\.\1\)"), "{1}.{0}"),  # unittest of Python 3.11
    (re.compile(r"^(?:FAIL|ERROR): (\w+) \((?:\S+\.)?(\w+)\)"), "{1}.{0}"),  # unittest of older ones
    (re.compile(r"^\[ERROR\] {2,3}(?:\w+\.)*?([A-Z]\w+)[.:](\w+)"), "{0}#{1}"),  # Surefire
    (re.compile(r"^FAIL (.+?)(?:  +\(.*\))?$"), "{0}"),  # our own runners
    (re.compile(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|Subprocess|SEGFAULT|Not Run|.*Exception)"), "{0}"),  # ctest
]
MOST = 12  # lines to paste of one suite


def failed_names(lines):
    """What to give to ./verbena test for each test that failed, in order, each once; programs only where no test is named."""
    names, programs = [], []
    for line in lines:
        line = re.sub(r"^\d+: ", "", line.rstrip("\n"))
        for pattern, form in FAILED:
            if match := pattern.match(line):
                found = form.format(*match.groups())
                kept = programs if pattern is FAILED[-1][0] else names
                if found not in kept:
                    kept.append(found)
                break
    return names or programs


def line_of(name, result):
    """The line of one entry."""
    title = f"verbena: {name:<22}"
    if result.state == "unchanged":
        return f"{title} unchanged since it passed ({result.why})"
    if result.state == "skipped" and result.log is None:
        return f"{title} skipped: {result.why}"
    return (f"{title} {result.passed:5d} passed {result.failed:3d} failed {result.skipped:3d} skipped "
            f"{result.seconds:5.0f} s {result.cpu:5.0f} CPU s")


def product_line(name, result):
    """The line of a product: that it stands, that it cannot be had here, or that it failed."""
    if result.state == "passed":
        return f"verbena: {name:<22} built {result.seconds:43.0f} s {result.cpu:5.0f} CPU s"
    if result.state == "skipped":
        return f"verbena: {name:<22} cannot be had here: {result.why}"
    return f"verbena: {name:<22} FAILED: {result.why}"


def problem(name, result, job, flags=""):
    """What a failed job leaves to be read at the end of the run. flags: of the run, where one needs them again."""
    if result.log is None or not result.log.exists():
        return [f"{name}: {result.why}"]
    lines = result.log.read_text(errors="replace").splitlines()
    told = [result.why] if result.why else []
    told += failures.failures(lines) if not job.is_product else lines[-40:]
    told += [f"whole output: {result.log}"]
    if not job.is_product:
        suite = job.entry.name
        told += [f"alone: ./verbena test{flags} {shlex.quote(f'{suite}:{one}')}" for one in failed_names(lines)[:MOST]] or \
                [f"alone: ./verbena test{flags} {suite}"]
    return [f"{name}: {line}" for line in told]


def over_budget(entries, results):
    """A text for each entry that took more processor seconds than its budget."""
    return [f"{name} took {results[name].cpu:.0f} CPU s, its budget in tests/suites.yaml is {entries[name].budget}"
            for name in results if entries[name].budget and results[name].cpu > entries[name].budget]


def last_line(results):
    """The sums, alone on their line: people and programs read it."""
    passed, failed, skipped = (sum(getattr(result, word) for result in results) for word in ("passed", "failed", "skipped"))
    return f"{passed} passed, {failed} failed, {skipped} skipped"
