/* SPDX-License-Identifier: Apache-2.0
 * pack.c - steps for elements with gaps: packing, unpacking, copying from buffer to buffer.
 */
#include "coll/coll.h"

/* Elements on both sides of a copy; one of them may be packed. */
typedef struct move {
    dt_data_t from;
    dt_data_t to;
    void *packed;
} move_t;

static int pack(void *arg)
{
    const move_t *move = arg;
    dt_pack(&move->from, 0, move->packed, move->from.bytes);
    return 0;
}

static int unpack(void *arg)
{
    const move_t *move = arg;
    dt_unpack(&move->to, 0, move->packed, move->to.bytes);
    return 0;
}

/* Without memory there is no step, and the schedule does not start. */
static void add(coll_t *coll, const move_t *move, int (*call)(void *arg))
{
    move_t *kept = sched_memory(coll->sched, sizeof(*kept));
    if (kept == NULL)
        return;
    *kept = *move;
    sched_call(coll->sched, call, kept);
}

void coll_pack(coll_t *coll, const coll_part_t *part)
{
    if (part->data.type != NULL)
        add(coll, &(move_t){.from = part->data, .packed = part->at}, pack);
}

void coll_unpack(coll_t *coll, const coll_part_t *part)
{
    if (part->data.type == NULL)
        return;
    sched_wait(coll->sched, 0);
    add(coll, &(move_t){.to = part->data, .packed = part->at}, unpack);
}

void coll_pack_all(coll_t *coll, const coll_parts_t *parts)
{
    for (int i = 0; i < parts->n; i++)
        coll_pack(coll, &parts->part[i]);
}

void coll_unpack_all(coll_t *coll, const coll_parts_t *parts, int but)
{
    for (int i = 0; i < parts->n; i++)
        if (i != but)
            coll_unpack(coll, &parts->part[i]);
}

void coll_copy_elements(coll_t *coll, void *to, const void *from, MPI_Count count, MPI_Datatype type)
{
    move_t move;
    if (to == from || dt_describe(&move.from, from, count, type) != MPI_SUCCESS ||
        dt_describe(&move.to, to, count, type) != MPI_SUCCESS)
        return; /* the caller has described them before */
    if (move.from.type == NULL) {
        sched_copy(coll->sched, move.to.base, move.from.base, move.from.bytes);
        return;
    }
    move.packed = sched_memory(coll->sched, move.from.bytes);
    if (move.packed == NULL)
        return;
    add(coll, &move, pack);
    add(coll, &move, unpack);
}
