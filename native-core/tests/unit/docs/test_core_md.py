#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C examples of docs/core.md are the marked pieces of tests/multi/test_core_md.cc, word for word."""
import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]


def page_examples():
    text = (ROOT / "docs/core.md").read_text()
    return [block.strip("\n") for block in re.findall(r"^```c\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def program_examples():
    text = (ROOT / "native-core/tests/multi/test_core_md.cc").read_text()
    pieces = re.findall(r"^ *// example\n(.*?)^ *// end$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(piece).strip("\n") for piece in pieces]


class CorePage(unittest.TestCase):
    maxDiff = None

    def test_every_example_of_the_page_is_compiled_and_run(self):
        self.assertEqual(sorted(page_examples()), sorted(program_examples()))
        self.assertGreaterEqual(len(page_examples()), 6)

    def test_every_call_the_page_names_exists(self):
        header = (ROOT / "native-core/include/vbn/vbn.h").read_text()
        names = set(re.findall(r"\bvbn_[a-z_]*[a-z]\b", (ROOT / "docs/core.md").read_text()))
        missing = [name for name in sorted(names) if not re.search(rf"\b{name}", header)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
