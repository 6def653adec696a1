# SPDX-License-Identifier: Apache-2.0
"""Site files of Hadoop and HBase, and their log4j.properties."""
import xml.sax.saxutils

LOG4J = """log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.zookeeper=WARN
"""


def _property(name, value):
    escape = xml.sax.saxutils.escape
    return f"  <property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"


def site(properties):
    """The text of a site file."""
    lines = [_property(name, value) for name, value in sorted(properties.items()) if value is not None]
    return "\n".join(['<?xml version="1.0"?>', "<configuration>", *lines, "</configuration>", ""])
