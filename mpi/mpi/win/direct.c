/* SPDX-License-Identifier: Apache-2.0
 * direct.c - the short way of plain elements in mapped memory.
 */
#include "win/direct.h"

#include <string.h>

#include "dt/data.h"
#include "win/apply.h"
#include "win/epoch.h"

#define SWAPPED_MOST 16u /* bytes of an integer or a logical */

typedef struct spot {
    const win_target_t *target;
    const dt_type_t *type;
    size_t offset;
    size_t bytes; /* at least one */
} spot_t;

/* Elements that lie side by side, without gaps, and need no commit. */
static int is_plain_number(const dt_type_t *type)
{
    return type != NULL && type->is_fixed && !type->absent && type->kind != DT_PAIR && type->size == type->extent;
}

/* Whether they are in the target's memory. */
static int is_inside(const win_place_t *place, spot_t *spot)
{
    return place->count > 0 && place->displacement >= 0 &&
           !__builtin_mul_overflow((size_t)place->count, spot->type->size, &spot->bytes) &&
           !__builtin_mul_overflow((size_t)place->displacement, spot->target->unit, &spot->offset) &&
           spot->offset <= spot->target->size && spot->bytes <= spot->target->size - spot->offset;
}

static int find(mpi_win_t *win, const win_place_t *place, int changes, spot_t *spot)
{
    if (place->rank < 0 || win->flavour == MPI_WIN_FLAVOR_DYNAMIC)
        return 0;
    spot->target = win_target_known(win, place->rank);
    spot->type = dt_find(place->type);
    return spot->target != NULL && spot->target->near != NULL && !(changes && spot->target->read_only) &&
           is_plain_number(spot->type) && is_inside(place, spot) &&
           (win_is_locked(spot->target) || win_epoch_check(win, place->rank) == MPI_SUCCESS);
}

static int is_alike(const win_buffer_t *buffer, const win_place_t *place)
{
    return buffer->type == place->type && buffer->count == place->count && (uintptr_t)buffer->address >= DT_NOWHERE;
}

int win_direct_move(mpi_win_t *win, const win_buffer_t *buffer, const win_place_t *place, int writes)
{
    spot_t spot;
    if (!is_alike(buffer, place) || !find(win, place, writes, &spot))
        return 0;
    unsigned char *near = spot.target->near + spot.offset;
    if (writes)
        vbn_copy_words(near, buffer->address, spot.bytes, near);
    else
        vbn_copy_words((void *)(uintptr_t)buffer->address, near, spot.bytes, near);
    return 1;
}

/* W4: this rank executes, as its memory's owner or with the word. */
static int executes(const mpi_win_t *win, const win_place_t *place, const spot_t *spot)
{
    return spot->target->word != NULL || place->rank == win->comm->ranks->rank;
}

int win_direct_accumulate(mpi_win_t *win, const win_buffer_t *from, const win_buffer_t *into, const win_place_t *place,
                          MPI_Op op)
{
    spot_t spot;
    if ((from != NULL && !is_alike(from, place)) || (into != NULL && !is_alike(into, place)) ||
        !find(win, place, op != MPI_NO_OP, &spot) || !win_op_takes(op, spot.type) || spot.bytes > WIN_DATA_MOST ||
        !executes(win, place, &spot))
        return 0;
    const win_change_t change = {.first = spot.target->near + spot.offset,
                                 .spacing = (int64_t)spot.type->size,
                                 .count = (size_t)place->count,
                                 .basic = spot.type,
                                 .op = op,
                                 .data = from == NULL ? NULL : from->address};
    win_change(&change, spot.target->word, into == NULL ? NULL : (unsigned char *)(uintptr_t)into->address);
    return 1;
}

int win_direct_swap(mpi_win_t *win, const void *origin, const void *compare, void *result, const win_place_t *place)
{
    spot_t spot;
    unsigned char data[2 * SWAPPED_MOST];
    if ((uintptr_t)origin < DT_NOWHERE || (uintptr_t)compare < DT_NOWHERE || (uintptr_t)result < DT_NOWHERE ||
        !find(win, place, 1, &spot) || spot.bytes > SWAPPED_MOST || !executes(win, place, &spot))
        return 0;
    memcpy(data, origin, spot.bytes);
    memcpy(data + spot.bytes, compare, spot.bytes);
    const win_change_t change = {.first = spot.target->near + spot.offset,
                                 .spacing = (int64_t)spot.type->size,
                                 .count = 1,
                                 .basic = spot.type,
                                 .swaps = 1,
                                 .data = data};
    win_change(&change, spot.target->word, result);
    return 1;
}
