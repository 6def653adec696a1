# SPDX-License-Identifier: Apache-2.0
"""Our jars and POMs as this checkout has built them, as a user's Maven resolves them, and a repository with one of them."""
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUP, VERSION = "org.verbena", "0.1.0"
NAMES = ("spark-rdma-shuffle", "hadoop-rdma", "hbase-rdma", "memcached-rdma")
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
LIMIT = 300  # seconds
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
    <modelVersion>4.0.0</modelVersion>
    <groupId>test</groupId><artifactId>user</artifactId><version>1</version>
    <dependencies>{}</dependencies>
</project>"""


class NotResolved(Exception):
    """Maven could not, or nothing is built; the text is for the user."""


def built(name):
    """Paths of the jar and the POM that the build installs under this name."""
    target = ROOT / name / "dist/target"
    found = target / f"{name}-{VERSION}.jar", target / "one-pom.xml"
    if not all(path.is_file() for path in found):
        raise NotResolved(f"{name} is not built: run ./verbena build")
    return found


def resolved(folder, names=NAMES):
    """Path of a folder with all jars and POMs that a project gets which depends on the named artifacts and no other."""
    folder = pathlib.Path(folder)
    project, into = folder / "pom.xml", folder / "resolved"
    project.write_text(PROJECT.format("".join(
        f"<dependency><groupId>{GROUP}</groupId><artifactId>{name}</artifactId><version>{VERSION}</version></dependency>"
        for name in names)))
    command = ["mvn", "-B", "-q", "-f", str(project), COPY, f"-DoutputDirectory={into}", "-Dmdep.copyPom=true",
               "-Dmdep.addParentPoms=true"]
    for more in (["-o"], []):  # what is not there yet is fetched, as by ./verbena
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=LIMIT, check=False)
        if done.returncode == 0:
            return into
    raise NotResolved(f"Maven could not resolve {', '.join(names)}; are they built (./verbena build)?\n{done.stdout[-2000:]}")


def repository(folder, name):
    """Makes a Maven repository in a folder, with one of them and nothing else."""
    place = os.path.join(folder, *GROUP.split("."), name, VERSION)
    os.makedirs(place)
    for path, kind in zip(built(name), ("jar", "pom")):
        shutil.copy(path, os.path.join(place, f"{name}-{VERSION}.{kind}"))
