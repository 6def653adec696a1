/* SPDX-License-Identifier: Apache-2.0
 * comm.h - communicators: a group of ranks and a context id. So far intracommunicators.
 *
 * Tag of a message: 4 bits kind, 24 bits context id, 4 bits zero, 32 bits MPI tag (or number and step of a collective).
 */
#ifndef VERBENA_MPI_COMM_H
#define VERBENA_MPI_COMM_H

#include "grp/grp.h"
#include "obj/obj.h"

#define COMM_TAG_P2P 1u
#define COMM_TAG_COLL 2u
#define COMM_TAG_CONTROL 3u
#define COMM_ANY_TAG_MASK 0xffffffff00000000u

typedef struct mpi_comm {
    obj_t obj;
    uint32_t context;
    rt_group_t *ranks;
    grp_t grp; /* its collectives */
    char name[MPI_MAX_OBJECT_NAME];
    struct attr *attrs; /* attr.h */
    MPI_Info info;      /* hints that the program set; MPI_INFO_NULL: none */
    struct comm_buffer *buffer; /* attached for buffered sends (p2p/buffer.c); NULL: none */
} mpi_comm_t;

/* Set by p2p, which comm does not know: the communicator ends, its buffer lives as long as messages use it. */
extern void (*comm_buffer_end)(struct comm_buffer *buffer);

extern mpi_comm_t comm_world;
extern mpi_comm_t comm_self;

/* NULL: not a communicator. */
static inline mpi_comm_t *comm_of(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return &comm_world;
    if (comm == MPI_COMM_SELF)
        return &comm_self;
    return obj_is(comm, OBJ_COMM) ? (mpi_comm_t *)comm : NULL;
}

static inline uint64_t comm_tag(const mpi_comm_t *comm, unsigned kind, uint32_t tag)
{
    return (uint64_t)kind << 60 | (uint64_t)comm->context << 36 | tag;
}

static inline MPI_Comm comm_handle(const mpi_comm_t *comm)
{
    return comm == &comm_world ? MPI_COMM_WORLD : comm == &comm_self ? MPI_COMM_SELF : (MPI_Comm)(uintptr_t)comm;
}

/* Makes MPI_COMM_WORLD and MPI_COMM_SELF; ends them. */
int comm_open(void);
void comm_close(void);
/* Keeps the communicator for a request; the last one who lets go ends it. */
void comm_release(mpi_comm_t *comm);
/* A communicator of these ranks, which the call takes over also when it fails; its error handler is that of parent.
 * Collective over grp. */
int comm_create(mpi_comm_t *parent, grp_t *grp, rt_group_t *ranks, MPI_Comm *comm_p);
/* An id that is free at every rank of the set. */
int comm_context_take(grp_t *grp, uint32_t *context_p);
void comm_context_give(uint32_t context);

#endif
