# SPDX-License-Identifier: Apache-2.0
"""Runs JUnit's console launcher in one JVM for a module."""
import collections
import os
import re
import shutil
import signal
import subprocess

import sources

LIMIT = 1800  # seconds for the tests of a module, also on a loaded machine
STACKS = 5  # seconds to print the stacks of its threads
CLASSPATH = "target/test.classpath"  # written by the build, see pom.xml
LAUNCHER = "org.junit.platform.console.ConsoleLauncher"


class Done(collections.namedtuple("Done", "status problem folder log output")):
    """problem: why it was ended, or None; folder: of the reports; output: lines of the log."""

    def tail(self, count):
        return [line.rstrip() for line in self.output[-count:]]


def _argv(module, tests, folder, full):
    with open(module.folder / CLASSPATH, encoding="utf-8") as file:
        path = [str(module.folder / "target/test-classes"), str(module.folder / "target/classes"), file.read().strip()]
    quick = [] if full else sources.setting(sources.ROOT, "test.quick").split()
    argv = ["java", *quick, *sources.setting(module.folder, "test.jvm").split(), "-cp", ":".join(path), LAUNCHER,
            "execute", "--disable-banner", "--disable-ansi-colors", "--details=none", f"--reports-dir={folder}"]
    argv += [f"--select-class={name}" for name in dict.fromkeys(test.name for test in tests)]
    return [*argv, f"--include-methodname=^(?:{'|'.join(_patterns(tests))})$"]


def _patterns(tests):
    """A class that is wanted whole is so whatever its methods look like to sources.py."""
    whole = sources.sizes()
    for name, count in collections.Counter(test.name for test in tests).items():
        if count == whole[name]:
            yield re.escape(name) + "#.*"
        else:
            yield from (re.escape(test.id) for test in tests if test.name == name)


def _environment(full):
    """SPARK_HOME would name another Spark than the one of the class path."""
    env = {key: value for key, value in os.environ.items() if key != "SPARK_HOME"}
    env["SPARK_LOCAL_IP"] = "127.0.0.1"
    if full:
        env["VERBENA_TEST_FULL"] = "1"
    return env


def _wait(process):
    """Why it had to be ended, or None."""
    try:
        process.wait(LIMIT)
        return None
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)  # a JVM prints its stacks
        try:
            process.wait(STACKS)
        except subprocess.TimeoutExpired:
            pass
        return f"its JVM still ran after {LIMIT} s"


def run(module, tests, full):
    folder = module.folder / "target/tests"
    log = folder / "output.log"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if not (module.folder / CLASSPATH).exists():
        return Done(1, "it is not built: run ./verbena build", folder, log, [])
    with open(log, "wb") as sink:
        process = subprocess.Popen(_argv(module, tests, folder, full), cwd=module.folder, env=_environment(full),
                                   stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True)
        try:
            problem = _wait(process)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also JVMs that the tests have started
            except ProcessLookupError:
                pass
            process.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        return Done(process.returncode, problem, folder, log, file.readlines())
