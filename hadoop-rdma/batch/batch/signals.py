# SPDX-License-Identifier: Apache-2.0
"""Signals of the batch system and the user: the first one interrupts, and saving and stopping are not interrupted."""
import signal

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Interrupted(Exception):
    """A signal has arrived."""


def ignore():
    """From now on signals ask for what is done anyway."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)


def interrupt():
    """The first signal raises Interrupted."""
    def interrupted(number, _frame):
        ignore()
        raise Interrupted(f"signal {signal.Signals(number).name}")

    for number in SIGNALS:
        signal.signal(number, interrupted)
