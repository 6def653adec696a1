# SPDX-License-Identifier: Apache-2.0
"""C++ files include the headers of what they use of the standard library, where older libraries bring these along and newer ones
do not: Debian 12's compiler says nothing, Debian 13's does not find the name."""
import re

NAMES = {
    "algorithm": "all_of any_of copy copy_n count count_if equal fill fill_n find find_if for_each generate lower_bound max "
                 "max_element min min_element none_of remove remove_if reverse rotate shuffle sort stable_sort unique upper_bound",
    "numeric": "accumulate iota partial_sum",
}


def problems_of(text):
    """Yields (line, problem): the first use of each header that is not included."""
    for header, names in NAMES.items():
        used = re.search(rf"\bstd::({'|'.join(names.split())})\b(?=[(<])", text)
        if used and f"#include <{header}>" not in text:
            yield text.count("\n", 0, used.start()) + 1, f"{used[0]} without #include <{header}>"


def check(root, files):
    """Lines FILE:LINE: PROBLEM."""
    return [f"{path}:{line}: {problem}" for path in files if path.suffix in {".cc", ".h"}
            for line, problem in problems_of((root / path).read_text(errors="replace"))]
