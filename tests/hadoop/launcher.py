# SPDX-License-Identifier: Apache-2.0
"""Runs suites of JUnit beside the jars of Hadoop: its own contract tests of file systems."""
import os
import pathlib
import re
import subprocess

from cluster import java
from daemons.errors import Failed

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 1800  # seconds for all suites of one call
LOADED = "classes.log"  # those that the JVM of the suites has loaded
LOG4J = """log4j.rootLogger=ERROR,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
log4j.logger.org.verbena=INFO
"""


def beside():
    """The folder with the jars that the tests need beside Hadoop's."""
    return java.jars.fetched(f"hadoop-contract-{java.VERSION}", str(HERE / "contract/pom.xml"))


def compiled(classes, *sources):
    """Compiles files of tests; gives the names of their classes. Nested ones are those of a file that only keeps them together."""
    os.makedirs(classes, exist_ok=True)
    path = f"{java.library()}/*:{beside()}/*"
    # An empty sourcepath: the jars with Hadoop's own sources are no sources of these tests.
    argv = ["javac", "-nowarn", "-sourcepath", str(classes), "-d", str(classes), "-cp", path, *map(str, sources)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Failed(f"the contract tests do not compile with Hadoop {java.VERSION}:\n{done.stdout}")
    names = []
    for source in map(pathlib.Path, sources):
        nested = re.findall(r"^    public static class (\w+)", source.read_text(encoding="utf-8"), re.M)
        names += [f"{source.stem}${name}" for name in nested] or [source.stem]
    return names


def hadoops_tests():
    """Jars with tests that Hadoop was released with. They go before Hadoop's own jars, as they have protocols of their own."""
    return [f"{beside()}/hadoop-{name}-{java.VERSION}-test-sources.jar" for name in ("hdfs", "common")]


def run(folder, places, classes):
    """All that the suites say. folder: of site files, and where they work; places: what goes before Hadoop's jars."""
    (folder / "log4j.properties").write_text(LOG4J)
    path = ":".join([str(folder), os.environ["VERBENA_HADOOP_JAR"], *map(str, places), f"{java.library()}/*", f"{beside()}/*"])
    argv = ["java", "-Xmx1g", *java.QUICK, *java.OPENS, f"-Dtest.build.data={folder / 'data'}", "-cp", path,
            f"-Xlog:class+load:file={folder / LOADED}::filesize=0",
            "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors",
            "--details=tree",
            "--config=junit.jupiter.execution.timeout.mode=disabled",  # a busy machine is slower than a test expects
            *(f"--select-class={one}" for one in classes)]
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=LIMIT, check=False)
    return done.stdout


def failed(output):
    """Names of the tests that failed."""
    return set(re.findall(r"JUnit \w+:\w+:(\w+)", output))


def loaded(folder, name):
    """Whether the suites that ran last have used a class."""
    return f" {name} source:" in (folder / LOADED).read_text(encoding="utf-8")


def count(output, what):
    """A number of the summary: tests that have started, failed, were aborted."""
    return int(re.search(rf"\[ *(\d+) tests {what}", output).group(1))


def told(output):
    """What JUnit and the plugin say, without the traces of faults that the tests provoke."""
    return "\n".join([line for line in output.split("\n") if re.search(r"\[X\]|=> |\[ *\d+ tests|erbena", line)][-60:])
