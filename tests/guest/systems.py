#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands on the core, between two hosts over RDMA: memcached and MPI, in one pair of guests.

usage: systems.py MEMCACHED_BUILD MPI_BUILD [unittest options]
"""
import os
import sys
import unittest

import shared
from shared import procs


def main():
    if len(sys.argv) < 3 or not all(os.path.isdir(folder) for folder in sys.argv[1:3]):
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["VERBENA_MEMCACHED_BUILD"] = os.path.abspath(sys.argv.pop(1))
    os.environ["VERBENA_MPI_BUILD"] = os.path.abspath(sys.argv.pop(1))
    procs.install_signals()
    sys.path.insert(0, str(shared.HERE))
    import memcached  # noqa: E402  (needs the variables above)
    import mpi  # noqa: E402
    loader = unittest.defaultTestLoader
    tests = unittest.TestSuite(loader.loadTestsFromModule(module) for module in (memcached, mpi))
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
