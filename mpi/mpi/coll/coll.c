/* SPDX-License-Identifier: Apache-2.0
 * coll.c - arguments of collectives.
 */
#include "coll/coll.h"

#include <string.h>

#include "err/err.h"

static size_t equal_offset(const grp_blocks_t *blocks, int rank)
{
    return (size_t)rank * blocks->unit;
}

static size_t equal_length(const grp_blocks_t *blocks, int rank)
{
    (void)rank;
    return blocks->unit;
}

int coll_equal(grp_blocks_t *blocks, const void *base, MPI_Count count, MPI_Datatype type)
{
    *blocks = (grp_blocks_t){.base = (void *)(uintptr_t)base, .offset = equal_offset, .length = equal_length};
    return dt_bytes(count, type, &blocks->unit);
}

static size_t varying_offset(const grp_blocks_t *blocks, int rank)
{
    return (size_t)((const MPI_Aint *)blocks->offsets)[rank] * blocks->unit;
}

static size_t varying_length(const grp_blocks_t *blocks, int rank)
{
    return (size_t)((const MPI_Count *)blocks->lengths)[rank] * blocks->unit;
}

int coll_varying(grp_blocks_t *blocks, const void *base, const MPI_Count *counts, const MPI_Aint *displs, int size,
                 MPI_Datatype type)
{
    size_t ignored;
    int rc = dt_bytes(0, type, &ignored);
    if (rc != MPI_SUCCESS)
        return rc;
    if (counts == NULL || displs == NULL)
        return err_set(MPI_ERR_ARG, "the array of counts or of displacements is NULL");
    *blocks = (grp_blocks_t){.base = (void *)(uintptr_t)base,
                             .offset = varying_offset,
                             .length = varying_length,
                             .lengths = counts,
                             .offsets = displs,
                             .unit = dt_find(type)->extent};
    for (int i = 0; i < size && rc == MPI_SUCCESS; i++)
        rc = dt_bytes(counts[i], type, &ignored);
    return rc;
}

int coll_result(int status)
{
    return status >= 0 ? MPI_SUCCESS : err_core((vbn_status_t)status, "collective", grp_error());
}

void coll_in_place(const void *sendbuf, void *recvbuf, size_t bytes)
{
    if (sendbuf != MPI_IN_PLACE && bytes > 0)
        memcpy(recvbuf, sendbuf, bytes);
}
