# SPDX-License-Identifier: Apache-2.0
"""How the JVMs of daemons and clients are started."""
import collections
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import program as protocol  # noqa: E402  (needs the path above; program() is a function here)

# Tests start many short JVMs: the quick compiler alone, one thread to collect garbage.
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData"]

STARTED = collections.Counter()  # "java": the JVMs that this process has made command lines for
protocol.COUNTERS["JVMs started"] = lambda: STARTED["java"]


def opens(*packages):
    """Options that open packages of the module java.base to the class path."""
    return [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in packages]


def program():
    """The first word of a command line, each of which starts one JVM."""
    STARTED["java"] += 1
    return os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"


def built(root, module):
    """The one jar that a checkout has built of a module (hadoop-rdma, hbase-rdma), or None."""
    folder = os.path.join(root, module, "dist", "target")
    names = [name for name in (os.listdir(folder) if os.path.isdir(folder) else [])
             if name.startswith(module + "-") and name.endswith(".jar") and name[len(module) + 1].isdigit()]
    return os.path.join(folder, max(names)) if names else None
