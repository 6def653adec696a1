# SPDX-License-Identifier: Apache-2.0
"""The end of a command for a cluster: what failed is one line, and so is Ctrl-C."""
import pathlib
import sys

from .errors import Failed

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402  (needs the path above)


def run(call):
    """Runs it and gives the exit status: its own, or that of a failure or a signal."""
    program.raise_on_signals()
    try:
        return call() or 0
    except Failed as failure:
        print(f"verbena: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("verbena: stopped by a signal; nothing that this command has started is left running", file=sys.stderr)
        return program.INTERRUPTED
