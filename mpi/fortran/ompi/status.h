/* SPDX-License-Identifier: Apache-2.0
 * status.h - what Open MPI's mpi.h has beside values: a status of Fortran is that of C.
 */
#ifndef VERBENA_FORTRAN_STATUS_H
#define VERBENA_FORTRAN_STATUS_H

#include <stddef.h>

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int cancelled;
    size_t bytes;
} MPI_Status;

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_BUFFER_AUTOMATIC ((void *)2)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

#endif
