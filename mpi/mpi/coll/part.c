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
    parts->blocks = (grp_blocks_t){.offset = part_offset, .length = part_length, .offsets = memory};
    return rc;
}

int coll_part(coll_part_t *part, const void *buffer, MPI_Count count, MPI_Datatype type)
{
    part->at = (void *)(uintptr_t)buffer;
    return dt_bytes(count, type, &part->length);
}

static const void *displaced(const void *base, MPI_Aint displ, size_t unit)
{
    return (const void *)((uintptr_t)base + (size_t)displ * unit);
}

int coll_equal(coll_t *coll, coll_parts_t *parts, int n, const void *base, MPI_Count count, MPI_Datatype type)
{
    return coll_consecutive(coll, parts, n, base, NULL, count, type);
}

int coll_consecutive(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                     MPI_Count each, MPI_Datatype type)
{
    coll_part_t checked;
    MPI_Aint before = 0;
    int rc = coll_part(&checked, base, 0, type);
    if (rc == MPI_SUCCESS)
        rc = parts_open(coll, parts, n);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        const MPI_Count count = counts == NULL ? each : counts[i];
        rc = coll_part(&parts->part[i], displaced(base, before, dt_find(type)->extent), count, type);
        before += (MPI_Aint)count;
    }
    return rc;
}

int coll_varying(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
                 const MPI_Aint *displs, MPI_Datatype type)
{
    coll_part_t checked;
    int rc = coll_part(&checked, base, 0, type);
    if (rc == MPI_SUCCESS)
        rc = parts_open(coll, parts, n);
    if (rc == MPI_SUCCESS && n > 0 && (counts == NULL || displs == NULL))
        rc = err_set(MPI_ERR_ARG, "the array of counts or of displacements is NULL");
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = coll_part(&parts->part[i], displaced(base, displs[i], dt_find(type)->extent), counts[i], type);
    return rc;
}

int coll_mixed(coll_t *coll, coll_parts_t *parts, int n, const void *base, const MPI_Count *counts,
               const MPI_Aint *displs, const MPI_Datatype *types)
{
    int rc = parts_open(coll, parts, n);
    if (rc == MPI_SUCCESS && n > 0 && (counts == NULL || displs == NULL || types == NULL))
        rc = err_set(MPI_ERR_ARG, "the array of counts, of displacements or of datatypes is NULL");
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = coll_part(&parts->part[i], displaced(base, displs[i], 1), counts[i], types[i]);
    return rc;
}

int coll_copies(coll_t *coll, const coll_parts_t *parts, int n, coll_parts_t *copies)
{
    int rc = parts_open(coll, copies, n);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        copies->part[i].length = parts->part[i].length;
        rc = coll_memory(coll, parts->part[i].length, &copies->part[i].at);
        if (rc == MPI_SUCCESS)
            sched_copy(coll->sched, copies->part[i].at, parts->part[i].at, parts->part[i].length);
    }
    return rc;
}
