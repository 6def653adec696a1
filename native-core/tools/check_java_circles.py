#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when Java packages use each other in a circle: each of them can only be read and tested together with the others.

Usage: check_java_circles.py REPOSITORY. A package uses another when it imports a class of that package or names one with
its package. Packages of all modules count, without tests. Texts, and so classes that are loaded by name, do not count, nor do
classes of a host system in whose packages some of ours lie.
"""
import pathlib
import re
import sys

from check_circles import circles

HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|""".*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
TYPE = re.compile(r"\b(?:class|interface|enum|record|@interface)\s+([A-Z]\w*)")
CLASS = re.compile(r"(?<![\w.])((?:[a-z]\w*\.)+)([A-Z]\w*|\*;)")


def sources(repository):
    """The Java files of products: below src/main/java, and not what a build has made."""
    return [path for path in sorted(repository.rglob("src/main/java/**/*.java"))
            if not {"target", ".verbena"} & set(path.relative_to(repository).parts)]


def packages_of(repository):
    """{package: its text}, without comments and literals."""
    packages = {}
    for path in sources(repository):
        text = HIDDEN.sub(" ", path.read_text(encoding="utf-8"))
        found = PACKAGE.search(text)
        if found:
            packages[found[1]] = packages.get(found[1], "") + text[found.end():]
    return packages


def uses_of(packages):
    """{package: {package that it uses: classes}}."""
    uses = {package: {} for package in packages}
    ours = {package: {"*;", *TYPE.findall(text)} for package, text in packages.items()}
    for package, text in packages.items():
        for name, of in CLASS.findall(text):
            other = name.rstrip(".")
            if other != package and of in ours.get(other, ()):
                uses[package].setdefault(other, set()).add(of.rstrip(";"))
    return uses


def show(circle, uses):
    """Each use within a circle, with its classes."""
    return [f"    {package} uses {other}: {' '.join(sorted(uses[package][other]))}"
            for package in sorted(circle) for other in sorted(circle & uses[package].keys())]


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    repository = pathlib.Path(sys.argv[1])
    uses = uses_of(packages_of(repository))
    if not uses:
        print(f"no Java files below {repository}: is this the repository?", file=sys.stderr)
        return 1
    found = [circle for circle in circles(uses) if len(circle) > 1]
    for circle in found:
        print(f"{len(circle)} Java packages use each other: {' '.join(sorted(circle))}; move the classes that both sides need to a "
              "package below them, or pass them by an interface there", *show(circle, uses), sep="\n", file=sys.stderr)
    print(f"circles of Java packages: {len(found) or 'none'} in {len(uses)} packages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
