# SPDX-License-Identifier: Apache-2.0
"""How a small demonstration runs, from what is missing to its page; and how it ends when it is interrupted."""
import argparse
import os
import sys
import tempfile

from driver import demopage, procs

MINUTES = 3
EXIT_FAILED, EXIT_KILLED = 1, 130


def note(text):
    """One progress line."""
    print(f"demo: {text}", file=sys.stderr, flush=True)


def seconds_of(words, minutes):
    """How long it measures, by the words of its command line; all rows run once, however short that is."""
    parser = argparse.ArgumentParser(prog="./verbena demo")
    parser.add_argument("--minutes", type=float, default=minutes, help=f"minutes for the rows (default {minutes})")
    return 60 * parser.parse_args(words).minutes


def play(about, show, missing, minutes=MINUTES):
    """The exit status. missing(root): what is lacking, or None. show(root, folder, seconds): measures, gives a Shown."""
    seconds = seconds_of(sys.argv[1:], minutes)
    root = os.environ["VERBENA_ROOT"]
    procs.install_signals()
    try:
        lacks = missing(root)
        if lacks:
            raise procs.Failed(lacks)
        with tempfile.TemporaryDirectory() as folder:
            shown = show(root, folder, seconds)
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
