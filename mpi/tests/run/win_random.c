/* SPDX-License-Identifier: Apache-2.0
 * win_random.c - random windows, operations, types and synchronisations, drawn of a seed, against a model (chapter 12). Every rank
 * draws the same program, makes its own calls of it, and keeps a model of all memory.
 *
 *     memory of a rank | words that all origins accumulate to | block of origin 0 | block of origin 1 | ...
 *     a block          | bytes that are moved once in a round | words that are replaced, fetched and swapped several times
 *
 * All calls on the common words of a round have one operation that commutes; calls on words of a block are done in their order.
 * So the end is the same whatever comes first. Each of THREADS threads of a rank is an origin; its rank synchronises for all.
 * Arguments: the first seed, how many.
 * ranks: 1 2 3 4 tcp nodes
 */
#define RULE_OWN_MAIN
#include <pthread.h>

#include "win.h"

#ifndef THREADS
#define THREADS 1
#endif
#define COMMON 24 /* words of 8 bytes */
#define MOVED 96  /* bytes */
#define OWN 8     /* words */
#define BLOCK (MOVED + OWN * 8)
#define RANKS_MOST 8
#define BYTES (COMMON * 8 + RANKS_MOST * THREADS * BLOCK)
#define ROUNDS 10
#define CALLS_MOST 512 /* of an origin in a round */

/* Buffers of a call of this origin: what it sends, what it gets, what that must be. */
typedef struct call {
    int64_t out[COMMON];
    int64_t in[COMMON];
    int64_t expected[COMMON];
    int64_t compare;
    MPI_Request request;
} call_t;

/* Of each thread. */
static _Thread_local int me; /* this origin; the threads of a rank follow one another */
static _Thread_local unsigned long state;
static _Thread_local int64_t model[RANKS_MOST][BYTES / 8];
static _Thread_local call_t calls[CALLS_MOST];
static _Thread_local call_t of_others; /* buffers of calls that this origin only models */
static _Thread_local int call_count;

/* Of the rank; its first thread makes them. */
static pthread_barrier_t together;
static MPI_Group all;
static int shares;
static void *memory;
static MPI_Aint origin[64];
static MPI_Win win;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % below;
}

static call_t *new_call(int from)
{
    CHECK(call_count < CALLS_MOST);
    call_t *call = from == me ? &calls[call_count++] : &of_others;
    memset(call->in, 0xaa, sizeof(call->in));
    memset(call->expected, 0xaa, sizeof(call->expected));
    call->request = MPI_REQUEST_NULL;
    return call;
}

static MPI_Aint own_words(int from)
{
    return COMMON + (from * BLOCK + MOVED) / 8;
}

/* Bytes one after the other, or every second number of 2 bytes at the target. */
static void move(int from, int target, int by_request)
{
    const int writes = (int)draw(2), spread = (int)draw(2), numbers = 1 + (int)draw(MOVED / 4);
    const MPI_Aint start = COMMON * 8 + from * BLOCK;
    call_t *call = new_call(from);
    unsigned char *there = (unsigned char *)model[target] + start;
    MPI_Datatype type;
    for (int i = 0; i < 2 * numbers; i++) {
        unsigned char *byte = &there[spread ? i / 2 * 4 + i % 2 : i];
        ((unsigned char *)call->out)[i] = (unsigned char)draw(256);
        if (writes)
            *byte = ((unsigned char *)call->out)[i];
        else
            ((unsigned char *)call->expected)[i] = *byte;
    }
    if (from != me)
        return;
    MPI_Type_vector(numbers, 1, spread ? 2 : 1, MPI_INT16_T, &type);
    MPI_Type_commit(&type);
    const MPI_Aint at = origin[target] + start;
    if (writes && by_request)
        MPI_Rput(call->out, 2 * numbers, MPI_BYTE, target, at, 1, type, win, &call->request);
    else if (writes)
        MPI_Put(call->out, 2 * numbers, MPI_BYTE, target, at, 1, type, win);
    else if (by_request)
        MPI_Rget(call->in, 2 * numbers, MPI_BYTE, target, at, 1, type, win, &call->request);
    else
        MPI_Get(call->in, 2 * numbers, MPI_BYTE, target, at, 1, type, win);
    MPI_Type_free(&type);
}

static int64_t combine(MPI_Op op, int64_t old, int64_t given)
{
    if (op == MPI_MAX)
        return old > given ? old : given;
    return op == MPI_SUM ? old + given : op == MPI_BXOR ? old ^ given : op == MPI_REPLACE ? given : old;
}

/* Every second word, or one after the other. */
static void accumulate(int from, int target, MPI_Op op)
{
    const int gap = 1 + (int)draw(2), first = (int)draw(COMMON), room = (COMMON - first + gap - 1) / gap;
    const int count = 1 + (int)draw((unsigned)room);
    call_t *call = new_call(from);
    MPI_Datatype type;
    for (int i = 0; i < count; i++) {
        int64_t *word = &model[target][first + i * gap];
        call->out[i] = (int64_t)draw(1000) - 500;
        *word = combine(op, *word, call->out[i]);
    }
    if (from != me)
        return;
    MPI_Type_vector(count, 1, gap, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Accumulate(call->out, count, MPI_INT64_T, target, origin[target] + 8 * first, 1, type, op, win);
    MPI_Type_free(&type);
}

/* Words of the own block: a call gives what the one before has left. */
static void fetch(int from, int target, int by_request)
{
    const MPI_Op ops[] = {MPI_REPLACE, MPI_SUM, MPI_NO_OP, MPI_BXOR};
    const MPI_Op op = ops[draw(4)];
    const int count = 1 + (int)draw(OWN);
    int64_t *words = &model[target][own_words(from)];
    call_t *call = new_call(from);
    for (int i = 0; i < count; i++) {
        call->out[i] = (int64_t)draw(1 << 20);
        call->expected[i] = words[i];
        words[i] = combine(op, words[i], call->out[i]);
    }
    const MPI_Aint at = origin[target] + 8 * own_words(from);
    if (from != me)
        return;
    if (count == 1 && !by_request)
        MPI_Fetch_and_op(call->out, call->in, MPI_INT64_T, target, at, op, win);
    else if (by_request)
        MPI_Rget_accumulate(call->out, count, MPI_INT64_T, call->in, count, MPI_INT64_T, target, at, count, MPI_INT64_T,
                            op, win, &call->request);
    else
        MPI_Get_accumulate(call->out, count, MPI_INT64_T, call->in, count, MPI_INT64_T, target, at, count, MPI_INT64_T,
                           op, win);
}

static void swap(int from, int target)
{
    const int at = (int)draw(OWN), hits = (int)draw(2);
    int64_t *word = &model[target][own_words(from) + at];
    call_t *call = new_call(from);
    call->compare = hits ? *word : *word + 1;
    call->out[0] = (int64_t)draw(1 << 20);
    call->expected[0] = *word;
    if (hits)
        *word = call->out[0];
    if (from == me)
        MPI_Compare_and_swap(call->out, &call->compare, call->in, MPI_INT64_T, target,
                             origin[target] + 8 * (own_words(from) + at), win);
}

static void access_target(int from, int target, MPI_Op op, int by_request)
{
    if (draw(3) > 0)
        move(from, target, by_request);
    for (unsigned i = draw(3); i > 0; i--)
        accumulate(from, target, op);
    for (unsigned i = draw(4); i > 0; i--) {
        if (draw(3) == 0)
            swap(from, target);
        else
            fetch(from, target, by_request);
    }
}

static void finish_requests(void)
{
    for (int i = 0; i < call_count; i++)
        MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
}

enum { FENCE, POST_START, LOCK_ALL, LOCK, SYNCS };

static void begin(unsigned sync)
{
    if (sync == FENCE)
        MPI_Win_fence(0, win);
    if (sync == POST_START) {
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
    }
    if (sync == LOCK_ALL)
        MPI_Win_lock_all(0, win);
}

static void end(unsigned sync)
{
    if (sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (sync == POST_START) {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    if (sync == LOCK_ALL)
        MPI_Win_unlock_all(win);
}

static int is_first(void)
{
    return me % THREADS == 0;
}

static void fail(unsigned seed, const char *what, size_t place)
{
    fprintf(stderr, "origin %d, rank %d of %d, seed %u: %s %zu has other bytes\n", me, rank, size, seed, what, place);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(unsigned seed)
{
    const size_t bytes = COMMON * 8 + (size_t)size * THREADS * BLOCK;
    for (int i = 0; i < call_count; i++)
        if (memcmp(calls[i].in, calls[i].expected, sizeof(calls[i].in)) != 0)
            fail(seed, "call", (size_t)i);
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)memory)[i] != ((const unsigned char *)model[rank])[i])
            fail(seed, "memory", i);
}

/* Threads of a rank cannot lock one target at the same time. Some flush in the middle. */
static void access_all(unsigned sync, MPI_Op op)
{
    for (int from = 0; from < size * THREADS; from++)
        for (int target = 0; target < size; target++) {
            const int type = draw(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
            if (sync == LOCK && from == me)
                MPI_Win_lock(type, target, 0, win);
            access_target(from, target, op, sync >= LOCK_ALL && draw(2));
            if (draw(4) == 0 && sync >= LOCK_ALL && from == me)
                MPI_Win_flush(target, win);
            if (sync == LOCK && from == me) {
                finish_requests();
                MPI_Win_unlock(target, win);
            }
        }
    finish_requests();
}

static void one_round(unsigned seed)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_BXOR, MPI_MAX};
    const unsigned sync = draw(THREADS > 1 ? LOCK : SYNCS);
    const MPI_Op op = ops[draw(3)];
    call_count = 0;
    if (is_first())
        begin(sync);
    pthread_barrier_wait(&together);
    access_all(sync, op);
    pthread_barrier_wait(&together);
    if (is_first()) {
        end(sync);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    pthread_barrier_wait(&together);
    check(seed);
    pthread_barrier_wait(&together);
    if (is_first())
        MPI_Barrier(MPI_COMM_WORLD);
}

static void one_seed(unsigned seed)
{
    state = seed * 2654435761ul + 12345;
    const int kind = (int)draw(WIN_KINDS);
    if (kind == 2 && !shares)
        return;
    if (is_first())
        win = win_make(kind, COMMON * 8 + size * THREADS * BLOCK, 1, &memory, origin);
    memset(model, 0, sizeof(model));
    if (is_first())
        MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++)
        one_round(seed);
    if (is_first())
        win_end(kind, &win, memory);
}

static unsigned first_seed = 1;
static unsigned seed_count = 12;

static void *all_seeds(void *thread)
{
    me = rank * THREADS + (int)(intptr_t)thread;
    for (unsigned seed = first_seed; seed < first_seed + seed_count; seed++)
        one_seed(seed);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, THREADS > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= RANKS_MOST && (THREADS == 1 || provided == MPI_THREAD_MULTIPLE));
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    shares = win_kinds_shared();
    first_seed = argc > 1 ? (unsigned)atoi(argv[1]) : first_seed;
    seed_count = argc > 2 ? (unsigned)atoi(argv[2]) : seed_count;
    pthread_barrier_init(&together, NULL, THREADS);
    for (intptr_t i = 1; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, all_seeds, (void *)i) == 0);
    all_seeds(NULL);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    MPI_Group_free(&all);
    MPI_Finalize();
    return 0;
}
