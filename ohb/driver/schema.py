# SPDX-License-Identifier: Apache-2.0
"""The result file: machine description, validation against results/schema.json, atomic writing, no names in it."""
import getpass
import json
import os
import platform
import socket
import subprocess

import jsonschema

VERSION = "ohb/1"
SCHEMA_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results", "schema.json")


class Invalid(Exception):
    """The file is no result of ohb; the text says where it differs."""


def validate(document):
    with open(SCHEMA_FILE) as file:
        schema = json.load(file)
    try:
        jsonschema.validate(document, schema)
    except jsonschema.ValidationError as error:
        place = "/".join(str(part) for part in error.absolute_path) or "(top)"
        raise Invalid(f"not a valid result at {place}: {error.message[:300]}") from None


def read(path):
    """A validated document."""
    try:
        with open(path) as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read the result {path}: {error}") from None
    validate(document)
    return document


def write(path, document):
    """Validates and writes under a temporary name first, so that a reader never sees half a file."""
    validate(document)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = f"{path}.{os.getpid()}.tmp"
    with open(part, "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    os.replace(part, path)


def anonymous(value, root, before=None):
    """Replaces the checkout (and the one of before), SPARK_HOME, the home folder and the host's name in all texts of a
    value."""
    if isinstance(value, dict):
        return {key: anonymous(entry, root, before) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [anonymous(entry, root, before) for entry in value]
    if not isinstance(value, str):
        return value
    names = [(before or "", "$BEFORE"), (os.path.abspath(root), "$VERBENA"), (os.environ.get("SPARK_HOME") or "", "$SPARK_HOME"),
             (os.path.expanduser("~"), "~")]
    for text, name in names:
        value = value.replace(text, name) if len(text) > 1 else value
    host, user = socket.gethostname(), getpass.getuser()
    for text, name in ((host, "HOST"), (user, "USER")):
        value = value.replace(text, name) if len(text) > 3 and text not in ("localhost", "root") else value
    return value


def commit(root):
    """The checkout's commit, or 'unknown'."""
    try:
        done = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _field(path, name):
    try:
        with open(path) as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith(name)), "unknown")
    except OSError:
        return "unknown"


def machine():
    """What the numbers were taken on, without names."""
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    try:
        with open(governor) as file:
            speed = file.read().strip()
    except OSError:
        speed = "unknown"
    devices = "/sys/class/infiniband"
    return {"cpu": _field("/proc/cpuinfo", "model name"), "cores": os.cpu_count(),
            "memory_kb": int(_field("/proc/meminfo", "MemTotal").split()[0]), "kernel": platform.release(),
            "governor": speed, "devices": sorted(os.listdir(devices)) if os.path.isdir(devices) else []}
