# SPDX-License-Identifier: Apache-2.0
"""Remembers which suites passed with which inputs, so that what did not change is not run again.

A suite's hash covers its row of the table, the content of its folders and of those of every product that it needs, the runner
itself, and the tools and libraries of this machine. Files that git ignores do not count.
"""
import hashlib
import json
import os
import subprocess

import machine

MOST = 20  # passes of one suite that are kept
OWN = ("tests/runner", "tests/lib", "verbena")


def walked(root):
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return (path.as_posix() for path in paths if not {"target", ".verbena", ".git"} & set(path.parts))


def files_below(root):
    """Files that git knows or would add, relative to root; where root is no repository of git's, all but what is built."""
    try:
        done = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, text=True)
        names = done.stdout.split("\0")
    except OSError:  # no git here
        names = []
    return sorted(name for name in (names if "tests/suites.yaml" in names else walked(root)) if name and (root / name).is_file())


def content_of(path):
    """A hash of a file; of one that has gone since it was listed, a word."""
    try:
        return hashlib.sha256((b"x" if os.access(path, os.X_OK) else b"-") + path.read_bytes()).hexdigest()
    except OSError:
        return "gone"


class Memory:
    """Passes of earlier runs, in a folder of the cache."""

    def __init__(self, root, folder, form):
        """form: what changes the suites besides their inputs (tier, stress)."""
        self.root, self.folder, self.form = root, folder, form
        self.hashes = {}
        self.files = None
        self.machine = None
        self.keys = {}

    def _of_file(self, name):
        if name not in self.hashes:
            self.hashes[name] = content_of(self.root / name)
        return self.hashes[name]

    def _of_inputs(self, inputs):
        if self.files is None:
            self.files, self.machine = files_below(self.root), machine.text()
        return [f"{name} {self._of_file(name)}" for name in self.files
                if any(one == "." or name == one or name.startswith(one + "/") for one in inputs)]

    def hash(self, table, suite):
        """As the inputs were when this was first asked: before the suite ran."""
        if suite.name not in self.keys:
            self.keys[suite.name] = self._hash(table, suite)
        return self.keys[suite.name]

    def is_changed(self, table, suite):
        """Whether its inputs are others than before it ran."""
        return Memory(self.root, self.folder, self.form).hash(table, suite) != self.hash(table, suite)

    def _hash(self, table, suite):
        entries = [suite, *(table.products[name] for name in table.needed(suite))]
        inputs = sorted({*OWN, *(one for entry in entries for one in entry.inputs)})
        lines = [repr(entry) for entry in entries] + self._of_inputs(inputs) + [self.machine, self.form]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]

    def passed(self, table, suite):
        """{passed, skipped, when} of the run that passed with these inputs, or None."""
        try:
            return json.loads((self.folder / f"{suite.name}-{self.hash(table, suite)}").read_text())
        except (OSError, ValueError):
            return None

    def remember(self, table, suite, facts):
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / f"{suite.name}-{self.hash(table, suite)}"
        partial = target.with_name(f".{target.name}-{os.getpid()}")
        partial.write_text(json.dumps(facts))
        partial.rename(target)
        old = sorted(self.folder.glob(f"{suite.name}-{'[0-9a-f]' * 32}"), key=lambda path: path.stat().st_mtime)
        for path in old[:-MOST]:
            path.unlink(missing_ok=True)
