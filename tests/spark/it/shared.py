# SPDX-License-Identifier: Apache-2.0
"""What the cluster tests share: one standalone cluster, one application with stock shuffle, applications under test."""
import glob
import os
import re
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "ohb"), os.path.join(ROOT, "tests", "spark")]

import chosen  # noqa: E402  (needs the path above)
import jvm  # noqa: E402
from driver import procs  # noqa: E402
from sides import spark  # noqa: E402

STOCK_ONLY = "--stock" in sys.argv
FULL, LONG = chosen.FULL, chosen.LONG
SCALE = 10 if FULL else 1
TIMEOUT = 300  # seconds for one answer, and for whatever is waited for, also on a loaded machine
NO_HOST_LOCAL = {"spark.shuffle.readHostLocalDisk": "false"}
SLABS = f"/dev/shm/verbena-{os.getuid()}"


class Shared:
    """Started at the first use, ended by stop()."""
    folder = cluster = stock = None
    count = 0
    answers = {}  # (job, seed) -> what stock answered

    @classmethod
    def start(cls):
        if cls.cluster is None:
            if not FULL:
                jvm.start_quickly()
                jvm.share_classes()
            cls.folder = tempfile.TemporaryDirectory(prefix="verbena-it-")
            cls.cluster = spark.Cluster(cls.folder.name).__enter__()
        if cls.stock is None:
            cls.stock = Application({}, name="stock", master=None if FULL else "local[2]")

    @classmethod
    def stop(cls):
        if cls.cluster is not None:
            if cls.stock is not None:
                cls.stock.stop()
            cls.cluster.stop()
            cls.folder.cleanup()


class Application:
    """A submitted application that runs jobs on request."""

    def __init__(self, properties, name="ours", jar=True, cluster=None, master=None):
        """properties: on top of the plugin's, unless name is stock; jar: give the plugin's jar with --jars.

        master: instead of the cluster's."""
        Shared.count += 1
        stock = name == "stock" or STOCK_ONLY
        side = {} if stock else {**spark.OURS, **properties}
        self._work = Shared.folder.name if cluster is None else cluster.work
        self._generator = spark.Generator(
            f"{name}-{Shared.count}", master or (cluster or Shared.cluster).url, ROOT, self._work, side,
            {"spark.executor.memory": "1g"}, jar=jar)
        self.hello = self._generator.await_ready()
        self.id = self.hello["app_id"]
        self._warm = set()

    def run(self, name, job, seed=0):
        """Runs a job; the answer of the generator, of which records and checksum are the result."""
        if name not in self._warm:
            self._warm.add(name)
            first = self._generator.warm(name, job, TIMEOUT)  # its seed is 0
            if seed == 0:
                return first
        return self._generator.block(name, seed, TIMEOUT)

    def drop(self, name):
        self._generator.ask(f"drop {name}", TIMEOUT)
        self._warm.discard(name)

    def stop(self):
        self._generator.stop()

    def driver_log(self):
        with open(os.path.join(self._work, f"generator-{self._generator.name}.log"), errors="replace") as file:
            return file.read()

    def executor_logs(self):
        texts = []
        for path in spark.executor_logs(self._work, self.id):
            with open(path, errors="replace") as file:
                texts.append(file.read())
        return texts

    def await_said(self, pattern):
        """The logs of both executors once each has said it: one may still be starting when the other has done a whole job."""
        def all_said():
            logs = self.executor_logs()
            return len(logs) == 2 and all(re.search(pattern, log) for log in logs)

        await_true(all_said, f"both executors say {pattern}")
        return self.executor_logs()

    def total(self, pattern):
        """A size in bytes that the driver's last summary tells, 0 when it does not; ask after stop()."""
        line = re.search(r"Verbena, all \d+ executors together: (.*)", self.driver_log())
        found = re.search(r"(\d+) (B|KiB|MiB) " + pattern, line.group(1)) if line else None
        return int(found.group(1)) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[found.group(2)] if found else 0

    def executors(self):
        """Process ids of the executors."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    line = file.read().decode(errors="replace")
            except OSError:
                continue
            # On YARN a shell of the same words has started it.
            if "CoarseGrainedExecutorBackend" in line and self.id in line and not line.startswith(("bash", "/bin/bash")):
                found.append(int(path.split("/")[2]))
        return found

    def slab_folders(self):
        """Process id -> folder of its slabs."""
        return {int(path.rsplit("/lock-", 1)[1].split("-")[0]): os.path.dirname(path)
                for path in glob.glob(f"{SLABS}/{self.id}/*/lock-*")}

    def map_outputs(self):
        """Names of the published map outputs of all executors."""
        return {os.path.basename(path) for path in glob.glob(f"{SLABS}/{self.id}/*/m-*")}


class Outputs:
    """While it is open: names of the map outputs that an application publishes, also of those that Spark's cleaner removes."""

    def __init__(self, application):
        self._application, self._before = application, application.map_outputs()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen = set()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._look()
        self._stop.set()
        self._thread.join()

    def _look(self):
        self.seen |= self._application.map_outputs() - self._before

    def _watch(self):
        while not self._stop.wait(0.05):
            self._look()


def expected(job, seed=0):
    """Stock's result of a job."""
    name = job["job"]
    key = (repr(sorted(job.items())), seed)
    if key not in Shared.answers:
        answer = Shared.stock.run(name, job, seed)
        Shared.stock.drop(name)
        Shared.answers[key] = (answer["records"], answer["checksum"])
    return Shared.answers[key]


def await_true(condition, what):
    """Polls quickly until condition() holds; an error after TIMEOUT seconds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {TIMEOUT} s: {what}")
        time.sleep(0.005)


def gone(application, root=""):
    """What an application had in shared memory is removed after its end; root: as a process sees it, /proc/PID/root."""
    path = f"{root}{SLABS}/{application.id}"
    await_true(lambda: not os.path.exists(path), f"{path} is removed after the application's end")


LOG_SIZE = 1000  # characters; a text that has more is a log
TOLD = 30  # lines of a log in a failure


def reason(log):
    """The lines of a log that tell why something failed: warnings, errors and exceptions, else the last ones; the JVM's
    command line, which comes first, hides them."""
    lines = [line[:400] for line in log.splitlines() if "Command:" not in line]
    told = [line for line in lines if re.search(r" (WARN|ERROR) |Exception|Error:|Caused by", line)]
    return "\n".join(["", *(told or lines)[-TOLD:]])


class SparkTest(unittest.TestCase):
    """Has the shared cluster; nothing of its applications stays in shared memory."""

    def assertIn(self, member, container, msg=None):
        if isinstance(container, str) and len(container) > LOG_SIZE and member not in container:
            self.fail(f"the log does not say {member!r}: {msg or ''}{reason(container)}")
        super().assertIn(member, container, msg)

    def assertNotIn(self, member, container, msg=None):
        if isinstance(container, str) and len(container) > LOG_SIZE and member in container:
            self.fail(f"the log says {member!r}: {msg or ''}{reason(container)}")
        super().assertNotIn(member, container, msg)

    def assertRegex(self, text, expected_regex, msg=None):
        if len(text) > LOG_SIZE and not re.search(expected_regex, text):
            self.fail(f"the log does not match {expected_regex!r}: {msg or ''}{reason(text)}")
        super().assertRegex(text, expected_regex, msg)

    @classmethod
    def setUpClass(cls):
        Shared.start()

    def application(self, properties=None, **options):
        """An application that ends with the test."""
        application = Application(properties or {}, **options)
        self.addCleanup(gone, application)
        self.addCleanup(application.stop)
        return application

    @classmethod
    def application_of_class(cls, properties):
        """An application that ends with the last test of the class."""
        application = Application(properties)
        cls.addClassCleanup(gone, application)
        cls.addClassCleanup(application.stop)
        return application

    def right(self, application, name, job, seed=0):
        """Runs a job and compares with stock."""
        answer = application.run(name, job, seed)
        self.assertGreater(answer["records"], 0)
        self.assertEqual((answer["records"], answer["checksum"]), expected(job, seed))
        return answer
