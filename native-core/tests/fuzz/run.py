#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the libFuzzer targets of a build: a fixed number of runs from a fixed seed, or for some time.

usage: run.py --build FOLDER --state FOLDER [--source FOLDER] (--runs N | --seconds S | --list) [NAME ...]
--source has the targets and their corpora: this folder, or another component's.
NAME is a target. Prints what each ran and ends with "N passed, N failed, N skipped". With --seconds, what was learned is kept in
the state folder and used the next time. Input that fails is kept there too: add it to corpus/TARGET with the repair.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "tests/lib"))
import program  # noqa: E402  (needs the path above)

INPUT_MAX = 1024
GRACE_SECONDS = 120


def targets(source):
    return [path.stem.removeprefix("fuzz_") for path in sorted(source.glob("fuzz_*.c"))]


def command(name, binary, state, learned, arguments):
    limit = [f"-runs={arguments.runs}", "-seed=1"] if arguments.runs else [f"-max_total_time={arguments.seconds}"]
    return [str(binary), *limit, f"-max_len={INPUT_MAX}", "-timeout=20", "-rss_limit_mb=2048", "-detect_leaks=0",
            "-print_final_stats=1", f"-artifact_prefix={state}/", str(learned), str(arguments.source / "corpus" / name)]


def run(name, arguments, tally):
    binary = arguments.build / f"fuzz_{name}"
    state = arguments.state / name
    learned = state / "learned"
    learned.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(command(name, binary, state, learned if arguments.seconds else scratch, arguments),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                timeout=(arguments.seconds or 600) + GRACE_SECONDS, check=False)
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", result.stdout)
    edges = re.findall(r"\bcov: (\d+)", result.stdout)
    good = result.returncode == 0 and runs is not None and int(runs[1]) > 0
    said = [] if good else [f"again: {binary} {state}/<the file named below>"]
    tally.tell(name, said, f"  ({runs[1] if runs else 0} runs, {edges[-1] if edges else 0} edges)")
    if not good:
        print(result.stdout[-6000:], flush=True)


def run_all(names, arguments):
    """Gives the exit status."""
    tally = program.Tally()
    for name in names:
        run(name, arguments, tally)
    return tally.end()


def main():
    parser = program.parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--state", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, default=HERE)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=int, help="for each target")
    arguments = program.read(parser)
    if bool(arguments.runs) == bool(arguments.seconds) and not arguments.list:
        parser.error("give --runs or --seconds")
    return program.serve(arguments, lambda names: program.choose(targets(arguments.source), names),
                         lambda names: run_all(names, arguments))


if __name__ == "__main__":
    sys.exit(main())
