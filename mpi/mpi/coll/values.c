/* SPDX-License-Identifier: Apache-2.0
 * values.c - elements that are reduced: where, and how they get there and back.
 */
#include "coll/coll.h"
#include "err/err.h"

/* The padding of the first element and of the last one: its bytes do not travel, but functions of the program may write them. */
static void find_padding(const dt_type_t *type, coll_values_t *values)
{
    MPI_Aint end, ahead;
    size_t all;
    if ((MPI_Aint)type->extent <= 0 || __builtin_add_overflow(type->lb, (MPI_Aint)type->extent, &end) ||
        __builtin_sub_overflow(type->node->low, type->lb, &ahead))
        return;
    const size_t before = ahead > 0 ? (size_t)ahead : 0;
    const size_t after = end > type->node->high ? (size_t)(end - type->node->high) : 0;
    if (__builtin_add_overflow(values->bytes, before, &all) || __builtin_add_overflow(all, after, &all) ||
        all > PTRDIFF_MAX)
        return;
    values->before = before;
    values->after = after;
}

/* The bytes from the first to the last one of all elements, and where the first element's address lies from there. */
static int span_of(const dt_type_t *type, size_t count, size_t *bytes_p, size_t *shift_p)
{
    const MPI_Aint extent = (MPI_Aint)type->extent;
    const size_t step = extent < 0 ? (size_t)-extent : (size_t)extent;
    size_t between;
    *bytes_p = 0;
    *shift_p = 0;
    if (count == 0)
        return 0;
    if (__builtin_mul_overflow(count - 1, step, &between) ||
        __builtin_add_overflow(between, (size_t)(type->node->high - type->node->low), bytes_p) ||
        *bytes_p > PTRDIFF_MAX)
        return -1;
    *shift_p = (extent < 0 ? between : 0) - (size_t)type->node->low;
    return 0;
}

int coll_values(coll_t *coll, coll_values_t *values, MPI_Op op, MPI_Count count, MPI_Datatype type)
{
    dt_type_t *found;
    size_t bytes;
    int rc = dt_usable(type, &found);
    if (rc == MPI_SUCCESS && (count < 0 || __builtin_mul_overflow((size_t)count, found->size, &bytes)))
        rc = err_set(MPI_ERR_COUNT, "count %lld of %s is negative, or more than an address space", (long long)count,
                     dt_name(found));
    if (rc != MPI_SUCCESS)
        return rc;
    *values = (coll_values_t){.count = count, .type = type, .dense = found->is_fixed || dt_is_plain(found)};
    if (values->dense) {
        values->n = (size_t)count;
        rc = dt_bytes(count, type, &values->bytes);
    } else {
        values->n = count > 0;
        if (span_of(found, (size_t)count, &values->bytes, &values->shift) != 0)
            rc = err_set(MPI_ERR_COUNT, "count %lld of %s is more than an address space", (long long)count,
                         dt_name(found));
        else if (count > 0)
            find_padding(found, values);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    coll_keep_type(coll, type);
    return coll_reduction(coll, values, op);
}

int coll_values_at(const coll_values_t *values, const void *buffer, const char *name)
{
    return dt_check_place(buffer, values->count, values->type, name);
}

int coll_values_room(coll_t *coll, const coll_values_t *values, void *to, void **place_p)
{
    *place_p = to;
    if (values->dense && to != NULL)
        return MPI_SUCCESS;
    const int rc = coll_memory(coll, values->before + values->bytes + values->after, place_p);
    if (rc == MPI_SUCCESS)
        *place_p = (char *)*place_p + values->before;
    return rc;
}

int coll_values_take(coll_t *coll, const coll_values_t *values, const void *from, void *to, void **place_p)
{
    int rc = coll_values_at(values, from, "the buffer with a rank's own elements");
    if (rc == MPI_SUCCESS)
        rc = coll_values_room(coll, values, to, place_p);
    if (rc != MPI_SUCCESS)
        return rc;
    if (values->dense)
        sched_copy(coll->sched, *place_p, from, values->bytes);
    else
        coll_copy_elements(coll, (char *)*place_p + values->shift, from, values->count, values->type);
    return MPI_SUCCESS;
}

void coll_values_give(coll_t *coll, const coll_values_t *values, const void *place, void *to)
{
    sched_wait(coll->sched, 0);
    if (values->dense)
        sched_copy(coll->sched, to, place, values->bytes);
    else
        coll_copy_elements(coll, to, (const char *)place + values->shift, values->count, values->type);
}
