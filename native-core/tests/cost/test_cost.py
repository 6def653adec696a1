# SPDX-License-Identifier: Apache-2.0
"""Counts what the fast path costs, in instructions, so that the figure does not depend on the machine's load.

Arguments: folder of the built cost programs. A build with sanitizers or asserts is not measured."""
import os
import re
import shutil
import subprocess
import sys
import unittest

# Instructions of an 8-byte active message over shared memory, from vbn_am_send to the end of its handler, with the
# progress calls between them: in a stream (16 sends, then progress until all have come), and each alone.
STREAM, ALONE = 220, 445
MESSAGES = 3200
# Instructions of a turn of progress with so many idle peers over shared memory, looks at clock and sockets included, which
# are many here: callgrind is slow, and they go by time.
IDLE = ((1, 230), (64, 400), (500, 470))
TURNS = 5000
BIN = None


def instructions(program, *arguments):
    """Instructions that callgrind counts between entry and exit of cost_round(), and what the program printed."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         "--toggle-collect=cost_round", os.path.join(BIN, program), *map(str, arguments)],
        capture_output=True, text=True, timeout=100, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise AssertionError(f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return int(found.group(1)), done.stdout


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed: apt install valgrind")
class Cost(unittest.TestCase):
    def check(self, name, batch, budget):
        count, text = instructions("cost_am", MESSAGES // batch, batch)
        self.assertIn(f"messages {MESSAGES}", text)
        count /= MESSAGES
        print(f"8-byte active message over shm, send and receive, {name}: {count:.1f} instructions, at most {budget}")
        self.assertGreater(count, 50, "nothing was counted")
        self.assertLessEqual(count, budget)

    def test_an_8_byte_message_in_a_stream_over_shared_memory_keeps_its_budget(self):
        self.check("in a stream", 16, STREAM)

    def test_an_8_byte_message_alone_over_shared_memory_keeps_its_budget(self):
        self.check("alone", 1, ALONE)

    def test_a_turn_of_progress_does_not_grow_with_the_idle_peers(self):
        for peers, budget in IDLE:
            count, text = instructions("cost_idle", TURNS, peers)
            if "skipped" in text:
                self.skipTest(text)
            self.assertIn(f"turns {TURNS}", text)
            count /= TURNS
            print(f"a turn of progress with {peers} idle peers over shm: {count:.1f} instructions, at most {budget}")
            self.assertGreater(count, 20, "nothing was counted")
            self.assertLessEqual(count, budget)


if __name__ == "__main__":
    BIN = sys.argv.pop()
    unittest.main(verbosity=2)
