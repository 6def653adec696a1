/* SPDX-License-Identifier: Apache-2.0
 * reduce_scatter.c - reduce_scatter(_block): the elements of each rank's part, where they lie or as copies that look like the
 * user's buffers, gaps and padding and all (coll_values_t).
 */
#include "coll/coll.h"
#include "err/err.h"
#include "mpi_impl.h"

int coll_total(const coll_t *coll, const MPI_Count *counts, MPI_Count each, MPI_Count *total_p)
{
    *total_p = 0;
    for (int i = 0; i < coll_size(coll); i++) {
        const MPI_Count count = counts == NULL ? each : counts[i];
        if (count < 0 || __builtin_add_overflow(*total_p, count, total_p))
            return err_set(MPI_ERR_COUNT, "count %lld is negative or too large", (long long)count);
    }
    return MPI_SUCCESS;
}

/* What reduce_scatter reduces: the elements of each rank's part. */
typedef struct vector {
    const void *from;
    const MPI_Count *counts; /* NULL: `each` */
    MPI_Count each;
    MPI_Datatype type;
    MPI_Op op;
    coll_values_t all;
    coll_values_t own; /* this rank's part, of elements that are not reduced where they lie */
    size_t *starts;
    grp_parts_t parts;
} vector_t;

static MPI_Count count_of(const vector_t *vector, int rank)
{
    return vector->counts == NULL ? vector->each : vector->counts[rank];
}

static void dense_parts(const coll_t *coll, vector_t *vector)
{
    const size_t extent = dt_find(vector->type)->extent;
    for (int rank = 0; rank < coll_size(coll); rank++)
        vector->starts[rank + 1] = vector->starts[rank] + (size_t)count_of(vector, rank) * extent;
    vector->parts = (grp_parts_t){.from = vector->from, .starts = vector->starts, .reduce = vector->all.reduce};
}

/* Bytes of a part with its padding, such that the next one is aligned as memory is. */
static int pad(const coll_values_t *values, size_t *start_p)
{
    if (__builtin_add_overflow(*start_p, values->before + values->bytes + values->after, start_p) ||
        *start_p > PTRDIFF_MAX - 15)
        return err_set(MPI_ERR_COUNT, "the parts of all ranks are more than an address space");
    *start_p = (*start_p + 15) & ~(size_t)15;
    return MPI_SUCCESS;
}

/* Each part is one element: a copy that looks like a user's buffer. offsets: from the part's start to what is called the buffer. */
static int describe_parts(coll_t *coll, vector_t *vector, const grp_reduce_t **whole, size_t *offsets)
{
    coll_values_t values = {0};
    int rc = MPI_SUCCESS;
    for (int rank = 0; rank < coll_size(coll) && rc == MPI_SUCCESS; rank++) {
        if (rank == 0 || values.count != count_of(vector, rank))
            rc = coll_values(coll, &values, vector->op, count_of(vector, rank), vector->type);
        if (rc != MPI_SUCCESS)
            return rc;
        if (rank == sched_rank(coll->sched))
            vector->own = values;
        whole[rank] = values.reduce;
        offsets[rank] = values.before + values.shift;
        vector->starts[rank + 1] = vector->starts[rank];
        rc = pad(&values, &vector->starts[rank + 1]);
    }
    vector->parts = (grp_parts_t){.starts = vector->starts, .reduce = vector->all.reduce, .whole = whole};
    return rc;
}

static int copied_parts(coll_t *coll, vector_t *vector)
{
    const size_t size = (size_t)coll_size(coll);
    const size_t extent = dt_find(vector->type)->extent;
    void *whole, *offsets, *place;
    size_t first = 0;
    int rc = coll_memory(coll, size * sizeof(grp_reduce_t *), &whole);
    if (rc == MPI_SUCCESS)
        rc = coll_memory(coll, size * sizeof(size_t), &offsets);
    if (rc == MPI_SUCCESS)
        rc = describe_parts(coll, vector, whole, offsets);
    if (rc == MPI_SUCCESS)
        rc = coll_memory(coll, vector->starts[size], &place);
    if (rc != MPI_SUCCESS)
        return rc;
    vector->parts.from = place;
    for (int rank = 0; rank < coll_size(coll); rank++) {
        const MPI_Count count = count_of(vector, rank);
        void *to = (void *)((uintptr_t)place + vector->starts[rank] + ((const size_t *)offsets)[rank]);
        if (count > 0)
            coll_copy_elements(coll, to, (const void *)((uintptr_t)vector->from + first * extent), count, vector->type);
        first += (size_t)count;
    }
    return MPI_SUCCESS;
}

/* The result's place, with room for padding. */
static int room(coll_t *coll, const vector_t *vector, void *recvbuf, void **place_p)
{
    const int rank = sched_rank(coll->sched);
    *place_p = recvbuf;
    return vector->all.dense ? MPI_SUCCESS
                             : coll_memory(coll, vector->starts[rank + 1] - vector->starts[rank], place_p);
}

static int open_vector(coll_t *coll, vector_t *vector)
{
    MPI_Count total;
    void *starts;
    int rc = coll_total(coll, vector->counts, vector->each, &total);
    if (rc == MPI_SUCCESS)
        rc = coll_values(coll, &vector->all, vector->op, total, vector->type);
    if (rc == MPI_SUCCESS)
        rc = coll_values_at(&vector->all, vector->from, "the buffer with a rank's own elements");
    if (rc == MPI_SUCCESS)
        rc = coll_memory(coll, ((size_t)coll_size(coll) + 1) * sizeof(size_t), &starts);
    if (rc != MPI_SUCCESS)
        return rc;
    vector->starts = starts;
    vector->starts[0] = 0;
    if (!vector->all.dense)
        return copied_parts(coll, vector);
    dense_parts(coll, vector);
    return MPI_SUCCESS;
}

static int reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count *counts, MPI_Count each,
                          MPI_Datatype datatype, MPI_Op op)
{
    vector_t vector = {.from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf,
                       .counts = counts,
                       .each = each,
                       .type = datatype,
                       .op = op};
    void *place;
    int rc = open_vector(coll, &vector);
    if (rc == MPI_SUCCESS)
        rc = dt_check_place(recvbuf, count_of(&vector, sched_rank(coll->sched)), datatype, "recvbuf");
    if (rc == MPI_SUCCESS)
        rc = room(coll, &vector, recvbuf, &place);
    if (rc != MPI_SUCCESS)
        return rc;
    steps_reduce_scatter(coll->sched, &vector.parts, place);
    if (!vector.all.dense && vector.own.count > 0)
        coll_values_give(coll, &vector.own, (const char *)place + vector.own.before, recvbuf);
    return MPI_SUCCESS;
}

int coll_Reduce_scatter_block(coll_t *coll, const void *sendbuf, void *recvbuf, MPI_Count recvcount,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    return reduce_scatter(coll, sendbuf, recvbuf, NULL, recvcount, datatype, op);
}

int coll_Reduce_scatter(coll_t *coll, const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[],
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    if (recvcounts == NULL)
        return err_set(MPI_ERR_ARG, "recvcounts is NULL");
    return reduce_scatter(coll, sendbuf, recvbuf, recvcounts, 0, datatype, op);
}
