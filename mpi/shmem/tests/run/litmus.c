/* SPDX-License-Identifier: Apache-2.0
 * Order and visibility: what one PE writes before a fence, with a signal, or before a quiet, the other one sees in that order.
 * PEs: 2 4 hosts tcp
 */
#include "rule.h"

#define ROUNDS 300
#define WORDS 600

static long flag;
static long answer;
static uint64_t signal_word;
static long data[WORDS];
static long other[WORDS];

static void fill_words(long *words, long value)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = value * 1000 + i;
}

static int has(const long *words, long value)
{
    for (int i = 0; i < WORDS; i++)
        if (words[i] != value * 1000 + i)
            return 0;
    return 1;
}

/* The writer waits for the reader's word before it writes again. */
static void answered(int reader, long round)
{
    if (me == 0)
        shmem_long_wait_until(&answer, SHMEM_CMP_EQ, round);
    else if (me == reader)
        shmem_long_p(&answer, round, 0);
}

static void put_fence_put(int reader)
{
    static long words[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            fill_words(words, round);
            if (round % 2 != 0)
                shmem_long_put(data, words, WORDS, reader);
            else
                shmem_long_put_nbi(data, words, WORDS, reader);
            shmem_long_p(&other[round % WORDS], round, reader);
            shmem_fence();
            shmem_long_p(&flag, round, reader);
        } else if (me == reader) {
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
            CHECK(has(data, round) && other[round % WORDS] == round);
        }
        answered(reader, round);
        if (me == 0)
            shmem_quiet(); /* before the words change */
    }
}

static void put_fence_atomic(int reader)
{
    static long words[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            fill_words(words, -round);
            shmem_long_put(data, words, WORDS, reader);
            shmem_fence();
            shmem_long_atomic_add(&flag, 1, reader);
        } else if (me == reader) {
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, ROUNDS + round);
            CHECK(has(data, -round));
        }
        answered(reader, ROUNDS + round);
    }
}

static void put_signal(int reader)
{
    static long words[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        const size_t count = round % 3 == 0 ? WORDS : 3;
        if (me == 0) {
            fill_words(words, 7 * round);
            if (round % 2 != 0)
                shmem_long_put_signal(data, words, count, &signal_word, 1, SHMEM_SIGNAL_ADD, reader);
            else
                shmem_long_put_signal_nbi(data, words, count, &signal_word, (uint64_t)round, SHMEM_SIGNAL_SET, reader);
        } else if (me == reader) {
            CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round) == (uint64_t)round);
            for (size_t i = 0; i < count; i++)
                CHECK(data[i] == 7 * round * 1000 + (long)i);
        }
        answered(reader, 2 * ROUNDS + round);
        if (me == 0)
            shmem_quiet();
    }
}

/* Each PE writes, makes that visible, and reads what the other one has written: not both can miss the other's. */
static void quiet_then_read(void)
{
    for (long round = 1; round <= ROUNDS && me < 2; round++) {
        static long mine, seen, result;
        shmem_long_p(&mine, round, 1 - me);
        shmem_quiet();
        seen = shmem_long_g(&mine, me);
        shmem_long_p(&result, seen == round, 1 - me);
        shmem_quiet();
        shmem_long_atomic_inc(&other[0], 1 - me);
        shmem_long_wait_until(&other[0], SHMEM_CMP_GE, 2 * round - 1);
        CHECK(seen == round || result == 1);
        shmem_long_atomic_inc(&other[0], 1 - me);
        shmem_long_wait_until(&other[0], SHMEM_CMP_GE, 2 * round);
    }
}

/* After a quiet a get reads what was put, and what a get without waiting has brought is there. */
static void put_quiet_get(int reader)
{
    static long words[WORDS], back[WORDS];
    for (long round = 1; round <= ROUNDS && me == 0; round++) {
        fill_words(words, 3 * round);
        shmem_long_put_nbi(data, words, WORDS, reader);
        shmem_quiet();
        memset(back, 0, sizeof(back));
        shmem_long_get_nbi(back, data, WORDS, reader);
        shmem_quiet();
        CHECK(has(back, 3 * round));
    }
}

static void test(void)
{
    const int reader = size - 1;
    put_fence_put(reader);
    shmem_barrier_all();
    put_fence_atomic(reader);
    shmem_barrier_all();
    put_signal(reader);
    shmem_barrier_all();
    memset(other, 0, sizeof(other));
    shmem_barrier_all();
    quiet_then_read();
    shmem_barrier_all();
    put_quiet_get(reader);
    shmem_barrier_all();
}
