# SPDX-License-Identifier: Apache-2.0
"""Counted costs: instructions under callgrind, which no load changes. Of operations on windows in node memory at the origin, and
of messages in a window of 64 at each side. Each test takes the build folder and gives a list of what is wrong."""
import re
import shutil
import tempfile

from runner import Skipped, expect, instrumented, launch

# Instructions of one call, of 8 bytes, or of a free lock with its unlock, while the target waits in a barrier; at most.
# Budgets may fall, not rise.
BUDGETS = {"put": 335, "get": 335, "fetch_and_op": 540, "accumulate": 525, "compare_and_swap": 485, "flush": 210, "lock": 720}
# Instructions of a message of 8 bytes in a window of 64: MPI_Isend, MPI_Irecv and their share of MPI_Waitall.
MESSAGES = {"send": 330, "receive": 580}
COUNTER = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no", "--toggle-collect=cost_round")


def instructions(build, name, *words):
    """(of one operation of rank 0, or None; what was printed)"""
    program = build / "tests" / name
    status, out, err = launch(build, "-n", 1, *COUNTER, program, *words, ":", "-n", 1, program, *words,
                              environment={"VBN_PROTO_COST_FILE": "none"})
    count, calls = re.search(r"Collected : (\d+)", err), re.search(r"operations (\d+)", out)
    return int(count.group(1)) / int(calls.group(1)) if status == 0 and count and calls else None, out + err


def ask_for_counter(build):
    if shutil.which("valgrind") is None:
        raise Skipped("valgrind is not installed: apt install valgrind")
    if instrumented(build):
        raise Skipped("a build with sanitizers is not measured")


def keeps(what, budget, result):
    count, text = result
    print(f"{what}: {count} instructions, at most {budget}")
    return expect(count is not None and 20 < count <= budget, f"{what}: {count} instructions, at most {budget}", text)


def windows(build):
    ask_for_counter(build)
    for operation, budget in BUDGETS.items():
        wrong = keeps(f"8-byte {operation} to mapped memory of another rank", budget, instructions(build, "cost_win", operation))
        if wrong:
            return wrong
    return []


def messages(build):
    ask_for_counter(build)
    for side, budget in MESSAGES.items():
        with tempfile.NamedTemporaryFile() as word:
            word.truncate(8)
            wrong = keeps(f"{side} of 8 bytes in a window of 64", budget, instructions(build, "cost_window", side, word.name))
        if wrong:
            return wrong
    return []


TESTS = (windows, messages)
