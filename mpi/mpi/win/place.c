/* SPDX-License-Identifier: Apache-2.0
 * place.c - bounds of an access, and its elements one by one. The unit and the size are the target's.
 */
#include "win/place.h"

#include "dt/contents.h"
#include "err/err.h"

static int out_of_range(const win_call_t *call, const win_place_t *place)
{
    return err_set(
        MPI_ERR_RMA_RANGE,
        "displacement %lld (in units of %zu bytes) with %lld elements reaches beyond the %zu bytes of rank %d",
        (long long)place->displacement, call->target->unit, (long long)place->count, call->target->size, call->rank);
}

/* The first byte and the one after the last of all elements, from displacement 0 of the first one. */
static int span_of(const dt_type_t *type, MPI_Count count, MPI_Aint *low_p, MPI_Aint *high_p)
{
    MPI_Aint last;
    MPI_Aint low;
    MPI_Aint high;
    if (__builtin_mul_overflow(count - 1, (MPI_Aint)type->extent, &last) ||
        __builtin_add_overflow(last, type->node->low, &low) || __builtin_add_overflow(last, type->node->high, &high))
        return -1;
    *low_p = low < type->node->low ? low : type->node->low;
    *high_p = high > type->node->high ? high : type->node->high;
    return 0;
}

static int is_inside(const win_call_t *call, const dt_type_t *type, const win_place_t *place, MPI_Aint start)
{
    MPI_Aint low;
    MPI_Aint high;
    if (place->count == 0 || type->size == 0)
        return 1;
    return span_of(type, place->count, &low, &high) == 0 && !__builtin_add_overflow(start, low, &low) &&
           !__builtin_add_overflow(start, high, &high) && low >= 0 && (size_t)high <= call->target->size;
}

int win_place_find(const win_call_t *call, const win_place_t *place, dt_data_t *data)
{
    dt_type_t *type;
    MPI_Aint start;
    const int is_dynamic = call->win->flavour == MPI_WIN_FLAVOR_DYNAMIC;
    const int rc = dt_usable(place->type, &type);
    if (rc != MPI_SUCCESS)
        return rc;
    *data = (dt_data_t){.type = type, .count = (size_t)place->count};
    if (place->count < 0 || __builtin_mul_overflow((size_t)place->count, type->size, &data->bytes))
        return err_set(MPI_ERR_COUNT, "target_count %lld of %s is negative, or more than an address space",
                       (long long)place->count, dt_name(type));
    if (!is_dynamic && place->displacement < 0)
        return err_set(MPI_ERR_DISP, "target_disp is %lld, which is negative", (long long)place->displacement);
    if (__builtin_mul_overflow(place->displacement, (MPI_Aint)call->target->unit, &start) ||
        (!is_dynamic && !is_inside(call, type, place, start)))
        return out_of_range(call, place);
    data->base = (void *)(uintptr_t)start;
    return MPI_SUCCESS;
}

int win_place_may_write(const win_call_t *call, const dt_data_t *data)
{
    MPI_Aint low;
    MPI_Aint high;
    if (call->target->read_only)
        return err_set(
            MPI_ERR_ACCESS,
            "memory of rank %d is read-only: MPI_Win_create got memory there that the process may not write to",
            call->rank);
    return span_of(data->type, (MPI_Count)data->count, &low, &high) != 0 || data->bytes <= (size_t)(high - low)
               ? MPI_SUCCESS
               : err_set(MPI_ERR_RMA_CONFLICT,
                         "target_datatype %s has elements that overlap: %zu bytes within %lld of rank %d",
                         dt_name(data->type), data->bytes, (long long)(high - low), call->rank);
}

const dt_type_t *win_basic_of(const dt_type_t *type)
{
    const dt_type_t *found = NULL;
    if (type->is_fixed || type->contents == NULL)
        return type->basic == NULL ? type : dt_find(type->basic);
    for (size_t i = 0; i < type->contents->n_types; i++) {
        const dt_type_t *part = type->contents->types[i];
        const dt_type_t *basic = part->size == 0 ? NULL : win_basic_of(part);
        if (part->size > 0 && (basic == NULL || (found != NULL && found != basic)))
            return NULL;
        found = basic != NULL ? basic : found;
    }
    return found;
}

/* Puts elements together that lie at equal distances. */
typedef struct finder {
    dt_sink_t sink;
    int (*each)(void *arg, const win_run_t *run);
    void *arg;
    size_t size; /* packed bytes of an element */
    size_t into; /* of the element that the next bytes belong to */
    win_run_t run;
    int rc;
} finder_t;

static void flush(finder_t *finder)
{
    if (finder->run.count > 0 && finder->rc == MPI_SUCCESS)
        finder->rc = finder->each(finder->arg, &finder->run);
    finder->run.count = 0;
}

static void add(finder_t *finder, uintptr_t at)
{
    win_run_t *run = &finder->run;
    if (run->count == 1)
        run->spacing = (MPI_Aint)(at - run->at);
    if (run->count > 1 && at != run->at + (uintptr_t)run->spacing * run->count)
        flush(finder);
    if (run->count++ == 0) {
        run->at = at;
        run->spacing = (MPI_Aint)finder->size;
    }
}

/* Whole elements of one number each, or bytes of a pair that has a gap. */
static void take_bytes(finder_t *finder, uintptr_t at, size_t length)
{
    size_t done = finder->into == 0 ? 0 : finder->size - finder->into;
    if (done > length) {
        finder->into += length;
        return;
    }
    for (; done < length; done += finder->size)
        add(finder, at + done);
    finder->into = length - (done - finder->size) == finder->size ? 0 : length - (done - finder->size);
}

/* Many elements at a time, which are not looked at one by one. */
static void add_all(finder_t *finder, uintptr_t at, MPI_Aint spacing, size_t count)
{
    flush(finder);
    finder->run = (win_run_t){.at = at, .spacing = spacing, .count = count};
    flush(finder);
}

static void take(dt_sink_t *sink, char *at, size_t length, MPI_Aint stride, size_t count)
{
    finder_t *finder = (finder_t *)sink;
    if (stride == (MPI_Aint)length) { /* one piece: of bytes many at a time, however many a number of the type has */
        length *= count;
        count = 1;
    }
    if (finder->into == 0 && length == finder->size && count > 1) {
        add_all(finder, (uintptr_t)at, stride, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uintptr_t run = (uintptr_t)at + i * (uintptr_t)stride;
        if (finder->into == 0 && length > finder->size && length % finder->size == 0)
            add_all(finder, run, (MPI_Aint)finder->size, length / finder->size);
        else
            take_bytes(finder, run, length);
    }
}

static void take_list(dt_sink_t *sink, uintptr_t base, const dt_entry_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_bytes((finder_t *)sink, base + (uintptr_t)entries[i].offset, entries[i + 1].start - entries[i].start);
}

int win_runs(const dt_data_t *data, const dt_type_t *basic, int (*each)(void *arg, const win_run_t *run), void *arg)
{
    finder_t finder = {.sink = {.take = take, .take_list = take_list}, .each = each, .arg = arg, .size = basic->size};
    if (data->bytes == 0)
        return MPI_SUCCESS;
    dt_walk(data, 0, data->bytes, &finder.sink);
    flush(&finder);
    return finder.rc;
}
