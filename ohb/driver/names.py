# SPDX-License-Identifier: Apache-2.0
"""usage: python3 -m driver.names ROW. Prints the names of all rows and groups where ROW is none of them, else nothing."""
import sys

from driver import plan


def names():
    """Rows, and what stands before a dot in their names: the groups."""
    found = {}
    for row in plan.ROWS:
        words = row.name.split(".")
        found.update(dict.fromkeys(".".join(words[:count]) for count in range(1, len(words) + 1)))
    return list(found)


def main(row):
    try:
        plan.select(row)
    except plan.UnknownRow:
        print("\n".join(names()))


if __name__ == "__main__":
    main(sys.argv[1])
