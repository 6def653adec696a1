# SPDX-License-Identifier: Apache-2.0
"""The files that the checks look at: those that git knows, and new ones in the folders of the repository.

What a user builds or keeps beside them at the top level (`mpicc ring.c -o ring`, `cmake -B build`) is nobody's business.
"""
import pathlib
import subprocess

FOLDERS = {".ci", "docs", "hadoop-rdma", "hbase-rdma", "memcached-rdma", "mpi", "native-core", "ohb",
           "spark-rdma-shuffle", "tests"}
FILES = {".clang-format", ".editorconfig", ".git-blame-ignore-revs", ".gitattributes", ".gitignore", "CONTRIBUTING.md",
         "LICENSE", "README.md", "SECURITY.md", "pom.xml", "verbena"}


def _listed(root, *options):
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z", *options], check=True, capture_output=True).stdout
    return {pathlib.Path(name) for name in listing.decode().split("\0") if name and (root / name).is_file()}


def tracked(root):
    """Files that git knows and that exist, relative to root."""
    return sorted(_listed(root))


def files(root):
    """Tracked files, and those below FOLDERS that git would add."""
    new = {path for path in _listed(root, "-o", "--exclude-standard") if path.parts[0] in FOLDERS}
    return sorted(_listed(root) | new)


def is_bash(root, path):
    with (root / path).open("rb") as file:
        first = file.read(64).split(b"\n")[0]
    return first.startswith(b"#!") and first.endswith(b"bash")
