#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests test_*.py of this folder; usage: run.py [--list] [NAME ...], NAME: file, class, test or part of it."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from daemons import runner  # noqa: E402  (needs the path above)

if __name__ == "__main__":
    sys.exit(runner.main(HERE, sys.argv[1:]))
