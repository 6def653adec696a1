/* SPDX-License-Identifier: Apache-2.0
 * shared.c - windows of one piece of memory that all ranks map. The first rank allocates it, in node memory where there is one;
 * else the others import its key. 24 bytes for each rank of the host are kept, so that no question is ever asked.
 */
#include "win/shared.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "info/info.h"
#include "rt/memory.h"
#include "rt/node.h"
#include "win/key.h"
#include "win/memory.h"

typedef struct part {
    uint64_t size;
    uint64_t unit;
    uint64_t offset; /* before the layout: 1 for a rank that has failed */
} part_t;

typedef struct win_shared {
    void *block;    /* at the first rank: node memory */
    vbn_mem_t *mem; /* at the first rank: other memory, */
    vbn_key_t *key; /* and at the others its key */
    unsigned char *start;
    size_t words;
    int count;
    part_t parts[];
} win_shared_t;

typedef struct blob {
    uint64_t node_at; /* in node memory; 0: it is not there */
    uint32_t length;  /* of the key. No key and not in node memory: the first rank has no memory */
    unsigned char key[VBN_KEY_MAX];
} blob_t;

static size_t offset_of(const grp_blocks_t *blocks, int rank)
{
    return blocks->unit * (size_t)rank;
}

static size_t length_of(const grp_blocks_t *blocks, int rank)
{
    (void)rank;
    return blocks->unit;
}

/* Whether parts may lie apart: then each begins a line of the processor. The hint is the same at all ranks (12.2.3). */
static int may_lie_apart(MPI_Info info)
{
    MPI_Info copy;
    if (info_copy(info, &copy) != MPI_SUCCESS)
        return 0;
    const char *value = info_value((const mpi_info_t *)copy, "alloc_shared_noncontig");
    const int apart = value != NULL && strcmp(value, "true") == 0;
    info_destroy((mpi_info_t *)copy);
    return apart;
}

static int gather(win_shared_t *shared, mpi_comm_t *comm, const mpi_win_t *draft, int rc)
{
    const grp_blocks_t blocks = {
        .base = shared->parts, .offset = offset_of, .length = length_of, .unit = sizeof(part_t)};
    shared->parts[comm->ranks->rank] = (part_t){.size = rc == MPI_SUCCESS ? (uint64_t)draft->size : 0,
                                                .unit = (uint64_t)draft->unit,
                                                .offset = rc != MPI_SUCCESS};
    const int status = grp_allgather(&comm->grp, &blocks);
    return status < 0 ? err_core((vbn_status_t)status, "MPI_Win_allocate_shared", grp_error()) : MPI_SUCCESS;
}

/* Offsets of the parts; -1: more than an address space; 1: a rank has failed. */
static int lay_out(win_shared_t *shared, size_t alignment)
{
    size_t end = 0;
    int failed = 0;
    for (int i = 0; i < shared->count; i++) {
        failed |= shared->parts[i].offset != 0;
        end = (end + alignment - 1) / alignment * alignment;
        shared->parts[i].offset = end;
        if (__builtin_add_overflow(end, shared->parts[i].size, &end) || end > PTRDIFF_MAX / 2)
            return -1;
    }
    shared->words = (end + WIN_LINE - 1) / WIN_LINE * WIN_LINE;
    return failed;
}

static win_control_t *control_of(const win_shared_t *shared, int rank)
{
    return (win_control_t *)(void *)(shared->start + shared->words) + rank;
}

/* Whether all ranks share node memory. */
static int are_on_node(const mpi_comm_t *comm)
{
    int i = 0;
    if (!rt.fenced || rt_node_open() <= 0)
        return 0;
    while (i < comm->ranks->size && rt_node_index(rt_group_world(comm->ranks, i)) >= 0)
        i++;
    return i == comm->ranks->size;
}

static int allocate_in_node(win_shared_t *shared, size_t size, blob_t *blob)
{
    rt_memory_place_t place;
    if (rt_memory_alloc(size, WIN_PAGE_BYTES, &shared->block) != 0) {
        shared->block = NULL;
        return err_set(MPI_ERR_NO_MEM, "shared memory of the window: %s", rt.error);
    }
    rt_memory_find(shared->block, &place);
    shared->start = shared->block;
    blob->node_at = place.offset;
    return MPI_SUCCESS;
}

static int allocate_apart(win_shared_t *shared, size_t size, blob_t *blob)
{
    size_t length = sizeof(blob->key);
    if (vbn_mem_alloc(rt.context, size, VBN_BACKING_MEMFD, NULL, &shared->mem) != VBN_OK) {
        shared->mem = NULL;
        return err_core(VBN_ERR_NO_MEMORY, "shared memory of the window", vbn_error_text());
    }
    shared->start = vbn_mem_address(shared->mem);
    if (vbn_key_export(shared->mem, 0, size, WIN_ACCESS, blob->key, &length) != VBN_OK)
        return err_core(VBN_ERR_NO_MEMORY, "shared memory of the window", vbn_error_text());
    blob->length = (uint32_t)length;
    return MPI_SUCCESS;
}

static int allocate(win_shared_t *shared, const mpi_comm_t *comm, blob_t *blob)
{
    const size_t size = shared->words + sizeof(win_control_t) * (size_t)shared->count;
    const int rc = are_on_node(comm) ? allocate_in_node(shared, size, blob) : allocate_apart(shared, size, blob);
    for (int i = 0; rc == MPI_SUCCESS && i < shared->count; i++)
        win_control_open(control_of(shared, i));
    return rc;
}

static int map_in_node(win_shared_t *shared, const blob_t *blob)
{
    if (rt_node_open() <= 0)
        return err_set(MPI_ERR_RMA_SHARED, "shared memory of the window: %s", rt.error);
    if (blob->node_at >= rt_node_bytes() || shared->words >= rt_node_bytes() - blob->node_at)
        return err_set(MPI_ERR_INTERN, "shared memory of the window lies outside of node memory");
    shared->start = rt_node_at(blob->node_at);
    return MPI_SUCCESS;
}

static int map(win_shared_t *shared, const mpi_comm_t *comm, const blob_t *blob)
{
    if (blob->node_at > 0)
        return map_in_node(shared, blob);

    vbn_peer_t *peer = rt_peer(rt_group_world(comm->ranks, 0));
    if (peer == NULL)
        return err_set(MPI_ERR_PROC_ABORTED, "memory of rank 0: %s", rt.error);
    const int rc = win_key_import(peer, blob->key, blob->length, &shared->key);
    if (rc != MPI_SUCCESS)
        return rc;
    shared->start = vbn_key_pointer(shared->key);
    return shared->start != NULL
               ? MPI_SUCCESS
               : err_set(
                     MPI_ERR_RMA_SHARED,
                     "rank %d cannot map memory of rank 0 of comm: they are on different hosts (MPI_Comm_split_type with "
                     "MPI_COMM_TYPE_SHARED makes communicators of one host), or shm is not in tl.enable",
                     comm->ranks->rank);
}

static int make(win_shared_t *shared, mpi_comm_t *comm)
{
    blob_t blob = {0};
    const int is_first = comm->ranks->rank == 0;
    const int rc = is_first ? allocate(shared, comm, &blob) : MPI_SUCCESS;
    const int status = grp_bcast(&comm->grp, &blob, sizeof(blob), 0);
    if (status < 0)
        return err_core((vbn_status_t)status, "MPI_Win_allocate_shared", grp_error());
    if (rc != MPI_SUCCESS || is_first)
        return rc;
    if (blob.length == 0 && blob.node_at == 0)
        return err_set(MPI_ERR_NO_MEM, "rank 0 could not allocate the shared memory of the window");
    return map(shared, comm, &blob);
}

int win_share(mpi_win_t *draft, mpi_comm_t *comm, MPI_Info info, int rc)
{
    const int count = comm->ranks->size;
    win_shared_t *shared = calloc(1, sizeof(*shared) + (size_t)count * sizeof(part_t));
    if (shared == NULL) /* the others cannot be told without the memory */
        return err_set(MPI_ERR_NO_MEM, "table of %d ranks: no memory left", count);
    shared->count = count;
    const int gathered = gather(shared, comm, draft, rc);
    rc = rc == MPI_SUCCESS ? gathered : rc;
    draft->apart = may_lie_apart(info);
    const int laid = rc == MPI_SUCCESS || gathered == MPI_SUCCESS ? lay_out(shared, draft->apart ? WIN_LINE : 1) : 1;
    if (rc == MPI_SUCCESS && laid != 0)
        rc = laid < 0 ? err_set(MPI_ERR_SIZE, "the sizes of all ranks are more than an address space")
                      : err_set(MPI_ERR_OTHER, "another rank of comm could not make its part of the window");
    if (rc == MPI_SUCCESS)
        rc = make(shared, comm);
    if (rc != MPI_SUCCESS) {
        win_shared_end(shared);
        return rc;
    }
    draft->shared = shared;
    draft->base = shared->start + shared->parts[comm->ranks->rank].offset;
    draft->word = &control_of(shared, comm->ranks->rank)->word;
    draft->gate = &control_of(shared, comm->ranks->rank)->gate;
    return MPI_SUCCESS;
}

void win_shared_describe(const mpi_win_t *win, int rank, win_target_t *target)
{
    const win_shared_t *shared = win->shared;
    target->size = shared->parts[rank].size;
    target->unit = shared->parts[rank].unit;
    target->near = shared->start + shared->parts[rank].offset;
    target->word = &control_of(shared, rank)->word;
    target->gate = &control_of(shared, rank)->gate;
    target->lent = 1;
    target->known = 1;
}

void win_shared_end(win_shared_t *shared)
{
    if (shared == NULL)
        return;
    if (shared->key != NULL)
        vbn_key_release(shared->key);
    if (shared->mem != NULL)
        (void)vbn_mem_free(shared->mem);
    if (shared->block != NULL)
        (void)rt_memory_free(shared->block);
    free(shared);
}
