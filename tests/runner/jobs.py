# SPDX-License-Identifier: Apache-2.0
"""One product or suite as a process: its log, its processor seconds, its counts."""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import counts  # noqa: E402  (needs the path above)

CANNOT = 77  # exit status: it cannot run here; the last line says why
MATCHED_NOTHING = 2  # exit status of a program that was given a name
EXPORT = re.compile(r"^export (\w+)=(.*)$")
COUNT = re.compile(r"^(?:\d+: )?([A-Za-z][A-Za-z ]*): (\d+)$")
KILL_AFTER = 40  # seconds after which a process that was told to end is killed


@dataclasses.dataclass
class Result:
    """How an entry ended. state: passed, failed, skipped, unchanged; why: where there is more to say than the log;
    left: a line for each process that outlived it."""
    state: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    cpu: float = 0
    why: str = ""
    log: pathlib.Path = None
    exports: dict = dataclasses.field(default_factory=dict)
    left: list = dataclasses.field(default_factory=list)


def excess(entry, lines):
    """What of the counts that the output names is more than the table allows: one text for each."""
    found = {}
    for line in lines:
        if match := COUNT.match(line.strip()):
            found[match[1]] = found.get(match[1], 0) + int(match[2])
    texts = []
    for name, most in entry.holds.items():
        if name not in found:
            texts.append(f"{entry.name} printed no line '{name}: N'; tests/suites.yaml allows at most {most}")
        elif found[name] > most:
            texts.append(f"{entry.name}: {name} {found[name]}, and tests/suites.yaml allows {most}: lower the count, or raise "
                         "that limit")
    return texts


def cleared(environment):
    """Without what would run a part of a suite as if it were all of it."""
    return {key: value for key, value in environment.items()
            if not key.startswith(("GTEST_", "CTEST_")) and key != "VERBENA_TEST_FULL"}


class Job:
    """argv with env beside this process' own; the output goes to log."""

    def __init__(self, entry, argv, env, log, is_product=False, holds=True):
        self.entry, self.argv, self.env, self.log = entry, argv, env, log
        self.is_product, self.holds = is_product, holds
        self.process = None
        self.began = None
        self.ended_by = ""

    def run(self, exports):
        """Runs it to its end; the thread that calls stays until then. exports: variables that its products gave."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        used = self.log.with_name(self.log.name + ".cpu")
        used.unlink(missing_ok=True)
        self.began = time.monotonic()
        with open(self.log, "wb") as output:
            around = [sys.executable, HERE / "measured.py", used, str(self.entry.linger)]
            self.process = subprocess.Popen([*around, *map(str, self.argv)],
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                            env={**cleared(os.environ), **exports, **self.env}, start_new_session=True)
            if self.ended_by:  # before it had started
                self.process.terminate()
            status = self._wait()
        result = self._judge(status)
        result.seconds = time.monotonic() - self.began
        result.cpu = float(used.read_text()) if used.exists() else 0.0
        result.log = self.log
        result.left = [line for line in self._lines() if line.startswith("left behind and killed: ")]
        return result

    def _lines(self):
        return self.log.read_text(errors="replace").splitlines()

    def _wait(self):
        try:
            return self.process.wait(timeout=self.entry.limit)
        except subprocess.TimeoutExpired:
            self.stop(f"no end within {self.entry.limit} s")
        try:
            return self.process.wait(timeout=KILL_AFTER)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return self.process.wait()

    def stop(self, why):
        """Asks it to end, with all that it started."""
        self.ended_by = self.ended_by or why
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def _judge(self, status):
        lines = self._lines()
        if self.ended_by:
            return Result("failed", failed=1, why=self.ended_by)
        if status == MATCHED_NOTHING and not self.holds:
            return Result("failed", failed=1, why="the short form has no test of that name; run it with --full")
        if status == CANNOT and not counts.count(lines)[1]:
            return Result("skipped", skipped=int(not self.is_product), why=lines[-1] if lines else "it does not say why")
        over = excess(self.entry, lines) if self.holds and status == 0 else []
        if self.is_product:
            found = dict(match.groups() for line in lines if (match := EXPORT.match(line)))
            return Result("failed" if status or over else "passed", failed=int(bool(status or over)), exports=found,
                          why="; ".join(over) or (f"status {status}" if status else ""))
        return self._counted(status, lines, over)

    @staticmethod
    def _counted(status, lines, over):
        passed, failed, skipped = counts.count(lines)
        why = "; ".join(over)
        if status and not failed:
            failed, why = 1, why or f"status {status}, though no test of it failed"
        elif not passed and not failed and not skipped:
            failed, why = 1, "no test ran"
        return Result("failed" if failed or over else "passed", passed, failed + len(over), skipped, why=why)
