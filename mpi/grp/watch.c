/* SPDX-License-Identifier: Apache-2.0
 * watch.c - collectives that would never end: who waits long asks whom it waits for (watch.h).
 */
#include "grp/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_MS 1000 /* of a wait before its first question; each further one takes twice as long as the one before it */
#define ASK_MOST_MS 8000 /* between two questions */
#define GONE 64          /* sets that have ended, about which others may still ask */
#define CALL 0x80000000u /* W6: of a birth that is a hash of the ranks */

typedef enum kind { ASKS, HAS_ENDED, HAS_LOST, HAS_LEFT, HAS_COME } kind_t;

/* W1. The answer is the question with its kind changed, and what the answering rank knows of its own call. */
typedef struct question {
    uint64_t tag;     /* of the schedule; of a blocking collective the base of its set */
    uint64_t message; /* the tag of the message that its receiver should fetch; 0: a message is waited for */
    uint64_t bytes;
    uint32_t birth;
    uint32_t number;
    uint32_t ways;
    int32_t side;
    uint32_t kind;
    uint32_t knows; /* of an answer: the next one counts */
    uint32_t lost;  /* of an answer, and of HAS_LOST: a rank of the job that its sender has lost, and 1; 0: none */
    uint32_t unused;
    uint64_t their_bytes;
    char name[40];
} question_t;

typedef enum state { UNKNOWN, BEFORE, WITHIN, ENDED } state_t;

static struct {
    grp_t *sets;
    sched_t *scheds;
    watch_wait_t *waits;
    int64_t looked;
    int unmade; /* W5 */
    int left;   /* W7: others know that this rank may end */
    unsigned gone_count;
    struct {
        uint64_t base;
        uint32_t birth;
    } gone[GONE];
} watch;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what is watched */

void watch_set(grp_t *grp, uint32_t birth)
{
    grp->birth = birth;
    grp->watched = 1;
    grp->next = watch.sets;
    watch.sets = grp;
}

static void strike_off(grp_t *grp)
{
    grp_t **at = &watch.sets;
    while (*at != grp)
        at = &(*at)->next;
    *at = grp->next;
    grp->watched = 0;
}

static void note_end(const grp_t *grp)
{
    watch.gone[watch.gone_count % GONE].base = grp->base;
    watch.gone[watch.gone_count++ % GONE].birth = grp->birth;
}

void watch_forget(grp_t *grp)
{
    if (!grp->watched)
        return;
    strike_off(grp);
    if (grp->birth != 0)
        note_end(grp);
}

/* FNV-1a of the ranks. */
static uint32_t hash_of(const rt_group_t *ranks)
{
    uint32_t hash = 2166136261u;
    for (int i = 0; i < ranks->size; i++)
        hash = (hash ^ (uint32_t)rt_group_world(ranks, i)) * 16777619u;
    return hash;
}

void watch_call(grp_t *grp)
{
    grp->call.number = 1;
    grp->call.inside = 1;
    watch_set(grp, hash_of(grp->ranks) | CALL);
}

void watch_call_end(grp_t *grp, int failed)
{
    grp->call.inside = 0;
    strike_off(grp);
    if (failed)
        note_end(grp);
}

void watch_unmade(void)
{
    watch.unmade = 1;
}

void watch_sched(sched_t *sched)
{
    sched->at_list = &watch.scheds;
    sched->next = watch.scheds;
    if (sched->next != NULL)
        sched->next->at_list = &sched->next;
    watch.scheds = sched;
}

void watch_sched_end(sched_t *sched)
{
    *sched->at_list = sched->next;
    if (sched->next != NULL)
        sched->next->at_list = sched->at_list;
    sched->at_list = NULL;
}

void watch_wait(watch_wait_t *wait)
{
    wait->next = watch.waits;
    watch.waits = wait;
}

void watch_wait_end(const watch_wait_t *wait)
{
    watch_wait_t **at = &watch.waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
}

/* ---- where this rank is */

static int is_blocking(uint64_t tag)
{
    return (tag & GRP_FORMS) == 0;
}

static uint64_t base_of(uint64_t tag)
{
    return tag & ~(uint64_t)UINT32_MAX;
}

/* How the collective of a schedule is named. */
static uint64_t name_of(const sched_t *sched)
{
    return sched->call == &sched->own ? sched->tag : sched->grp->base;
}

static const grp_t *find_set(uint64_t base, uint32_t birth)
{
    const grp_t *set = watch.sets;
    while (set != NULL && (set->base != base || set->birth != birth))
        set = set->next;
    return set;
}

static int is_gone(uint64_t base, uint32_t birth)
{
    for (unsigned i = 0; birth != 0 && i < GONE; i++)
        if (watch.gone[i].base == base && watch.gone[i].birth == birth)
            return 1;
    return 0;
}

/* Without a schedule: whether it is still to be opened. */
static state_t state_by_count(const grp_t *set, uint64_t tag)
{
    const uint32_t opened = (tag & GRP_FORMS) == GRP_STARTED ? set->started : set->kept;
    const uint32_t ahead = (opened - grp_number_of(tag)) & GRP_NUMBER_MASK;
    return ahead > 0 && ahead <= GRP_NUMBER_MASK / 2 ? ENDED : BEFORE;
}

/* call_p: this rank's in it. */
static state_t state_of(const question_t *question, const grp_call_t **call_p)
{
    const grp_t *set = find_set(base_of(question->tag), question->birth);
    const sched_t *sched = watch.scheds;
    *call_p = NULL;
    if ((question->birth & CALL) != 0)
        return is_gone(question->tag, question->birth) ? ENDED : UNKNOWN;
    if (set == NULL)
        return watch.unmade || is_gone(base_of(question->tag), question->birth) ? ENDED : UNKNOWN;
    if (is_blocking(question->tag)) {
        *call_p = set->call.number == question->number ? &set->call : NULL;
        if (set->call.number < question->number)
            return BEFORE;
        return *call_p != NULL && set->call.inside ? WITHIN : ENDED;
    }
    while (sched != NULL && (sched->grp != set || sched->tag != question->tag))
        sched = sched->next;
    if (sched == NULL)
        return state_by_count(set, question->tag);
    *call_p = &sched->own;
    if (sched->own.number < question->number)
        return BEFORE;
    return sched->own.number == question->number && !sched->complete ? WITHIN : ENDED;
}

/* ---- the end of the job */

__attribute__((noreturn)) static void end_job(const char *name, const char *text, const char *cure)
{
    rt_say("rank %d of %d: %s fails: %s; %s", rt.rank, rt.size, name, text, cure);
    rt_abort(EXIT_FAILURE);
}

static const char fit[] = "pass fitting counts and types at all ranks";

/* W2 */
__attribute__((noreturn)) static void end_of_ways(int other, const question_t *theirs, const grp_call_t *mine)
{
    char text[256];
    snprintf(text, sizeof(text),
             "rank %d of the job has blocks of %zu bytes and rank %d, in %s, of %llu, so they wait for "
             "different messages",
             rt.rank, mine->bytes, other, theirs->name, (unsigned long long)theirs->bytes);
    end_job(mine->name, text, fit);
}

/* W5 */
__attribute__((noreturn)) static void end_of_loss(int other, const question_t *answer)
{
    char text[256];
    snprintf(
        text, sizeof(text),
        "rank %u of the job is lost, rank %d has ended the call, or one before it, with that error, and rank %d waits for it",
        answer->lost - 1, other, rt.rank);
    end_job(answer->name, text, "find out why the lost rank has ended");
}

/* W6, of a rank that knows of no loss itself */
__attribute__((noreturn)) static void end_of_call(int other, const question_t *answer)
{
    char text[128];
    snprintf(text, sizeof(text), "rank %d of the job has failed in it, and rank %d waits for it", other, rt.rank);
    end_job(answer->name, text, "find out why that rank has failed");
}

/* W3 */
__attribute__((noreturn)) static void end_of_wait(int other, const question_t *answer)
{
    char theirs[48] = "";
    char text[256];
    if (answer->lost > 0)
        end_of_loss(other, answer);
    if ((answer->birth & CALL) != 0)
        end_of_call(other, answer);
    if (answer->knows)
        snprintf(theirs, sizeof(theirs), " with blocks of %llu bytes", (unsigned long long)answer->their_bytes);
    snprintf(text, sizeof(text), "rank %d of the job has ended it%s, and rank %d, with blocks of %llu, waits for %s",
             other, theirs, rt.rank, (unsigned long long)answer->bytes,
             answer->message != 0 ? "it to fetch a message" : "a message from it");
    end_job(answer->name, text, fit);
}

/* ---- questions and answers */

static void free_op(vbn_op_t *op, vbn_status_t status, size_t length)
{
    (void)status, (void)length; /* who is lost fails the wait, too */
    free(op);
}

static void say(vbn_peer_t *peer, const question_t *question)
{
    vbn_op_t *op = calloc(1, sizeof(*op));
    if (op == NULL)
        return;
    op->done = free_op;
    if (vbn_am_send(peer, RT_AM_WATCH, question, sizeof(*question), NULL, 0, 0, op) != VBN_INPROGRESS)
        free(op);
}

static void ask(int rank, const grp_t *set, const grp_call_t *call, uint64_t tag, uint64_t message)
{
    vbn_peer_t *peer = rank == rt.rank ? NULL : rt_peer_known(rank);
    question_t question = {.tag = tag,
                           .message = message,
                           .bytes = call->bytes,
                           .birth = set->birth,
                           .number = call->number,
                           .ways = call->ways,
                           .side = call->side,
                           .kind = ASKS};
    if (peer == NULL)
        return;
    snprintf(question.name, sizeof(question.name), "%s", call->name == NULL ? "" : call->name);
    say(peer, &question);
}

/* W2. Ranks of several nodes need not all use slots. */
static int differ(uint32_t mine, uint32_t theirs, int same_node)
{
    for (unsigned at = same_node ? 0 : 2; at < 32; at += 2) {
        const uint32_t one = mine >> at & 3;
        const uint32_t other = theirs >> at & 3;
        if (one != 0 && other != 0 && (one & other) == 0)
            return 1;
    }
    return 0;
}

static int is_on_this_node(int rank)
{
    return rt.pmi.mapping != NULL && pmi_node(&rt.pmi, rank) == rt.pmi.node;
}

/* The first lost rank from this one on; the size of the job: there is none. */
static int next_lost(int rank)
{
    for (; rank < rt.size; rank++) {
        const rt_process_t *page = rt.pages[(unsigned)rank / RT_PAGE];
        const rt_process_t *process = page == NULL ? NULL : &page[(unsigned)rank % RT_PAGE];
        if (process != NULL && !process->left && (process->lost || process->told_lost))
            break;
    }
    return rank;
}

/* And 1; 0: none is. */
static uint32_t lost_rank(void)
{
    const int rank = next_lost(0);
    return rank < rt.size ? (uint32_t)rank + 1 : 0;
}

/* W7: a rank of the job; -1: there is none. */
static int lost_member(const grp_t *set)
{
    for (int rank = next_lost(0); rank < rt.size; rank = next_lost(rank + 1))
        if (rt_group_find(set->ranks, rank) >= 0)
            return rank;
    return -1;
}

/* W7 */
static void tell_losses(vbn_peer_t *peer)
{
    for (int rank = next_lost(0); rank < rt.size; rank = next_lost(rank + 1)) {
        const question_t loss = {.kind = HAS_LOST, .lost = (uint32_t)rank + 1};
        say(peer, &loss);
    }
}

void watch_notice(int rank)
{
    vbn_peer_t *peer = rt_peer_known(rank);
    if (peer != NULL)
        tell_losses(peer);
}

/* W7: to all that are known. */
static void tell_all(kind_t kind)
{
    const question_t news = {.kind = kind};
    for (int rank = 0; rank < rt.size; rank++) {
        vbn_peer_t *peer = rank == rt.rank ? NULL : rt_peer_known(rank);
        if (peer != NULL)
            say(peer, &news);
    }
}

void watch_leave(void)
{
    watch.left = 1;
    tell_all(HAS_LEFT);
}

/* W7 */
static void hear_loss(uint32_t lost)
{
    rt_process_t *process = lost == 0 || lost > (uint32_t)rt.size ? NULL : rt_process_at((int)lost - 1);
    if (process != NULL && process->rank != rt.rank)
        process->told_lost = 1;
}

static void answer(vbn_peer_t *peer, int rank, question_t *question)
{
    const grp_call_t *call;
    const state_t state = state_of(question, &call);
    tell_losses(peer);
    if (state == WITHIN && question->side == call->side && differ(call->ways, question->ways, is_on_this_node(rank)))
        end_of_ways(rank, question, call);
    if (state != ENDED)
        return;
    if (question->message != 0 && vbn_tag_probe(rt.worker, peer, question->message, UINT64_MAX, NULL, NULL) != VBN_OK)
        return; /* it is being fetched */
    question->kind = HAS_ENDED;
    question->knows = call != NULL;
    question->lost = lost_rank();
    question->their_bytes = call == NULL ? 0 : call->bytes;
    say(peer, question);
}

/* A message with this rank, of that kind, is in flight. */
static int waits_for(const sched_t *sched, int rank, int sends)
{
    for (const sched_op_t *op = sched->ops; op != NULL; op = op->also)
        if (op->step != NULL && op->step->rank == rank && (op->step->kind == SCHED_SEND) == sends)
            return 1;
    return 0;
}

static int is_reached(const watch_wait_t *wait)
{
    return atomic_load_explicit(wait->word, memory_order_acquire) >= wait->phase;
}

static const grp_t *set_of(const watch_wait_t *wait)
{
    return grp_outer(wait->set->grp);
}

/* W3 */
static void hear_end(int rank, const question_t *answer)
{
    const grp_call_t *call;
    if ((answer->birth & CALL) == 0 && state_of(answer, &call) != WITHIN)
        return;
    for (const sched_t *sched = watch.scheds; sched != NULL; sched = sched->next)
        if (name_of(sched) == answer->tag && sched->grp->birth == answer->birth && !sched->complete &&
            (answer->message == 0 || answer->message == sched->tag) && waits_for(sched, rank, answer->message != 0))
            end_of_wait(rank, answer);
    for (const watch_wait_t *wait = watch.waits; answer->message == 0 && wait != NULL; wait = wait->next)
        if (set_of(wait)->base == answer->tag && wait->set->ranks[wait->rank] == rank && !is_reached(wait))
            end_of_wait(rank, answer);
}

static void hear(void *arg, const vbn_am_message_t *message)
{
    question_t question;
    const rt_process_t *process = vbn_peer_user(message->peer);
    (void)arg;
    if (message->remote != NULL)
        vbn_am_drop(message->remote);
    if (message->header_length != sizeof(question) || process == NULL)
        return;
    memcpy(&question, message->header, sizeof(question));
    question.name[sizeof(question.name) - 1] = 0;
    if (question.kind == ASKS)
        answer(message->peer, process->rank, &question);
    else if (question.kind == HAS_LOST)
        hear_loss(question.lost);
    else if (question.kind == HAS_LEFT || question.kind == HAS_COME)
        rt_process_at(process->rank)->left = question.kind == HAS_LEFT;
    else
        hear_end(process->rank, &question);
}

/* Whether it is time for a question. */
static int is_due(watch_times_t *times, int64_t now)
{
    if (times->next == 0) {
        times->pause = ASK_MS;
        times->next = now + times->pause;
    }
    if (now < times->next)
        return 0;
    times->pause = times->pause * 2 < ASK_MOST_MS ? times->pause * 2 : ASK_MOST_MS;
    times->next = now + times->pause;
    return 1;
}

/* Its end may release it. */
static void look_at(sched_t *sched, int64_t now)
{
    if (sched->complete || sched->call->number == 0 || (sched->call != &sched->own && !sched->call->inside) ||
        !is_due(&sched->times, now))
        return;
    const int lost = lost_member(sched->grp);
    if (lost >= 0 && !sched->given_up) {
        sched_give_up(sched, lost);
        return;
    }
    for (const sched_op_t *op = sched->ops; op != NULL; op = op->also)
        if (op->step != NULL)
            ask(op->step->rank, sched->grp, sched->call, name_of(sched), op->step->kind == SCHED_SEND ? sched->tag : 0);
}

static void look_at_wait(watch_wait_t *wait, int64_t now)
{
    const grp_t *set = set_of(wait);
    if (!set->watched || !set->call.inside || !is_due(&wait->times, now) || is_reached(wait))
        return;
    wait->lost = lost_member(set);
    if (wait->lost < 0)
        ask(wait->set->ranks[wait->rank], set, &set->call, set->base, 0);
}

int watch_messages(const grp_t *grp, int rank, watch_times_t *times)
{
    if (!is_due(times, now_ms()))
        return -1;
    const int lost = lost_member(grp);
    if (lost < 0)
        ask(rt_group_world(grp->ranks, rank), grp, &grp->call, grp->base, 0);
    return lost;
}

static void look(void)
{
    const int64_t now = now_ms();
    if (now - watch.looked < RT_WATCH_MS / 2)
        return;
    watch.looked = now;
    for (sched_t *next, *sched = watch.scheds; sched != NULL; sched = next) {
        next = sched->next;
        look_at(sched, now);
    }
    for (watch_wait_t *wait = watch.waits; wait != NULL; wait = wait->next)
        look_at_wait(wait, now);
}

void watch_open(void)
{
    watch.gone_count = 0;
    watch.unmade = 0;
    memset(watch.gone, 0, sizeof(watch.gone));
    if (vbn_am_handler(rt.worker, RT_AM_WATCH, hear, NULL) == VBN_OK)
        rt.watch = look;
    if (watch.left)
        tell_all(HAS_COME);
    watch.left = 0;
}

void watch_close(void)
{
    rt.watch = NULL;
}
