/* SPDX-License-Identifier: Apache-2.0
 * status.h - what MPICH's mpi.h has beside values: a status of Fortran is that of C.
 */
#ifndef VERBENA_FORTRAN_STATUS_H
#define VERBENA_FORTRAN_STATUS_H

typedef struct MPI_Status {
    int count_low;
    int count_high;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} MPI_Status;

#define MPI_FILE_NULL ((MPI_File)0)
#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)-1)
#define MPI_BUFFER_AUTOMATIC ((void *)-2)
#define MPI_STATUS_IGNORE ((MPI_Status *)1)
#define MPI_STATUSES_IGNORE ((MPI_Status *)1)

#endif
