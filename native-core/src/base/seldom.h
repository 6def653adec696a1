/* SPDX-License-Identifier: Apache-2.0
 * seldom.h - how often progress asks the clock: that costs more than a look at a ring. Between two questions lie as many
 * calls as take a few microseconds now, and never many, because the next calls may be far apart. */
#ifndef VBN_BASE_SELDOM_H
#define VBN_BASE_SELDOM_H

#include <stdint.h>

#define SELDOM_GAP_NS 2000u  /* questions that are closer than this become rarer */
#define SELDOM_EVERY_MAX 64u /* calls between two of them */

typedef struct seldom {
    uint32_t in; /* calls until the next question; the caller counts it down, or sets it to 0 */
    uint32_t every;
    uint64_t asked_ns;
} seldom_t;

/* The clock says now. */
static inline void seldom_asked(seldom_t *seldom, uint64_t now)
{
    if (now - seldom->asked_ns >= SELDOM_GAP_NS || seldom->every == 0)
        seldom->every = 1;
    else if (seldom->every < SELDOM_EVERY_MAX)
        seldom->every *= 2;
    seldom->asked_ns = now;
    seldom->in = seldom->every;
}

#endif
