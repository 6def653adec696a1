/* SPDX-License-Identifier: Apache-2.0
 * link_select.h - which transport a peer gets, and the sentence that says why. Pure functions. */
#ifndef VBN_LINK_SELECT_H
#define VBN_LINK_SELECT_H

#include <stdbool.h>

#include "base/status.h"

#define LINK_REASON_BYTES 160
#define LINK_EXPLAIN_BYTES 512

/* One transport of this worker, in the order of tl.enable. */
typedef struct link_candidate {
    const char *name;
    bool offered;        /* the peer's address has a section for it */
    bool later;          /* a peer is promoted to it when it is worth it */
    vbn_status_t status; /* of reachable(), when offered */
    char reason[LINK_REASON_BYTES];
} link_candidate_t;

/* Index of the first candidate that is reachable and not for later, or -1. text gets one clause per candidate: the chosen one
   first. */
int link_select(const link_candidate_t *candidates, unsigned count, char *text, size_t capacity);
/* Position of `name` in the comma-separated list, or -1. */
int link_list_position(const char *list, const char *name);

#endif
