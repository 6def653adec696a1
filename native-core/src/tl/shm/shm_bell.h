/* SPDX-License-Identifier: Apache-2.0
 * shm_bell.h - how the producers of rings that nobody polls get a worker's attention: one page per interface, a bit per
 * ring, written by all its peers.
 *
 *   consumer                                        producer
 *   flag of the ring = SHM_COLD, full barrier       publishes the packet, (barrier), reads the flag
 *   ring empty? then it is polled no more           COLD: clears the flag, sets its bit in the bell, reads `asleep`
 *   each turn: one word for 64 rings; a bit set?    asleep: wakes by the socket
 *   then its ring is polled again
 *   before it sleeps: asleep = 1, words still 0?
 *
 * Both pairs are Dekker's protocol, so either the consumer sees the packet (the bit) or the producer the flag (asleep).
 * A peer can set and clear the bits of others: bits too many cost a look, and rings whose bit was taken away are found by
 * the round of shm_hot.c, or by the wake-up on their own socket. */
#ifndef VBN_TL_SHM_BELL_H
#define VBN_TL_SHM_BELL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"
#include "base/status.h"

#define SHM_BELL_PAGE 4096u
#define SHM_BELL_WORDS 496u
#define SHM_BELL_RINGS (SHM_BELL_WORDS * 64u)
#define SHM_BELL_NONE UINT32_MAX

typedef struct shm_bell {
    _Atomic uint32_t asleep; /* written by the consumer alone, as far as peers are honest */
    uint8_t pad[124];
    _Atomic uint64_t words[SHM_BELL_WORDS];
} shm_bell_t;

_Static_assert(sizeof(shm_bell_t) == SHM_BELL_PAGE, "bell layout");

/* Producer: sets the bit. True: the consumer sleeps. */
static inline bool shm_bell_set(shm_bell_t *bell, uint32_t index)
{
    (void)atomic_fetch_or_explicit(&bell->words[index / 64], UINT64_C(1) << index % 64, memory_order_seq_cst);
    return atomic_get_seq(&bell->asleep) != 0; /* pairs with shm_bell_quiet */
}

/* Consumer: takes all bits of a word. Acquire pairs with shm_bell_set: the packets are there. */
static inline uint64_t shm_bell_take(shm_bell_t *bell, uint32_t word)
{
    if (atomic_get_relaxed(&bell->words[word]) == 0)
        return 0;
    return atomic_exchange_explicit(&bell->words[word], 0, memory_order_acquire);
}

/* Consumer, after asleep = 1 (seq_cst): no bit is set in the first `words` words. */
static inline bool shm_bell_quiet(const shm_bell_t *bell, uint32_t words)
{
    for (uint32_t i = 0; i < words; i++)
        if (atomic_get_seq(&bell->words[i]) != 0)
            return false;
    return true;
}

#endif
