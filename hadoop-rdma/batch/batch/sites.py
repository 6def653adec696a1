# SPDX-License-Identifier: Apache-2.0
"""Site files of Hadoop and HBase: the user's own, and those of a session."""
import os
import xml.etree.ElementTree
import xml.sax.saxutils

from .errors import Failed

LOG4J = """log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


def read(folder, name):
    """{name: value} of a site file in a folder; empty where there is none."""
    path = os.path.join(folder, name + ".xml")
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except FileNotFoundError:
        return {}
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        raise Failed(f"{path} cannot be read: {error}") from error
    found = {(one.findtext("name") or "").strip(): (one.findtext("value") or "").strip() for one in root.iter("property")}
    if "" in found:
        raise Failed(f"{path} has a property without a name: write <property><name>...</name><value>...</value></property>")
    return found


def _property(name, value):
    escape = xml.sax.saxutils.escape
    return f"  <property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"


def text(properties):
    lines = [_property(name, value) for name, value in sorted(properties.items()) if value is not None]
    return "\n".join(['<?xml version="1.0"?>', "<configuration>", *lines, "</configuration>", ""])


def merged(*several):
    """One {site: {name: value}} out of several; the last one wins."""
    result = {}
    for properties in several:
        for site, values in properties.items():
            result.setdefault(site, {}).update(values)
    return result


def chosen(words):
    """{site: {name: value}} of words SITE:NAME=VALUE."""
    result = {}
    for word in words:
        site, colon, rest = word.partition(":")
        name, equals, value = rest.partition("=")
        if not (colon and equals and site and name):
            raise Failed(f"--set {word}: write SITE:NAME=VALUE, such as hdfs-site:dfs.replication=2")
        result.setdefault(site.removesuffix(".xml"), {})[name] = value
    return result


def write(folder, properties, more=()):
    """Writes site files, a log4j.properties and other files, more: (name, text), into a folder."""
    os.makedirs(folder, exist_ok=True)
    files = [(site + ".xml", text(values)) for site, values in properties.items()]
    for name, content in [*files, ("log4j.properties", LOG4J), *more]:
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
