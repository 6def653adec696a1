/* SPDX-License-Identifier: Apache-2.0
 * lock.c - locks: a queue of PEs, first come, first served (MCS). The symmetric word of a lock has two halves:
 *
 *     low   at the lock's home PE: 1 + the last PE of the queue; 0: the lock is free
 *     high  at each PE: 1 + the PE behind it, and WAITS while it waits; it waits for its own word
 */
#include "shmem/src/entry.h"
#include "shmem/src/far.h"

#define WAITS 0x80000000u

static uint32_t *low(long *lock)
{
    return (uint32_t *)(void *)lock;
}

static uint32_t *high(long *lock)
{
    return low(lock) + 1;
}

/* Locks have different homes. */
static int home(const long *lock, const char *function)
{
    int region;
    size_t offset = 0;
    shm_check_ready(function);
    if (!shm_locate(lock, sizeof(*lock), &region, &offset))
        (void)shm_find_near(lock, sizeof(*lock), shm.pe, function); /* says what is wrong */
    return (int)(offset / sizeof(long) % (size_t)shm.pes);
}

static uint32_t change(uint32_t *word, unsigned kind, uint32_t operand, uint32_t compare, int pe, const char *function)
{
    return (uint32_t)shm_fetch(&shm_default, kind, 4, word, operand, compare, pe, function);
}

void shm_set_lock(long *lock, const char *function)
{
    const int at = home(lock, function);
    const uint32_t me = (uint32_t)shm.pe + 1;
    const uint32_t none = 0;
    __atomic_store_n(high(lock), WAITS, __ATOMIC_RELEASE);
    const uint32_t before = change(low(lock), VBN_ATOMIC_SWAP, me, 0, at, function);
    if (before == none) {
        __atomic_fetch_and(high(lock), ~WAITS, __ATOMIC_ACQ_REL);
        return;
    }
    (void)change(high(lock), VBN_ATOMIC_OR, me, 0, (int)before - 1, function);
    const uint32_t limit = WAITS;
    shm_wait(SHM_ONE(high(lock), 4, SHMEM_CMP_LT, &limit), function);
}

int shm_test_lock(long *lock, const char *function)
{
    const int at = home(lock, function);
    __atomic_store_n(high(lock), 0, __ATOMIC_RELEASE); /* it is not in the queue */
    if (change(low(lock), VBN_ATOMIC_CAS, (uint32_t)shm.pe + 1, 0, at, function) == 0)
        return 0;
    shm_look();
    return 1;
}

void shm_clear_lock(long *lock, const char *function)
{
    const int at = home(lock, function);
    const uint32_t me = (uint32_t)shm.pe + 1;
    const uint32_t none = 0;
    shm_quiet(&shm_default);
    if (__atomic_load_n(high(lock), __ATOMIC_ACQUIRE) == none) {
        const uint32_t last = change(low(lock), VBN_ATOMIC_CAS, 0, me, at, function);
        if (last == me)
            return;
        if (last == none)
            shm_fatal(function, "the lock at %p is not set", (void *)lock);
        shm_wait(SHM_ONE(high(lock), 4, SHMEM_CMP_NE, &none), function);
    }
    const uint32_t next = __atomic_exchange_n(high(lock), 0, __ATOMIC_ACQ_REL);
    (void)change(high(lock), VBN_ATOMIC_AND, ~WAITS, 0, (int)next - 1, function);
    shm_quiet(&shm_default);
}
