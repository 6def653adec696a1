#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the suites of tests/suites.yaml: './verbena test' calls this. Ends with "N passed, N failed, N skipped"."""
import argparse
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import busy  # noqa: E402  (needs the path above)
import choice  # noqa: E402
import kinds  # noqa: E402
import report  # noqa: E402
import table as tables  # noqa: E402
from jobs import Job, Result  # noqa: E402
from memory import Memory  # noqa: E402
from schedule import Schedule, Stopped, made  # noqa: E402

BESIDE = 2  # jobs more than processors run at once: most wait for something now and then
SLOWER = ("far", "slow")  # the cost models of --stress


def say(text):
    print(f"verbena: {text}", flush=True)


def parsed(words):
    parser = argparse.ArgumentParser(prog="./verbena test", add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--quick", action="store_const", dest="tier", const="quick", default="default")
    tier.add_argument("--full", action="store_const", dest="tier", const="full")
    for flag in ("stress", "fresh", "budgets", "list", "known"):  # known: says nothing where each name names something
        parser.add_argument(f"--{flag}", action="store_true")
    return parser.parse_args(words)


def settings():
    """Variables that change what tests do."""
    known = ("VBN_", "VERBENA_", "CFLAGS", "CXXFLAGS", "CC", "CXX", "JAVA_", "MAVEN_OPTS")
    return sorted((key, value) for key, value in os.environ.items()
                  if key.startswith(known) and key not in ("VERBENA_STATE", "VERBENA_CACHE"))


class Run:
    """One call of the runner: where everything lies, and what was asked for."""

    def __init__(self, options, root, state, cache):
        self.options, self.root, self.state = options, root, state
        self.table = tables.read(root / "tests/suites.yaml", options.tier == "full")
        self.python = sys.executable
        form = f"{'full' if options.tier == 'full' else 'short'}{' stress' if options.stress else ''} {settings()}"
        self.memory = Memory(root, cache / "passed", form)
        self.places = {"root": root, "state": state, "cache": cache, "python": self.python, "model": "near",
                       "stress": options.stress or options.tier == "full"}
        self.jobs, self.entries, self.results = {}, {}, {}

    def base_env(self, suite):
        full = self.options.tier == "full" or suite.tier == "full"
        return {"VERBENA_TEST_FULL": "1"} if full else {}

    # ------------------------------------------------------------------------------------------ what runs

    def add(self, entry, chosen, name=None, is_product=False, whole=True):
        name = name or entry.name
        log = self.state / "log" / (f"make-{entry.name}.log" if is_product else f"test-{name}.log")
        env = chosen.env if is_product else {**self.base_env(entry), **chosen.env}
        self.entries[name] = entry
        self.jobs[name] = Job(entry, chosen.argv, env, log, is_product, whole)

    def add_suite(self, suite):
        if not (self.options.stress and suite.models):
            self.add(suite, kinds.whole(suite, self.places))
            return
        for model in SLOWER:
            self.add(dataclasses.replace(suite, exclusive=(*suite.exclusive, suite.name)),
                     kinds.whole(suite, {**self.places, "model": model}), f"{suite.name}-{model}")

    def add_products(self, targets):
        """targets: {job: what is enough of the first product that it needs}; a job that is not there needs all of it."""
        wanted = {}
        for name, entry in self.entries.items():
            for need in self.table.needed(entry):
                wanted.setdefault(need, []).append(targets.get(name, ()) if entry.needs[0] == need else ())
        for need, asked in wanted.items():
            some = list(dict.fromkeys(word for words in asked for word in words)) if all(asked) else []
            self.add(self.table.products[need], kinds.Chosen([self.root / "verbena", "make", need, *some], {}, []), made(need),
                     is_product=True, whole=not some)

    def prepare(self):
        """Fills jobs. Raises choice.Unknown."""
        whole, single = choice.choose(self.table, self.options.names, self.options.tier, self.places, self.root)
        targets = {}
        for name, words in single.items():
            chosen = kinds.some(self.table.suites[name], self.places, self.root, words)
            self.add(self.table.suites[name], chosen, f"{name}-alone", whole=False)
            if chosen.targets:
                targets[f"{name}-alone"] = chosen.targets
        for name in whole:
            facts = self.memory.passed(self.table, self.table.suites[name])
            if facts and not self.options.fresh:
                self.tell(name, Result("unchanged", why=facts["told"]))
            else:
                self.add_suite(self.table.suites[name])
        self.add_products(targets)

    # ------------------------------------------------------------------------------------------- the run

    def tell(self, name, result):
        self.results[name] = result
        if name in self.jobs and self.jobs[name].is_product:
            print(report.product_line(name, result), flush=True)
            return
        print(report.line_of(name, result), flush=True)
        for line in result.left:
            say(f"{name}: {line}")
        if result.state == "skipped" and result.log is not None:
            say(f"{name}: {result.why}")
        if result.state == "passed" and name in self.table.suites and name in self.jobs:
            self.remember(self.table.suites[name], result)

    def remember(self, suite, result):
        """A pass, unless the inputs have changed while it ran; a folder that cannot be written is no failure."""
        told = f"{result.passed} passed, {result.skipped} skipped, {time.strftime('%d %B %H:%M')}"
        try:
            if not self.memory.is_changed(self.table, suite):
                self.memory.remember(self.table, suite, {"told": told})
        except OSError as error:
            say(f"cannot remember that {suite.name} passed: {error}")

    def idle(self, names):
        say("running: " + ", ".join(f"{name} ({time.monotonic() - self.jobs[name].began:.0f} s)" for name in names
                                    if self.jobs[name].began))

    def run(self):
        places = len(os.sched_getaffinity(0)) + BESIDE
        with busy.processes() if self.options.stress else contextlib.nullcontext():
            Schedule(self.jobs, places, self.tell, self.idle).run()

    def flags(self):
        """Of this run, for the line that runs a test of it alone."""
        return "".join(f" --{flag}" for flag, wanted in (("full", self.options.tier == "full"), ("stress", self.options.stress))
                       if wanted)

    def close(self, began):
        """Prints what failed, budgets and sums. Gives the exit status."""
        failed = [name for name, result in self.results.items() if result.state == "failed"]
        for name in failed:
            print("\n".join(report.problem(name, self.results[name], self.jobs[name], self.flags())))
        over = [] if self.options.stress or self.options.tier == "full" else report.over_budget(
            self.entries, {name: result for name, result in self.results.items() if name in self.jobs and self.jobs[name].holds})
        for text in over:
            say(f"over budget: {text}")
        seconds, cpu = time.monotonic() - began, sum(result.cpu for result in self.results.values())
        unchanged = sum(result.state == "unchanged" for result in self.results.values())
        say(f"{seconds / 60:.1f} minutes, {cpu / 60:.1f} CPU minutes" +
            (f"; {unchanged} suites unchanged (--fresh runs them, too)" if unchanged else ""))
        print(report.last_line(self.results.values()), flush=True)
        return 1 if failed or (over and self.options.budgets) else 0


@contextlib.contextmanager
def only_run(state):
    """Two runs of one clone would write the same logs and builds: the second one waits."""
    (state / "log").mkdir(parents=True, exist_ok=True)
    with open(state / "log/test.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting for another './verbena test' of this clone ({lock.name})")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def show_list(run):
    """All suites, or the tests of those that are named."""
    if not run.options.names:
        for suite in run.table.suites.values():
            print(f"{suite.name:<22} part {suite.part:<10} tier {suite.tier:<8} {suite.budget:4d} CPU s  "
                  f"needs {', '.join(suite.needs) or 'nothing'}")
        return 0
    whole, single = choice.choose(run.table, run.options.names, "full", run.places, run.root)
    for name in [*whole, *single]:
        for one in kinds.listed(run.table.suites[name], run.places, run.root):
            print(f"{name}:{one}")
    return 0


def main():
    options = parsed(sys.argv[1:])
    kinds.program.raise_on_signals()
    began = time.monotonic()
    try:
        run = Run(options, HERE.parents[1], pathlib.Path(os.environ["VERBENA_STATE"]), pathlib.Path(os.environ["VERBENA_CACHE"]))
        if options.list:
            return show_list(run)
        if options.known:
            choice.choose(run.table, options.names, options.tier, run.places, run.root)
            return 0
        with only_run(run.state):
            run.prepare()
            run.run()
            return run.close(began)
    except BrokenPipeError:  # whoever read a list has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if options.list else 141
    except (choice.Unknown, tables.Wrong, kinds.NoList) as error:
        print(f"verbena: test: {error}", file=sys.stderr)
        return 2
    except (Stopped, KeyboardInterrupt):
        say("stopped by a signal; nothing is left running; the next run uses the products that are built")
        return 130


if __name__ == "__main__":
    sys.exit(main())
