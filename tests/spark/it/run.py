#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cluster tests: real jobs on a real standalone Spark, stock against Verbena, results equal; faults on top.

usage: run.py [--stock] [--full] [--list] [NAME ...]   NAME: a class, a test, or a part of Class.test
--full, or VERBENA_TEST_FULL=1: all, in JVMs as users have them. --stock: stock on both sides, checks the tests themselves.
"""
import sys
import unittest

from shared import STOCK_ONLY, Shared, chosen
from hosts import TwoHosts  # noqa: F401
from results import ByNetwork, ByTcp, HostLocal  # noqa: F401  (found by unittest)

if not STOCK_ONLY:
    from clients import Clients  # noqa: F401
    from containers import OnOwnNetworks, OnTheHostsNetwork  # noqa: F401
    from encrypted import Encrypted  # noqa: F401
    from hour import Hour  # noqa: F401
    from ipv6 import ByIPv6  # noqa: F401
    from network import BetweenHosts  # noqa: F401
    from large import LargeBlocks  # noqa: F401
    from local import Local  # noqa: F401
    from memory import OwnMemory  # noqa: F401
    from faults import Memory, OneAfterAnother, OneSided, Repaired, Settings  # noqa: F401
    from packages import Packages  # noqa: F401
    from recipes import Recipes  # noqa: F401
    from service import WithShuffleService  # noqa: F401
    from tmpfs import SmallTmpfs  # noqa: F401
    from yarn import OnYarn  # noqa: F401


if __name__ == "__main__":
    CASES = [case for case in list(globals().values()) if isinstance(case, type) and issubclass(case, unittest.TestCase)]
    PARSER = chosen.program.parser(__doc__)
    PARSER.add_argument("--stock", action="store_true", help="stock on both sides")
    sys.exit(chosen.main(CASES, chosen.program.read(PARSER), Shared.stop))
