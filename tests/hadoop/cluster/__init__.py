# SPDX-License-Identifier: Apache-2.0
"""A Hadoop of real daemons on loopback, each a JVM of its own, from the jars of Maven Central."""
