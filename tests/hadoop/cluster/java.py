# SPDX-License-Identifier: Apache-2.0
"""How Hadoop's JVMs are started: class path, options, the classes behind Hadoop's commands."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

import jars
from daemons import jvm
from daemons.errors import Failed

VERSION = os.environ.get("VERBENA_HADOOP_VERSION") or "3.5.0"  # others: test_versions.py
POM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pom.xml")
# What Hadoop's own start scripts open for Java 17.
OPENS = jvm.opens("java.lang", "java.util", "java.util.concurrent", "java.io", "java.net", "java.nio", "sun.nio.ch")
QUICK = jvm.QUICK
# The classes that bin/hdfs, bin/yarn, bin/mapred and bin/hadoop of a release start.
COMMANDS = {
    "hdfs dfs": "org.apache.hadoop.fs.FsShell",
    "hdfs dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
    "hdfs haadmin": "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
    "hdfs fsck": "org.apache.hadoop.hdfs.tools.DFSck",
    "hdfs storagepolicies": "org.apache.hadoop.hdfs.tools.StoragePolicyAdmin",
    "hdfs balancer": "org.apache.hadoop.hdfs.server.balancer.Balancer",
    "hdfs mover": "org.apache.hadoop.hdfs.server.mover.Mover",
    "hdfs diskbalancer": "org.apache.hadoop.hdfs.tools.DiskBalancerCLI",
    "hdfs getconf": "org.apache.hadoop.hdfs.tools.GetConf",
    "hdfs crypto": "org.apache.hadoop.hdfs.tools.CryptoAdmin",
    "hdfs ec": "org.apache.hadoop.hdfs.tools.ECAdmin",
    "hadoop key": "org.apache.hadoop.crypto.key.KeyShell",
    "hdfs debug": "org.apache.hadoop.hdfs.tools.DebugAdmin",
    "hadoop fs": "org.apache.hadoop.fs.FsShell",
    "hadoop jar": "org.apache.hadoop.util.RunJar",
    "hadoop distcp": "org.apache.hadoop.tools.DistCp",
    "yarn jar": "org.apache.hadoop.util.RunJar",
    "yarn node": "org.apache.hadoop.yarn.client.cli.NodeCLI",
    "yarn application": "org.apache.hadoop.yarn.client.cli.ApplicationCLI",
    "yarn logs": "org.apache.hadoop.yarn.client.cli.LogsCLI",
    "mapred job": "org.apache.hadoop.mapred.JobClient",
}
EXAMPLES = "examples"  # ./verbena hadoop run examples terasort ...: the released examples without looking for their jar


def library():
    """The folder with Hadoop's jars; fetches them the first time."""
    try:
        return jars.fetched(f"hadoop-{VERSION}", POM, properties={"hadoop.version": VERSION})
    except jars.NotFetched as error:
        raise Failed(str(error) + "\nHadoop's jars come from Maven Central: check the network or Maven's settings.xml "
                     "(proxy, mirror) and repeat") from error


def examples_jar():
    return os.path.join(library(), "hadoop-mapreduce-examples-3.4.2.jar")


def class_path(conf, plugin=None):
    return ":".join([conf, f"{library()}/*", *([plugin] if plugin else [])])


def program(words):
    """(class, arguments) for the words of a command such as 'hdfs dfs -ls /', or those of a class name."""
    if words and words[0] == EXAMPLES:
        return "org.apache.hadoop.examples.ExampleDriver", words[1:]
    name = " ".join(words[:2])
    if name in COMMANDS:
        return COMMANDS[name], words[2:]
    if words and words[0].startswith("org."):
        return words[0], words[1:]
    raise Failed(f"'{name}' is not known; known are: {', '.join(COMMANDS)}, {EXAMPLES} NAME, or the name of a class org...")


@functools.cache
def compiled(source):
    """The folder with the classes of a program of the tests."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    argv = ["javac", "-nowarn", "-encoding", "UTF-8", "-sourcepath", folder.name, "-d", folder.name, "-cp", f"{library()}/*"]
    done = subprocess.run([*argv, source], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Failed(f"{source} does not compile with Hadoop {VERSION}:\n{done.stdout}{done.stderr}")
    return folder.name


def argv(name, arguments, conf, plugin=None, heap="512m", options=()):
    """name: a class, or the path of a program's source."""
    path = class_path(conf, plugin)
    if name.endswith(".java"):
        path, name = f"{path}:{compiled(name)}", os.path.basename(name)[:-len(".java")]
    return [jvm.program(), f"-Xmx{heap}", *options, *OPENS, "-cp", path, name, *arguments]


def home():
    """The folder of the Java that is on the path: containers want JAVA_HOME."""
    found = shutil.which("java")
    if not found:
        raise Failed("no java on the path: install a JDK 17 (./verbena build does) or set JAVA_HOME")
    return os.path.dirname(os.path.dirname(os.path.realpath(found)))


def plugin(root):
    """The jar of hadoop-rdma that was built in a checkout."""
    found = jvm.built(root, "hadoop-rdma")
    if not found:
        raise Failed("the Hadoop plugin is not built: run ./verbena build")
    return found
