/* SPDX-License-Identifier: Apache-2.0
 * sched.c - making schedules: steps, memory, the pool of used ones.
 */
#include "grp/levels.h"
#include "grp/watch.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_STEPS 16
#define NEAR_MEMORY 1024 /* bytes that a schedule keeps in the pool */

/* A piece of memory, or a call at the end. */
typedef struct sched_piece {
    struct sched_piece *next;
    void (*call)(void *arg);
    void *arg;
    size_t used; /* of a near piece */
    _Alignas(16) unsigned char bytes[];
} sched_piece_t;

static sched_t *pool; /* R1: one thread at a time */

static sched_piece_t *piece(size_t length)
{
    sched_piece_t *memory = length > SIZE_MAX / 2 ? NULL : malloc(sizeof(*memory) + length);
    if (memory != NULL)
        memory->call = NULL;
    return memory;
}

static sched_t *make(void)
{
    sched_t *sched = calloc(1, sizeof(*sched));
    if (sched == NULL)
        return NULL;
    sched->steps = malloc(FIRST_STEPS * sizeof(*sched->steps));
    sched->room = FIRST_STEPS;
    sched->memory = piece(NEAR_MEMORY); /* the last one of the list */
    if (sched->steps == NULL || sched->memory == NULL) {
        free(sched->steps);
        free(sched->memory);
        free(sched);
        return NULL;
    }
    sched->memory->next = NULL;
    sched->near = sched->memory;
    return sched;
}

static sched_t *open_with(grp_t *grp, uint64_t tag, int blocks)
{
    sched_t *sched = pool != NULL ? pool : make();
    if (sched == NULL || levels_find(grp) < 0) {
        pool = sched;
        return NULL;
    }
    if (sched == pool)
        pool = sched->next;
    sched->net = &sched_core;
    sched->ranks = grp->ranks;
    sched->levels = grp->levels;
    sched->nodes = grp->nodes;
    sched->tag = tag;
    sched->count = 0;
    sched->status = 0;
    sched->complete = 0;
    sched->done = NULL;
    sched->memory->used = 0;
    sched->grp = grp_outer(grp);
    sched->own = (grp_call_t){0};
    sched->call = blocks ? &sched->grp->call : &sched->own;
    if (sched->grp->watched)
        watch_sched(sched);
    return sched;
}

sched_t *sched_open(grp_t *grp)
{
    const uint64_t tag = grp_tag(grp, 0);
    grp->number++;
    return open_with(grp, tag, 1);
}

sched_t *sched_open_started(grp_t *grp)
{
    return open_with(grp, grp_started_tag(grp, grp->started++), 0);
}

sched_t *sched_open_kept(grp_t *grp)
{
    return open_with(grp, grp_kept_tag(grp, grp->kept++), 0);
}

void sched_release(sched_t *sched)
{
    if (sched == NULL)
        return;
    if (sched->at_list != NULL)
        watch_sched_end(sched);
    for (sched_piece_t *memory = sched->memory; memory->next != NULL; memory = sched->memory) {
        sched->memory = memory->next;
        if (memory->call != NULL)
            memory->call(memory->arg);
        free(memory);
    }
    sched->next = pool;
    pool = sched;
}

/* Small pieces come out of the one that the schedule keeps. */
void *sched_memory(sched_t *sched, size_t length)
{
    sched_piece_t *near = sched->near;
    if (length <= NEAR_MEMORY - near->used) {
        void *place = near->bytes + near->used;
        near->used = (near->used + length + 15) & ~(size_t)15;
        return place;
    }
    sched_piece_t *memory = piece(length);
    if (memory == NULL) {
        sched->status = VBN_ERR_NO_MEMORY;
        return NULL;
    }
    memory->next = sched->memory;
    sched->memory = memory;
    return memory->bytes;
}

/* Without memory the call is made at once: what it lets go is not used, as the schedule will not start. */
void sched_at_end(sched_t *sched, void (*call)(void *arg), void *arg)
{
    sched_piece_t *memory = piece(0);
    if (memory == NULL) {
        sched->status = VBN_ERR_NO_MEMORY;
        call(arg);
        return;
    }
    memory->call = call;
    memory->arg = arg;
    memory->next = sched->memory;
    sched->memory = memory;
}

static sched_step_t *add(sched_t *sched, sched_kind_t kind)
{
    if (sched->count == sched->room) {
        sched_step_t *more = realloc(sched->steps, 2 * sched->room * sizeof(*more));
        if (more == NULL) {
            sched->status = VBN_ERR_NO_MEMORY;
            return &sched->steps[0]; /* spoiled, but it will not start */
        }
        sched->steps = more;
        sched->room *= 2;
    }
    sched->steps[sched->count].kind = kind;
    return &sched->steps[sched->count++];
}

static sched_step_t *add_message(sched_t *sched, sched_kind_t kind, const rt_group_t *ranks, int rank, size_t length)
{
    sched_step_t *step = add(sched, kind);
    step->rank = rt_group_world(ranks, rank);
    step->process = NULL;
    step->length = length;
    return step;
}

void sched_send_to(sched_t *sched, const rt_group_t *ranks, int rank, const void *from, size_t length)
{
    add_message(sched, SCHED_SEND, ranks, rank, length)->from = from;
}

void sched_recv_from(sched_t *sched, const rt_group_t *ranks, int rank, void *to, size_t length)
{
    add_message(sched, SCHED_RECV, ranks, rank, length)->to = to;
}

void sched_send(sched_t *sched, int rank, const void *from, size_t length)
{
    sched_send_to(sched, sched->ranks, rank, from, length);
}

void sched_recv(sched_t *sched, int rank, void *to, size_t length)
{
    sched_recv_from(sched, sched->ranks, rank, to, length);
}

void sched_copy(sched_t *sched, void *to, const void *from, size_t length)
{
    if (length == 0 || to == from)
        return;
    sched_step_t *step = add(sched, SCHED_COPY);
    step->to = to;
    step->from = from;
    step->length = length;
}

void sched_reduce(sched_t *sched, const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    if (count == 0)
        return;
    sched_step_t *step = add(sched, SCHED_REDUCE);
    step->reduce = reduce;
    step->from = in;
    step->to = inout;
    step->length = count;
}

void sched_call(sched_t *sched, int (*call)(void *arg), void *arg)
{
    sched_step_t *step = add(sched, SCHED_CALL);
    step->call = call;
    step->to = arg;
}

void sched_wait(sched_t *sched, size_t most)
{
    add(sched, SCHED_WAIT)->length = most;
}
