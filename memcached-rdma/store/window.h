/* SPDX-License-Identifier: Apache-2.0
 * window.h - the choice of neighbouring extents to empty next, and claims, which keep emptied ones together until they are taken.
 *
 * The rule: the extent that has been longest in memory goes first, a segment or a large item alike, whichever shard has it; a
 * large item that was read since the last look at it stays for another round. Where more neighbouring space is needed than it
 * has, its neighbours go with it, the older side first. Of the windows around the oldest the cheapest is
 * emptied: bytes times age counts. Index extents and what is pinned bound a window.
 *
 * W1 an extent that is claimed belongs to one window, is in no other, and is held when it is released. W2 whoever has
 * claimed a window ends it by window_take. */
#ifndef MC_STORE_WINDOW_H
#define MC_STORE_WINDOW_H

#include "store/pool.h"

typedef struct window {
    uint32_t from, to; /* grains */
} window_t;

/* Claims what has to be emptied for so many neighbouring grains. avoid: bits of shards whose extents stay. False: everything
 * is pinned. */
bool window_claim(pool_t *pool, extent_kind_t kind, uint32_t grains, uint64_t avoid, window_t *window);
/* The next extent that is not held yet, from grain *at on, which moves on; NULL: there is none. */
extent_t *window_next(pool_t *pool, const window_t *window, uint32_t *at);
/* Ends the claim. The extent for the caller when all of the window was emptied (grains 0: none is wanted), else NULL. */
extent_t *window_take(pool_t *pool, const window_t *window, struct shard *shard, extent_kind_t kind, uint32_t grains);

#endif
