#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers and clients of memcached: the files test_*.py here.

usage: run.py --build FOLDER [--python PYTHON] [--full] [NAME ...]
--build has verbena-memcached; --python has pymemcache; NAME is a file, class or test (test_server, ...)."""
import argparse
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--python", help="a Python that has pymemcache")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("name", nargs="*")
    arguments = parser.parse_args()
    os.environ["VERBENA_MEMCACHED_BUILD"] = str(arguments.build.resolve())
    if arguments.python:
        os.environ["VERBENA_MEMCACHED_PYTHON"] = arguments.python
    if arguments.full:
        os.environ["VERBENA_TEST_FULL"] = "1"
    sys.path.insert(0, str(HERE))
    loader = unittest.defaultTestLoader
    tests = loader.loadTestsFromNames(arguments.name) if arguments.name else loader.discover(str(HERE))
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
