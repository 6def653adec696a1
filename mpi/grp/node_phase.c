/* SPDX-License-Identifier: Apache-2.0
 * node_phase.c - writing a line of a phase, waiting for those of others (node.h, N1 and N6).
 */
#include "grp/node.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "grp/watch.h"
#include "rt/threads.h"

#define POLLS 200u          /* of a line before the core gets its turn */
#define POLLS_SHARED 20u    /* of a rank that shares its processor */
#define YIELDS 64u          /* of such a rank, before it sleeps */
#define YIELDS_AT_ONCE 4u   /* of these, before the core gets its turn */
#define LOOK_MS 1           /* a sleeper looks again without being woken */
#define CONTACT_MS 100      /* of a wait; without contact with a rank its end would not be noticed */
#define PROGRESS_PHASES 16u /* whose lines come at once: the core gets its turn all the same */

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

void node_break(node_set_t *set, int status)
{
    set->status = status;
    atomic_store_explicit(&set->slots[set->rank]->broken, 1, memory_order_release);
}

/* rank: of the job */
static void fail_of(node_set_t *set, int rank, const char *why)
{
    char text[160];
    snprintf(text, sizeof(text), "rank %d of the job %s", rank, why);
    node_break(set, grp_fail(VBN_ERR_PEER_LOST, text));
}

static void fail(node_set_t *set, int rank, const char *why)
{
    fail_of(set, set->ranks[rank], why);
}

/* Pairs with the release of node_publish and node_done. */
static int is_reached(const _Atomic uint64_t *word, uint64_t phase)
{
    return atomic_load_explicit(word, memory_order_acquire) >= phase;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Before each sleep of a long wait. since_p: of the first one. A rank that has written the line before it failed in a
 * later collective is not gone: so the line is looked at last (the acquire pairs with node_break). */
static int is_gone(node_set_t *set, int rank, const _Atomic uint64_t *word, uint64_t phase, int64_t *since_p)
{
    const int64_t now = now_ms();
    const rt_process_t *process = rt_process_at(set->ranks[rank]);
    const uint32_t broken = atomic_load_explicit(&set->slots[rank]->broken, memory_order_acquire);
    const int lost = process != NULL && process->lost;
    if (is_reached(word, phase))
        return 0;
    if (broken)
        fail(set, rank, "failed in it: it lost a rank");
    else if (lost)
        fail(set, rank, "is lost");
    else if (*since_p == 0)
        *since_p = now;
    else if (now - *since_p >= CONTACT_MS && rt_peer(set->ranks[rank]) == NULL)
        fail(set, rank, "cannot be reached");
    return set->status < 0;
}

static int wait_long(node_set_t *set, int rank, const _Atomic uint64_t *word, uint64_t phase)
{
    node_slot_t *mine = set->slots[set->rank];
    rt_wait_t wait = RT_WAIT;
    watch_wait_t watched = {.set = set, .rank = rank, .word = word, .phase = phase, .lost = -1};
    int64_t since = 0;
    wait.look_ms = LOOK_MS;
    wait.yields = YIELDS;
    watch_wait(&watched);
    while (!is_reached(word, phase)) {
        const int sleeps = wait.armed || rt_gate.shared;
        if (sleeps) {
            atomic_store_explicit(&mine->asleep, (uint32_t)rank + 1, memory_order_relaxed);
            rt_node_sleeper_fence(); /* pairs with node_publish */
            if (is_reached(word, phase))
                break;
        }
        rt_wait_step(&wait);
        if (sleeps && is_gone(set, rank, word, phase, &since))
            break;
        if (watched.lost >= 0) {
            fail_of(set, watched.lost, "is lost");
            break;
        }
        for (unsigned i = 0; i < POLLS_SHARED && !rt.oversubscribed && !is_reached(word, phase); i++)
            relax();
    }
    watch_wait_end(&watched);
    atomic_store_explicit(&mine->asleep, 0, memory_order_relaxed);
    return set->status;
}

/* The rank that is waited for may need this processor. */
static int wait_yielding(node_set_t *set, int rank, const _Atomic uint64_t *word, uint64_t phase)
{
    for (unsigned i = 0; i < YIELDS_AT_ONCE; i++) {
        if (is_reached(word, phase))
            return 0;
        (void)sched_yield();
    }
    return is_reached(word, phase) ? 0 : wait_long(set, rank, word, phase);
}

static int wait_for(node_set_t *set, int rank, const _Atomic uint64_t *word, uint64_t phase)
{
    if (rt.oversubscribed && !rt_gate.shared)
        return wait_yielding(set, rank, word, phase);
    for (unsigned i = 0; i < POLLS; i++) {
        if (is_reached(word, phase))
            return 0;
        relax();
    }
    return wait_long(set, rank, word, phase);
}

/* N1: until all are done with this phase. */
static int wait_done(node_set_t *set, uint64_t phase)
{
    uint64_t least = UINT64_MAX;
    for (int rank = 0; rank < set->size; rank++) {
        const _Atomic uint64_t *done = &set->slots[rank]->done;
        if (rank == set->rank)
            continue;
        if (wait_for(set, rank, done, phase) < 0)
            return set->status;
        const uint64_t now = atomic_load_explicit(done, memory_order_relaxed);
        least = now < least ? now : least;
    }
    set->known = least;
    return 0;
}

void *node_room(node_set_t *set, uint64_t phase, size_t length)
{
    node_slot_t *mine = set->slots[set->rank];
    const uint64_t ring = length <= NODE_INLINE ? NODE_LINES : NODE_BUFFERS;
    if (phase % PROGRESS_PHASES == 0)
        (void)rt_progress();
    if (phase - set->known > ring && phase - set->first >= ring && wait_done(set, phase - ring) < 0)
        return NULL;
    return length <= NODE_INLINE ? mine->lines[phase % NODE_LINES].data : mine->data[phase % NODE_BUFFERS];
}

/* What was written before is seen by a sleeper that is not seen here. */
static void fence(void)
{
    if (__builtin_expect(rt_node.fenced, 0))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst); /* compiler only: the sleeper's membarrier does the rest */
}

static void tell(node_set_t *set, int rank)
{
    if (__builtin_expect(
            atomic_load_explicit(&set->slots[rank]->asleep, memory_order_relaxed) == (uint32_t)set->rank + 1, 0))
        rt_node_wake(set->ranks[rank]);
}

void node_tell(node_set_t *set, int rank)
{
    fence();
    tell(set, rank);
}

void node_tell_all(node_set_t *set)
{
    fence();
    for (int rank = 0; rank < set->size; rank++)
        tell(set, rank);
}

int node_failed(const node_set_t *set)
{
    return grp_fail(set->status, "an earlier collective on it has failed; free the communicator");
}

void node_publish(node_set_t *set, uint64_t phase, size_t length)
{
    node_line_t *line = &set->slots[set->rank]->lines[phase % NODE_LINES];
    line->length = (uint32_t)length;
    line->what = set->what;
    atomic_store_explicit(&line->phase, phase, memory_order_release);
    node_tell_all(set);
}

static void fail_of_line(node_set_t *set, int rank, const node_line_t *line, size_t length)
{
    const uint32_t theirs = line->what;
    char text[160];
    if (theirs >> 24 != set->what >> 24)
        snprintf(text, sizeof(text), "rank %d of the job is in another collective, or has other counts in this one",
                 set->ranks[rank]);
    else if (theirs != set->what)
        snprintf(text, sizeof(text), "rank %d of the job has %u bytes in all where %u are expected", set->ranks[rank],
                 theirs & 0xffffff, set->what & 0xffffff);
    else
        snprintf(text, sizeof(text), "rank %d of the job has %u bytes where %zu are expected", set->ranks[rank],
                 line->length, length);
    node_break(set, grp_fail(VBN_ERR_TRUNCATED, text));
}

const void *node_data(node_set_t *set, uint64_t phase, int rank, size_t length)
{
    const node_slot_t *slot = set->slots[rank];
    const node_line_t *line = &slot->lines[phase % NODE_LINES];
    if (wait_for(set, rank, &line->phase, phase) < 0)
        return NULL;
    if (line->length == length && line->what == set->what)
        return length <= NODE_INLINE ? line->data : slot->data[phase % NODE_BUFFERS];
    fail_of_line(set, rank, line, length);
    return NULL;
}
