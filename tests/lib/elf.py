# SPDX-License-Identifier: Apache-2.0
"""What a library says of itself, for any processor, by readelf."""
import re
import subprocess

FLOOR = (2, 28)  # the oldest glibc that the jars run with


def _readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def machine(path):
    return re.search(r"Machine: +(.*)", _readelf("-h", path)).group(1)


def younger(path, floor=FLOOR):
    """Names that a library needs of a glibc newer than floor."""
    names = re.findall(r" UND (\S+?)@(?:GLIBC_([\d.]+)|(\S+))", _readelf("--dyn-syms", path))
    return sorted(f"{name}@GLIBC_{version}" for name, version, _ in names
                  if version and tuple(map(int, version.split("."))) > floor)


def needed(path):
    return set(re.findall(r"\(NEEDED\) .*\[(.*)\]", _readelf("-d", path)))


def search_paths(path):
    """Folders in which it has its libraries looked for."""
    return re.findall(r"\((?:RPATH|RUNPATH)\) .*\[(.*)\]", _readelf("-d", path))
