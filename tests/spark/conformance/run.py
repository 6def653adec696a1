#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Apache Spark's own test suites, from the test jars that Spark publishes, with Verbena's shuffle.

usage: run.py [--stock] [--full] [SUITE ...]   (SUITE: a key of SUITES, or any class name with its package)
Prints one line per suite and at the end "N passed, M failed, K skipped". Needs SPARK_HOME, javac and Maven.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "ohb"))

from driver import procs  # noqa: E402  (needs the path above)
from sides import spark  # noqa: E402

LIMIT = 1500  # seconds for one suite
OURS = "org.verbena.spark.conformance."
SUITES = {"shuffle": OURS + "VShuffleSuite", "pairs": OURS + "VPairRDDFunctionsSuite",
          "sorting": OURS + "VSortingSuite", "failure": "org.apache.spark.FailureSuite",
          "broadcast": "org.apache.spark.broadcast.BroadcastSuite",
          "host-local": "org.apache.spark.shuffle.HostLocalShuffleReadingSuite",
          "shuffle-remote": OURS + "VShuffleRemoteSuite", "distributed": "org.apache.spark.DistributedSuite",
          "cleaner": "org.apache.spark.ContextCleanerSuite",
          "decommission": "org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite"}
DEFAULT = ("shuffle", "pairs", "sorting", "failure", "broadcast", "host-local", "distributed")
# Of suites that take long, the tests that run without --full: those that move data through the plugin between executors.
SHORT = {SUITES["distributed"]: ("groupByKey", "broadcast", "recover from"),
         SUITES["broadcast"]: ("local cluster", "distributed mode", "multiple threads")}
# Tests of Spark that look into the stock shuffle (its files by name, its classes): part of the test's name, and which test
# of ours (spark-rdma-shuffle/it, tests/spark/it) states the same about slabs. Other suites of Spark that make stock classes themselves
# (SortShuffleManagerSuite, *ShuffleWriterSuite, IndexShuffleBlockResolverSuite, ...) say nothing about a plugin.
WHITE_BOX = {
    "cannot find its local shuffle file": "LostOutputTest: a lost map output, an output before its stage ran",
    "SPARK-36206": "LostOutputTest: damage in a compressed block",
    "SPARK-3426": "LostOutputTest: every combination of compression settings",
    "cleanup shuffle": "CleanerTest: a shuffle cleaned by order, and one that nobody refers to",
    "cleanup RDD + shuffle": "CleanerTest, and HostLocal in tests/spark/it for executors of their own",
    "SPARK-32077": "asks for the class NettyBlockTransferService; HostLocal in tests/spark/it counts the bytes",
}
REPLACED_BY_SPARK = ("scala-library-", "scala-reflect-", "scala-xml_", "objenesis-")
OPENS = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
         "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
         "sun.security.action", "sun.util.calendar")
PASSED = re.compile(r"^- (.+?)(?: \(\d.*\))?$")
FAILED = re.compile(r"^- (.+?) \*\*\* FAILED \*\*\*")
IGNORED = re.compile(r"^- (.+?) !!! (?:IGNORED|CANCELED) !!!")


def cache_folder():
    """Where ./verbena keeps what it has downloaded."""
    return os.environ.get("VERBENA_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "verbena")


def libraries(cache):
    """Folder with the test jars; fetched once by Maven from Maven Central."""
    folder = os.path.join(cache, "conformance-4.2.0")
    if not os.path.isfile(os.path.join(folder, ".complete")):
        print("conformance: fetching Spark's test jars (once)", file=sys.stderr)
        done = subprocess.run(["mvn", "-B", "-q", "-f", os.path.join(HERE, "pom.xml"), "dependency:copy-dependencies",
                               f"-DoutputDirectory={folder}"], capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise procs.Failed("Maven could not fetch Spark's test jars:\n" + done.stdout[-2000:])
        for name in os.listdir(folder):
            if name.startswith(REPLACED_BY_SPARK):
                os.unlink(os.path.join(folder, name))
        with open(os.path.join(folder, ".complete"), "w"):
            pass
    return folder


def compile_suites(folder, lib):
    """Compiles our subclasses into folder."""
    sources = [os.path.join(path, name) for path, _, names in os.walk(os.path.join(HERE, "src")) for name in names]
    jars = f"{lib}/*:{spark.home()}/jars/*"
    done = subprocess.run(["javac", "--release", "17", "-nowarn", "-proc:none", "-cp", jars, "-d", folder, *sources],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise procs.Failed("the conformance suites do not compile:\n" + done.stderr[-4000:])


def make_home(folder):
    """A SPARK_HOME as Spark's tests expect it: jars and an (empty) launcher folder."""
    home = os.path.join(folder, "home")
    os.makedirs(os.path.join(home, "launcher"))
    os.makedirs(os.path.join(home, "tmp"))
    for name in ("jars", "bin"):
        os.symlink(os.path.join(spark.home(), name), os.path.join(home, name))
    return home


def environment(home, classpath):
    env = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    env.update(SPARK_HOME=home, SPARK_TESTING="1", SPARK_SCALA_VERSION="2.13", SPARK_DIST_CLASSPATH=classpath,
               SPARK_LOCAL_IP=spark.HOST)
    return env


def command(suite, only, home, classpath, lib, properties):
    argv = ["java", "-Xmx2g", "--add-modules=jdk.incubator.vector", "-Dio.netty.tryReflectionSetAccessible=true",
            "-Dspark.testing=true", f"-Dspark.test.home={home}", f"-Djava.io.tmpdir={home}/tmp",
            "-Dspark.ui.enabled=false"]
    argv += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENS]
    for key, value in properties.items():
        argv += [f"-D{key}={value}", f"-Dconformance.{key}={value}"]
    jar = "spark-sql" if ".sql." in suite else "spark-core"
    return argv + ["-cp", f"{classpath}:{spark.home()}/jars/*", "org.scalatest.tools.Runner", "-R",
                   f"{lib}/{jar}_2.13-4.2.0-tests.jar", "-oWD", "-s", suite] + [
        word for text in only for word in ("-z", text)]


def count(lines, excused):
    """(passed, failed, skipped) names by ScalaTest's lines; excused failures, with the excuse, count as skipped."""
    passed, failed, skipped = [], [], []
    for line in lines:
        line = line.rstrip()
        if match := IGNORED.match(line):
            skipped.append(match[1] + " (ignored by Spark)")
        elif match := FAILED.match(line):
            excuse = next((text for part, text in excused.items() if part in match[1]), None)
            (skipped if excuse else failed).append(match[1] + (f" ({excuse})" if excuse else ""))
        elif match := PASSED.match(line):
            passed.append(match[1])
    return passed, failed, skipped


def run_suite(suite, only, work, classes, lib, jar, properties):
    """Runs one suite in a JVM of its own; (passed, failed, skipped) lists of test names."""
    folder = os.path.join(work, suite.rpartition(".")[2])
    os.makedirs(folder)
    home = make_home(folder)
    classpath = ":".join(([jar] if jar else []) + [classes, f"{lib}/*"])
    log = os.path.join(work, suite.rpartition(".")[2] + ".log")
    process = procs.Process(suite, command(suite, only, home, classpath, lib, properties), log, cwd=folder,
                            env=environment(home, classpath))
    status = process.wait(LIMIT)
    process.stop(grace=2)
    with open(log, errors="replace") as output:
        lines = output.readlines()
    passed, failed, skipped = count(lines, WHITE_BOX if jar else {})
    if jar and not any("Verbena 0." in line or "Verbena stands aside" in line for line in lines):
        failed.append("(the suite ran without Verbena)")
    if status is None:
        failed.append(f"(the suite did not end within {LIMIT} s)")
    elif not passed and not failed:
        failed.append(f"(no test ran; status {status})\n" + procs.tail(log))
    shutil.rmtree(folder, ignore_errors=True)
    return passed, failed, skipped


def run_all(suites, only, stock, work):
    """only: {suite: texts of which a test's name must have one}."""
    lib = libraries(cache_folder())
    jar = None if stock else spark.plugin_jar(ROOT)
    if not stock and not os.path.isfile(jar or ""):
        raise procs.Failed("the Spark plugin is not built: run ./verbena build (or give --stock)")
    classes = os.path.join(work, "classes")
    compile_suites(classes, lib)
    totals = [0, 0, 0]
    for suite in suites:
        results = run_suite(suite, only.get(suite, ()), work, classes, lib, jar, {} if stock else spark.OURS)
        for place, names in enumerate(results):
            totals[place] += len(names)
        print(f"{suite}: " + ", ".join(f"{len(names)} {word}" for names, word in zip(
            results, ("tests passed", "tests failed", "not applicable"))), flush=True)
        for name in results[1]:
            print(f"  FAILED: {name}", flush=True)
        for name in results[2]:
            print(f"  not applicable: {name}", flush=True)
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}, or a class name")
    parser.add_argument("--stock", action="store_true", help="with Spark's own shuffle: checks the runner itself")
    parser.add_argument("--full", action="store_true", help="all suites of the list, whole")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="only tests whose names have TEXT")
    parser.add_argument("--work", help="folder for logs, kept (default: a temporary one)")
    options = parser.parse_args()
    names = options.suites or (SUITES if options.full else DEFAULT)
    suites = [SUITES.get(name, name) for name in names]
    only = {suite: options.only for suite in suites} if options.only else {} if options.suites or options.full else SHORT
    procs.install_signals()
    try:
        if options.work:
            os.makedirs(options.work, exist_ok=True)
            return run_all(suites, only, options.stock, os.path.abspath(options.work))
        with tempfile.TemporaryDirectory(prefix="verbena-conformance-") as work:
            return run_all(suites, only, options.stock, work)
    except procs.Failed as failure:
        print(f"conformance: {failure}", file=sys.stderr)
        return 1
    except procs.Killed as killed:
        print(f"conformance: ended by {killed}", file=sys.stderr)
        return 130
    finally:
        procs.stop_all()


if __name__ == "__main__":
    sys.exit(main())
