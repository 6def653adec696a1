/* SPDX-License-Identifier: Apache-2.0
 * link_private.h - all records of the layer, and its functions. */
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
#include "link/link_arq.h"
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
/* Arms the peer's timer if `due_ns` is before what it is armed for. */
void link_arq_wake_at(link_arq_t *arq, uint64_t due_ns);

/* --------------------------------------------------------------------------------- link_abilities.c */

bool link_is_costly(const link_engine_t *engine, unsigned transport);
bool link_promotes(const link_engine_t *engine); /* peers may get lanes over a costly transport */
/* Whether packets over this transport, a reliable one, are to be kept until acknowledged. */
bool link_keeps_wanted(const link_engine_t *engine, unsigned transport);

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
/* What link_peer_new was given, decoded: where to dial again. Only if peer->dials. */
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

/* -------------------------------------------------------------------------------- link_peer_later.c */

void link_peer_to_ending(vbn_peer_t *peer); /* out of the map; it ends in the next progress */
void link_peer_end_later(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* -------------------------------------------------------------------------------------- peer/peer.c */

/* Ends a peer: everything pending completes with status, upper layer and user are told, the lane goes. Only within
 * progress. counted: a loss, not an orderly end. */
void link_peer_end(vbn_peer_t *peer, vbn_status_t status, const char *text, bool counted);
/* Asked of a peer that ends now: its process writes into memory of operations here. Then link_peer_end only makes it
 * ENDING, and it ends in the progress that finds this over (after a second at most). */
bool link_still_copied(const vbn_peer_t *peer);
vbn_status_t link_closing_start(vbn_peer_t *peer);
void link_peer_kill(vbn_peer_t *peer); /* a peer that nobody has seen: no upcalls */
void link_peer_reap(link_engine_t *engine);
void link_peer_run_imports(vbn_peer_t *peer); /* READY: starts the imports that waited */

/* -------------------------------------------------------------------------------------- lane/lane.c */

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

vbn_status_t link_lane_new(link_engine_t *engine, unsigned transport, bool initiator, link_lane_t **lane_p);
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode);
void link_lane_drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode);
/* Without its endpoint; the lane itself goes too unless a peer has it. */
void link_lane_drop(link_lane_t *lane, vbn_close_mode_t mode);
void link_lane_stop_timers(link_lane_t *lane);
/* The capabilities that the layer above sees for its peer while this lane carries it. */
const tl_caps_t *link_lane_shown_caps(const link_lane_t *lane);
void link_lane_take_transport(link_lane_t *lane, unsigned transport);
void link_handshake_free(link_handshake_t *hs); /* NULL: nothing */
void link_lane_stranger_gone(link_lane_t *lane);
/* A lane broke: its peer resumes over another one if it may, else it is lost. */
void link_lane_broke(link_lane_t *lane, vbn_status_t status, const char *text);
/* Ends a lane that cannot go on; its peer, if it has one, is lost. */
void link_lane_fail(link_lane_t *lane, vbn_status_t status, const char *text);
void link_lane_bind(link_lane_t *lane, vbn_peer_t *peer, uint64_t epoch);
/* Bound to its peer it counts for link.promoted_max. */
void link_lane_count_costly(link_lane_t *lane);
void link_lane_uncount_costly(link_lane_t *lane);
/* No lane works: the peer resumes, or is lost. */
void link_peer_broke(vbn_peer_t *peer, vbn_status_t status, const char *text);

/* ----------------------------------------------------------------------------------- lane/control.c */

void link_control_send(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes);
void link_control_retry(wheel_timer_t *timer);
/* Tells the peer why and closes; the lane's own peer, if any, is handled by the caller. */
void link_control_reject(link_lane_t *lane, link_reason_t reason);
void link_control_count(link_lane_t *lane, vbn_status_t status, const char *text);
/* This side finds the other's packet wrong (err_text() says why): counts, tells, ends. */
void link_control_refuse(link_lane_t *lane, vbn_status_t status, link_reason_t reason);
void link_wireup_resume(link_lane_t *lane); /* the transport has room again */
/* Datagrams: a wire-up packet that repeats an earlier one is answered as that was, one that fits nothing is ignored. */
bool link_wireup_repeated(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);

/* ------------------------------------------------------------------------------------ lane/wireup.c */

vbn_status_t link_wireup_start(link_lane_t *lane, uint64_t target_uid);
void link_wireup_rx(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes);
void link_lane_check_ready(link_lane_t *lane);

/* ----------------------------------------------------------------------------------- peer/connect.c */

vbn_status_t link_dial(link_engine_t *engine, const link_address_t *address, unsigned transport, vbn_peer_t *peer);
/* Dials a dormant peer. A failure ends it, not before the next progress. */
void link_connect_now(vbn_peer_t *peer);
/* One lane more to a peer that is ready. */
vbn_status_t link_dial_more(vbn_peer_t *peer, const link_address_t *address, unsigned transport);
/* The transport self has two endpoints per connection: what arrives at the second belongs to the same peer. */
void link_self_accept(link_lane_t *lane);
void link_self_end(vbn_peer_t *peer);

/* ------------------------------------------------------------------------------------ lane/redial.c */

/* The address of a new peer, in case its connection has to be dialled again. */
vbn_status_t link_redial_keep(link_lane_t *lane, const link_blob_t *address);
/* The lane's connection has ended. false: it is not dialled again. */
bool link_redial_begin(link_lane_t *lane, vbn_status_t status, const char *text);
void link_redial(link_lane_t *lane); /* the timer; the peer may have ended afterwards */

/* ------------------------------------------------------------------------------------- flow/rails.c */

/* The lane for a packet; NULL: none can take it now. The peer has at least one. */
link_lane_t *link_rails_choose(const vbn_peer_t *peer, const link_node_t *node);
link_lane_t *link_rails_first(const vbn_peer_t *peer);  /* the best one that can send, else NULL */
link_lane_t *link_rails_answer(const vbn_peer_t *peer); /* that by which the peer was heard, if it can send */
void link_rails_ask(vbn_peer_t *peer);                  /* asks for an ACK over every lane */
bool link_rails_others(const vbn_peer_t *peer, const link_lane_t *lane); /* a ready lane besides this one? */
unsigned link_rails_count(const vbn_peer_t *peer, int transport);        /* -1: all */
void link_rails_add(link_lane_t *lane, vbn_peer_t *peer);                /* a lane in wire-up joins the peer's */
void link_rails_ready(link_lane_t *lane);
void link_rails_unlink(link_lane_t *lane);
/* The lane is gone, others are there: what it had taken goes over them. The peer may have ended afterwards. */
void link_rails_lose(link_lane_t *lane, const char *text);
void link_rails_later(vbn_peer_t *peer);                       /* the next attempt to open a lane waits */
void link_rails_free(vbn_peer_t *peer, vbn_close_mode_t mode); /* all lanes */
/* An orderly end, when another lane is ready; else nothing happens. */
void link_rails_drop(link_lane_t *lane);
void link_rails_drop_step(vbn_peer_t *peer);
void link_rails_rx_drop(link_lane_t *lane);

/* ----------------------------------------------------------------------------------- flow/promote.c */

void link_promote_look(vbn_peer_t *peer); /* opens a lane if the peer is worth it; only within progress */
/* The answer to a proved PROOF that adds a lane: the peer, with the lane; NULL: refused. */
vbn_peer_t *link_rails_accept(link_lane_t *lane, uint64_t session);

/* ------------------------------------------------------------------------------------ flow/native.c */

void link_native_done(tl_ep_t *ep, void *cookie);
void link_native_lost(const link_lane_t *lane); /* its endpoint is gone */

/* ------------------------------------------------------------------------------------ lane/resume.c */

/* The lane is gone. false: the peer cannot resume. Operations may complete, so it may have ended afterwards. */
bool link_resume_begin(vbn_peer_t *peer, const char *text);
void link_resume_look(vbn_peer_t *peer, uint64_t now); /* the timer, while resuming */
/* The time of one attempt. */
uint64_t link_resume_part(const link_engine_t *engine);
uint64_t link_resume_next(const link_arq_t *arq);
vbn_peer_t *link_resume_accept(link_lane_t *lane, uint64_t session, uint32_t ack);
void link_resume_done(vbn_peer_t *peer); /* the new lane is ready */

/* --------------------------------------------------------------- flow/send.c, flow/rx.c, peer/close.c */

/* A transport took a packet neither now nor for later: too large for it, the peer ends; else ep_error follows. */
void link_refused(vbn_peer_t *peer, vbn_status_t status);
void link_node_fill(link_node_t *node, vbn_peer_t *peer, const link_packet_t *packet);
/* tl_ops_t.send inside the packet's lease; when that is lost, so is the peer, and the packet is not taken. */
vbn_status_t link_send_leased(vbn_peer_t *peer, const link_lane_t *lane, const tl_packet_t *packet);
bool link_may_send(const vbn_peer_t *peer); /* the lane is ready and has room */

void link_drain(vbn_peer_t *peer); /* sends what can be sent; only within progress */
vbn_status_t link_send_ack(vbn_peer_t *peer, unsigned flags);
vbn_status_t link_send_ack_over(vbn_peer_t *peer, link_lane_t *lane, unsigned flags); /* lane NULL: VBN_BUSY */
void link_credit_apply(vbn_peer_t *peer, uint32_t ack);
static inline bool link_credit_ack_valid(const vbn_peer_t *peer, uint32_t ack)
{
    return ack - peer->tx_acked <= peer->tx_next - peer->tx_acked;
}
static inline void link_set_window(vbn_peer_t *peer, uint32_t window)
{
    peer->window = window;
    peer->owed_most = window / 4;
}
void link_flush_complete(vbn_peer_t *peer);
void link_fill_upcalls(tl_upcalls_t *upcalls, link_engine_t *engine);
/* The worker is destroyed: sends CLOSE to a peer that was closed gracefully before and has been sent everything. Best effort. */
void link_close_announced(vbn_peer_t *peer);
unsigned link_close_progress(link_engine_t *engine, bool happened); /* happened: a new round over the closing peers */

#endif
