# SPDX-License-Identifier: Apache-2.0
# Part of mpifort: mpi/CMakeLists.txt puts it into the wrapper.
# The module is compiled once for each compiler and version: beside its source where that may be written, else in the user's
# cache.
modules=include/$(basename "$compiler")-$("$compiler" -dumpversion 2>/dev/null | head -n 1)
make_modules() { # $1: folder
    mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || return 1
    [ ! "$1/mpi.mod" -nt "$here/include/mpi.f90" ] || return 0
    local own
    own=$(mktemp -d "$1/XXXXXX") || return 1 # another mpifort may do the same
    (cd "$own" && "$compiler" -c "$here/include/mpi.f90" -o mpi.o && mv -f mpi.mod ..) || { rm -rf "$own"; return 1; }
    rm -rf "$own"
}
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/verbena-mpi/$(printf %s "$here" | cksum | cut -d ' ' -f 1)
if make_modules "$here/$modules"; then modules=$here/$modules
elif make_modules "$cache/$modules"; then modules=$cache/$modules
else
    echo "@NAME@: $compiler did not compile $here/include/mpi.f90 into $here/$modules or $cache/$modules; 'use mpi' needs that" >&2
    exit 1
fi
compile+=("-I$modules")
