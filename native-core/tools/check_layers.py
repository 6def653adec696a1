#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a file of the core includes a header of a layer above its own, or a binding or component one of the core's insides.

Usage: check_layers.py REPOSITORY. Order, lowest first: base mem tl link proto fast api jni. Within link the rooms of ROOMS have an
order; a room reads the records (record.h) of all of them. A binding (jni) stands on vbn.h; of
the core's own headers it may use those of base, and so may a component in C outside the core (memcached-rdma), whose own
folders have an order, too. Order of mpi/: MPI_LAYERS; it stands on vbn.h and the headers of WITHOUT_OBJECT, as its library sees the
core's vbn_ functions only.
"""
import pathlib
import re
import sys

LAYERS = ["base", "mem", "tl", "link", "proto", "fast", "api", "jni"]
BINDINGS = {"jni"}
ROOMS = ["lane", "flow", "peer"]
ROOF = "link/link_engine.c" # stands on all rooms; the other files of link itself stand below them
COMPONENTS = {"memcached-rdma": {"util": {"util"}, "store": {"util", "store"}, "proto": {"util", "proto"},
                                 "ssd": {"util", "ssd"}, "server": {"util", "store", "proto", "ssd", "server"},
                                 "client": {"util", "proto", "store", "client", "verbena"},
                                 "compat": {"util", "proto", "client", "compat"}}}
SHMEM_ABOVE = "grp" # mpi/shmem stands on these layers of mpi/
MPI_LAYERS = ["pmi", "rt", "op", "grp", "obj", "err", "info", "attr", "dt", "group", "comm", "topo", "p2p", "coll",
              "win", "instance", "entry"]
WITHOUT_OBJECT = {"base/base64.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def files(core):
    """Yields (layer, file) for each C file of the core."""
    for layer in LAYERS:
        folder = core / "jni" if layer == "jni" else core / "src" / layer
        for path in sorted(folder.rglob("*.[ch]")):
            yield layer, path


def is_above(path, include):
    """Whether a header of a room of link stands above the file, which is in link as well."""
    *folders, name = include.split("/")
    if len(folders) != 2 or folders[1] not in ROOMS or name == "record.h" or path.as_posix().endswith(ROOF):
        return False
    return path.parent.name not in ROOMS or ROOMS.index(folders[1]) > ROOMS.index(path.parent.name)


def wrong_includes(layer, path):
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        first = name.split("/")[0]
        if first == "..":
            yield f'{path}: "{name}" climbs out of its folder; include it as "layer/file.h"'
        elif first in LAYERS and LAYERS.index(first) > LAYERS.index(layer):
            yield f'{path}: {layer} includes "{name}" of the higher layer {first}'
        elif layer == first == "link" and is_above(path, name):
            yield f'{path}: includes "{name}" of a room above it; raise an event (link_engine.h), or move the shared code below'
        elif layer in BINDINGS and first in LAYERS and first not in (layer, "base"):
            yield f'{path}: {layer} includes "{name}"; a binding uses vbn/vbn.h: add a missing function there'


def component_includes(root):
    """Yields (file, the folders whose headers it may include) for each C file of the components outside the core."""
    for component, folders in COMPONENTS.items():
        for folder, allowed in folders.items():
            for path in sorted((root / component / folder).rglob("*.[ch]")):
                yield path, allowed | {"base", "vbn"}


def wrong_component_includes(path, allowed):
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        if name.split("/")[0] not in allowed:
            yield f'{path}: "{name}" is in none of {", ".join(sorted(allowed))}; include it as "folder/file.h"'
def mpi_files(mpi):
    """Yields (layer, file): the runtime's folders lie in mpi/, the chapters in mpi/mpi/."""
    for path in sorted((mpi / "shmem").rglob("*.[ch]")):
        yield "shmem", path
    for layer in MPI_LAYERS:
        for path in sorted([*(mpi / layer).glob("*.[ch]"), *(mpi / "mpi" / layer).glob("*.[ch]")]):
            yield layer, path


def wrong_mpi_includes(layer, path):
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        first = name.split("/")[0]
        if first in MPI_LAYERS and MPI_LAYERS.index(first) > MPI_LAYERS.index(SHMEM_ABOVE if layer == "shmem" else layer):
            yield f'{path}: {layer} includes "{name}" of the higher layer {first}'
        elif (first in LAYERS and name not in WITHOUT_OBJECT) or first == "..":
            yield f'{path}: {layer} includes "{name}"; mpi/ uses vbn/vbn.h: add a missing function there'


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    core = pathlib.Path(sys.argv[1]) / "native-core"
    all_files = list(files(core))
    errors = [error for layer, path in all_files for error in wrong_includes(layer, path)]
    others = list(component_includes(core.parent))
    errors += [error for path, allowed in others for error in wrong_component_includes(path, allowed)]
    mpi = list(mpi_files(core.parent / "mpi"))
    errors += [error for layer, path in mpi for error in wrong_mpi_includes(layer, path)]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"layers: {len(all_files) + len(others) + len(mpi)} files, {len(errors)} wrong includes")
    if not all_files:
        print(f"no C files below {core}: is this the repository?", file=sys.stderr)
    return 1 if errors or not all_files else 0


if __name__ == "__main__":
    sys.exit(main())
