/* SPDX-License-Identifier: Apache-2.0
 * coll.h - what the collectives of MPI share. A collective is one function, coll_NAME, that adds its steps to a schedule;
 * the generated entry points of NAME, INAME and NAME_init open the schedule before and use it afterwards:
 *
 *     coll_open(&coll, comm, kept)   coll_NAME(&coll, arguments of NAME)   coll_run, coll_begin or coll_keep
 *
 * C1 A step looks at the user's buffers when it runs: a persistent collective may be started with new data.
 * C2 What steps refer to lives as long as the schedule (sched_memory, sched_at_end); arrays of the call do not.
 */
#ifndef VERBENA_MPI_COLL_H
#define VERBENA_MPI_COLL_H

#include "comm/comm.h"
#include "dt/dt.h"
#include "grp/steps.h"

typedef struct coll {
    sched_t *sched;
    mpi_comm_t *comm;
} coll_t;

/* kept: it will be started several times. */
int coll_open(coll_t *coll, MPI_Comm comm, int kept);
/* These take over the schedule; rc is what coll_NAME returned, and a failure ends it. The blocking form; a request that
 * is started; a persistent one (no hint in its info is used so far). */
int coll_run(coll_t *coll, int rc);
int coll_begin(coll_t *coll, int rc, MPI_Request *request);
int coll_keep(coll_t *coll, int rc, MPI_Info info, MPI_Request *request);
/* MPI_SUCCESS or the error of a schedule's status. */
int coll_result(int status);
/* Memory of the schedule; MPI_ERR_NO_MEM. */
int coll_memory(coll_t *coll, size_t length, void **memory_p);

/* Elements that one message moves. */
typedef struct coll_part {
    void *at;
    size_t length; /* bytes */
} coll_part_t;

/* One part for each rank or edge. */
typedef struct coll_parts {
    grp_blocks_t blocks; /* the parts, for steps */
    coll_part_t *part;
} coll_parts_t;

int coll_part(coll_part_t *part, const void *buffer, MPI_Count count, MPI_Datatype type);
/* Of equal length, side by side. */
int coll_equal(coll_t *coll, coll_parts_t *parts, int n, const void *base, MPI_Count count, MPI_Datatype type);
/* counts[i] elements at displs[i] elements. */
int coll_varying(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                 const MPI_Aint *displs, MPI_Datatype type);
/* counts[i] elements (each, without an array) side by side. */
int coll_consecutive(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                     MPI_Count each, MPI_Datatype type);
/* counts[i] elements of types[i] at displs[i] bytes. */
int coll_mixed(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
               const MPI_Aint *displs, const MPI_Datatype *types);
/* Copies of them in memory of the schedule, and the steps that make these. */
int coll_copies(coll_t *coll, const coll_parts_t *parts, int n, coll_parts_t *copies);

/* A reduction with op on elements of type, for steps of the schedule. */
int coll_reduction(coll_t *coll, MPI_Op op, MPI_Datatype type, const grp_reduce_t **reduce_p);
int coll_op_is_valid(MPI_Op op);

static inline int coll_is_root(const coll_t *coll, int root)
{
    return coll->comm->ranks->rank == root;
}

static inline int coll_size(const coll_t *coll)
{
    return coll->comm->ranks->size;
}

#endif
