/* SPDX-License-Identifier: Apache-2.0
 * part.c - buffer, count and datatype as bytes for messages; one part, or one for each rank.
 */
#include <string.h>

#include "coll/coll.h"
#include "err/err.h"

int coll_memory(coll_t *coll, size_t length, void **memory_p)
{
    *memory_p = sched_memory(coll->sched, length);
    return *memory_p != NULL ? MPI_SUCCESS
                             : err_set(MPI_ERR_NO_MEM, "collective: no memory left for %zu bytes", length);
}

static size_t part_offset(const grp_blocks_t *blocks, int rank)
{
    return (uintptr_t)((const coll_part_t *)blocks->offsets)[rank].at;
}

static size_t part_length(const grp_blocks_t *blocks, int rank)
{
    return ((const coll_part_t *)blocks->offsets)[rank].length;
}

static int parts_open(coll_t *coll, coll_parts_t *parts, int n)
{
    void *memory;
    const int rc = coll_memory(coll, (size_t)n * sizeof(*parts->part), &memory);
    parts->part = memory;
    parts->n = n;
    parts->blocks = (grp_blocks_t){.offset = part_offset, .length = part_length, .offsets = memory};
    return rc;
}

static void release_type(void *arg)
{
    dt_release(arg);
}

void coll_keep_type(coll_t *coll, MPI_Datatype type)
{
    dt_type_t *found = dt_find(type);
    if (found->is_fixed)
        return;
    dt_keep(found);
    sched_at_end(coll->sched, release_type, found);
}

static int describe(coll_t *coll, coll_part_t *part, const void *buffer, MPI_Count count, MPI_Datatype type)
{
    const int rc = dt_describe(&part->data, buffer, count, type);
    if (rc != MPI_SUCCESS)
        return rc;
    part->at = part->data.base;
    part->length = part->data.bytes;
    return part->data.type == NULL ? MPI_SUCCESS : coll_memory(coll, part->length, &part->at);
}

int coll_part(coll_t *coll, coll_part_t *part, const void *buffer, MPI_Count count, MPI_Datatype type)
{
    const int rc = describe(coll, part, buffer, count, type);
    if (rc == MPI_SUCCESS && part->data.type != NULL)
        coll_keep_type(coll, type);
    return rc;
}

static const void *displaced(const void *base, MPI_Aint displ, size_t unit)
{
    return (const void *)((uintptr_t)base + (size_t)displ * unit);
}

/* Parts of one type. */
static int open_of_type(coll_t *coll, coll_parts_t *parts, int n, MPI_Datatype type, size_t *extent_p)
{
    dt_type_t *found;
    int rc = dt_usable(type, &found);
    if (rc == MPI_SUCCESS)
        rc = parts_open(coll, parts, n);
    if (rc != MPI_SUCCESS)
        return rc;
    coll_keep_type(coll, type);
    *extent_p = found->extent;
    return MPI_SUCCESS;
}

int coll_consecutive(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                     MPI_Count each, MPI_Datatype type)
{
    MPI_Aint before = 0;
    size_t extent;
    int rc = open_of_type(coll, parts, n, type, &extent);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        const MPI_Count count = counts == NULL ? each : counts[i];
        rc = describe(coll, &parts->part[i], displaced(base, before, extent), count, type);
        before += (MPI_Aint)count;
    }
    return rc;
}

int coll_varying(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                 const MPI_Aint *displs, MPI_Datatype type)
{
    size_t extent;
    int rc = open_of_type(coll, parts, n, type, &extent);
    if (rc == MPI_SUCCESS && n > 0 && (counts == NULL || displs == NULL))
        rc = err_set(MPI_ERR_ARG, "the array of counts or of displacements is NULL");
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = describe(coll, &parts->part[i], displaced(base, displs[i], extent), counts[i], type);
    return rc;
}

int coll_mixed(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
               const MPI_Aint *displs, const MPI_Datatype *types)
{
    int rc = parts_open(coll, parts, n);
    if (rc == MPI_SUCCESS && n > 0 && (counts == NULL || displs == NULL || types == NULL))
        rc = err_set(MPI_ERR_ARG, "the array of counts, of displacements or of datatypes is NULL");
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = coll_part(coll, &parts->part[i], displaced(base, displs[i], 1), counts[i], types[i]);
    return rc;
}

/* Each but the first looks like one that is one piece already. */
int coll_same(coll_t *coll, coll_parts_t *parts, int n, const coll_part_t *part)
{
    const int rc = parts_open(coll, parts, n);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        parts->part[i] = *part;
        if (i > 0)
            parts->part[i].data.type = NULL;
    }
    return rc;
}

int coll_copies(coll_t *coll, const coll_parts_t *parts, coll_parts_t *copies)
{
    int rc = parts_open(coll, copies, parts->n);
    for (int i = 0; i < parts->n && rc == MPI_SUCCESS; i++) {
        const coll_part_t *part = &parts->part[i];
        coll_part_t *copy = &copies->part[i];
        *copy = *part;
        rc = coll_memory(coll, part->length, &copy->at);
        if (rc == MPI_SUCCESS && part->data.type == NULL)
            sched_copy(coll->sched, copy->at, part->at, part->length);
        else if (rc == MPI_SUCCESS)
            coll_pack(coll, copy);
    }
    return rc;
}
