#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree itself: format, includes, layers, budgets, settings and their page, shell scripts, READMEs, prose, top
level.

usage: run.py [ROOT] [--list] [NAME ...]

ROOT is a folder, and comes first. NAME is a check or a part of its name; without any all run. Prints one line for each check
and ends with "N passed, N failed, N skipped". A NAME that matches nothing ends the program with status 2.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import format as formatting
import includes
import prose
import traps
import tree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import program  # noqa: E402  (needs the path above)

SOURCE_ENDINGS = {".c", ".h", ".cc", ".java", ".py", ".sh", ".cmake"}


class Skipped(Exception):
    """The check cannot run here; why."""


def check_top_level(root):
    strange = {path.parts[0] for path in tree.tracked(root)} - tree.FOLDERS - tree.FILES
    return [f"'{name}' does not belong at the top level" for name in sorted(strange)]


def check_spdx(root):
    return [f"{path}: no SPDX-License-Identifier in its first three lines" for path in tree.files(root)
            if path.suffix in SOURCE_ENDINGS and (root / path).stat().st_size
            and not any("SPDX-License-Identifier" in line
                        for line in (root / path).read_text(errors="replace").splitlines()[:3])]


def check_readmes(root):
    files = tree.files(root)
    folders = {path.parent for path in files if path.suffix in {".c", ".py", ".java"}
               and not {"org", "java"} & set(path.parts[:-1])}
    known = set(files)
    missing = [folder for folder in folders
               if not any(parent / "README.md" in known for parent in [folder, folder.parent])]
    long = [path for path in files if path.name == "README.md" and len(path.parts) > 1
            and len((root / path).read_text().splitlines()) > 100]
    return [f"{folder}: no README.md here or one folder up" for folder in sorted(missing)] + \
           [f"{path}: longer than 100 lines" for path in long]


def check_shell(root):
    scripts = [path for path in tree.files(root) if tree.is_bash(root, path)]
    if shutil.which("shellcheck") is None:
        raise Skipped("no shellcheck; install Debian's package of that name")
    result = subprocess.run(["shellcheck", *map(str, scripts)], cwd=root, capture_output=True, text=True)
    return (result.stdout + result.stderr).splitlines() or [f"shellcheck ended with {result.returncode}"] * (result.returncode != 0)


def check_lines(root):
    return formatting.check_lines(root, tree.files(root))


def check_c_format(root):
    program = formatting.clang_format()
    if program is None:
        raise Skipped(f"no clang-format {formatting.CLANG_FORMAT} (VERBENA_CLANG_FORMAT)")
    return formatting.check_c(root, tree.files(root), program)


def run_script(root, name, *arguments):
    result = subprocess.run([sys.executable, root / "native-core/tools" / name, root, *arguments],
                            capture_output=True, text=True)
    print("    " + "\n    ".join(result.stdout.strip().splitlines()[-3:]))
    return [] if result.returncode == 0 else (result.stdout + result.stderr).splitlines()


def check_settings_page(root):
    """docs/settings.md is what the generator makes of the tables now: code, texts and readers name that page."""
    command = [sys.executable, root / "native-core/tools/gen_settings.py", "--repository", root, "--docs"]
    page = root / "docs/settings.md"
    with tempfile.TemporaryDirectory() as folder:
        wanted = pathlib.Path(folder) / "settings.md"
        result = subprocess.run([*command, wanted], capture_output=True, text=True)
        if result.returncode != 0:
            return (result.stdout + result.stderr).splitlines()
        if page.is_file() and page.read_text() == wanted.read_text():
            return []
    return ["docs/settings.md differs from the tables; write it anew: python3 native-core/tools/gen_settings.py "
            "--repository . --docs docs/settings.md"]


def check_plugin_settings(root):
    """The plugins' pages have the tables that the generator makes, and each of their settings is read."""
    result = subprocess.run([sys.executable, root / "native-core/tools/gen_plugin_settings.py", root, "--check"],
                            capture_output=True, text=True)
    return [] if result.returncode == 0 else (result.stdout + result.stderr).splitlines()


def check_memcached_page(root):
    """The page of memcached has the tables of flags that the server reads."""
    result = subprocess.run([sys.executable, root / "memcached-rdma/tools/gen_tables.py", root, "--check"],
                            capture_output=True, text=True)
    return [] if result.returncode == 0 else (result.stdout + result.stderr).splitlines()


CHECKS = {
    "top-level": check_top_level,
    "licences": check_spdx,
    "readmes": check_readmes,
    "prose": lambda root: prose.check(root, tree.files(root)),
    "shell": check_shell,
    "lines": check_lines,
    "c-format": check_c_format,
    "includes": lambda root: includes.check(root, tree.files(root)),
    "traps": lambda root: traps.check(root, tree.files(root)),
    "layers": lambda root: run_script(root, "check_layers.py"),
    "circles": lambda root: run_script(root, "check_circles.py"),
    "java-circles": lambda root: run_script(root, "check_java_circles.py"),
    "budgets": lambda root: run_script(root, "check_budgets.py", *tree.files(root)),
    "settings": lambda root: run_script(root, "check_settings.py"),
    "settings-page": check_settings_page,
    "plugin-settings": check_plugin_settings,
    "memcached-page": check_memcached_page,
    "lost-peers": lambda root: run_script(root, "check_peer_lost.py"),
}


def run_check(root, name, tally):
    try:
        problems = CHECKS[name](root)
    except Skipped as why:
        tally.skip(name, why)
        return
    tally.tell(name, [f"Error: {problem}" for problem in problems])


def run_all(root, names):
    tally = program.Tally()
    for name in names:
        run_check(root, name, tally)
    return tally.end()


def main(arguments):
    words = list(arguments)
    root = pathlib.Path(words.pop(0) if words and pathlib.Path(words[0]).is_dir() else ".").resolve()
    return program.serve(program.read(program.parser(__doc__), words), lambda names: program.choose(list(CHECKS), names),
                         lambda names: run_all(root, names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
