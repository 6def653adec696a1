# SPDX-License-Identifier: Apache-2.0
"""One guest and one pair for all tests of a run; the folders of what was built; which tests are of the long form."""
import atexit
import contextlib
import os
import pathlib
import shlex
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "ohb")]

import vm  # noqa: E402  (needs the path above)
from driver import procs  # noqa: E402, F401
from vm import errors  # noqa: E402

RUN_SECONDS = 7200  # they end by themselves then; the long form takes 20 minutes, and far longer beside others
BUILDS = pathlib.Path(os.environ.get("VERBENA_BUILDS") or ROOT / ".verbena" / "build")
RELEASE = BUILDS / "release"
# As words of a shell's line, to which the name of a program is added: the path of a clone may have spaces.
CORE, MEMCACHED, MPI = (shlex.quote(str(path)) for path in (RELEASE, BUILDS / "memcached-release", BUILDS / "mpi"))
FULL = bool(os.environ.get("VERBENA_TEST_FULL"))

_STACK = contextlib.ExitStack()
_UP = {}
atexit.register(_STACK.close)


def long(test):
    """Marks a test, or a class of them, as one of the long form only."""
    test.is_long = True
    return test


def need_packages():
    if errors.missing():
        raise unittest.SkipTest("not run: apt-get install " + " ".join(errors.missing()))


def one():
    """A guest that earlier tests may have used; a new one when they ended it."""
    need_packages()
    if "one" not in _UP or not _UP["one"].alive():
        _UP["one"] = _STACK.enter_context(vm.one(seconds=RUN_SECONDS))
    return _UP["one"]


def close():
    """Ends all guests."""
    _UP.clear()
    _STACK.close()


def pair():
    """Two guests on two rails, as one(); whole again after what a test did to them."""
    need_packages()
    if "pair" not in _UP:
        _UP["pair"] = _STACK.enter_context(vm.pair(seconds=RUN_SECONDS, rails=2))
    for guest in _UP["pair"]:
        if not guest.alive():
            guest.reboot()
    return _UP["pair"]
