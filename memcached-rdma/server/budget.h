/* SPDX-License-Identifier: Apache-2.0
 * budget.h - what one client may do before its thread goes on with the others.
 *
 * A turn of a connection runs at most -R commands, and moves at most TURN_BYTES in each direction: then the connection yields, and
 * goes on after every other one that is ready. The last step of a turn may go beyond by itself: one key, one command. */
#ifndef MC_SERVER_BUDGET_H
#define MC_SERVER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#define TURN_BYTES ((size_t)256 << 10)
#define TURN_KEY_BYTES 512u /* what looking up a key of a list counts for, beside its answer */
#define TURN_LINES 256u     /* lines of statistics that are written at once */

typedef struct budget {
    unsigned commands_most, commands; /* -R; how many have begun */
    size_t taken;                     /* bytes of values that were read, and of keys */
    size_t sent;
} budget_t;

/* The turn may begin another command, or go on with one. */
static inline bool budget_allows(const budget_t *budget)
{
    return budget->taken < TURN_BYTES;
}

#endif
