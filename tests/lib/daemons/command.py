# SPDX-License-Identifier: Apache-2.0
"""The end of a command for a cluster: what failed is one line, and so is Ctrl-C."""
import signal
import sys

from .errors import Failed

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_FAILED, EXIT_INTERRUPTED = 1, 130


def _interrupted(_number, _frame):
    for number in SIGNALS:  # what was started is being ended: a second Ctrl-C would leave some of it
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(call):
    """Runs it and gives the exit status: its own, or that of a failure or a signal."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup does
            signal.signal(number, _interrupted)
    try:
        return call() or 0
    except Failed as failure:
        print(f"verbena: {failure}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("verbena: stopped by a signal; nothing that this command has started is left running", file=sys.stderr)
        return EXIT_INTERRUPTED
