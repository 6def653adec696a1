/* SPDX-License-Identifier: Apache-2.0
 * verbs_datagram.h - one UD queue pair for all peers of an interface, its receives, and address handles. One thread.
 *
 * A receive is the GRH (40 bytes) and the datagram, placed so that the datagram is aligned to 64.
 * A request that fails (the own link went down) puts the queue pair into an error state, where everything posted comes
 * back; then it is made ready again. What was lost meanwhile is for the layer above to repeat. */
#ifndef VBN_TL_VERBS_DATAGRAM_H
#define VBN_TL_VERBS_DATAGRAM_H

#include "base/list.h"
#include "base/map.h"
#include "tl/verbs/verbs_cq.h"
#include "tl/verbs/verbs_handles.h"
#include "tl/verbs/verbs_send.h"

#define VERBS_REPOST 32u

/* A route to a port, shared by all endpoints there. While its handle is in the making, or failed, `ah` is NULL: what is sent
 * is lost. It lives until the helper has answered, also when nobody has it any more. */
typedef struct verbs_route {
    struct ibv_ah *ah;
    verbs_handle_t *making; /* with the helpers */
    char *problem;          /* failed: why, with the cure; not found any more */
    uint64_t key;
    uint32_t references;
    list_link_t link; /* in datagram->old, and not found any more: nobody has it, or the own port had another address */
    uint64_t last; /* nobody has it: how many datagrams had been taken; it stays until the device is done with them */
} verbs_route_t;

/* A port whose host did not answer when its hardware address was asked for: that takes the kernel a second, so it is not
 * asked again for a while. */
typedef struct verbs_silent {
    uint64_t key;
    uint64_t until_ns; /* 0: unused */
} verbs_silent_t;

#define VERBS_SILENT 16u

typedef struct verbs_datagram {
    verbs_port_t *port;
    verbs_cq_t *cq;
    verbs_slots_t *slots;
    mpool_source_t pages;
    verbs_sq_t sq;
    verbs_block_t rx;
    uint32_t rx_depth, rx_posted, rx_stride;
    uint32_t rx_most;            /* bytes of a datagram */
    uint32_t used[VERBS_REPOST]; /* receives that can be posted again */
    uint32_t used_count;
    uint32_t qkey;
    uint32_t qpn; /* 0: there is none (rdma_cm) */
    map_t routes;
    verbs_handles_t handles;
    bool unsettled, failed; /* handles are in the making, or came and were not told; one of them failed */
    verbs_silent_t silent[VERBS_SILENT];
    unsigned next_silent;
    list_link_t old; /* verbs_route_t.link */
    uint64_t taken;  /* datagrams by verbs_datagram_send */
    bool broken;
} verbs_datagram_t;

/* Takes `depth` datagrams of at most `most` bytes at a time. */
vbn_status_t verbs_datagram_open(verbs_datagram_t *datagram, verbs_port_t *port, verbs_cq_t *cq, verbs_slots_t *slots,
                                 const mpool_source_t *pages, const uint8_t *job_key, uint32_t depth, uint32_t most);
void verbs_datagram_close(verbs_datagram_t *datagram);

/* Waits for a new route's handle for a moment only; endpoints whose route fails later have to end, see verbs_routes_look.
 * VBN_ERR_UNREACHABLE: the host there does not answer. */
vbn_status_t verbs_route_get(verbs_datagram_t *datagram, const verbs_address_t *to, verbs_route_t **route_p);
void verbs_route_put(verbs_datagram_t *datagram, verbs_route_t *route);

/* While `unsettled`, in progress: takes handles that are made. True: routes have failed, their `problem` says why. */
bool verbs_routes_look(verbs_datagram_t *datagram);
void verbs_routes_forget(verbs_datagram_t *datagram); /* those who have one keep it */
/* Frees the routes that nobody has, no request in the device's hands names and no helper works on. */
void verbs_routes_sweep(verbs_datagram_t *datagram);
void verbs_routes_open(verbs_datagram_t *datagram);
void verbs_routes_close(verbs_datagram_t *datagram); /* the queue pair is gone */

/* The slot's buffer holds `bytes`. The route has its handle. */
void verbs_datagram_send(verbs_datagram_t *datagram, verbs_slot_t *slot, uint32_t bytes, const verbs_route_t *route,
                         uint32_t qpn);
void verbs_datagram_flush(verbs_datagram_t *datagram);
/* A completion of this queue pair. Send side: done here, NULL. Receive side: the datagram, until _release(). */
const uint8_t *verbs_datagram_completion(verbs_datagram_t *datagram, const struct ibv_wc *wc, uint32_t *bytes_p);
void verbs_datagram_release(verbs_datagram_t *datagram, uint64_t number);
/* At the end of progress while `broken`: starts again when everything has come back. */
void verbs_datagram_restart(verbs_datagram_t *datagram);

static inline bool verbs_datagram_owns(const verbs_datagram_t *datagram, const struct ibv_wc *wc)
{
    return wc->qp_num == datagram->qpn;
}

#endif
