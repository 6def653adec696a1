/* SPDX-License-Identifier: Apache-2.0
 * verbs_iface.h - what the interfaces of rc and ud have in common: port, completion queue, send slots, one datagram queue
 * pair. One thread. */
#ifndef VBN_TL_VERBS_IFACE_H
#define VBN_TL_VERBS_IFACE_H

#include "base/hot.h"
#include "tl/tl.h"
#include "tl/verbs/verbs_datagram.h"

#define VERBS_LOOK_TURNS 1024u /* turns of progress between two looks at the device's events; a caller may count more */

typedef struct verbs_iface {
    verbs_port_t port;
    verbs_cq_t cq;
    verbs_slots_t slots;
    verbs_datagram_t datagram;
    verbs_address_t address;
    mpool_source_t pages;
    uint32_t receives; /* of others: the most */
    unsigned turns;
    bool cm; /* connections by rdma_cm */
} verbs_iface_t;

typedef struct verbs_sizes {
    uint32_t datagrams; /* receives of the datagram queue pair */
    uint32_t receives;  /* of others, if the device has room for their completions */
    uint32_t receives_least;
    uint32_t slots;       /* send requests of all queue pairs together */
    uint32_t large_bytes; /* of a large send buffer */
    bool signals_only;    /* datagrams only make connections: none where rdma_cm does */
} verbs_sizes_t;

vbn_status_t verbs_iface_open(verbs_iface_t *iface, const tl_params_t *params, const verbs_sizes_t *sizes);
void verbs_iface_close(verbs_iface_t *iface);
vbn_status_t verbs_iface_address(const verbs_iface_t *iface, void *buffer, size_t *length_p);
vbn_status_t verbs_iface_reachable(const verbs_iface_t *iface, const void *bytes, size_t length, char *reason,
                                   size_t capacity);
/* What connect() is given: decoded, if it can be reached. */
vbn_status_t verbs_iface_target(const verbs_iface_t *iface, const void *bytes, size_t length, verbs_address_t *to);
/* True when the port has changed: from now on the interface has its new address, and all endpoints have to end. */
bool verbs_iface_moved(verbs_iface_t *iface);
/* True when it is time to look at the device's events, counted by the caller's turns. */
static inline bool verbs_iface_look(verbs_iface_t *iface)
{
    if (LIKELY(++iface->turns < VERBS_LOOK_TURNS))
        return false;
    iface->turns = 0;
    return true;
}
/* Counts a payload that was copied on its way. */
static inline void verbs_count_copy(const verbs_iface_t *iface, uint64_t bytes)
{
    counter_add(iface->slots.counters, COUNTER_VERBS_COPIED_BYTES, bytes);
}

#endif
