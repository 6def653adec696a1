#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rows of docs/mpi.md that compare Debian's programs on our libraries with the same programs on their own.

usage: table.py BUILD [--rounds N] [NAME ...]   BUILD: the build folder of mpi/. NAME: a part of a program's name.

Each round (5, if not told) runs a program once on each library, one right after the other, in turns first. A ratio is the median of
those of the rounds; the least and the largest one follow in brackets. It depends on what else the host does: run it alone.
The packages come from ./verbena make mpi-packages, mpi-programs and mpi-families.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "mpi/tests/run"), str(ROOT / "mpi/tests/shim")]
import packages  # noqa: E402  (needs the path above)
from runner import Skipped  # noqa: E402

FAMILIES = {"ompi": "Open MPI", "mpich": "MPICH"}


def round_of(package, build, at):
    """(ours, stock)"""
    if at % 2 == 0:
        return packages.run_ours(package, build), packages.run_stock(package)
    stock = packages.run_stock(package)
    return packages.run_ours(package, build), stock


def ratio(rounds, kind):
    values = [getattr(ours, kind) / getattr(stock, kind) for ours, stock in rounds if stock is not None]
    return f"{statistics.median(values):.2f} [{min(values):.2f} .. {max(values):.2f}]" if values else "no stock run"


def row(package, build, count):
    """(its row, what is wrong)"""
    rounds = [round_of(package, build, at) for at in range(1 if package.refused else count)]
    problems = [line for ours, stock in rounds for line in packages.disagree(package, ours, stock)]
    result = "fails" if problems else "refused" if package.refused else "equal" if rounds[0][1] else "passes"
    ratios = " | ".join(ratio(rounds, kind) for kind in ("wall", "processor")) if not package.refused else " | "
    return f"| {package.name} | {FAMILIES[package.family]}, {package.ranks} | {package.what}: {result} | {ratios} |", problems


def fetch():
    """Their folders, for packages.py."""
    for product in ("mpi-packages", "mpi-programs", "mpi-families"):
        said = subprocess.run([ROOT / "verbena", "make", product], stdout=subprocess.PIPE, text=True, check=False).stdout
        for line in said.splitlines():
            name, _, value = line.removeprefix("export ").partition("=")
            if line.startswith("export "):
                os.environ[name] = value


def main():
    options = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("   ")[0])
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("names", nargs="*")
    words, wrong = options.parse_intermixed_args(), []
    fetch()
    print("| program | family, ranks | compared | time | processor time |\n|---|---|---|---|---|")
    for package in packages.PACKAGES:
        if words.names and not any(name in package.name for name in words.names):
            continue
        try:
            line, problems = row(package, words.build.resolve(), words.rounds)
        except Skipped as reason:
            line, problems = f"| {package.name} | {FAMILIES[package.family]} | {reason} | | |", []
        print(line, flush=True)
        wrong += problems
    print(*wrong, sep="\n", end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
