# SPDX-License-Identifier: Apache-2.0
"""An HBase of real daemons on loopback, each a JVM of its own, from the jars of Maven Central."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib"))
