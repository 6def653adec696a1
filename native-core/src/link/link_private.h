/* SPDX-License-Identifier: Apache-2.0
 * link_private.h - the layer's records, and the functions below its three rooms. A room's own functions are in lane/lane.h,
 * flow/flow.h and peer/peer.h: `flow` may call `lane`, `peer` both, `link_engine.c` all. Upwards they raise
 * link_events_t. */
#ifndef VBN_LINK_PRIVATE_H
#define VBN_LINK_PRIVATE_H

#include "base/fifo.h"
#include "base/fork.h"
#include "base/hot.h"
#include "base/map.h"
#include "base/mpool.h"
#include "base/os.h"
#include "link/flow/record.h"
#include "link/lane/record.h"
#include "link/link.h"
#include "link/link_engine.h"
#include "link/link_select.h"
#include "link/peer/record.h"

_Static_assert(LINK_TRANSPORTS <= 16, "an index fits into four bits of a lane");

/* ------------------------------------------------------------------------------------ link_engine.c */

/* As link_engine_open with these transports (tests bring their own). */
vbn_status_t link_engine_open_with(const link_params_t *params, const tl_ops_t *const *table, unsigned table_count,
                                   link_engine_t **engine_p);
static inline uint64_t link_now_ns(const link_engine_t *engine)
{
    return os_clock_ns(engine->params.clock);
}

/* ------------------------------------------------------------------------------------- link_clock.c */

vbn_status_t link_fork_check(const link_engine_t *engine);
void link_arq_arm(link_arq_t *arq, uint64_t due_ns);
/* Arms the peer's timer unless it is armed for `due_ns` or earlier. Each packet that is kept asks. */
static inline void link_arq_wake_at(link_arq_t *arq, uint64_t due_ns)
{
    if (due_ns != LINK_NEVER && (arq->timer_ns == 0 || arq->timer_ns > due_ns))
        link_arq_arm(arq, due_ns);
}

/* --------------------------------------------------------------------------------- link_abilities.c */

bool link_is_costly(const link_engine_t *engine, unsigned transport);
bool link_promotes(const link_engine_t *engine); /* peers may get lanes over a costly transport */
/* Whether packets over this transport, a reliable one, are to be kept until acknowledged. */
bool link_keeps_wanted(const link_engine_t *engine, unsigned transport);

static inline const tl_ops_t *link_lane_ops(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].ops;
}
static inline const tl_caps_t *link_lane_caps(const link_lane_t *lane) /* of the transport, not of its endpoint */
{
    return link_lane_ops(lane)->caps(lane->engine->transports[lane->transport].iface);
}
static inline const char *link_lane_name(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].name;
}

/* ------------------------------------------------------------------------------------- link_group.c */

void link_group_rx(tl_group_t *group, uint64_t source, const void *payload, uint32_t bytes);
void link_group_close(link_engine_t *engine); /* the transports are closed */

/* -------------------------------------------------------------------------------------- link_wait.c */

/* Looks on for a moment if that pays; true: there is something to do. */
bool link_wait_look(link_engine_t *engine);

/* ------------------------------------------------------------------------------- link_peer_record.c */

/* why: the sentence that says why the transport was chosen, NULL: none. address: kept for link_peer_address(); NULL: not. */
vbn_status_t link_peer_new(link_engine_t *engine, uint64_t uid, const char *why, const link_blob_t *address,
                           vbn_peer_t **peer_p);
/* The address that link_peer_new was given, decoded. Only if peer->dials. */
vbn_status_t link_peer_address(const vbn_peer_t *peer, link_address_t *address);
link_blob_t link_peer_blob(const vbn_peer_t *peer); /* the same, not decoded */
link_extra_t *link_extra(vbn_peer_t *peer);         /* NULL: no memory */
/* Why the peer was lost, or why its connection broke that is being resumed; `otherwise` when nothing is known. */
const char *link_lost_text(const vbn_peer_t *peer, const char *otherwise);
void link_set_lost_text(vbn_peer_t *peer, const char *text); /* copied; NULL: nothing */
/* Why it uses the transport that it uses. */
void link_peer_why(const vbn_peer_t *peer, char *text, size_t capacity);
void link_closing_stop(vbn_peer_t *peer); /* the time-out of its close */
/* The peer's next packet is checked in full, because its state or its owner has changed. */
static inline void link_peer_listen(vbn_peer_t *peer)
{
    if (peer->lane != NULL)
        peer->lane->rx_room = 0;
}
static inline void link_set_window(vbn_peer_t *peer, uint32_t window)
{
    peer->window = window;
    peer->owed_most = window / 4;
}
static inline bool link_credit_ack_valid(const vbn_peer_t *peer, uint32_t ack)
{
    return ack - peer->tx_acked <= peer->tx_next - peer->tx_acked;
}

/* -------------------------------------------------------------------------------- link_peer_later.c */

void link_peer_to_ending(vbn_peer_t *peer); /* out of the map; it ends in the next progress */
void link_peer_end_later(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* ----------------------------------------------------------------------------------- peer/events.c */

/* Ends a peer: everything pending completes with status, upper layer and user are told, the lane goes. Only within
 * progress. counted: a loss, not an orderly end. */
static inline void link_peer_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted)
{
    peer->engine->events->peer_dead(peer, status, text, counted);
}

#endif
