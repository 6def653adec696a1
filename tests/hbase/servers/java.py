# SPDX-License-Identifier: Apache-2.0
"""How HBase's JVMs are started: class path, options, the classes behind the daemons."""
import os
import subprocess

import jars
from daemons import jvm
from daemons.errors import Failed

VERSION = "2.6.4-hadoop3"
HERE = os.path.dirname(os.path.abspath(__file__))
POM = os.path.join(HERE, "..", "pom.xml")
PROGRAMS = os.path.join(HERE, "..", "java")
# What HBase's own start script gives a JVM of Java 17.
OPTIONS = ["--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
           "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
           *jvm.opens("java.nio", "sun.nio.ch", "java.lang", "java.lang.reflect", "java.util", "java.util.concurrent", "java.net",
                      "jdk.internal.ref")]
COMPILE_LIMIT = 300  # seconds


def library():
    """The folder with HBase's jars; fetches them the first time."""
    try:
        return jars.fetched(f"hbase-{VERSION}", POM)
    except jars.NotFetched as error:
        raise Failed(str(error) + "\nHBase's jars come from Maven Central: check the network or Maven's settings.xml "
                     "(proxy, mirror) and repeat") from error


def suites():
    """The folder with what HBase's own tests need beside library()."""
    return jars.fetched(f"hbase-suites-{VERSION}", os.path.join(HERE, "..", "suites", "pom.xml"))


def class_path(conf, plugin=None, beside=()):
    return ":".join([conf, *beside, f"{library()}/*", *([plugin] if plugin else [])])


def argv(name, arguments, conf, plugin=None, heap="256m", options=(), beside=()):
    return [jvm.program(), f"-Xmx{heap}", *options, *OPTIONS, "-cp", class_path(conf, plugin, beside), name, *arguments]


def compiled(sources, folder, path):
    """Compiles the Java files of a folder into another one."""
    files = [os.path.join(sources, name) for name in sorted(os.listdir(sources)) if name.endswith(".java")]
    javac = os.path.join(os.environ["JAVA_HOME"], "bin", "javac") if os.environ.get("JAVA_HOME") else "javac"
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run([javac, "-nowarn", "-d", folder, "-cp", ":".join(path), *files], capture_output=True, text=True,
                          timeout=COMPILE_LIMIT, check=False)
    if done.returncode != 0:
        raise Failed(f"the programs of {sources} cannot be compiled:\n{done.stdout}{done.stderr}")


def programs(folder):
    """Compiles the client programs of ../java, which know nothing of Verbena, into a folder; gives it."""
    compiled(PROGRAMS, folder, [f"{library()}/*"])
    return folder


def plugin(root):
    """The jar of hbase-rdma that was built in a checkout."""
    found = jvm.built(root, "hbase-rdma")
    if not found:
        raise Failed("the HBase plugin is not built: run ./verbena build")
    return found
