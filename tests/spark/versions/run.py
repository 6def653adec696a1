#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every supported Spark runs PySpark, RDD and SQL jobs with the one jar: results as without it, blocks read by it.

usage: run.py [--full] [--list] [NAME ...]   NAME: e.g. Spark_4_2_0, or a part of Class.test. --full, or VERBENA_TEST_FULL=1:
all of VERSIONS and UNKNOWN instead of DEFAULT, in JVMs as users have them.
Takes each Spark from the cache where ./verbena installs it; those that are not there are skipped, but for the first.
"""
import contextlib
import glob
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "ohb"), os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "tests", "spark")]

import chosen  # noqa: E402  (needs the path above)
import jars  # noqa: E402
import jvm  # noqa: E402
from driver import procs  # noqa: E402
from sides import spark  # noqa: E402

FULL = chosen.FULL
VERSIONS = ("4.2.0", "4.3.0", "3.5.9", "4.1.4", "4.0.5")
DEFAULT = VERSIONS[:3]
UNKNOWN = "3.4.4"  # has no shim
# What the jar names and a Spark lacks, where nothing calls it: 3.5 fetches no jars for us, 4.3's shim overrides the method.
NOT_CALLED = {"3.5": [("org/apache/spark/SparkContext.listJars", "JarSender")],
              "4.3": [("org/apache/spark/network/BlockTransferService.uploadBlock", "VerbenaBlockTransferService")]}
LIMIT = 600  # seconds for one application


def conf(*settings):
    return tuple(word for setting in settings for word in ("--conf", setting))


# local-cluster switches host-local reads off unless told otherwise.
HOST_LOCAL = ("--master", "local-cluster[2,1,1024]", *conf("spark.shuffle.readHostLocalDisk=true"))
REMOTE = HOST_LOCAL[:2]
STOCK = None  # the Answer of Stock, which runs first


def installed(version):
    """(SPARK_HOME, Python) of a version in the cache, or None."""
    venv = os.path.join(jars.CACHE, "spark-" + version)
    homes = glob.glob(os.path.join(venv, "lib", "python3*", "site-packages", "pyspark"))
    return (homes[0], os.path.join(venv, "bin", "python")) if homes and jars.complete("spark-" + version) else None


def await_end_of_group(leader, seconds=60):
    """Executors end, and remove what they have in shared memory, a little later than the driver."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(leader, 0)
            time.sleep(0.05)


def is_others(folder):
    """Whether an executor has it that lives, so none of an application that has ended: Spark names applications by the second
    in which they start, and other tests start some, too."""
    owners = [os.path.basename(path).split("-")[1] for path in glob.glob(f"{folder}/lock-*")]
    return any(os.path.exists(f"/proc/{pid}") for pid in owners)


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


class Answer:
    """What an application answered: results, traffic of its executors, our page; and its log with those of executors."""

    def __init__(self, answers, log):
        self.results = re.findall(r"^RESULT .*", answers, re.M)
        self._traffic = re.findall(r"^TRAFFIC .*", answers, re.M)
        self.page = re.findall(r"^PAGE .*", answers, re.M)
        self.log = log

    def total(self, pattern):
        """Sum of the numbers that a pattern's group finds in the traffic."""
        return sum(int(number) for line in self._traffic for number in re.findall(pattern, line))


class Base(unittest.TestCase):
    """One build of Spark, compiled against and submitted to."""
    version = None

    @classmethod
    def find(cls):
        """(SPARK_HOME, Python), or None."""
        return installed(cls.version)

    @classmethod
    def setUpClass(cls):
        place = cls.find()
        if place is None and cls.version != VERSIONS[0]:
            raise unittest.SkipTest(f"Spark {cls.version} is not installed; ./verbena test --full spark installs it")
        if place is None:
            raise procs.Failed(f"Spark {cls.version} is not in {jars.CACHE}: run ./verbena test spark")
        cls.spark_home, cls.python = place
        folder = tempfile.TemporaryDirectory(prefix="verbena-versions-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.plugin = spark.plugin_jar(ROOT)
        if not os.path.isfile(cls.plugin or ""):
            raise procs.Failed("the Spark plugin is not built: run ./verbena build")
        cls.jobs = cls._compile()

    @classmethod
    def _compile(cls):
        classes, jar = os.path.join(cls.folder, "classes"), os.path.join(cls.folder, "workload.jar")
        sources = glob.glob(os.path.join(HERE, "src", "**", "*.java"), recursive=True)
        for argv in (["javac", *jvm.FOR_TOOLS, "--release", "17", "-nowarn", "-proc:none", "-cp",
                      f"{cls.spark_home}/jars/*:{cls.plugin}", "-d", classes, *sources],
                     ["jar", "--create", "--file", jar, "-C", classes, "."]):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                raise procs.Failed(f"{argv[0]} failed with Spark {cls.version}:\n" + done.stderr[-4000:])
        return jar

    @classmethod
    def _home(cls, name):
        """A SPARK_HOME of our own, because local-cluster writes the executors' logs below it."""
        home = os.path.join(cls.folder, name)
        os.makedirs(home)
        for part in ("jars", "bin", "python"):
            os.symlink(os.path.join(cls.spark_home, part), os.path.join(home, part))
        return home

    @classmethod
    def ours(cls):
        """Options that switch Verbena on; Spark 3 makes its shuffle manager before it fetches --jars."""
        if cls.version.startswith("3."):
            return ("--jars", cls.jobs) + conf(
                f"spark.driver.extraClassPath={cls.plugin}", f"spark.executor.extraClassPath={cls.plugin}",
                *(f"{key}={value}" for key, value in spark.OURS.items()))
        return ("--jars", f"{cls.plugin},{cls.jobs}") + conf("spark.plugins=" + spark.OURS["spark.plugins"])

    @classmethod
    def submit(cls, name, options):
        """Runs an application to its end; what it has left in shared memory is an error."""
        home = cls._home(name)
        answers = os.path.join(home, "answers")
        argv = [os.path.join(home, "bin", "spark-submit"), "--driver-memory", "1g", *options,
                *conf(f"spark.driver.host={spark.HOST}", f"spark.driver.bindAddress={spark.HOST}",
                      "spark.ui.port=0"), os.path.join(HERE, "job.py"), answers]
        env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        env.update(SPARK_HOME=home, SPARK_LOCAL_IP=spark.HOST, PYSPARK_PYTHON=cls.python,
                   SPARK_LOCAL_DIRS=os.path.join(home, "local"))
        log = os.path.join(cls.folder, name + ".log")
        process = procs.Process(f"Spark {cls.version} {name}", argv, log, env=env, cwd=cls.folder)
        status = process.wait(LIMIT)
        await_end_of_group(process.pid)
        process.stop(grace=3)
        logs = "".join(read(path) for path in [log, *glob.glob(os.path.join(home, "work", "*", "*", "stderr"))])
        if status != 0:
            raise AssertionError(f"spark-submit ended with {status}:\n" + logs[-6000:])
        applications = [os.path.basename(path) for path in glob.glob(os.path.join(home, "work", "app-*"))]
        left = [path for app in applications for path in glob.glob(f"/dev/shm/verbena-{os.getuid()}/{app}/*")
                if not is_others(path)]
        if left:
            raise AssertionError(f"left in shared memory: {left}")
        return Answer(read(answers), logs)

    def assert_served(self, answer, path):
        """The shuffle's data took the path, and nothing had to fall back."""
        self.assertEqual(answer.results, STOCK.results)
        self.assertGreater(answer.total(rf"\b{path} (\d+) bytes"), 0, answer.log[-6000:])
        self.assertGreater(answer.total(r"\blocal_slab (\d+) bytes"), 0)
        self.assertEqual(answer.total(r"not_served (\d+)") + answer.total(r"refused (\d+)"), 0)

    def assert_shown(self, page):
        """Spark's UI has our page, with a row for each of the two executors in every table."""
        for executor in ("0", "1"):
            rows = [row for row in page if row.startswith(f"PAGE |{executor}|")]
            self.assertEqual(len(rows), 4, page)
            self.assertIn("map outputs in memory", rows[3])


class Supported(Base):
    """What holds for every version with a shim."""

    def not_called(self):
        """What the jar names and this Spark lacks."""
        return NOT_CALLED.get(self.version[:3], [])

    def test_everything_the_jar_calls_in_this_spark_is_there(self):
        path = f"{self.spark_home}/jars/*:{self.plugin}:{self.jobs}"
        done = subprocess.run(["java", "-cp", path, "org.verbena.spark.versions.LinkCheck", self.plugin],
                              capture_output=True, text=True, timeout=300)
        missing = [(reference.rpartition("(")[0], user.rpartition("/")[2]) for reference, user in
                   re.findall(r"^MISSING (.*) used by (.*)", done.stdout, re.M)]
        self.assertEqual(missing, self.not_called(), done.stdout + done.stderr)
        self.assertGreater(int(re.search(r"^CHECKED (\d+)", done.stdout, re.M)[1]), 250, done.stdout)

    def test_all_jobs_give_stock_results_from_mapped_slabs(self):
        answer = self.submit("ours", HOST_LOCAL + self.ours())
        self.assert_served(answer, "host_slab")
        self.assert_shown(answer.page)


class Scala213(Supported):
    """Spark 3.5 as Maven Central has it for Scala 2.13, with the scripts and the Python of the package."""
    version = "3.5.9"

    @classmethod
    def find(cls):
        package = installed(cls.version)
        if package is None:
            return None
        folder = tempfile.TemporaryDirectory(prefix="verbena-scala-")
        cls.addClassCleanup(folder.cleanup)
        os.symlink(jars.fetched(f"spark-{cls.version}-scala-2.13", os.path.join(HERE, "pom.xml")),
                   os.path.join(folder.name, "jars"))
        for part in ("bin", "python"):
            os.symlink(os.path.join(package[0], part), os.path.join(folder.name, part))
        return folder.name, package[1]

    def not_called(self):
        return []

    def assert_shown(self, page):
        self.assertEqual(page, [], "there is no tab for it")


class Network(Supported):
    """What one version is enough for."""

    @unittest.skipUnless(FULL, "--full; tests/spark/it reads its jobs so, too")
    def test_without_host_local_reads_blocks_come_by_shared_memory_rings(self):
        self.assert_served(self.submit("shm", REMOTE + self.ours() + conf("spark.verbena.transport=shm")), "shm")

    def test_blocks_come_by_tcp_and_a_small_budget_spills_to_sparks_files(self):
        answer = self.submit("tcp", REMOTE + self.ours() + conf("spark.verbena.transport=tcp",
                                                                "spark.verbena.memory=8m"))
        self.assert_served(answer, "tcp")
        self.assertGreater(answer.total(r"spilled (\d+)"), 0)


class Modes(Base):
    """Ways of running Spark that change what a shuffle may rely on; one version, with --full."""
    version = VERSIONS[0]

    ENCRYPTED = conf("spark.io.encryption.enabled=true", "spark.authenticate=true", "spark.network.crypto.enabled=true",
                     "spark.authenticate.secret=0123456789abcdef0123456789abcdef")

    def test_with_encryption_at_rest_and_on_the_wire_blocks_come_by_tls_and_results_are_stock(self):
        answer = self.submit("encrypted", REMOTE + self.ours() + self.ENCRYPTED + conf("spark.verbena.transport=rc,tcp"))
        self.assert_served(answer, "tcp")
        self.assertIn("tcp (TCP with TLS) from", answer.log)

    def test_where_no_transport_could_be_encrypted_bytes_stay_in_the_host(self):
        answer = self.submit("host-only", HOST_LOCAL + self.ours() + self.ENCRYPTED + conf("spark.verbena.transport=rc"))
        self.assert_served(answer, "host_slab")
        self.assertEqual(answer.total(r"\bshm (\d+) bytes") + answer.total(r"\btcp (\d+) bytes"), 0)
        self.assertIn("Spark's transport, because its network encryption is on", answer.log)

    def test_with_executors_that_come_and_go_results_are_stock(self):
        answer = self.submit("dynamic", HOST_LOCAL + self.ours() + conf(
            "spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true",
            "spark.dynamicAllocation.shuffleTracking.timeout=2s", "spark.dynamicAllocation.executorIdleTimeout=1s",
            "spark.dynamicAllocation.initialExecutors=2", "spark.dynamicAllocation.maxExecutors=2"))
        self.assertEqual(answer.results, STOCK.results)
        self.assertIn("removed due to idle timeout", answer.log)


class Unknown(Base):
    """A Spark without a shim."""

    def test_it_stands_aside_with_one_line_and_spark_works(self):
        answer = self.submit("unknown", HOST_LOCAL + self.ours())
        self.assertEqual(answer.results, STOCK.results)
        lines = [line for line in answer.log.splitlines() if "Verbena" in line and "WARN" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(f"Spark {self.version} is not known", lines[0])


class Stock(Base):
    """The first version without Verbena, once for all."""
    version = VERSIONS[0]

    def runTest(self):
        global STOCK
        STOCK = self.submit("stock", ("--master", "local[2]", "--jars", self.jobs))
        self.assertEqual(len(STOCK.results), 10)
        self.assertEqual(STOCK.results[0], f"RESULT python-rdd 100 {sum(range(20000))}")


def cases():
    """Stock is first: the others compare with it."""
    found = [Stock]
    for version in VERSIONS if FULL else DEFAULT:
        base = Network if version == VERSIONS[0] else Supported
        found.append(type("Spark_" + version.replace(".", "_"), (base,), {"version": version}))
    if FULL:
        found += [Scala213, Modes]
        found.append(type("Spark_" + UNKNOWN.replace(".", "_"), (Unknown,), {"version": UNKNOWN}))
    return found


if __name__ == "__main__":
    OPTIONS = chosen.program.read(chosen.program.parser(__doc__))
    if OPTIONS.name and not OPTIONS.list:
        OPTIONS.name.append("Stock")  # the others compare with it
    if not FULL:
        jvm.start_quickly()
    sys.exit(chosen.main(cases(), OPTIONS))
