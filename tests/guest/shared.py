# SPDX-License-Identifier: Apache-2.0
"""One guest and one pair for all tests of a run; skipped, with the reason, where packages are missing."""
import atexit
import contextlib
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "ohb")]

import vm  # noqa: E402  (needs the path above)
from driver import procs  # noqa: E402, F401
from vm import errors  # noqa: E402

RUN_SECONDS = 1800  # they end by themselves then; a whole run takes 8 minutes, and more beside others

_STACK = contextlib.ExitStack()
_UP = {}
atexit.register(_STACK.close)


def need_packages():
    if errors.missing():
        raise unittest.SkipTest("not run: apt-get install " + " ".join(errors.missing()))


def one():
    """A guest that earlier tests may have used; a new one when they ended it."""
    need_packages()
    if "one" not in _UP or not _UP["one"].alive():
        _UP["one"] = _STACK.enter_context(vm.one(seconds=RUN_SECONDS))
    return _UP["one"]


def pair():
    """Two guests on two rails, as one(); whole again after what a test did to them."""
    need_packages()
    if "pair" not in _UP:
        _UP["pair"] = _STACK.enter_context(vm.pair(seconds=RUN_SECONDS, rails=2))
    for guest in _UP["pair"]:
        if not guest.alive():
            guest.reboot()
    return _UP["pair"]
