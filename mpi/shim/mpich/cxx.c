/* SPDX-License-Identifier: Apache-2.0
 * cxx.c - what MPICH's library of C++ bindings (libmpichcxx.so.12) takes from its C library: it must load. Callbacks of C++ are not
 * supported, and say so.
 */
#include "shim.h"

#include <stdio.h>

static void refuse(const char *what)
{
    fprintf(stderr, "libmpi.so.12: %s of MPICH's C++ bindings are not supported: use the functions of C\n", what);
    (void)vbnmpi_Abort(MPI_COMM_WORLD, 1); // a call of it would call C++ as C
}

#define REFUSED(name, what)                                                                                            \
    SHIM_VISIBLE void name(int handle, void (*function)(void), void (*more)(void));                                    \
    void name(int handle, void (*function)(void), void (*more)(void))                                                  \
    {                                                                                                                  \
        (void)handle, (void)function, (void)more;                                                                      \
        refuse(what);                                                                                                  \
    }
REFUSED(MPII_Errhandler_set_cxx, "error handlers")
REFUSED(MPII_Keyval_set_proxy, "attribute keys")
REFUSED(MPII_Op_set_cxx, "operations")
