# SPDX-License-Identifier: Apache-2.0
"""The JUnit tests that the sources of the Maven modules have."""
import collections
import os
import pathlib
import re
import xml.etree.ElementTree as tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
POM = "{http://maven.apache.org/POM/4.0.0}"
TESTS = "src/test/java"
METHOD = re.compile(
    r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b.*?\b(?:void|Stream<\w+>)\s+(\w+)\s*\(", re.S)
PARENT = re.compile(r"\bclass\s+\w+\s+extends\s+(\w+)")

Module = collections.namedtuple("Module", "path folder")  # path: of the folder in the repository
Test = collections.namedtuple("Test", "id module name method")  # id: NAME#METHOD; name: of the class, with its package


def modules(folder=ROOT):
    """All that have tests, in Maven's order as far as the POMs say it."""
    found = []
    if (folder / TESTS).is_dir():
        found.append(Module(str(folder.relative_to(ROOT)), folder))
    for child in tree.parse(folder / "pom.xml").getroot().findall(f"{POM}modules/{POM}module"):
        found += modules(pathlib.Path(os.path.normpath(folder / child.text)))
    return found


def setting(folder, name):
    """A property of a module's POM, or of a parent's; without what Maven would put in."""
    pom = tree.parse(folder / "pom.xml").getroot()
    text = pom.findtext(f"{POM}properties/{POM}{name}")
    if text is not None:
        return " ".join(text.split())
    if pom.find(f"{POM}parent") is None:
        return ""
    above = pom.findtext(f"{POM}parent/{POM}relativePath") or "../pom.xml"
    return setting((folder / above).resolve().parent, name)


def _classes(module):
    """{name: (methods, the class it extends)}; names without package, which are unique in a module."""
    found = {}
    for path in sorted((module.folder / TESTS).rglob("*Test.java")):
        text = path.read_text(encoding="utf-8")
        parent = PARENT.search(text)
        package = ".".join(path.parent.relative_to(module.folder / TESTS).parts)
        found[path.stem] = (package, METHOD.findall(text), parent and parent[1])
    return found


def all_tests():
    tests = []
    for module in modules():
        classes = _classes(module)
        for simple, (package, methods, parent) in classes.items():
            name = f"{package}.{simple}"
            for method in dict.fromkeys([*methods, *(classes[parent][1] if parent in classes else [])]):
                tests.append(Test(f"{name}#{method}", module, name, method))
    return tests


def sizes():
    """{name of a class: how many tests it has}."""
    return collections.Counter(test.name for test in all_tests())


def matching(tests, name):
    """Those of a module, a class, a method; else those that have the name in their id."""
    name = name.rstrip("/").removesuffix(".java")
    exact = [test for test in tests if name in (
        test.id, test.name, test.method, test.module.path, test.name.rpartition(".")[2], test.id.rpartition(".")[2])
        or name.endswith(f"{TESTS}/{test.name.replace('.', '/')}")]
    return exact or [test for test in tests if name in test.id]
