# SPDX-License-Identifier: Apache-2.0
"""Remembers which suites passed with which inputs, so that what did not change is not run again.

A suite's hash covers its row of the table, the content of its folders and of those of every product that it needs, the runner
itself, and the tools and libraries of this machine. Files that git ignores do not count.
"""
import hashlib
import json
import os
import pathlib
import subprocess

TOOLS = (["cc", "--version"], ["cmake", "--version"], ["java", "-version"], ["python3", "--version"], ["uname", "-r"])
LIBRARIES = ("libssl.so", "libcrypto.so", "libibverbs.so", "librdmacm.so", "liblz4.so", "libzstd.so", "libc.so", "libmemcached.so")
MOST = 20  # passes of one suite that are kept
OWN = ("tests/runner", "tests/lib", "verbena")


def walked(folder):
    return (path for path in folder.rglob("*") if path.is_file() and not {"target", ".verbena", ".git"} & set(path.parts))


def files_below(root):
    """Files that git knows or would add, relative to root; without git all but what is built."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, text=True)
    if done.returncode == 0:
        return sorted(name for name in done.stdout.split("\0") if name and (root / name).is_file())
    return sorted(path.relative_to(root).as_posix() for path in walked(root))


def output_of(words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired):
        return "none"


def machine():
    """What is installed: versions of tools, and the libraries' files."""
    known = output_of(["/sbin/ldconfig", "-p"]).splitlines()
    ours = [line for line in known if "=>" in line and line.split()[0].startswith(LIBRARIES)]
    paths = sorted({os.path.realpath(line.split("=>")[1].strip()) for line in ours})
    sizes = [f"{path} {os.stat(path).st_size} {int(os.stat(path).st_mtime)}" for path in paths if os.path.exists(path)]
    return "\n".join([*map(output_of, TOOLS), *sizes])


class Memory:
    """Passes of earlier runs, in a folder of the cache."""

    def __init__(self, root, folder, form):
        """form: what changes the suites besides their inputs (tier, stress)."""
        self.root, self.folder, self.form = root, folder, form
        self.hashes = {}
        self.files = None
        self.machine = None

    def _of_file(self, name):
        if name not in self.hashes:
            path = self.root / name
            mode = b"x" if os.access(path, os.X_OK) else b"-"
            self.hashes[name] = hashlib.sha256(mode + path.read_bytes()).hexdigest()
        return self.hashes[name]

    def _of_inputs(self, inputs):
        if self.files is None:
            self.files, self.machine = files_below(self.root), machine()
        return [f"{name} {self._of_file(name)}" for name in self.files
                if any(one == "." or name == one or name.startswith(one + "/") for one in inputs)]

    def hash(self, table, suite):
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
