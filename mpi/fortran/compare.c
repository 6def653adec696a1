/* SPDX-License-Identifier: Apache-2.0
 * compare.c - .EQ. and .NE. of handles of mpi_f08: functions here, so that no program links the code of a module.
 */
#include "fortran.h"

#define COMPARES(lower, upper)                                                                                         \
    FORTRAN_SPELL(vbnf_##lower##_eq, VBNF_##upper##_EQ, int, (const int *a, const int *b))                             \
    {                                                                                                                  \
        return *a == *b;                                                                                               \
    }                                                                                                                  \
    FORTRAN_SPELL(vbnf_##lower##_ne, VBNF_##upper##_NE, int, (const int *a, const int *b))                             \
    {                                                                                                                  \
        return *a != *b;                                                                                               \
    }
COMPARES(comm, COMM)
COMPARES(datatype, DATATYPE)
COMPARES(errhandler, ERRHANDLER)
COMPARES(file, FILE)
COMPARES(group, GROUP)
COMPARES(info, INFO)
COMPARES(message, MESSAGE)
COMPARES(op, OP)
COMPARES(request, REQUEST)
COMPARES(session, SESSION)
COMPARES(win, WIN)
