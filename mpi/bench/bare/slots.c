/* SPDX-License-Identifier: Apache-2.0
 * slots.c - the rows rate.*: messages of 8 bytes in a row, through a ring of slots as the core's (src/tl/shm/shm_ring.h there). A
 * word of each message publishes it.
 *
 *   slot    each message has a slot of two lines and fills six words of it, as the core's do
 *   line    two messages share a line, three words each: the publishing one, a tag, the data. There is no shorter form
 * In rows `.work` both sides carry out about as many instructions per message as MPI_Isend and MPI_Irecv.
 */
#include "bare.h"

#include <sched.h>
#include <string.h>

#define SLOTS 128u
#define AHEAD 8u        /* messages: the line of a later one is taken before it is written */
#define PATIENCE 16384u /* looks before a process that may share its processor yields */
#define STEP 6u         /* instructions of a step of work() */
#define SEND_WORK 320u  /* instructions: mpi/tests/run/costs.py counts them */
#define RECEIVE_WORK 550u

typedef enum shape { SLOT, LINED } shape_t;

static inline _Atomic uint64_t *place(shape_t shape, uint64_t number)
{
    const size_t slot = number % SLOTS * 2 * LINE, line = number / 2 % SLOTS * LINE + number % 2 * 3 * sizeof(number);
    return (_Atomic uint64_t *)(void *)(bare.ring[0] + (shape == SLOT ? slot : line));
}

static inline unsigned words_of(shape_t shape)
{
    return shape == SLOT ? 6 : 3;
}

static inline uint64_t room_of(shape_t shape)
{
    return shape == SLOT ? SLOTS : 2 * SLOTS;
}

/* Written by the receiver, now and then. */
static _Atomic uint64_t *taken(void)
{
    return (_Atomic uint64_t *)(void *)bare.ring[1];
}

static inline void work(unsigned steps)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (unsigned i = 0; i < steps; i++) {
        a += b;
        b ^= c;
        c += d;
        d ^= a;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
}

static inline void take_early(void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)line)); /* the builtin only reads, without a flag of the target */
#else
    __builtin_prefetch(line, 1);
#endif
}

static void await(_Atomic uint64_t *word, uint64_t least)
{
    for (unsigned looks = 1; atomic_load_explicit(word, memory_order_acquire) < least; looks++)
        if (looks % PATIENCE == 0)
            sched_yield();
}

static inline void send_all(shape_t shape, uint64_t count, unsigned steps)
{
    uint64_t known = 0;
    for (uint64_t i = 0; i < count; i++) {
        work(steps);
        if (i - known >= room_of(shape)) {
            await(taken(), i + 1 - room_of(shape));
            known = atomic_load_explicit(taken(), memory_order_acquire);
        }
        take_early((void *)place(shape, i + AHEAD));
        _Atomic uint64_t *words = place(shape, i);
        for (unsigned word = 1; word < words_of(shape); word++)
            atomic_store_explicit(&words[word], i, memory_order_relaxed);
        atomic_store_explicit(&words[0], i + 1, memory_order_release);
    }
}

static inline void receive_all(shape_t shape, uint64_t count, unsigned steps)
{
    for (uint64_t i = 0; i < count; i++) {
        _Atomic uint64_t *words = place(shape, i);
        await(&words[0], i + 1);
        for (unsigned word = 1; word < words_of(shape); word++)
            if (atomic_load_explicit(&words[word], memory_order_relaxed) != i)
                bench_fail("rate", "another message has come");
        if ((i + 1) % (room_of(shape) / 4) == 0)
            atomic_store_explicit(taken(), i + 1, memory_order_release);
        work(steps);
    }
}

/* Seconds of a message. */
static inline double rate(shape_t shape, int rounds, int works)
{
    const uint64_t count = (uint64_t)rounds;
    if (bare.rank == 1) {
        memset(bare.ring[0], 0, SLOTS * 2 * LINE);
        memset(bare.ring[1], 0, LINE);
    }
    bare_say();
    bare_hear();
    const double start = seconds_now();
    if (bare.rank == 0)
        send_all(shape, count, works ? SEND_WORK / STEP : 0);
    else
        receive_all(shape, count, works ? RECEIVE_WORK / STEP : 0);
    bare_say();
    bare_hear();
    return (seconds_now() - start) / rounds;
}

#define RATE(name, shape, works)                                                                                       \
    static double name(bench_t *bench, size_t bytes, int rounds)                                                       \
    {                                                                                                                  \
        (void)bench, (void)bytes;                                                                                      \
        return rate(shape, rounds, works);                                                                             \
    }
RATE(slot, SLOT, 0)
RATE(line, LINED, 0)
RATE(slot_work, SLOT, 1)
RATE(line_work, LINED, 1)

#define CELL(name, loop) {name, loop, 8, {5000, 5000}, 0, 1e9, 0, "ns"}

const cell_t rate_cells[] = {
    CELL("rate.slot", slot),
    CELL("rate.line", line),
    CELL("rate.slot.work", slot_work),
    CELL("rate.line.work", line_work),
};
const size_t rate_cell_count = sizeof(rate_cells) / sizeof(rate_cells[0]);
