/* SPDX-License-Identifier: Apache-2.0
 * shared.c - windows of one piece of memory that all ranks map: the first rank allocates it, the others import its key. 24
 * bytes for each rank of the host are kept, so that no question is ever asked.
 */
#include "win/shared.h"

#include <stdlib.h>
#include <string.h>

#include "err/err.h"
#include "info/info.h"
#include "win/key.h"

#define LINE ((size_t)64)

typedef struct part {
    uint64_t size;
    uint64_t unit;
    uint64_t offset; /* before the layout: 1 for a rank that has failed */
} part_t;

typedef struct win_shared {
    vbn_mem_t *mem; /* at the first rank */
    vbn_key_t *key; /* at the others */
    unsigned char *start;
    size_t words;
    int count;
    part_t parts[];
} win_shared_t;

typedef struct blob {
    uint32_t length; /* 0: the first rank has no memory */
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
    shared->words = (end + LINE - 1) / LINE * LINE;
    return failed;
}

static void allocate(win_shared_t *shared, blob_t *blob)
{
    size_t length = sizeof(blob->key);
    const size_t size = shared->words + LINE * (size_t)shared->count;
    blob->length = 0;
    if (vbn_mem_alloc(rt.context, size, VBN_BACKING_MEMFD, NULL, &shared->mem) != VBN_OK) {
        shared->mem = NULL;
        return;
    }
    shared->start = vbn_mem_address(shared->mem);
    if (vbn_key_export(shared->mem, 0, size, WIN_ACCESS, blob->key, &length) == VBN_OK)
        blob->length = (uint32_t)length;
}

static int map(win_shared_t *shared, const mpi_comm_t *comm, const blob_t *blob)
{
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
    if (is_first)
        allocate(shared, &blob);
    const int status = grp_bcast(&comm->grp, &blob, sizeof(blob), 0);
    if (status < 0)
        return err_core((vbn_status_t)status, "MPI_Win_allocate_shared", grp_error());
    if (blob.length == 0)
        return is_first ? err_core(VBN_ERR_NO_MEMORY, "shared memory of the window", vbn_error_text())
                        : err_set(MPI_ERR_NO_MEM, "rank 0 could not allocate the shared memory of the window");
    return is_first ? MPI_SUCCESS : map(shared, comm, &blob);
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
    const int laid = rc == MPI_SUCCESS || gathered == MPI_SUCCESS ? lay_out(shared, draft->apart ? LINE : 1) : 1;
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
    draft->word = (_Atomic uint32_t *)(void *)(shared->start + shared->words + LINE * (size_t)comm->ranks->rank);
    return MPI_SUCCESS;
}

void win_shared_describe(const mpi_win_t *win, int rank, win_target_t *target)
{
    const win_shared_t *shared = win->shared;
    target->size = shared->parts[rank].size;
    target->unit = shared->parts[rank].unit;
    target->near = shared->start + shared->parts[rank].offset;
    target->word = (_Atomic uint32_t *)(void *)(shared->start + shared->words + LINE * (size_t)rank);
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
    free(shared);
}
