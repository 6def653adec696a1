#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the libFuzzer targets of a build: a fixed number of runs from a fixed seed, or for some time.

usage: run.py --build FOLDER --state FOLDER [--source FOLDER] (--runs N | --seconds S | --list) [TARGET ...]
--source has the targets and their corpora: this folder, or another component's.
Prints what each target ran and ends with "N passed, M failed". With --seconds, what was learned is kept in the state
folder and used the next time. Input that fails is kept there too: add it to corpus/TARGET with the repair.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INPUT_MAX = 1024
GRACE_SECONDS = 120


def targets(source, build, wanted):
    known = {path.stem.removeprefix("fuzz_"): build / path.stem for path in sorted(source.glob("fuzz_*.c"))}
    strange = [name for name in wanted if name not in known]
    if strange:
        print(f"no test matches '{strange[0]}' (targets: {' '.join(known)})", file=sys.stderr)
        sys.exit(2)
    return {name: known[name] for name in wanted or known}


def command(name, binary, state, learned, arguments):
    limit = [f"-runs={arguments.runs}", "-seed=1"] if arguments.runs else [f"-max_total_time={arguments.seconds}"]
    return [str(binary), *limit, f"-max_len={INPUT_MAX}", "-timeout=20", "-rss_limit_mb=2048", "-detect_leaks=0",
            "-print_final_stats=1", f"-artifact_prefix={state}/", str(learned), str(arguments.source / "corpus" / name)]


def run(name, binary, arguments):
    """True when the target found nothing."""
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
    print(f"{'ok  ' if good else 'FAIL:'} {name}: {runs[1] if runs else 0} runs, {edges[-1] if edges else 0} edges",
          flush=True)
    if not good:
        print(result.stdout[-6000:])
        print(f"Error: {name} failed; again: {binary} {state}/<the file named above>")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--state", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, default=HERE)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=int, help="for each target")
    parser.add_argument("--list", action="store_true", help="names of the targets")
    parser.add_argument("target", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(targets(arguments.source, arguments.build, ())))
        return 0
    if bool(arguments.runs) == bool(arguments.seconds):
        parser.error("give --runs or --seconds")
    results = [run(name, binary, arguments)
               for name, binary in targets(arguments.source, arguments.build, arguments.target).items()]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
