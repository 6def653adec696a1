# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of a folder, and says how many JVMs that took."""
import pathlib
import sys

from . import jvm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import unittests  # noqa: E402  (needs the path above)


def run_counted(suite):
    result = unittests.run_suite(suite)
    print(f"JVMs started: {jvm.STARTED['java']}", flush=True)
    return result


def main(folder, words):
    """words: --list, or names of tests; all when there are none. Gives the exit status."""
    return unittests.main(folder, words, run_counted)
