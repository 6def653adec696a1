# SPDX-License-Identifier: Apache-2.0
"""The row verbs: its line of bash in a guest. Bash of this host runs it, with a program that answers in vbn-perf's place."""
import os
import subprocess
import tempfile
import types
import unittest

from driver.procs import Failed
from sides import verbs

ANSWER = """#!/bin/sh
echo '# core.perftest.put.bandwidth over ud: left out, it is for rc'
for row in $(echo "$4" | tr , ' '); do
    printf '{"row": "%s", "transport": "rc", "size": 8, "metric": "m", "unit": "ns", "ours": %s, "raw": 2}\\n' "$row" "$8"
done
"""


class Guest:
    def run(self, line, limit):
        done = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
        return types.SimpleNamespace(status=done.returncode, output=done.stdout)


class Verbs(unittest.TestCase):
    def pairs(self, text):
        """What the row reads of a program below a folder whose name needs quotes."""
        with tempfile.TemporaryDirectory() as folder:
            build = os.path.join(folder, "it's a clone")
            os.mkdir(build)
            program = os.path.join(build, "vbn-perf")
            with open(program, "w") as file:
                file.write(text)
            os.chmod(program, 0o755)
            return verbs.pairs(Guest(), program, 0.05)

    def test_the_program_is_found_in_a_clone_whose_path_has_spaces(self):
        found = self.pairs(ANSWER)
        self.assertEqual([entry["row"] for entry in found], list(verbs.ROWS))
        self.assertEqual({entry["ours"] for entry in found}, {0.05})

    def test_a_program_that_fails_is_named_with_its_status_and_output(self):
        with self.assertRaisesRegex(Failed, "status 2 in the guest:\nno device"):
            self.pairs("#!/bin/sh\necho 'no device' >&2\nexit 2\n")


if __name__ == "__main__":
    unittest.main()
