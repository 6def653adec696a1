/* SPDX-License-Identifier: Apache-2.0
 * A PE that changes a word in a loop, or tests a lock, while the word's owner shares memory with it and sleeps, still serves
 * the PEs of other nodes: none of these calls needs the network.
 * PEs: 4 hosts tcp
 */
#include "rule.h"

#include <unistd.h>

#define LATER_US 20000 /* until the owner sleeps and PE 0 is in its loop */
#define ROUNDS 10      /* a helper thread of PE 0 may come in between by luck */
#define HOMES 4        /* locks that lie one after the other have different homes */

static long word;
static long locks[HOMES];
static long go;
static long told;
static int sleeper; /* shares memory with PE 0 */
static int teller;  /* does not */

/* The first PE but 0 that shares memory with PE 0, or does not; otherwise: when there is none. */
static int first(int shares, int otherwise)
{
    for (int pe = 1; pe < size; pe++)
        if ((shmem_ptr(&word, pe) != NULL) == shares)
            return pe;
    return otherwise;
}

static void choose(void)
{
    if (me == 0) {
        sleeper = first(1, 1);
        teller = first(0, sleeper == size - 1 ? 1 : size - 1);
        for (int pe = 1; pe < size; pe++) {
            shmem_int_p(&sleeper, sleeper, pe);
            shmem_int_p(&teller, teller, pe);
        }
    }
    shmem_barrier_all();
}

static void change_until_told(void)
{
    while (shmem_long_atomic_fetch(&told, 0) == 0)
        shmem_long_atomic_inc(&word, sleeper);
}

static void test_until_free(long *lock)
{
    while (shmem_test_lock(lock) != 0)
        ;
    CHECK(shmem_long_atomic_fetch(&told, 0) == 1);
    shmem_clear_lock(lock);
}

/* lock: NULL: PE 0 changes the word until it is told; otherwise: it tests the teller's lock until that is free. */
static void spin(long *lock)
{
    if (me == teller && lock != NULL)
        shmem_set_lock(lock);
    go = told = 0;
    shmem_barrier_all();
    if (me == 0) {
        if (lock == NULL)
            change_until_told();
        else
            test_until_free(lock);
        shmem_long_p(&go, 1, sleeper);
    } else if (me == teller) {
        usleep(LATER_US);
        CHECK(shmem_long_atomic_fetch_inc(&told, 0) == 0);
        if (lock != NULL)
            shmem_clear_lock(lock);
    } else if (me == sleeper) {
        shmem_long_wait_until(&go, SHMEM_CMP_EQ, 1);
    }
    shmem_barrier_all();
}

static void test(void)
{
    choose();
    for (int round = 0; round < ROUNDS; round++) {
        spin(NULL);
        for (int i = 0; i < HOMES; i++)
            spin(&locks[i]);
    }
}
