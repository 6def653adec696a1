/* SPDX-License-Identifier: Apache-2.0
 * coll.h - what the collectives of MPI share: arguments into blocks of bytes, operations into reductions.
 */
#ifndef VERBENA_MPI_COLL_H
#define VERBENA_MPI_COLL_H

#include "comm/comm.h"
#include "dt/dt.h"

/* Blocks of equal length side by side. */
int coll_equal(grp_blocks_t *blocks, const void *base, MPI_Count count, MPI_Datatype type);
/* Blocks of counts[i] elements at displs[i] elements; NULL displs: side by side is not meant, the array must be
 * there. */
int coll_varying(grp_blocks_t *blocks, const void *base, const MPI_Count *counts, const MPI_Aint *displs, int size,
                 MPI_Datatype type);
/* A reduction with op on elements of type. */
typedef struct coll_reduction {
    grp_reduce_t reduce;
    MPI_Op op;
    MPI_Datatype type;
} coll_reduction_t;
int coll_reduction(coll_reduction_t *reduction, MPI_Op op, MPI_Datatype type);
/* MPI_SUCCESS or the error of a collective's status. */
int coll_result(int status);
/* Where this rank's elements of a reduction are: sendbuf copied to recvbuf unless it is MPI_IN_PLACE. */
void coll_in_place(const void *sendbuf, void *recvbuf, size_t bytes);

int coll_op_is_valid(MPI_Op op);

#endif
