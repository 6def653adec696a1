# SPDX-License-Identifier: Apache-2.0
# Part of mpifort: mpi/CMakeLists.txt puts it into the wrapper.
# The modules are compiled once for each compiler and version: beside their sources where that may be written, else in the user's
# cache.
if ! command -v "$compiler" >/dev/null; then
    echo "@NAME@: no compiler $compiler: install it, or name another one in VERBENA_@VARIABLE@" >&2
    exit 1
fi
modules=include/$(basename "$compiler")-$("$compiler" -dumpversion 2>/dev/null | head -n 1)
make_modules() { # $1: folder
    mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || return 1
    [ ! "$1/mpi.mod" -nt "$here/include/mpi_f08.f90" ] || return 0 # the last one
    local own
    own=$(mktemp -d "$1/XXXXXX") || return 1 # another mpifort may do the same
    (
        cd "$own"
        for name in mpi_f08_types mpi; do "$compiler" -c "$here/include/$name.f90" -o "$name.o" || exit; done
        if "$compiler" -c "$here/include/mpi_f08.f90" -o mpi_f08.o 2>../mpi_f08.log; then rm ../mpi_f08.log; else
            echo "@NAME@: $compiler does not compile mpi_f08 ($1/mpi_f08.log), which needs gfortran 12 or flang 19; mpi works" >&2
            rm -f mpi_f08.mod ../mpi_f08.mod
        fi
        mv -f mpi_*.mod .. && mv -f mpi.mod ..
    ) || { rm -rf "$own"; return 1; }
    rm -rf "$own"
}
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/verbena-mpi/$(printf %s "$here" | cksum | cut -d ' ' -f 1)
if make_modules "$here/$modules"; then modules=$here/$modules
elif make_modules "$cache/$modules"; then modules=$cache/$modules
else
    echo "@NAME@: $compiler did not compile the modules $here/include/mpi*.f90 into $here/$modules or $cache/$modules" >&2
    exit 1
fi
compile+=("-I$modules")
