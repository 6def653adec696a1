/* SPDX-License-Identifier: Apache-2.0
 * guard.h - who writes into memory of a same-host peer says so, and the owner can wait for the end of it.
 *
 * Two words in memory that both map, each on a line that only one side writes while the connection lives:
 *
 *   writer                                    owner, once, when it takes its memory back
 *   writing = 1                               shut = 1
 *   shut? then writing = 0, no access         waits until writing == 0, or the writer has ended
 *   copies
 *   writing = 0
 *
 * Dekker's protocol: both store before they look, seq_cst. An entry touches no line that the owner has changed since the last
 * one, so it costs a fence. The peer may write anything into both words: the owner's wait has its own end. */
#ifndef VBN_TL_GUARD_H
#define VBN_TL_GUARD_H

#include <stdbool.h>

#include "base/atomics.h"

typedef struct guard {
    _Atomic uint32_t *writing;
    _Atomic uint32_t *shut;
} guard_t;

/* Writer. False: the owner has taken its memory back; else guard_leave follows, soon. */
static inline bool guard_enter(const guard_t *guard)
{
    atomic_set_seq(guard->writing, 1);
    if (atomic_get_seq(guard->shut) == 0) /* pairs with guard_shut */
        return true;
    atomic_set_release(guard->writing, 0);
    return false;
}

static inline void guard_leave(const guard_t *guard)
{
    atomic_set_release(guard->writing, 0); /* what was written is seen by who sees this */
}

/* Owner: nobody enters any more. True: nobody is inside either. May be called again. */
static inline bool guard_shut(const guard_t *guard)
{
    atomic_set_seq(guard->shut, 1);
    return atomic_get_seq(guard->writing) == 0; /* pairs with guard_enter and guard_leave */
}

#endif
