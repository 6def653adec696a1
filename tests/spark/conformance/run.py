#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Apache Spark's own test suites, from the test jars that Spark publishes, with Verbena's shuffle.

usage: run.py [--stock] [--full] [--list] [NAME ...]   (NAME: a key of SUITES or a part of one, or any class name with its
package). --full, or VERBENA_TEST_FULL=1: all suites of the list, whole. Prints one line per suite and at the end
"N passed, N failed, N skipped". Needs SPARK_HOME, javac and Maven.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "ohb"), os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "tests", "spark")]

import jars  # noqa: E402  (needs the path above)
import jvm  # noqa: E402
import program  # noqa: E402
from driver import procs  # noqa: E402
from sides import spark  # noqa: E402

LIMIT = 1500  # seconds for the suites together, where each is run whole for each one
VERSION = "4.2.0"  # of Spark, as in pom.xml
OURS = "org.verbena.spark.conformance."
SUITES = {"shuffle": OURS + "VShuffleSuite", "pairs": OURS + "VPairRDDFunctionsSuite",
          "sorting": OURS + "VSortingSuite", "failure": "org.apache.spark.FailureSuite",
          "broadcast": "org.apache.spark.broadcast.BroadcastSuite",
          "host-local": "org.apache.spark.shuffle.HostLocalShuffleReadingSuite",
          "shuffle-remote": OURS + "VShuffleRemoteSuite", "distributed": "org.apache.spark.DistributedSuite",
          "cleaner": "org.apache.spark.ContextCleanerSuite",
          "decommission": "org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite"}
DEFAULT = ("shuffle",)
# Of suites, the tests that run without --full: no two of them show the same, all move data by the shuffle.
SHORT = {SUITES["shuffle"]: ("without", "non-zero", "serializer", "shuffle on mutable", "cogroup", "class - Kryo", "multiple",
                             "SPARK-34541", "SPARK-39771")}
# Tests of Spark that look into the stock shuffle (its files by name, its classes): part of the test's name, and which test
# of ours (spark-rdma-shuffle/it, tests/spark/it) states the same about slabs. Other suites of Spark that make stock classes
# themselves (SortShuffleManagerSuite, *ShuffleWriterSuite, IndexShuffleBlockResolverSuite, ...) say nothing about a plugin.
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


def libraries():
    """Folder with the test jars."""
    return jars.fetched(f"conformance-{VERSION}", os.path.join(HERE, "pom.xml"), REPLACED_BY_SPARK)


def compile_suites(folder, lib):
    """Compiles our subclasses into folder."""
    sources = [os.path.join(path, name) for path, _, names in os.walk(os.path.join(HERE, "src")) for name in names]
    path = f"{lib}/*:{spark.home()}/jars/*"
    done = subprocess.run(["javac", *jvm.FOR_TOOLS, "--release", "17", "-nowarn", "-proc:none", "-cp", path, "-d", folder,
                           *sources], capture_output=True, text=True, timeout=300)
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


def command(suites, only, home, classpath, lib, properties):
    argv = ["java", "-Xmx2g", "--add-modules=jdk.incubator.vector", "-Dio.netty.tryReflectionSetAccessible=true",
            "-Dspark.testing=true", f"-Dspark.test.home={home}", f"-Djava.io.tmpdir={home}/tmp",
            "-Dspark.ui.enabled=false"]
    argv += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENS]
    for key, value in properties.items():
        argv += [f"-D{key}={value}", f"-Dconformance.{key}={value}"]
    parts = {"spark-sql" if ".sql." in suite else "spark-core" for suite in suites}
    argv += ["-cp", f"{classpath}:{spark.home()}/jars/*", "org.scalatest.tools.Runner", "-oWD", "-R",
             " ".join(f"{lib}/{part}_2.13-{VERSION}-tests.jar" for part in sorted(parts))]
    for suite in suites:
        argv += ["-s", suite] + [word for text in only.get(suite, ()) for word in ("-z", text)]
    return argv


def by_suite(lines, suites):
    """{suite: lines printed while it ran}; ScalaTest prints a suite's short name and a colon before its tests."""
    heads = {suite.rpartition(".")[2] + ":": suite for suite in suites}
    found, current = {suite: [] for suite in suites}, []
    for line in lines:
        suite = heads.get(line.rstrip())
        current = found[suite] if suite else current
        current.append(line)
    return found


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


def judge(lines, ours):
    """(passed, failed, skipped) names of one suite by what was printed while it ran."""
    passed, failed, skipped = count(lines, WHITE_BOX if ours else {})
    if not passed and not failed:
        failed.append("(no test ran)")
    elif ours and not any("Verbena 0." in line or "Verbena stands aside" in line for line in lines):
        failed.append("(the suite ran without Verbena)")
    return passed, failed, skipped


def run_suites(suites, only, work, jar):
    """Runs suites one after another in one JVM; {suite: (passed, failed, skipped)}. only: as for run_all."""
    lib = libraries()
    classes = os.path.join(work, "classes")
    compile_suites(classes, lib)
    home = make_home(work)
    classpath = ":".join(([jar] if jar else []) + [classes, f"{lib}/*"])
    log = os.path.join(work, "suites.log")
    process = procs.Process("Spark's suites", command(suites, only, home, classpath, lib, spark.OURS if jar else {}), log,
                            cwd=home, env=environment(home, classpath))
    limit = LIMIT if only else LIMIT * len(suites)
    status = process.wait(limit)
    process.stop(grace=2)
    with open(log, errors="replace") as output:
        lines = output.readlines()
    results = {suite: judge(own, jar) for suite, own in by_suite(lines, suites).items()}
    if not any(line.startswith("Run completed in") for line in lines):
        results[suites[-1]][1].append(f"(the suites did not come to their end within {limit} s; status {status})\n"
                                      + procs.tail(log))
    shutil.rmtree(home, ignore_errors=True)
    return results


def run_all(suites, only, stock, work):
    """only: {suite: texts of which a test's name must have one}."""
    jar = None if stock else spark.plugin_jar(ROOT)
    if not stock and not os.path.isfile(jar or ""):
        raise procs.Failed("the Spark plugin is not built: run ./verbena build (or give --stock)")
    tally = program.Tally()
    for suite, results in run_suites(suites, only, work, jar).items():
        tally.add(*map(len, results))
        print(f"{suite}: " + ", ".join(f"{len(names)} {word}" for names, word in zip(
            results, ("tests passed", "tests failed", "not applicable"))), flush=True)
        for name in results[1]:
            print(f"  FAILED: {name}", flush=True)
        for name in results[2]:
            print(f"  not applicable: {name}", flush=True)
    return tally.end()


def find(names, usual):
    """Keys of SUITES, and classes that are none of them. Raises program.NoMatch."""
    classes = [name for name in names if "." in name]
    keys = [name for name in names if "." not in name]
    return [*(program.choose(list(SUITES), keys, usual) if keys or not names else []), *classes]


def run(names, options):
    """Gives the exit status."""
    suites = [SUITES.get(name, name) for name in names]
    only = {suite: options.only for suite in suites} if options.only else {} if options.name or options.full else SHORT
    jvm.count_starts()
    if not options.full:
        jvm.start_quickly()
    try:
        if options.work:
            os.makedirs(options.work, exist_ok=True)
            return run_all(suites, only, options.stock, os.path.abspath(options.work))
        with tempfile.TemporaryDirectory(prefix="verbena-conformance-") as work:
            return run_all(suites, only, options.stock, work)
    except (procs.Failed, jars.NotFetched) as failure:
        print(f"conformance: {failure}", file=sys.stderr)
        return 1
    finally:
        procs.stop_all()


def main():
    parser = program.parser(__doc__)
    parser.add_argument("--stock", action="store_true", help="with Spark's own shuffle: checks the runner itself")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="only tests whose names have TEXT")
    parser.add_argument("--work", help="folder for logs, kept (default: a temporary one)")
    options = program.read(parser)
    return program.serve(options, lambda names: find(names, SUITES if options.full else DEFAULT), lambda names: run(names, options))


if __name__ == "__main__":
    sys.exit(main())
