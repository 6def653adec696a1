# SPDX-License-Identifier: Apache-2.0
"""Guests with soft-RoCE devices: `with vm.one() as guest`, `with vm.pair() as (a, b)`. See ../README.md."""
from .errors import Failed, Unavailable
from .guest import Guest, Result
from .world import one, pair

__all__ = ["Failed", "Unavailable", "Guest", "Result", "one", "pair"]
