# SPDX-License-Identifier: Apache-2.0
"""How a small demonstration runs, from what is missing to its page; and how it ends when it is interrupted."""
import os
import sys
import tempfile

from driver import demopage, procs

SECONDS = 180
EXIT_FAILED, EXIT_KILLED = 1, 130


def note(text):
    """One progress line."""
    print(f"demo: {text}", file=sys.stderr, flush=True)


def play(about, show, missing):
    """The exit status. missing(root): what is lacking, or None. show(root, folder): measures, gives a Shown."""
    root = os.environ["VERBENA_ROOT"]
    procs.install_signals()
    try:
        lacks = missing(root)
        if lacks:
            raise procs.Failed(lacks)
        with tempfile.TemporaryDirectory() as folder:
            shown = show(root, folder)
        path = demopage.write(about, shown, root, os.path.join(root, ".verbena", "demo"))
        print(demopage.terminal(about, shown, path))
    except procs.Failed as failure:
        note(failure)
        return EXIT_FAILED
    except procs.Killed as killed:
        note(f"ended by {killed}; there is no result")
        return EXIT_KILLED
    finally:
        procs.stop_all()
    return 0
