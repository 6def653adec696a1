#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets clang read each C file that gcc compiled, with its warnings as errors: no code is generated.

usage: check_clang.py [--list] [-j N] [--build FOLDER]... [NAME ...]

--build is a build folder with its compile_commands.json, and with its generated headers built. A file is read once, as the
first folder that has it compiles it. NAME: only files whose path has it in it. Ends with "N passed, N failed, N skipped"; with
2 when a NAME matches nothing, with 77 when there is no clang here.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/lib"))
import program  # noqa: E402  (needs the path above)

COMPILERS = ["clang", *(f"clang-{version}" for version in range(21, 13, -1))]
WITH_VALUE = {"-I", "-isystem", "-iquote", "-D", "-U", "-include"}  # and -Ifolder, -DNAME, ...
KEPT = ("-I", "-D", "-U", "-std=", "-W", "-f")
GCC_ONLY = ("-Wno-stringop-overread", "-Wl,", "-fsanitize", "-fno-sanitize", "-ffile-prefix-map", "-fstack", "-fcf", "-flto")
LIMIT = 120  # seconds for one file


def commands(build):
    """(source, directory, arguments) of each C file that a build compiles."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(".c"):
            source = pathlib.Path(entry["directory"], entry["file"]).resolve()
            yield source, entry["directory"], entry.get("arguments") or shlex.split(entry["command"])


def clang_options(arguments):
    """What of a compiler's command line says how a file is read."""
    options, words = [], iter(arguments)
    for word in words:
        if word in WITH_VALUE:
            options += [word, next(words)]
        elif word.startswith(KEPT) and not word.startswith(GCC_ONLY):
            options.append(word)
    return options


def known(builds):
    """Each file once: the path from the top of the sources to (source, directory, options)."""
    found = {}
    for build in builds:
        for source, directory, arguments in commands(build):
            if source.is_relative_to(ROOT) and not source.is_relative_to(build.resolve()):
                found.setdefault(str(source.relative_to(ROOT)), (source, directory, clang_options(arguments)))
    return dict(sorted(found.items()))


def check(compiler, how):
    """What clang says of one file; nothing if it is content."""
    source, directory, options = how
    done = subprocess.run([compiler, *options, "-Werror", "-Wno-unknown-warning-option", "-fsyntax-only", source], cwd=directory,
                          capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def check_all(files, at_once):
    """files: as known() gives them. Gives the exit status."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        print("no clang here: install Debian's package clang")
        return program.CANNOT_RUN
    tally = program.Tally()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for path, said in zip(files, pool.map(lambda how: check(compiler, how), files.values())):
            if said:
                tally.tell(path, said.strip().splitlines())
            else:
                tally.add(1, 0, 0)
    return tally.end()


def main():
    parser = program.parser(__doc__)
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--build", type=pathlib.Path, action="append", default=[])
    arguments = program.read(parser)
    if unbuilt := [str(folder) for folder in arguments.build if not (folder / "compile_commands.json").is_file()]:
        print(f"no compile_commands.json in {', '.join(unbuilt)}: build it first")
        return program.CANNOT_RUN
    files = known(arguments.build)
    return program.serve(arguments, lambda names: program.choose(list(files), names),
                         lambda paths: check_all({path: files[path] for path in paths}, arguments.j))


if __name__ == "__main__":
    sys.exit(main())
