/* SPDX-License-Identifier: Apache-2.0
 * The deprecated collectives of active sets: all PEs, every second one, those of a half; several sets at the same time.
 * PEs: 1 2 4 5 hosts
 */
#include "rule.h"

static long sync_words[SHMEM_SYNC_SIZE];
static int in[64], out[64];
static long wide[64], wide_out[64];
static int work[64];

static int is_in(int start, int log, int count)
{
    const int distance = me - start;
    return distance >= 0 && distance % (1 << log) == 0 && distance >> log < count;
}

static void collect_and_sum(int start, int log, int count)
{
    const int at = (me - start) >> log;
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += start + (i << log);
    in[0] = me;
    shmem_int_sum_to_all(out, in, 1, start, log, count, work, sync_words);
    CHECK(out[0] == sum);
    shmem_fcollect32(out, in, 1, start, log, count, sync_words);
    for (int i = 0; i < count; i++)
        CHECK(out[i] == start + (i << log));
    for (int i = 0; i <= at; i++)
        wide[i] = 100 * me + i;
    shmem_collect64(wide_out, wide, (size_t)at + 1, start, log, count, sync_words);
    for (int i = 0, place = 0; i < count; i++)
        for (int element = 0; element <= i; element++)
            CHECK(wide_out[place++] == 100 * (start + (i << log)) + element);
}

static void broadcast_and_exchange(int start, int log, int count)
{
    const int at = (me - start) >> log;
    for (int root = 0; root < count; root++) {
        wide[0] = me;
        wide_out[0] = -1;
        shmem_broadcast64(wide_out, wide, 1, root, start, log, count, sync_words);
        CHECK(wide_out[0] == (at == root ? -1 : start + (root << log)));
        shmem_barrier(start, log, count, sync_words);
    }
    for (int i = 0; i < 2 * count; i++)
        in[i] = me * 100 + i;
    shmem_alltoall32(out, in, 2, start, log, count, sync_words);
    for (int i = 0; i < 2 * count; i++)
        CHECK(out[i] == (start + (i / 2 << log)) * 100 + 2 * at + i % 2);
    shmem_alltoalls64(wide_out, wide, 1, 1, 1, start, log, count, sync_words);
    (shmem_sync)(start, log, count, sync_words);
}

static void test_set(int start, int log, int count)
{
    for (int i = 0; is_in(start, log, count) && i < 20; i++) {
        collect_and_sum(start, log, count);
        broadcast_and_exchange(start, log, count);
    }
}

static void test(void)
{
    test_set(0, 0, size);
    test_set(0, 1, (size + 1) / 2);
    test_set(size / 2, 0, size - size / 2);
    test_set(0, 0, size / 2 == 0 ? 1 : size / 2);
    shmem_barrier_all();
}
