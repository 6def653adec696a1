# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel: the distribution's package, unpacked into the cache, never installed.

Installing it would run hooks of boot loaders on a machine that only wants to run tests. Only when it cannot be fetched an
installed kernel is taken. The cache keeps /boot's file as `vmlinuz`, and `modules`: those needed, uncompressed, numbered
in the order in which they need each other.
"""
import gzip
import lzma
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import time

from . import cache
from .errors import Failed, Unavailable, program, tail

META_PACKAGES = ("linux-image-amd64", "linux-image-generic")  # Debian's, Ubuntu's
WANTED = ("virtio_pci", "9pnet_virtio", "9p", "virtio_net", "virtio_console", "crc32_generic", "rdma_rxe", "rdma_ucm",
          "ib_uverbs", "ib_umad", "dummy", "veth", "sch_netem")
MAY_LACK = {"crc32_generic", "ib_umad", "dummy", "veth"}  # absent or built in, depending on the version
LOOK_AGAIN_DAYS = 30
FETCH_SECONDS = 600


def get():
    """The folder with the kernel."""
    if platform.machine() != "x86_64":
        raise Unavailable(f"guests are made for x86_64 only; this machine is {platform.machine()}")
    cached = cache.newest("kernel")
    if cached and time.time() - (cached / "made").stat().st_mtime < LOOK_AGAIN_DAYS * 86400:
        return cached
    reasons = []
    for source in (_from_packages, _from_boot):
        try:
            return source()
        except (Failed, subprocess.SubprocessError, OSError) as error:
            reasons.append(str(error))
        if cached:
            return cached
    raise Unavailable("no kernel for the guest: " + "; ".join(reasons))


def _output(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout


def _packages():
    """(version, packages that hold the kernel and its modules)."""
    for meta in META_PACKAGES:
        if found := re.search(r"Depends: linux-image-(\S*\d\S*)", _output("apt-cache", "depends", meta)):
            version = found[1]
            extra = [f"linux-modules-{version}", f"linux-modules-extra-{version}"]  # Ubuntu has them apart
            return version, [f"linux-image-{version}"] + [name for name in extra if _output("apt-cache", "show", name)]
    raise Failed("apt knows no kernel package: run apt-get update")


def _from_packages():
    version, packages = _packages()
    release = re.search(r"^Version: (\S+)", _output("apt-cache", "show", "--no-all-versions", packages[0]), re.M)
    key = re.sub(r"[^\w.+-]", "_", version + "_" + (release[1] if release else ""))
    return cache.entry("kernel", key, lambda folder: _unpack(folder, version, packages))


def _unpack(folder, version, packages):
    print(f"guest: fetching the kernel {version} for it (about 70 MB, once)", flush=True)
    with tempfile.TemporaryDirectory(prefix="unpack-", dir=folder) as work:
        log = pathlib.Path(work) / "log"
        with open(log, "w") as sink:
            fetched = subprocess.run(["apt-get", "-q", "download", *packages], cwd=work, stdin=subprocess.DEVNULL,
                                     stdout=sink, stderr=sink, timeout=FETCH_SECONDS).returncode == 0
        if not fetched:
            raise Failed(f"apt-get download {' '.join(packages)} failed (is there a network?):\n" + tail(log, 5))
        for package in pathlib.Path(work).glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, work + "/root"], check=True, stdin=subprocess.DEVNULL,
                           timeout=FETCH_SECONDS)
        root = pathlib.Path(work) / "root"
        if not (root / "lib").exists():
            (root / "lib").symlink_to("usr/lib")  # newer packages
        subprocess.run([program("depmod"), "-b", root, version], check=True, stdin=subprocess.DEVNULL, timeout=120)
        _collect(folder, root, version)


def _from_boot():
    """The newest installed kernel that has the module rdma_rxe and may be read."""
    found = [path.name for path in pathlib.Path("/lib/modules").glob("*")
             if list(path.glob("kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*"))
             and pathlib.Path("/boot/vmlinuz-" + path.name).is_file()]
    if not found:
        raise Failed("no kernel with the module rdma_rxe is installed: apt-get install linux-image-amd64")
    version = max(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    return cache.entry("kernel", "boot-" + version, lambda folder: _collect(folder, pathlib.Path("/"), version))


def _collect(folder, root, version):
    shutil.copyfile(root / "boot" / f"vmlinuz-{version}", folder / "vmlinuz")
    (folder / "modules").mkdir()
    for number, path in enumerate(_module_files(root, version)):
        name = re.sub(r"\.ko(\.\w+)?$", ".ko", path.name)
        (folder / "modules" / f"{number:02d}-{name}").write_bytes(_plain(path))
    (folder / "made").touch()


def _module_files(root, version):
    """Files of the wanted modules and of what they need, in the order of loading."""
    files = []
    for module in WANTED:
        run = subprocess.run([program("modprobe"), "-d", root, "-S", version, "--show-depends", module],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        if run.returncode != 0 and module not in MAY_LACK:
            raise Failed(f"the kernel {version} lacks the module {module}: {run.stderr.strip()}")
        for line in run.stdout.splitlines():  # "insmod PATH [OPTIONS]" or "builtin NAME"
            words = line.split()
            if words[0] == "insmod" and words[1] not in files:
                files.append(words[1])
    return [pathlib.Path(name) for name in files]


def _plain(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dc"], input=data, check=True, capture_output=True, timeout=60).stdout
    return data
