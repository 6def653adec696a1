/* SPDX-License-Identifier: Apache-2.0
 * coll.c - collectives on bytes over a set of ranks, as teams and active sets need them. Inside the runtime.
 */
#include "shmem/src/group_coll.h"

#include <stdlib.h>

#include "op/op.h"

void shm_done(const char *function, int status)
{
    if (status < 0)
        shm_failed(function, status, grp_error());
}

void shm_group_barrier(grp_t *grp, const char *function)
{
    shm_done(function, grp_barrier(grp));
}

void shm_group_broadcast(grp_t *grp, void *dest, const void *source, size_t length, int root, int at_root,
                         const char *function)
{
    if (root < 0 || root >= grp_size(grp))
        shm_fatal(function, "argument PE_root is %d, but the team has %d PEs", root, grp_size(grp));
    if (grp_rank(grp) != root) {
        shm_done(function, grp_bcast(grp, dest, length, root));
        return;
    }
    shm_done(function, grp_bcast(grp, (void *)(uintptr_t)source, length, root));
    if (at_root && dest != source)
        memmove(dest, source, length);
}

/* ---- blocks of equal and of different length */

static size_t equal_offset(const grp_blocks_t *blocks, int rank)
{
    return blocks->unit * (size_t)rank;
}

static size_t equal_length(const grp_blocks_t *blocks, int rank)
{
    (void)rank;
    return blocks->unit;
}

static size_t listed_offset(const grp_blocks_t *blocks, int rank)
{
    return ((const size_t *)blocks->offsets)[rank];
}

static size_t listed_length(const grp_blocks_t *blocks, int rank)
{
    return ((const size_t *)blocks->lengths)[rank];
}

static grp_blocks_t equal_blocks(const void *base, size_t length)
{
    return (grp_blocks_t){
        .base = (void *)(uintptr_t)base, .offset = equal_offset, .length = equal_length, .unit = length};
}

void shm_group_fcollect(grp_t *grp, void *dest, const void *source, size_t length, const char *function)
{
    const grp_blocks_t blocks = equal_blocks(dest, length);
    if (length == 0)
        return;
    memmove(grp_block(&blocks, grp_rank(grp)), source, length);
    shm_done(function, grp_allgather(grp, &blocks));
}

void shm_group_collect(grp_t *grp, void *dest, const void *source, size_t length, const char *function)
{
    const int size = grp_size(grp);
    size_t *lengths = malloc(2 * (size_t)size * sizeof(size_t));
    if (lengths == NULL)
        shm_fatal(function, "no memory left for a table of %d PEs", size);
    size_t *offsets = lengths + size;
    size_t end = 0;
    shm_group_fcollect(grp, lengths, &length, sizeof(length), function);
    for (int i = 0; i < size; end += lengths[i++])
        offsets[i] = end;
    const grp_blocks_t blocks = {
        .base = dest, .offset = listed_offset, .length = listed_length, .lengths = lengths, .offsets = offsets};
    memmove(grp_block(&blocks, grp_rank(grp)), source, length);
    if (end > 0)
        shm_done(function, grp_allgather(grp, &blocks));
    free(lengths);
}

void shm_group_alltoall(grp_t *grp, void *dest, const void *source, size_t length, const char *function)
{
    const grp_blocks_t give = equal_blocks(source, length);
    const grp_blocks_t take = equal_blocks(dest, length);
    if (length > 0)
        shm_done(function, grp_alltoall(grp, &give, &take));
}

static void copy_strided(unsigned char *to, ptrdiff_t to_stride, const unsigned char *from, ptrdiff_t from_stride,
                         size_t element, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + (ptrdiff_t)i * to_stride, from + (ptrdiff_t)i * from_stride, element);
}

void shm_group_alltoalls(grp_t *grp, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t element,
                         size_t count, const char *function)
{
    const ptrdiff_t step = (ptrdiff_t)element;
    const size_t all = (size_t)grp_size(grp) * count;
    if (dst < 1 || sst < 1)
        shm_fatal(function, "arguments dst and sst are %td and %td, but have to be at least 1", dst, sst);
    if (all == 0)
        return;
    unsigned char *packed = malloc(2 * all * element);
    if (packed == NULL)
        shm_fatal(function, "no memory left for %zu bytes", 2 * all * element);
    copy_strided(packed, step, source, sst * step, element, all);
    shm_group_alltoall(grp, packed + all * element, packed, count * element, function);
    copy_strided(dest, dst * step, packed + all * element, step, element, all);
    free(packed);
}

/* ---- reductions */

static void apply(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    ((op_kernel_t)(uintptr_t)reduce->arg)(in, inout, count);
}

static grp_reduce_t reduction(MPI_Op op, MPI_Datatype type, size_t element, const char *function)
{
    const op_kernel_t kernel = op_find(op, type);
    if (kernel == NULL)
        shm_fatal(function, "there is no kernel for this type; the tables of mpi/shmem and mpi/op differ");
    return (grp_reduce_t){.apply = apply, .arg = (void *)(uintptr_t)kernel, .element = element, .commutes = 1};
}

void shm_group_reduce(grp_t *grp, void *dest, const void *source, size_t count, size_t element, MPI_Op op,
                      MPI_Datatype type, const char *function)
{
    grp_reduce_t reduce = reduction(op, type, element, function);
    if (count == 0)
        return;
    if (count * element >= OP_WIDE_FROM)
        reduce.combine = op_wide_find(op, type);
    if (dest != source)
        memmove(dest, source, count * element);
    shm_done(function, grp_allreduce(grp, dest, count, &reduce));
}

void shm_group_scan(grp_t *grp, void *dest, const void *source, size_t count, size_t element, MPI_Datatype type,
                    int exclusive, const char *function)
{
    const grp_reduce_t reduce = reduction(MPI_SUM, type, element, function);
    if (count == 0)
        return;
    void *mine = malloc(count * element); /* dest may be source */
    if (mine == NULL)
        shm_fatal(function, "no memory left for %zu bytes", count * element);
    memcpy(mine, source, count * element);
    if (exclusive && grp_rank(grp) == 0)
        memset(dest, 0, count * element);
    shm_done(function, grp_scan(grp, mine, dest, count, &reduce, exclusive));
    free(mine);
}
