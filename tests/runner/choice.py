# SPDX-License-Identifier: Apache-2.0
"""From the words of the command line to what runs: tiers, parts, suites, single tests."""
import concurrent.futures
import dataclasses
import difflib

import kinds
from table import TIERS


class Unknown(Exception):
    """A word names nothing; the text says what it might have meant."""


@dataclasses.dataclass(frozen=True)
class Single:
    """Some tests of a suite, as one job."""
    suite: object
    chosen: kinds.Chosen


def of_tier(table, tier):
    return [suite for suite in table.suites.values() if TIERS.index(suite.tier) <= TIERS.index(tier)]


def tests_named(table, suites, name, places, root):
    """Singles of the first suite with an exact match, else of each that has any; a suite that cannot tell is left out."""
    def ask(suite):
        try:
            return kinds.some(suite, places, root, name)
        except kinds.NoList:
            return None
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = [Single(suite, chosen) for suite, chosen in zip(suites, pool.map(ask, suites)) if chosen]
    exact = [single for single in found if is_exact(single, name, places, root)]
    return exact[:1] or found[:4]


def is_exact(single, name, places, root):
    return any(kinds.unittests.is_named(one, name) for one in kinds.listed(single.suite, places, root))


def guesses(table, word):
    known = [*table.parts, *table.suites]
    near = difflib.get_close_matches(word, known, 3)
    return f"; did you mean {' or '.join(near)}?" if near else f" (parts: {', '.join(table.parts)})"


def choose(table, words, tier, places, root):
    """(whole suites, singles) that the words mean; without words, all of the tier. Raises Unknown."""
    if not words:
        return of_tier(table, tier), []
    suites, singles = [], []
    for word in words:
        if word in table.parts:
            suites += [suite for suite in of_tier(table, tier) if suite.part == word] or \
                      [suite for suite in table.suites.values() if suite.part == word]
        elif word in table.suites:
            suites.append(table.suites[word])
        else:
            singles += named(table, word, places, root)
    return list(dict.fromkeys(suite.name for suite in suites)), singles


def named(table, word, places, root):
    """Singles for a word SUITE:NAME or NAME. Raises Unknown."""
    suite, colon, name = word.partition(":")
    if colon and suite in table.suites:
        found = tests_named(table, [table.suites[suite]], name, places, root)
        if not found:
            raise Unknown(f"suite {suite} has no test '{name}'; './verbena test --list {suite}' shows all")
        return found
    found = tests_named(table, list(table.suites.values()), word, places, root)
    if not found:
        raise Unknown(f"nothing is named '{word}': no part, no suite, no test{guesses(table, word)}")
    return found
