# SPDX-License-Identifier: Apache-2.0
"""What is installed on this machine, as far as tests depend on it: a suite that passed runs again after a change."""
import os
import shutil
import subprocess

TOOLS = (["cc", "--version"], ["cmake", "--version"], ["java", "-version"], ["python3", "--version"], ["uname", "-r"])
FOUND = ("ccache", "clang", "mold", "mpiexec.hydra", "ssh", "memcached", "memccapable", "qemu-system-x86_64", "shellcheck",
         "valgrind")
LIBRARIES = ("libssl.so", "libcrypto.so", "libibverbs.so", "librdmacm.so", "liblz4.so", "libzstd.so", "libc.so", "libmemcached.so")


def output_of(words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired):
        return "none"


def text():
    """What is installed: versions of tools, and the libraries' files."""
    known = output_of(["/sbin/ldconfig", "-p"]).splitlines()
    ours = [line for line in known if "=>" in line and line.split()[0].startswith(LIBRARIES)]
    paths = sorted({os.path.realpath(line.split("=>")[1].strip()) for line in ours})
    sizes = [f"{path} {os.stat(path).st_size} {int(os.stat(path).st_mtime)}" for path in paths if os.path.exists(path)]
    found = [f"{name} {shutil.which(name)}" for name in FOUND]
    return "\n".join([*map(output_of, TOOLS), *found, *sizes, str(os.getuid())])
