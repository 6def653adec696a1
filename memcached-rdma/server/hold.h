/* SPDX-License-Identifier: Apache-2.0
 * hold.h - memory that clients of a thread hold longer than a turn, in the order in which they began. */
#ifndef MC_SERVER_HOLD_H
#define MC_SERVER_HOLD_H

#include <stdint.h>

#include "base/atomics.h"
#include "base/list.h"

/* Of one client; all zero: it holds nothing. */
typedef struct hold {
    list_link_t link;
    uint64_t bytes; /* 0: not in the list */
} hold_t;

typedef struct holds {
    list_link_t list;       /* the client that has held longest comes first */
    _Atomic uint64_t bytes; /* of all; written by their thread, read by any, as is the most so far */
    _Atomic uint64_t most;
} holds_t;

void holds_init(holds_t *holds);
static inline uint64_t holds_bytes(holds_t *holds)
{
    return atomic_get_relaxed(&holds->bytes);
}
/* The client holds so many bytes from now on, and keeps its place; 0: nothing more. */
void hold_set(holds_t *holds, hold_t *hold, uint64_t bytes);
/* Who has held longest; NULL: nobody holds anything. */
hold_t *hold_oldest(const holds_t *holds);

#endif
