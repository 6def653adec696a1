/* SPDX-License-Identifier: Apache-2.0
 * claim.h - who copies which chunk of a transfer that both processes of a same-host pair copy together.
 *
 * A claim is one 64-bit word in memory that both map. Its maker takes chunks from the front, the helper from the back,
 * until they meet:
 *
 *   bits 0-19 front   chunks taken by the maker       bit 40 busy     the helper copies just now
 *   20-39     back    chunks taken by the helper      bit 41 closed   nothing can be taken any more
 *                                                     42-63 tag       of the transfer: a late helper finds it changed
 *
 * The other process may write anything: each function returns an index below `total` or CLAIM_NONE and ends after a
 * bounded number of tries. The word orders nothing but itself; the data is ordered by the message that reports it. */
#ifndef VBN_TL_CLAIM_H
#define VBN_TL_CLAIM_H

#include <stdbool.h>

#include "base/atomics.h"

#define CLAIM_NONE UINT32_MAX
#define CLAIM_CHUNKS_MAX ((1u << 20) - 1u)
#define CLAIM_TAG_MASK 0x3fffffu
#define CLAIM_BUSY (UINT64_C(1) << 40)
#define CLAIM_CLOSED (UINT64_C(1) << 41)
#define CLAIM_TRIES 1000u

static inline uint32_t claim_front_of(uint64_t word)
{
    return (uint32_t)word & CLAIM_CHUNKS_MAX;
}

static inline uint32_t claim_back_of(uint64_t word)
{
    return (uint32_t)(word >> 20) & CLAIM_CHUNKS_MAX;
}

static inline bool claim_is_open(uint64_t word, uint32_t tag, uint32_t total)
{
    return (uint32_t)(word >> 42) == tag && (word & CLAIM_CLOSED) == 0 &&
           claim_front_of(word) + claim_back_of(word) < total;
}

/* Maker: starts a transfer. tag <= CLAIM_TAG_MASK. */
static inline void claim_open(_Atomic uint64_t *word, uint32_t tag)
{
    atomic_set_release(word, (uint64_t)tag << 42);
}

static inline bool claim_change(_Atomic uint64_t *word, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

/* Maker: the next chunk from the front. */
static inline uint32_t claim_front(_Atomic uint64_t *word, uint32_t tag, uint32_t total)
{
    for (unsigned i = 0; i < CLAIM_TRIES; i++) {
        uint64_t now = atomic_get_relaxed(word);
        if (!claim_is_open(now, tag, total))
            return CLAIM_NONE;
        if (claim_change(word, now, now + 1))
            return claim_front_of(now);
    }
    return CLAIM_NONE;
}

/* Helper: the next chunk from the back; claim_release follows when it is copied. */
static inline uint32_t claim_back(_Atomic uint64_t *word, uint32_t tag, uint32_t total)
{
    for (unsigned i = 0; i < CLAIM_TRIES; i++) {
        uint64_t now = atomic_get_relaxed(word);
        if (!claim_is_open(now, tag, total))
            return CLAIM_NONE;
        if (claim_change(word, now, (now + (UINT64_C(1) << 20)) | CLAIM_BUSY))
            return total - 1 - claim_back_of(now);
    }
    return CLAIM_NONE;
}

/* Helper: true when more could be taken. */
static inline bool claim_release(_Atomic uint64_t *word, uint32_t tag, uint32_t total)
{
    for (unsigned i = 0; i < CLAIM_TRIES; i++) {
        uint64_t now = atomic_get_relaxed(word);
        if ((uint32_t)(now >> 42) != tag || claim_change(word, now, now & ~CLAIM_BUSY))
            return claim_is_open(now, tag, total);
    }
    return false;
}

/* Maker: nothing can be taken any more; returns what had been. */
static inline uint64_t claim_close(_Atomic uint64_t *word)
{
    return atomic_fetch_or_explicit(word, CLAIM_CLOSED, memory_order_acq_rel);
}

#endif
