/* SPDX-License-Identifier: Apache-2.0
 * grp.h - collectives on bytes over an ordered set of ranks, for communicators and later teams: the blocking calls.
 * Every rank of the set calls the same function with fitting arguments, in the same order. How each is done says
 * steps.h; all forms share that.
 *
 * G1 A message of a collective has the tag base | form | number of the collective | step, so that neither user messages
 *    nor another collective can be taken for it. Each form (blocking, non-blocking, persistent) has numbers of its own.
 *    Numbers of 22 bits: so many may be pending at a time.
 * G2 Functions return 0 or a negative vbn_status_t, with the text in grp_error(). After a failure the set is unusable.
 * G3 Reductions combine in the order of the ranks: in = the lower ranks, inout = the higher ones.
 * G4 A set that lives for one call of the program, which several threads may make at a time, has one tag for all of that call's
 *    collectives: messages of two ranks are matched in order, and no number reaches into what belongs to another call.
 */
#ifndef VERBENA_GRP_H
#define VERBENA_GRP_H

#include "rt/rt.h"

/* What a rank does in a collective, for watch.h. */
typedef struct grp_call {
    const char *name;
    size_t bytes;    /* that decided how it is done */
    uint32_t ways;   /* grp_way_t: how */
    uint32_t number; /* blocking: calls so far; others: starts of the schedule */
    int inside;      /* of a blocking call */
    int side;        /* of two groups: a rank of this one; ways are those of one group */
} grp_call_t;

/* Of a wait that lasts (watch.h): ms. */
typedef struct watch_times {
    int64_t next; /* question; 0: not seen yet */
    int64_t pause;
} watch_times_t;

/* Choices that follow from bytes; of each pair the first is for few. */
typedef enum grp_way {
    GRP_SLOTS = 1 << 0,    /* or messages */
    GRP_TREE = 1 << 2,     /* or the root with each */
    GRP_SPREAD = 1 << 4,   /* or a ring */
    GRP_EXCHANGE = 1 << 6, /* or each with each */
    GRP_DOUBLING = 1 << 8, /* or halving */
    GRP_CHAIN = 1 << 10,   /* or the same in pieces */
    GRP_LEVELS = 1 << 12,  /* or one level */
    GRP_KNOWN = 1 << 14,   /* or as measured */
    GRP_HALVING = 1 << 16  /* or pairs */
} grp_way_t;

typedef struct grp {
    const rt_group_t *ranks;
    uint64_t base;         /* upper 32 bits of the tags */
    uint32_t number;       /* of collectives so far, without the following ones */
    uint32_t started;      /* of those that the caller waits for later */
    uint32_t kept;         /* of those that are started several times */
    int one_tag;           /* its blocking collectives all have the tag base: G4 */
    int slots;             /* blocking ones may use slots of node memory (node.h) */
    int node_state;        /* node_set.c */
    unsigned node_wait;    /* collectives until slots are asked for again */
    struct node_set *node; /* its slots; NULL: none */
    int levels_state;      /* levels.c */
    struct levels *levels; /* its ranks by node; NULL: one level */
    int nodes;             /* levels.c: so many have ranks of it; 0: not known yet */
    grp_call_t call;       /* the blocking collective that it is in */
    struct grp *outer;     /* of the ranks of one node: the set that they belong to; NULL: none */
    struct grp *next;      /* watched ones (watch.h) */
    uint32_t birth; /* the same at all its ranks, another one for another set of the same base; 0: nobody knows */
    int watched;
} grp_t;

#define GRP_NUMBER_MASK 0x3fffffu /* of the tag's lower half */
#define GRP_STARTED 0x40000000u
#define GRP_KEPT 0x80000000u
#define GRP_FORMS 0xc0000000u  /* 0: blocking */
#define GRP_INSIDE 0xc0000000u /* of the tag's base: messages of a set that make the slots of one node (levels.h) */

/* inout becomes in OP inout, for `count` elements. */
typedef struct grp_reduction {
    void (*apply)(const struct grp_reduction *reduce, const void *in, void *inout, size_t count);
    void *arg;
    size_t element; /* bytes */
    int commutes;
    int foreign; /* apply calls a function of the program: a thread of the program does that, outside the runtime */
    /* to = a OP b with the bits of apply, for much data; to may be a or b. NULL: copy and apply. */
    void (*combine)(const void *a, const void *b, void *to, size_t count);
    /* Bytes on both sides of inout that apply may write, too: a function of the program copies elements with their padding. */
    size_t before, after;
} grp_reduce_t;

int grp_barrier(grp_t *grp);
int grp_bcast(grp_t *grp, void *buffer, size_t length, int root);
/* inout: this rank's elements, then the result. */
int grp_allreduce(grp_t *grp, void *inout, size_t count, const grp_reduce_t *reduce);
/* result: of the ranks up to this one; exclusive: of those before it (at rank 0 left as it was). */
int grp_scan(grp_t *grp, const void *mine, void *result, size_t count, const grp_reduce_t *reduce, int exclusive);

/* Where the block of rank i lies: at base + offset(i), length(i) bytes. */
typedef struct grp_blocks {
    void *base;
    size_t (*offset)(const struct grp_blocks *blocks, int rank);
    size_t (*length)(const struct grp_blocks *blocks, int rank);
    const void *lengths; /* for the two functions */
    const void *offsets;
    size_t unit;
} grp_blocks_t;

static inline void *grp_block(const grp_blocks_t *blocks, int rank)
{
    return (void *)((uintptr_t)blocks->base + blocks->offset(blocks, rank));
}

/* This rank's block is in place. */
int grp_allgather(grp_t *grp, const grp_blocks_t *blocks);
int grp_alltoall(grp_t *grp, const grp_blocks_t *send, const grp_blocks_t *receive);

static inline grp_t *grp_outer(grp_t *grp)
{
    return grp->outer != NULL ? grp->outer : grp;
}

/* After levels_find. Of the ranks of one node: of the set that they belong to. */
static inline int grp_nodes(const grp_t *grp)
{
    return grp->outer != NULL ? grp->outer->nodes : grp->nodes;
}

/* Notes a choice; returns whether it is the one for few bytes. */
static inline int grp_choose(grp_call_t *call, grp_way_t few, int is_few, size_t bytes)
{
    call->ways |= (uint32_t)few << !is_few;
    call->bytes = bytes;
    return is_few;
}

/* The set ends; no messages, nobody waits. */
void grp_end(grp_t *grp);

/* Messages of collectives: number the steps from 0 to 255. */
uint64_t grp_tag(const grp_t *grp, unsigned step);
/* The tag of a non-blocking collective; of one that is started several times. */
uint64_t grp_started_tag(const grp_t *grp, uint32_t number);
uint64_t grp_kept_tag(const grp_t *grp, uint32_t number);
uint32_t grp_number_of(uint64_t tag);
int grp_sendrecv(grp_t *grp, int to, const void *out, size_t out_length, int from, void *in, size_t in_length,
                 unsigned step);
const char *grp_error(void);
/* Sets the text; returns the status. */
int grp_fail(int status, const char *text);

static inline int grp_rank(const grp_t *grp)
{
    return grp->ranks->rank;
}

static inline int grp_size(const grp_t *grp)
{
    return grp->ranks->size;
}

#endif
