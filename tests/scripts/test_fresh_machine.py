# SPDX-License-Identifier: Apache-2.0
"""tests/fresh-machine/run: variables of this machine do not reach the new root."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKES = {
    "id": "echo 0",
    "mmdebstrap": """echo "mmdebstrap TMPDIR=$TMPDIR TMP=$TMP" >>"$CALLS"; for last; do :; done; mkdir -p "$last/etc" """,
    "chroot": """shift; echo "chroot $*" >>"$CALLS" """,
    "mount": "", "umount": "", "mountpoint": "exit 1", "git": "",
}


class FreshMachineTest(unittest.TestCase):
    def test_a_folder_for_temporary_files_stays_outside(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder) / "bin"
            programs.mkdir()
            for name, text in FAKES.items():
                (programs / name).write_text("#!/bin/sh\n" + text + "\n")
                (programs / name).chmod(0o755)
            calls = pathlib.Path(folder) / "calls"
            done = subprocess.run([ROOT / "tests/fresh-machine/run"], capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "CALLS": str(calls), "TMPDIR": folder,
                                       "TMP": folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            made, *inside = calls.read_text().splitlines()
        self.assertEqual(made, "mmdebstrap TMPDIR= TMP=")
        self.assertEqual([line for line in inside if not line.startswith("chroot /usr/bin/env -i HOME=/root ")], [])
        self.assertEqual([line.rpartition(" ")[2] for line in inside], ["update-ca-certificates", "0.05", "core"])


if __name__ == "__main__":
    unittest.main()
