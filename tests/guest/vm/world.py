# SPDX-License-Identifier: Apache-2.0
"""One guest, or two that are joined by a network; both as context managers that leave nothing behind."""
import contextlib
import os
import pathlib

from . import cache, errors, folder, network, snapshot
from .errors import Failed, Unavailable
from .guest import Guest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def _keep():
    """Folders that programs in the guest need, wherever they are."""
    return [str(ROOT), os.getcwd()]


def _check():
    if missing := errors.missing():
        raise Unavailable("packages are missing: apt-get install " + " ".join(missing))


def _occupy_standard():
    """When we were started without standard descriptors, no socket may get their numbers: QEMU would not inherit them."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)


@contextlib.contextmanager
def _guests(count, memory, cpus, seconds, rails):
    _check()
    _occupy_standard()
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(folder.own())
        cables = stack.enter_context(network.Cables())

        def make(state):
            guests = [Guest(number, state, cables, place, seconds, rails, _keep()) for number in range(count)]
            for guest in guests:
                stack.callback(guest.kill)
            return guests

        yield _started(make, memory, cpus)


def _started(make, memory, cpus):
    """Guests that run. A snapshot that they do not start from is made anew, once."""
    state = snapshot.get(memory, cpus)
    try:
        return _start(make(state))
    except Failed as failure:
        print(f"guest: {failure}\nguest: trying again with a new snapshot", flush=True)
        cache.remove(state.folder)
    return _start(make(snapshot.get(memory, cpus)))


def _start(guests):
    try:
        for guest in guests:
            guest.launch()
        for guest in guests:
            guest.prepare()
    except Failed:
        for guest in guests:
            guest.kill()
        raise
    return guests


@contextlib.contextmanager
def one(memory=1024, cpus=1, seconds=600, rails=1):
    """A guest with the device rxe0, which ends by itself after that many seconds."""
    with _guests(1, memory, cpus, seconds, rails) as guests:
        yield guests[0]


@contextlib.contextmanager
def pair(memory=1024, cpus=1, seconds=600, rails=1):
    """Two guests joined by as many networks as rails, with rxe0 (and rxe1)."""
    with _guests(2, memory, cpus, seconds, rails) as guests:
        yield guests
