# SPDX-License-Identifier: Apache-2.0
"""The command line of the Spark plugin's fetch client and server without a Spark (FetchProgram), for a guest."""
import glob
import os
import shlex
import shutil

# What the two need of Spark; from Maven's repository, because the build has put it there.
ARTIFACTS = ("org/apache/spark/spark-core_2.13", "org/apache/spark/spark-network-common_2.13",
             "org/apache/spark/spark-network-shuffle_2.13", "org/apache/spark/spark-common-utils_2.13",
             "org/apache/spark/spark-common-utils-java_2.13", "org/scala-lang/scala-library", "org/slf4j/slf4j-api",
             "org/apache/logging/log4j/log4j-api", "org/apache/logging/log4j/log4j-core",
             "org/apache/logging/log4j/log4j-slf4j2-impl", "org/apache/hadoop/hadoop-client-api", "org/apache/ivy/ivy",
             "io/netty/netty-buffer", "io/netty/netty-common", "io/dropwizard/metrics/metrics-core")
SPARK = "4.2.0"


class Missing(Exception):
    """It cannot run here; the text says what has to be done first."""


def _jar(repository, artifact):
    """The newest jar of an artifact, for Spark that of the version that everything is tested with."""
    version = SPARK if artifact.startswith("org/apache/spark/") else "*"
    found = [path for path in glob.glob(os.path.join(repository, artifact, version, "*.jar"))
             if not path.endswith(("-sources.jar", "-tests.jar", "-javadoc.jar"))]
    if not found:
        raise Missing(f"no jar of {artifact} in {repository}: ./verbena build")
    return max(found, key=os.path.getmtime)


def _libraries(root):
    """A folder below root, which a guest sees, with the jars."""
    repository = os.environ.get("VERBENA_MAVEN_REPOSITORY") or os.path.expanduser("~/.m2/repository")
    folder = os.path.join(root, ".verbena", "guest-jars")
    os.makedirs(folder, exist_ok=True)
    for artifact in ARTIFACTS:
        source = _jar(repository, artifact)
        target = os.path.join(folder, os.path.basename(source))
        if not os.path.isfile(target) or os.path.getsize(target) != os.path.getsize(source):
            half = f"{target}.{os.getpid()}"
            shutil.copyfile(source, half)
            os.replace(half, target)  # another run may have the jar open
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".jar")]


def command(root, build, arguments):
    """arguments: of FetchProgram. Missing when something is not built."""
    tests = os.path.join(root, "spark-rdma-shuffle", "common", "target", "test-classes")
    plugin = glob.glob(os.path.join(root, "spark-rdma-shuffle", "dist", "target", "spark-rdma-shuffle-[0-9]*.jar"))
    if not plugin or not os.path.isdir(os.path.join(tests, "org")):
        raise Missing("the Spark plugin is not built: ./verbena build")
    library = os.path.join(build, "libvbnjni.so")
    path = ":".join([tests, plugin[0], *_libraries(root)])
    return (f"java -Xmx512m -XX:+UseSerialGC -Dverbena.native.path={shlex.quote(library)} -cp {shlex.quote(path)} "
            f"org.verbena.spark.read.FetchProgram {arguments}")
