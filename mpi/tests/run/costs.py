# SPDX-License-Identifier: Apache-2.0
"""Counted costs of operations on windows in node memory: instructions of the origin, under callgrind. No load changes them. Each
test takes the build folder and gives a list of what is wrong."""
import re
import shutil

from runner import Skipped, expect, instrumented, launch

# Instructions of one call, of 8 bytes, or of a free lock with its unlock, while the target waits in a barrier; at most.
# Budgets may fall, not rise.
BUDGETS = {"put": 335, "get": 335, "fetch_and_op": 540, "accumulate": 525, "compare_and_swap": 485, "flush": 210, "lock": 720}
COUNTER = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no", "--toggle-collect=cost_round")


def instructions(build, operation):
    """(of one operation, or None; what was printed)"""
    program = build / "tests/cost_win"
    status, out, err = launch(build, "-n", 1, *COUNTER, program, operation, ":", "-n", 1, program, operation,
                              environment={"VBN_PROTO_COST_FILE": "none"})
    count, calls = re.search(r"Collected : (\d+)", err), re.search(r"operations (\d+)", out)
    return int(count.group(1)) / int(calls.group(1)) if status == 0 and count and calls else None, out + err


def windows(build):
    if shutil.which("valgrind") is None:
        raise Skipped("valgrind is not installed: apt install valgrind")
    if instrumented(build):
        raise Skipped("a build with sanitizers is not measured")
    for operation, budget in BUDGETS.items():
        count, text = instructions(build, operation)
        print(f"8-byte {operation} to mapped memory of another rank: {count} instructions, at most {budget}")
        if count is None or not 20 < count <= budget:
            return expect(False, f"{operation}: {count} instructions, at most {budget}", text)
    return []


TESTS = (windows,)
