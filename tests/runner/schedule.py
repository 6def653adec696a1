# SPDX-License-Identifier: Apache-2.0
"""Runs jobs beside each other: what a job needs comes before it, what is exclusive one at a time, the longest way first."""
import queue
import threading
import time

from jobs import KILL_AFTER, Result


class Stopped(Exception):
    """A signal ended the run; all jobs have ended."""


def made(need):
    """The name of the job that makes a product: a suite may have the product's name."""
    return f"make {need}"


class Schedule:
    """jobs: {name: Job}, made(product) for products; needs that are no job of this run count as done. places: jobs with
    loads of this sum run at once. tell(name, result) is called for each that ends, in the calling thread; idle(names that
    run) every `every` seconds."""

    def __init__(self, jobs, places, tell, idle, every=60):
        self.jobs, self.places, self.tell, self.idle, self.every = jobs, places, tell, idle, every
        self.results = {}
        self.running = {}
        self.ended = queue.Queue()
        self.ways = {}

    def run(self):
        """Gives {name: Result}. Raises Stopped after KeyboardInterrupt."""
        try:
            while len(self.results) < len(self.jobs):
                self._start_all()
                if self.running:
                    self._await_one()
        except KeyboardInterrupt:
            self._stop()
            raise Stopped from None
        return self.results

    def _needs(self, name):
        return [made(need) for need in self.jobs[name].entry.needs if made(need) in self.jobs]

    def _way(self, name):
        """Budgets from this job to the end of the longest chain that waits for it."""
        if name not in self.ways:
            after = [other for other in self.jobs if name in self._needs(other)]
            self.ways[name] = self.jobs[name].entry.budget + max(map(self._way, after), default=0)
        return self.ways[name]

    def _start_all(self):
        waiting = [name for name in self.jobs if name not in self.results and name not in self.running]
        for name in sorted(waiting, key=self._way, reverse=True):
            states = [self.results[need].state if need in self.results else None for need in self._needs(name)]
            if any(state in ("failed", "skipped") for state in states):
                self._give_up(name)
            elif None not in states and self._fits(self.jobs[name].entry):
                self._start(name)

    def _fits(self, entry):
        others = [self.jobs[name].entry for name in self.running]
        if any(set(entry.exclusive) & set(other.exclusive) for other in others):
            return False
        return not others or sum(other.load for other in others) + entry.load <= self.places

    def _give_up(self, name):
        need = next(need for need in self._needs(name) if self.results.get(need) and self.results[need].state != "passed")
        reason = self.results[need]
        text = reason.why if reason.state == "skipped" else f"not run, because {need} failed"
        result = Result(reason.state, why=text)
        if not self.jobs[name].is_product:
            result.failed, result.skipped = int(reason.state == "failed"), int(reason.state == "skipped")
        self._end(name, result)

    def _exports(self, name):
        found = {}
        for need in self._needs(name):
            found.update(self._exports(need))
            found.update(self.results[need].exports)
        return found

    def _start(self, name):
        def work():
            try:
                result = self.jobs[name].run(exports)
            except Exception as error:  # of the runner itself; the run goes on and says so
                result = Result("failed", failed=1, why=f"the runner failed: {error!r}")
            self.ended.put((name, result))
        exports = self._exports(name)
        self.running[name] = threading.Thread(target=work, daemon=True)
        self.running[name].start()

    def _await_one(self):
        try:
            name, result = self.ended.get(timeout=self.every)
        except queue.Empty:
            self.idle(list(self.running))
            return
        self.running.pop(name).join()
        self._end(name, result)

    def _end(self, name, result):
        self.results[name] = result
        self.tell(name, result)

    def _stop(self):
        for name in self.running:
            self.jobs[name].stop("the run was stopped")
        deadline = time.monotonic() + KILL_AFTER
        while self.running and time.monotonic() < deadline:
            try:
                name, _ = self.ended.get(timeout=1)
                self.running.pop(name)
            except queue.Empty:
                pass
