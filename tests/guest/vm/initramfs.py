# SPDX-License-Identifier: Apache-2.0
"""The guest's first file system: an uncompressed cpio archive with the agent as /init and the kernel's modules."""
import hashlib
import pathlib
import subprocess

from .errors import Failed, program

AGENT = pathlib.Path(__file__).resolve().parents[1] / "agent"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-static", "-Wall", "-Wextra", "-Wshadow", "-Wformat=2",
         "-Wmissing-prototypes", "-Wconversion", "-Werror"]


def _member(name, mode, data=b"", number=[0]):
    """One file of a "newc" archive: a header of hexadecimal numbers, name and data, each padded to 4 bytes."""
    number[0] += 1
    fields = [number[0], mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4)


def _compile_agent(target):
    command = [program("gcc"), *FLAGS, "-o", target, *sorted(AGENT.glob("*.c"))]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise Failed("the guest's agent could not be compiled:\n" + run.stderr)


def digest():
    """Changes when the agent or this file does."""
    sources = [*sorted(AGENT.glob("*.[ch]")), pathlib.Path(__file__)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


def write(target, kernel):
    """Writes the archive for the kernel in that folder to the file target."""
    agent = target.with_name("agent")
    _compile_agent(agent)
    with open(target, "wb") as archive:
        archive.write(_member("init", 0o100755, agent.read_bytes()))
        archive.write(_member("modules", 0o40755))
        for module in sorted((kernel / "modules").iterdir()):
            archive.write(_member(f"modules/{module.name}", 0o100644, module.read_bytes()))
        archive.write(_member("TRAILER!!!", 0))
