/* SPDX-License-Identifier: Apache-2.0
 * loop_tl.h - a transport within the process for the link tests: seeded delivery order, "busy", tampering, death. */
#ifndef LOOP_TL_H
#define LOOP_TL_H

#include "tl/tl.h"

extern const tl_ops_t loop_ops;
extern const tl_ops_t loop2_ops; /* another one of the same kind, with smaller packets */

typedef struct loop_control {
    uint64_t seed;       /* order of delivery across endpoints, and luck */
    unsigned busy_1_of;  /* every so many sends answer BUSY; 0 never */
    unsigned later_1_of; /* every so many sends with a cookie complete later; 0 never */
    /* Sees and may change each packet's header when it is sent; *bytes may shrink. false: the connection dies here. */
    bool (*packet)(void *arg, uint8_t *header, uint32_t *bytes);
    void *arg;
    bool unsettled;       /* a helper copies into memory of this side */
    unsigned waits;       /* disconnects meanwhile: there a transport has to wait */
    const tl_ops_t *dies; /* its connections die with the first packet; NULL: none */
} loop_control_t;

extern loop_control_t loop_control;

#endif
