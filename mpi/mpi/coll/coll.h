/* SPDX-License-Identifier: Apache-2.0
 * coll.h - what the collectives of MPI share. A collective is one function, coll_NAME, that adds its steps to a schedule;
 * the generated entry points of NAME, INAME and NAME_init open the schedule before and use it afterwards:
 *
 *     coll_open(&coll, comm, form)   coll_NAME(&coll, arguments of NAME)   coll_run, coll_begin or coll_keep
 *
 * The blocking form first asks coll_near_NAME(arguments of NAME) where there is one (near.c): it returns COLL_FAR when it has
 * done nothing.
 *
 * C1 A step looks at the user's buffers when it runs: a persistent collective may be started with new data.
 * C2 What steps refer to lives as long as the schedule (sched_memory, sched_at_end); arrays of the call do not.
 */
#ifndef VERBENA_MPI_COLL_H
#define VERBENA_MPI_COLL_H

#include "comm/comm.h"
#include "dt/data.h"
#include "grp/steps.h"

typedef struct coll {
    sched_t *sched; /* on the local group */
    mpi_comm_t *comm;
} coll_t;

#define COLL_FAR (-1) /* no error class is negative */

/* The forms are counted apart, so that ranks may mix them each in an order of its own, as stock libraries let them. */
typedef enum coll_form { COLL_BLOCKING, COLL_NONBLOCKING, COLL_PERSISTENT } coll_form_t;
int coll_open(coll_t *coll, MPI_Comm comm, coll_form_t form, const char *name);
/* Around a blocking collective, for grp/watch.h. */
void coll_enter(MPI_Comm comm, const char *name);
void coll_leave(MPI_Comm comm);
/* These take over the schedule; rc is what coll_NAME returned, and a failure ends it. The blocking form; a request that
 * is started; a persistent one (no hint in its info is used so far). */
int coll_run(coll_t *coll, int rc);
int coll_begin(coll_t *coll, int rc, MPI_Request *request);
int coll_keep(coll_t *coll, int rc, MPI_Info info, MPI_Request *request);
/* MPI_SUCCESS or the error of a schedule's status. */
int coll_result(int status);
/* Memory of the schedule; MPI_ERR_NO_MEM. */
int coll_memory(coll_t *coll, size_t length, void **memory_p);

/* Elements that one message moves: in the user's buffer where they are one piece of memory, else packed in memory of the
 * schedule, to and from which steps copy them. */
typedef struct coll_part {
    void *at;
    size_t length; /* bytes */
    dt_data_t data;
} coll_part_t;

/* One part for each rank or edge. */
typedef struct coll_parts {
    grp_blocks_t blocks; /* the parts, for steps */
    coll_part_t *part;
    int n;
} coll_parts_t;

int coll_part(coll_t *coll, coll_part_t *part, const void *buffer, MPI_Count count, MPI_Datatype type);
/* counts[i] elements (each, without an array) side by side. */
int coll_consecutive(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                     MPI_Count each, MPI_Datatype type);
/* counts[i] elements at displs[i] elements. */
int coll_varying(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                 const MPI_Aint *displs, MPI_Datatype type);
/* counts[i] elements of types[i] at displs[i] bytes. */
int coll_mixed(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
               const MPI_Aint *displs, const MPI_Datatype *types);
/* The same part n times; packing all packs it once. */
int coll_same(coll_t *coll, coll_parts_t *parts, int n, const coll_part_t *part);
/* Copies of them in memory of the schedule, and the steps that make these. */
int coll_copies(coll_t *coll, const coll_parts_t *parts, coll_parts_t *copies);
/* Steps that copy what is not one piece: before messages that leave; after messages in flight, which they wait for. */
void coll_pack(coll_t *coll, const coll_part_t *part);
void coll_unpack(coll_t *coll, const coll_part_t *part);
#define COLL_ALL (-1) /* of a number that is left out: none */
void coll_pack_all(coll_t *coll, const coll_parts_t *parts);
void coll_unpack_all(coll_t *coll, const coll_parts_t *parts, int but);
/* A step: elements of the type from one buffer to the other. */
void coll_copy_elements(coll_t *coll, void *to, const void *from, MPI_Count count, MPI_Datatype type);
/* The program may free the type meanwhile. */
void coll_keep_type(coll_t *coll, MPI_Datatype type);

/* Elements that are reduced. Predefined and plain types are reduced where they lie; of others there are copies in memory
 * of the schedule that look like the user's buffers, gaps and all, and travel as one element. */
typedef struct coll_values {
    const grp_reduce_t *reduce;
    size_t n; /* elements of reduce */
    size_t bytes;
    size_t before; /* of a place's memory around these bytes: padding of the first element, */
    size_t after;  /* and of the last one */
    size_t shift;  /* from a place to what the user's functions call the buffer */
    int dense;     /* reduced where they lie */
    MPI_Count count;
    MPI_Datatype type;
} coll_values_t;

int coll_values(coll_t *coll, coll_values_t *values, MPI_Op op, MPI_Count count, MPI_Datatype type);
/* MPI_ERR_BUFFER where there are elements and the buffer cannot hold them: it is NULL, or MPI_IN_PLACE. */
int coll_values_at(const coll_values_t *values, const void *buffer, const char *name);
/* A place that holds the elements of `from` when the steps get there: `to` if they can be reduced there (NULL: not). */
int coll_values_take(coll_t *coll, const coll_values_t *values, const void *from, void *to, void **place_p);
/* A place without elements, under the same conditions. */
int coll_values_room(coll_t *coll, const coll_values_t *values, void *to, void **place_p);
/* Waits for messages; then the elements are in the user's buffer. */
void coll_values_give(coll_t *coll, const coll_values_t *values, const void *place, void *to);
int coll_op_is_valid(MPI_Op op);
/* As grp_reduce_t of one element of dense values, or of all of others. Lives as long as the schedule. */
int coll_reduction(coll_t *coll, coll_values_t *values, MPI_Op op);

/* The sum of the counts of all ranks; an error for negative ones. */
int coll_total(const coll_t *coll, const MPI_Count *counts, MPI_Count each, MPI_Count *total_p);

static inline int coll_is_root(const coll_t *coll, int root)
{
    return coll->comm->ranks->rank == root;
}

static inline int coll_size(const coll_t *coll)
{
    return coll->comm->ranks->size;
}

#endif
