# SPDX-License-Identifier: Apache-2.0
"""Options for the many short-lived JVMs of the tests; --full leaves the JVM as users have it."""
import os

# Most of their processor time is start and compilation: the quick compiler alone, one thread to collect garbage.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
FOR_TOOLS = [f"-J{word}" for word in QUICK.split()]  # javac takes no environment


def start_quickly():
    """For every java that is started from now on, by Spark's processes too."""
    os.environ["JDK_JAVA_OPTIONS"] = f"{QUICK} {os.environ.get('JDK_JAVA_OPTIONS', '')}".strip()
