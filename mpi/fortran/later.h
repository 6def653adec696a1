/* SPDX-License-Identifier: Apache-2.0
 * later.h - copies of sections that outlive the call: those of nonblocking and persistent reductions, and of collectives whose
 * buffer one datatype cannot tell (section.h). They go back when the request is found complete by a function of Fortran.
 *
 * L1. A copy goes back once for each time that its request was started.
 * L2. Whoever finds no copy at all pays for one load.
 */
#ifndef VERBENA_FORTRAN_LATER_H
#define VERBENA_FORTRAN_LATER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fortran.h"

#ifdef FORTRAN_NO_SECTIONS // nothing is copied
static inline void later_done(int number, MPI_Request request)
{
    (void)number, (void)request;
}

static inline void later_begin(int number)
{
    (void)number;
}
#else
extern atomic_int fortran_later FORTRAN_HIDDEN; // copies that there are

/* A call has returned: the request, which C has made NULL or not, may be complete. */
void fortran_later_done(int number, MPI_Request request) FORTRAN_HIDDEN;
/* A persistent request is about to start. */
void fortran_later_begin(int number) FORTRAN_HIDDEN;

static inline void later_done(int number, MPI_Request request)
{
    if (atomic_load_explicit(&fortran_later, memory_order_relaxed) != 0) // its own thread has added what concerns it
        fortran_later_done(number, request);
}

static inline void later_begin(int number)
{
    if (atomic_load_explicit(&fortran_later, memory_order_relaxed) != 0)
        fortran_later_begin(number);
}
#endif

#endif
