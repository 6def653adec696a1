# SPDX-License-Identifier: Apache-2.0
"""The daemons of a job from their start to their end, seen from the process that leads them.

The board (board.py) has, each by one writer:
    session         the leader: nodes, options            node/N      the agent of node N: facts, ports
    plan            the leader: what each agent starts    state/N     the agent: its daemons
    stop            the leader: the rank that ends        gone/N      the agent: all has ended, its folders are removed
    sign            the leader, while it watches          failed/N    the agent: why it could not start
"""
import contextlib
import os
import shutil
import threading
import time
from types import SimpleNamespace

from . import signals
from .board import Board
from .buffer import FLUSHERS, Buffer
from .errors import Failed, excerpt, say
from .hadoop import Hadoop
from .hbase import HBase
from .jobs import Job
from .memcached import Memcached
from .places import Places
from .spark import Spark
from .steps import Steps

REPORT = 120  # seconds until each node has said what it is
END = 60  # seconds that the daemons of one rank have to end
SIGN = 5  # seconds between two signs of life


def systems(at):
    """What a session has, in the order of its start."""
    hadoop = Hadoop(at) if at.options.hadoop else None
    buffer = [Buffer(at, hadoop)] if at.options.buffer else []
    return [*buffer, *([hadoop] if hadoop else []), *([HBase(at, hadoop)] if at.options.hbase else []),
            *([Spark(at, hadoop)] if at.options.spark else []), *([Memcached(at)] if at.options.memcached else [])]


def check(at):
    """Fails for programs, releases and folders that this host lacks: before anything starts. Nodes have said nothing yet."""
    at.check()
    systems(at)


class Session:
    def __init__(self, work, job, options):
        self.work, self.job, self.options = work, job, options
        self.board = Board(work)
        self.steps = None
        self.systems = []
        self._over = threading.Event()

    @classmethod
    def restored(cls, work):
        """The one that another process has started in a folder."""
        said = Board(work).read("session")
        if said is None:
            raise Failed(f"{work} is no session of verbena-batch: 'start' prints its folder")
        session = cls(work, Job(**said["job"]), SimpleNamespace(**said["options"]))
        session.systems = systems(Places(session.options, session.job, work, session._nodes() or session._none()))
        return session

    @staticmethod
    def _none():
        raise Failed("this session has not started: its nodes have said nothing")

    # --------------------------------------------------------------------------------------------------- start

    def start(self, watched):
        """Returns when all daemons serve. watched: this process stays, and its end is theirs. After a failure, stop ends
        what has come up."""
        os.makedirs(self.work, mode=0o700)
        os.makedirs(os.path.join(self.work, "log"))
        self.board.write("session", {"nodes": self.job.nodes, "interface": self.options.interface, "job": vars(self.job),
                                     "options": vars(self.options)})
        if watched:
            threading.Thread(target=self._live, daemon=True).start()
        self.steps = Steps(self.job, self.work)
        nodes = self._await(self._nodes, REPORT, lambda: f"{self._silent()} did not start: see {self.work}/log/launchers.log")
        self._plan(nodes)
        self._await(lambda: not self.lacks(), self.options.ready, self.lacks)
        for one in self.systems:
            say(one.sentence())

    def _live(self):
        count = 0
        while True:
            with contextlib.suppress(OSError):  # a full quota or a folder that is away: the next sign may come in time
                self.board.write("sign", count := count + 1)
            if self._over.wait(SIGN):
                return

    def _nodes(self):
        found = [self.board.read(f"node/{index}") for index in range(len(self.job.nodes))]
        return found if all(found) else None

    def _silent(self):
        return " ".join(name for index, name in enumerate(self.job.nodes) if not self.board.read(f"node/{index}"))

    def _plan(self, nodes):
        self._check(nodes)
        at = Places(self.options, self.job, self.work, nodes)
        at.make_key()
        self.systems = systems(at)
        for one in self.systems:
            one.write()
        self.board.write("plan", {"daemons": [daemon for one in self.systems for daemon in one.daemons()],
                                  "own": {str(index): at.own(index) for index in at.indexes()}})

    def _check(self, nodes):
        """Nodes are told apart by their place in the job's list; two with one address are one host,
        or names that are wrong."""
        for index, one in enumerate(nodes):
            say(f"node {index} {one['name']}: {one['address']}, {one['processors']} processors, {one['memory']} MiB")
            if one["locked"] is not None and one["locked"] < 1024:
                say(f"node {index} lets a process lock {one['locked']} MiB for its RDMA device, which is little: raise 'ulimit -l' "
                    "in the batch system's service or in limits.conf")
        addresses = [one["address"] for one in nodes]
        same = [name for name in addresses if addresses.count(name) > 1]
        if same and not self.options.one_host:
            raise Failed(f"{len(same)} nodes have the address {same[0]}: --interface names the network that tells them apart; "
                         "--one-host if they are one host")

    def _await(self, look, limit, lack):
        """The true value of look(). lack() says what is missing when none comes in time."""
        def checked():
            self.check()
            if (self.remaining() or 1) <= 0:
                raise Failed(f"the job ends in {self.options.reserve} s: {lack() or 'nothing was run'}")
            return look()

        found = self.board.wait(checked, limit)
        if not found:
            raise Failed(f"within {limit} s: {lack()}; logs are in {self.work}/log")
        return found

    # --------------------------------------------------------------------------------------------------- watch

    def states(self):
        """{daemon: its state}, as the agents say."""
        every = [self.board.read(f"state/{index}") or {} for index in range(len(self.job.nodes))]
        return {name: state for one in every for name, state in one.items()}

    def check(self):
        """Raises Failed when a node or a daemon has ended."""
        for index, name in enumerate(self.job.nodes):
            why = self.board.read(f"failed/{index}")
            if why or self.board.read(f"gone/{index}"):
                raise Failed(f"node {name}: {why or 'its agent has ended; see launchers.log'}")
        for name, state in self.states().items():
            if state["status"] is not None:
                log = os.path.join(self.work, "log", name + ".log")
                raise Failed(f"{name} has ended with status {state['status']}; {excerpt(log)}")
        if self.steps:
            self.steps.check()

    def lacks(self):
        """What is missing until all serve; None: nothing."""
        return next(filter(None, (one.lacks() for one in self.systems)), None)

    def environment(self):
        found = {"VERBENA_BATCH": self.work}
        for one in self.systems:
            found.update(one.environment())
        return found

    def flush(self):
        """Whether the shared folder has what a burst buffer had."""
        left = None if self.job.ends is None else max(1.0, (self.job.ends - time.time()) / 2)  # the other half is for copies
        return all(one.flush(left) for one in self.systems if isinstance(one, Buffer))

    def hadoop(self):
        return next((one for one in self.systems if isinstance(one, Hadoop)), None)

    # --------------------------------------------------------------------------------------------------- stop

    def stop(self):
        """Ends all daemons, those of the highest rank first, and the agents. Says what did not end. Nothing has to have begun."""
        signals.ignore()
        if not os.path.isdir(self.work):
            return
        for rank in sorted({state["rank"] for state in self.states().values()}, reverse=True):
            self._end_from(rank)
        self.board.write("stop", -1)
        self.board.wait(lambda: not self._running(), END)
        self._over.set()
        for index, name in enumerate(self.job.nodes):
            if self.board.read(f"node/{index}") and not self.board.read(f"gone/{index}"):
                say(f"node {name} did not say that it is done: its folders below {self.options.local} may be left")
        if self.steps and not self.steps.wait(10):
            self.steps.kill()
        for one in self.systems:
            if getattr(one, "shared", None):
                shutil.rmtree(one.shared, ignore_errors=True)
        if os.path.exists(self.board.path("key")):
            os.unlink(self.board.path("key"))

    def _end_from(self, rank, limit=END):
        """Ends the daemons of this rank and higher ones."""
        self.board.write("stop", rank)
        if not self.board.wait(lambda: not self._left(rank), limit):
            say(f"daemons did not end within {int(limit)} s and are killed: {', '.join(self._left(rank))}")

    def end_writers(self):
        """Before the last flush: the jobs of a YARN or a Spark that went on would fill the burst buffer again and again. Most of
        the time that is left is the flush's."""
        if any(isinstance(one, Buffer) for one in self.systems):
            left = END if self.job.ends is None else max(1.0, (self.job.ends - time.time()) / 4)
            self._end_from(FLUSHERS + 1, min(END, left))

    def _running(self):
        """The nodes whose agents go on: they have started, have not said that they are done, and their launcher is there."""
        return [index for index in range(len(self.job.nodes)) if self.board.read(f"node/{index}")
                and not self.board.read(f"gone/{index}") and not (self.steps and self.steps.has_ended(index))]

    def _left(self, rank):
        return [name for index in self._running() for name, state in (self.board.read(f"state/{index}") or {}).items()
                if state["rank"] >= rank and state["status"] is None]

    def remaining(self):
        """Seconds until the job ends, without those that saving and stopping need; None: not known."""
        return None if self.job.ends is None else self.job.ends - self.options.reserve - time.time()
