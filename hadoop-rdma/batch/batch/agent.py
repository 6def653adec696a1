# SPDX-License-Identifier: Apache-2.0
"""One process in front of each node's step, which starts the node's daemons, watches and ends them. It hears of them by the board.

A step that forks and exits takes its daemons along."""
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time

from . import hosts
from .board import PAUSE, Board
from .errors import Failed, excerpt

PR_SET_PDEATHSIG = 1
GRACE = 30  # seconds that a daemon has after SIGTERM
LOOK = 1  # second that counts at most between two looks
FIRST = 120  # seconds until the session is seen


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Daemon:
    """A child. Its group is the agent's, so that the batch system finds it."""

    def __init__(self, plan, work):
        log = os.path.join(work, "log", plan["name"] + ".log")
        self.name, self.rank = plan["name"], plan["rank"]
        self._told = None
        os.makedirs(plan["folder"], mode=0o700, exist_ok=True)
        how = {"env": {**os.environ, "VERBENA_BATCH": work, **plan["environment"]}, "cwd": plan["folder"],
               "stdin": subprocess.DEVNULL, "preexec_fn": _die_with_parent}
        with open(log, "ab") as sink:
            if plan["before"] and subprocess.run(plan["before"], stdout=sink, stderr=sink, check=False, **how).returncode != 0:
                raise Failed(f"the preparation of {self.name} failed; {excerpt(log)}")
            self._child = subprocess.Popen(plan["argv"], stdout=sink, stderr=sink, **how)

    def ended(self):
        return self._child.poll() is not None

    def state(self):
        return {"pid": self._child.pid, "status": self._child.poll(), "rank": self.rank}

    def end(self):
        """Asks it to end, then makes it."""
        if self.ended():
            return
        if self._told is None:
            self._child.terminate()
            self._told = time.monotonic()
        elif time.monotonic() - self._told > GRACE:
            self._child.kill()


class Agent:
    def __init__(self, work, index):
        self._board, self._index, self._work = Board(work), index, work
        self._daemons, self._folders, self._said = [], [], None
        self._stopped, self._orphan = False, float("inf")
        self._sign, self._looked, self._waited = None, time.monotonic(), 0  # of the session; clocks of nodes differ

    def _started(self):
        """What every node says first; the plan for it follows."""
        session = self._board.wait(lambda: self._board.read("session"), FIRST)
        if session is None or self._index >= len(session["nodes"]):
            raise Failed(f"{self._work} has no session with a node {self._index}")
        name, self._orphan = session["nodes"][self._index], session["options"]["orphan"]
        held = hosts.Held(at := hosts.address(session["interface"], name))
        self._board.write(f"node/{self._index}", hosts.facts(at, name, held.numbers()))
        plan = self._board.wait(lambda: self._board.read("plan") or self._told() is not None or self._is_orphan(), 1e9)
        held.release()
        return plan if isinstance(plan, dict) else {"daemons": []}

    def _told(self):
        """The rank from which on daemons are to end; -1: the agent, too; None: nothing."""
        return -1 if self._stopped else self._board.read("stop")

    def _is_orphan(self):
        """Whether a session that watches its agents has given no sign for long: it was killed."""
        sign = self._board.read("sign")
        now = time.monotonic()
        self._waited = 0 if sign != self._sign else self._waited + min(now - self._looked, LOOK)  # time without looks
        self._sign, self._looked = sign, now
        return sign is not None and self._waited > self._orphan

    def _say(self):
        now = {one.name: one.state() for one in self._daemons}
        if now != self._said:
            self._board.write(f"state/{self._index}", now)
            self._said = now

    def _launch(self, plan):
        self._folders = plan.get("own", {}).get(str(self._index), [])
        for folder in self._folders:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        for one in plan["daemons"]:
            if one["node"] == self._index:
                self._daemons.append(Daemon(one, self._work))
                self._say()

    def _turn(self):
        """Looks at all once; false when the agent is to end."""
        told = -1 if self._is_orphan() else self._told()
        for one in self._daemons:
            if told is not None and one.rank >= told:
                one.end()
        self._say()
        return told is None or told >= 0 or not all(one.ended() for one in self._daemons)

    def stop(self, *_):
        """The batch system ends the step: the daemons have its grace time."""
        self._stopped = True

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.stop)
        try:
            self._launch(self._started())
            while self._turn():
                time.sleep(PAUSE)
        finally:
            self._stopped = True
            deadline = time.monotonic() + 2 * GRACE
            while not all(one.ended() for one in self._daemons) and time.monotonic() < deadline:
                for one in self._daemons:
                    one.end()
                time.sleep(PAUSE)
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)
            self._board.write(f"gone/{self._index}", socket.gethostname())


def run(work, word):
    """The agent of a node. word: its place in the job's list, or the variable that has it."""
    index = int(os.environ[word] if not word.isdigit() else word)
    try:
        Agent(work, index).run()
    except Exception as failure:
        Board(work).write(f"failed/{index}", str(failure) or repr(failure))
        raise
