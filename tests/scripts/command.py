# SPDX-License-Identifier: Apache-2.0
"""Runs lines of bash with the functions of tests/command, for the tests of ./verbena."""
import os
import pathlib
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRELUDE = """set -euo pipefail
ROOT='{root}' STATE='{folder}/state' CACHE='{folder}/cache' PYTHON=/usr/bin/python3
say() {{ printf 'verbena: %s\\n' "$*"; }}
die() {{ printf 'verbena: %s\\n' "$*" >&2; exit 1; }}
mkdir -p "$STATE/log" "$CACHE"
for part in "$ROOT"/tests/command/*.sh; do . "$part"; done
"""


def start(folder, body, **environment):
    """A Popen in a session of its own; Ctrl-C means to it what it means in a terminal, where ours may be ignored."""
    return subprocess.Popen(["bash", "-c", PRELUDE.format(root=ROOT, folder=folder) + body], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                            env={**os.environ, **environment},
                            preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in
                                                (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])


def run(folder, body, **environment):
    """(status, output) of the lines."""
    with start(folder, body, **environment) as process:
        try:
            output, _ = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output


def in_session(number):
    """Ids of the living processes of a session."""
    return [process for process, _ in _of_session(number)]


def names_in_session(number):
    """Names of the programs that the living processes of a session run."""
    return [name for _, name in _of_session(number)]


def _of_session(number):
    """(id, name) of the living processes of a session."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text().rpartition(")")
        except OSError:  # it has just ended
            continue
        fields = tail.split()
        if int(fields[3]) == number and fields[0] != "Z":
            found.append((int(path.parent.name), head.partition("(")[2]))
    return found
