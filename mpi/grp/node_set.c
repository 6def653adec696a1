/* SPDX-License-Identifier: Apache-2.0
 * node_set.c - which sets of ranks have slots in node memory: the members agree by one reduction of messages, at the first
 * collective that could use them (node.h, N2 and N3).
 */
#include "grp/node.h"

#include <stdlib.h>
#include <string.h>

#include "grp/flat.h"
#include "grp/levels.h"

#define RETRY 64u /* collectives until a set asks again that found no slot */

enum { NODE_NEW, NODE_NO, NODE_FULL, NODE_YES }; /* grp_t.node_state */

static struct {
    int opened;       /* rt.opened of what follows: a runtime that opens anew has other node memory */
    uint32_t used;    /* slots of this rank */
    int offering;     /* a set is being made by another thread */
    uint64_t last;    /* the highest phase that this rank has used; N2 */
    node_set_t *left; /* sets that others may not have left yet */
} own;

/* What the members agree on. */
typedef struct offer {
    uint64_t used; /* or */
    uint64_t last; /* the highest */
} offer_t;

static void agree(const grp_reduce_t *reduce, const void *in, void *inout, size_t count)
{
    const offer_t *from = in;
    offer_t *to = inout;
    (void)reduce, (void)count;
    to->used |= from->used;
    to->last = from->last > to->last ? from->last : to->last;
}

static node_slot_t *slot_of(int index, unsigned slot)
{
    return (node_slot_t *)(rt_node_control(index) + (size_t)(slot + 1) * NODE_SLOT_BYTES);
}

static int have_all_left(const node_set_t *set)
{
    for (int rank = 0; rank < set->size; rank++)
        if (atomic_load_explicit(&set->slots[rank]->left, memory_order_acquire) < set->first)
            return 0;
    return 1;
}

/* The runtime has ended since: so has everybody's use of its memory. */
static void forget_earlier(void)
{
    while (own.left != NULL) {
        node_set_t *set = own.left;
        own.left = set->next;
        free(set);
    }
    memset(&own, 0, sizeof(own));
    own.opened = rt.opened;
}

static void collect_slots(void)
{
    if (own.opened != rt.opened)
        forget_earlier();
    for (node_set_t **at = &own.left; *at != NULL;) {
        node_set_t *set = *at;
        if (!have_all_left(set)) {
            at = &set->next;
            continue;
        }
        own.used &= ~(1u << set->slot);
        *at = set->next;
        free(set);
    }
}

/* Every member is on this node: what the launcher says, so all members find the same. */
static int is_near(const grp_t *grp)
{
    if (grp->slots == 0 || grp_size(grp) < 2 || rt.pmi.mapping == NULL || grp_size(grp) > rt.pmi.local_size)
        return 0;
    for (int rank = 0; rank < grp_size(grp); rank++)
        if (pmi_node(&rt.pmi, rt_group_world(grp->ranks, rank)) != rt.pmi.node)
            return 0;
    return 1;
}

static node_set_t *make(grp_t *grp, unsigned slot, uint64_t last)
{
    char way[16] = "";
    const int size = grp_size(grp);
    node_set_t *set = calloc(1, sizeof(*set) + (size_t)size * (sizeof(set->slots[0]) + sizeof(int)));
    if (set == NULL)
        return NULL;
    int *ranks = (int *)&set->slots[size];
    for (int rank = 0; rank < size; rank++) {
        ranks[rank] = rt_group_world(grp->ranks, rank);
        set->slots[rank] = slot_of(rt_node_index(ranks[rank]), slot);
    }
    set->ranks = ranks;
    set->grp = grp;
    set->slot = slot;
    set->size = size;
    set->rank = grp_rank(grp);
    set->first = last + 1;
    set->phase = set->known = last;
    (void)vbn_setting(rt.context, "mpi.large_pairs", way, sizeof(way), NULL);
    for (int of = 0; of < NODE_LARGE; of++)
        choose_open(&set->choose[of], way);
    return set;
}

static int agree_all(grp_t *grp, offer_t *offer)
{
    const grp_reduce_t reduce = {.apply = agree, .element = sizeof(*offer), .commutes = 1};
    sched_t *sched = sched_open(grp);
    if (sched != NULL) {
        const grp_call_t call = *sched->call;
        flat_allreduce(sched, offer, 1, &reduce); /* all are on one node */
        *sched->call = call;                      /* no choice of the collective */
    }
    return sched_run(sched);
}

/* A slot that is free at all members; NODE_SLOTS: there is none now. */
static int choose(grp_t *grp, unsigned *slot_p, uint64_t *last_p)
{
    collect_slots();
    const int offers = own.offering == 0;
    offer_t offer = {.used = offers ? own.used : UINT64_MAX, .last = own.last};
    own.offering += offers;
    const int status = agree_all(grp, &offer);
    own.offering -= offers;
    *slot_p = 0;
    *last_p = offer.last;
    while (*slot_p < NODE_SLOTS && (offer.used >> *slot_p & 1) != 0)
        ++*slot_p;
    if (status == 0 && *slot_p < NODE_SLOTS)
        own.used |= 1u << *slot_p;
    return status;
}

/* The members' slots, whose pages exist at all of them; NULL: no slot is free, or memory is short somewhere. */
static int find_slots(grp_t *grp, node_set_t **set_p)
{
    unsigned slot;
    uint64_t last;
    *set_p = NULL;
    int status = choose(grp, &slot, &last);
    if (status < 0 || slot == NODE_SLOTS)
        return status;
    node_set_t *set = make(grp, slot, last);
    offer_t missing = {0};
    missing.used = set == NULL || rt_node_commit(set->slots[set->rank], sizeof(node_slot_t)) != 0;
    status = agree_all(grp, &missing);
    if (status == 0 && missing.used == 0) {
        atomic_store_explicit(&set->slots[set->rank]->took, 0, memory_order_relaxed);
        *set_p = set;
        return 0;
    }
    own.used &= ~(1u << slot);
    free(set);
    return status;
}

static int begin(grp_t *grp)
{
    node_set_t *set;
    const int found = is_near(grp) ? rt_node_open() : 0;
    grp->node_state = NODE_NO;
    if (found < 0)
        return grp_fail(VBN_ERR_UNREACHABLE, rt.error);
    if (found == 0)
        return 0;
    const int status = find_slots(grp, &set);
    if (status < 0)
        return status;
    grp->node_state = set == NULL ? NODE_FULL : NODE_YES;
    grp->node_wait = RETRY;
    grp->node = set;
    return set != NULL;
}

int node_ready(grp_t *grp)
{
    switch (grp->node_state) {
    case NODE_YES: return 1;
    case NODE_NO: return 0;
    case NODE_FULL: return --grp->node_wait > 0 ? 0 : begin(grp);
    default: return begin(grp);
    }
}

void grp_end(grp_t *grp)
{
    node_set_t *set = grp->node;
    if (grp->levels != NULL) {
        grp_end(&grp->levels->inside);
        levels_release(grp->levels);
        grp->levels = NULL;
    }
    grp->node = NULL;
    grp->node_state = NODE_NO;
    if (set == NULL)
        return;
    if (rt_node.state != RT_NODE_READY) { /* the job has ended */
        free(set);
        return;
    }
    if (set->phase > own.last)
        own.last = set->phase;
    if (set->status == 0) /* N3 */
        atomic_store_explicit(&set->slots[set->rank]->left, set->first, memory_order_release);
    set->next = own.left;
    own.left = set;
}
