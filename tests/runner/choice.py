# SPDX-License-Identifier: Apache-2.0
"""From the words of the command line to what runs: tiers, parts, suites, single tests."""
import concurrent.futures
import difflib

import kinds
from table import TIERS


MOST = 4  # suites that a piece of an id runs tests of


class Unknown(Exception):
    """A word names nothing; the text says what it might have meant."""


def of_tier(table, tier):
    """Names of the suites of a tier and those before it."""
    return [name for name, suite in table.suites.items() if TIERS.index(suite.tier) <= TIERS.index(tier)]


def suites_with(suites, word, places, root):
    """Names of suites that have tests of this name: the first with an exact match, else at most MOST that have any. Of a suite
    that cannot tell its tests, for want of a package, the sources tell them."""
    def ids(suite):
        try:
            return kinds.listed(suite, places, root)
        except kinds.NoList:
            return kinds.program_sources(suite, places)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        listed = dict(zip((suite.name for suite in suites), pool.map(ids, suites)))
    exact = [name for name, tests in listed.items() if any(kinds.program.is_named(one, word) for one in tests)]
    return exact[:1] or [name for name, tests in listed.items() if any(word in one for one in tests)][:MOST]


def guesses(table, word):
    known = [*table.parts, *table.suites]
    near = difflib.get_close_matches(word, known, 3)
    return f"; did you mean {' or '.join(near)}?" if near else f" (parts: {', '.join(table.parts)})"


def choose(table, words, tier, places, root):
    """(names of whole suites, {suite: words that name tests of it}); without words, all of the tier. Raises Unknown."""
    if not words:
        return of_tier(table, tier), {}
    whole, single = [], {}
    for word in words:
        if not word or word.endswith(":"):
            raise Unknown("an empty name")
        if word in table.parts:
            whole += [name for name in of_tier(table, tier) if table.suites[name].part == word] or \
                     [name for name, suite in table.suites.items() if suite.part == word]
        elif word in table.suites:
            whole.append(word)
        else:
            for name, test in named(table, word, places, root):
                single.setdefault(name, []).append(test)
    whole = list(dict.fromkeys(whole))
    return whole, {name: tests for name, tests in single.items() if name not in whole}


def named(table, word, places, root):
    """(suite, name of tests in it) for a word SUITE:NAME or NAME. Raises Unknown."""
    suite, colon, name = word.partition(":")
    if colon and suite in table.suites:
        if not suites_with([table.suites[suite]], name, places, root):
            raise Unknown(f"suite {suite} has no test '{name}'; './verbena test --list {suite}' shows all")
        return [(suite, name)]
    found = suites_with(list(table.suites.values()), word, places, root)
    if not found:
        raise Unknown(f"nothing is named '{word}': no part, no suite, no test{guesses(table, word)}")
    return [(name, word) for name in found]
