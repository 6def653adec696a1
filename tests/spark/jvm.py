# SPDX-License-Identifier: Apache-2.0
"""Options for the many short-lived JVMs of the tests; --full leaves the JVM as users have it."""
import atexit
import glob
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "..", "ohb")]

import archive  # noqa: E402  (needs the path above)
import program  # noqa: E402
from sides import spark  # noqa: E402

# Most of their processor time is start and compilation: the quick compiler alone, one thread to collect garbage.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
FOR_TOOLS = [f"-J{word}" for word in QUICK.split()]  # javac takes no environment


STARTS = None  # folder in which each JVM leaves an empty file


def _add(*options):
    """For every java that is started from now on, by Spark's processes too."""
    os.environ["JDK_JAVA_OPTIONS"] = " ".join([*options, os.environ.get("JDK_JAVA_OPTIONS", "")]).strip()


def start_quickly():
    _add(QUICK)


def count_starts():
    """The program says at its end how many JVMs it took: each opens a log of its own, of errors that it does not have."""
    global STARTS
    STARTS = tempfile.mkdtemp(prefix="verbena-jvms-")
    atexit.register(shutil.rmtree, STARTS, ignore_errors=True)
    _add(f"-Xlog:safepoint=error:file={STARTS}/%p-%t:none:filecount=0")
    program.COUNTERS["JVMs started"] = lambda: len(os.listdir(STARTS))


def share_classes():
    """The same, with an archive of the classes that Spark loads; only for JVMs that have Spark's class path."""
    path = [*glob.glob(os.path.join(spark.home(), "jars", "*")), *glob.glob(os.path.join(spark.home(), "conf", "*"))]
    more = archive.options("spark", path, _load_classes)
    os.environ["JDK_JAVA_OPTIONS"] = " ".join([os.environ["JDK_JAVA_OPTIONS"], *more])


# Pairs and SQL in one JVM that is driver and executor.
JOBS = ("warm pairs job=groupby maps=4 pairs=1000 size=100 reducers=3\n"
        "warm sql job=smj left=2000 right=1000 groups=10\nquit\n")


def _load_classes(option):
    argv = [os.path.join(spark.home(), "bin", "spark-submit"), "--master", "local[2]", "--driver-java-options", option,
            "--class", "org.verbena.ohb.spark.SparkJobs", "--conf", "spark.ui.enabled=false", "--conf",
            f"spark.driver.host={spark.HOST}", "--conf", f"spark.driver.bindAddress={spark.HOST}",
            spark.jobs_jar(os.path.join(HERE, "..", "..")), "serve"]
    return argv, {**os.environ, "SPARK_LOCAL_IP": spark.HOST}, JOBS
