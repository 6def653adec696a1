#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets clang read each C file that gcc compiled, with its warnings as errors: no code is generated.

usage: check_clang.py [--list] [-j N] [--build FOLDER]... [NAME ...]
--build is a build folder with its compile_commands.json, and with its generated headers built. A file is read once, as the
first folder that has it compiles it. NAME: only files whose path has it in it. Ends with "N passed, N failed"; with 2 when a
NAME matches nothing, with 77 when there is no clang here.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

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
    root = pathlib.Path(__file__).resolve().parents[2]
    for build in builds:
        for source, directory, arguments in commands(build):
            if source.is_relative_to(root) and not source.is_relative_to(build.resolve()):
                found.setdefault(str(source.relative_to(root)), (source, directory, clang_options(arguments)))
    return dict(sorted(found.items()))


def chosen(files, names):
    for name in names:
        if not any(name in path for path in files):
            print(f"no test matches '{name}'", file=sys.stderr)
            sys.exit(2)
    return {path: how for path, how in files.items() if not names or any(name in path for name in names)}


def check(compiler, how):
    """What clang says of one file; nothing if it is content."""
    source, directory, options = how
    done = subprocess.run([compiler, *options, "-Werror", "-Wno-unknown-warning-option", "-fsyntax-only", source], cwd=directory,
                          capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--build", type=pathlib.Path, action="append", default=[])
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    if unbuilt := [str(folder) for folder in arguments.build if not (folder / "compile_commands.json").is_file()]:
        print(f"no compile_commands.json in {', '.join(unbuilt)}: build it first")
        return 77
    files = chosen(known(arguments.build), arguments.names)
    if arguments.list:
        print("\n".join(files))
        return 0
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        print("no clang here: install Debian's package clang")
        return 77
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        for path, said in zip(files, pool.map(lambda how: check(compiler, how), files.values())):
            if said:
                failed += 1
                print(f"FAIL {path}\n{said.strip()}")
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
