/* SPDX-License-Identifier: Apache-2.0
 * link_wireup.c - the handshake of a lane, and which lane a peer keeps.
 *
 *   initiator                      responder
 *   WAIT_CHALLENGE --HELLO-------> WAIT_HELLO
 *                  <--CHALLENGE--- WAIT_PROOF     the responder has proved the key
 *   WAIT_WELCOME   --PROOF-------> decides        the initiator has proved the key
 *   PROVED         <--WELCOME----- PROVED         both call trust(); ready when the transport is
 *
 * One lane per pair: the responder decides when it has the PROOF, so the initiator sends data only after WELCOME. When
 * both dial, the lane of the smaller uid stays: that side answers PROOF of the other with REJECT(duplicate), the other
 * side drops its own lane when it accepts. Epochs tell a redial (newer than what made the lane in use: the old lane is
 * dead) from a duplicate that was on its way. */
#include "link/link_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

#define LOG_EVERY_NS UINT64_C(1000000000)
#define AUTH_ON 1u

static const char *transport_name(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].ops->name;
}

static const tl_ops_t *lane_ops(const link_lane_t *lane)
{
    return lane->engine->transports[lane->transport].ops;
}

/* -------------------------------------------------------------------------------------------- lane life */

static const char *waiting_for(const link_lane_t *lane)
{
    switch ((link_lane_state_t)lane->state) {
    case LANE_WAIT_HELLO: return "the peer's HELLO";
    case LANE_WAIT_CHALLENGE: return "the peer's answer to HELLO";
    case LANE_WAIT_PROOF: return "the peer's proof of the job key";
    case LANE_WAIT_WELCOME: return "the peer's answer to our proof of the job key";
    case LANE_WAIT_OTHER: return "the connection that the peer opens to this side";
    case LANE_REJECTED: return "room to send a refusal";
    case LANE_PROVED: break;
    }
    return "the transport to become ready";
}

static void wireup_expired(wheel_timer_t *timer)
{
    link_lane_t *lane = container_of(timer, link_handshake_t, timer)->lane;
    char text[256];
    snprintf(text, sizeof(text), "no connection over %s within link.wireup_timeout=%llums, waiting for %s",
             transport_name(lane), (unsigned long long)(lane->engine->params.settings->link_wireup_timeout / 1000000u),
             waiting_for(lane));
    link_lane_fail(lane, VBN_ERR_TIMEOUT, text);
}

vbn_status_t link_lane_new(link_engine_t *engine, unsigned transport, bool initiator, link_lane_t **lane_p)
{
    link_lane_t *lane = calloc(1, sizeof(*lane));
    link_handshake_t *hs = calloc(1, sizeof(*hs));
    if (lane == NULL || hs == NULL) {
        free(lane);
        free(hs);
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a connection");
    }
    lane->engine = engine;
    lane->hs = hs;
    lane->transport = (uint8_t)transport;
    lane->initiator = initiator;
    lane->state = initiator ? LANE_WAIT_CHALLENGE : LANE_WAIT_HELLO;
    os_random(&lane->local_connection, sizeof(lane->local_connection));
    list_init(&lane->link);
    hs->lane = lane;
    hs->transcript.transport = engine->transports[transport].ops->name;
    wheel_timer_init(&hs->timer, wireup_expired);
    link_timer_add(engine, &hs->timer, engine->params.settings->link_wireup_timeout);
    *lane_p = lane;
    return VBN_OK;
}

static void drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode)
{
    if (lane->ep != NULL)
        lane_ops(lane)->disconnect(lane->ep, mode, lane->engine->params.settings->link_close_timeout);
    lane->ep = NULL;
}

/* The memory stays until the end of the progress call: a caller up the stack may look at the lane. */
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode)
{
    drop_endpoint(lane, mode);
    if (lane->hs != NULL)
        wheel_cancel(&lane->engine->wheel, &lane->hs->timer);
    lane->peer = NULL;
    list_remove(&lane->link);
    list_append(&lane->engine->dead_lanes, &lane->link);
}

static void drop_lane(link_lane_t *lane, vbn_close_mode_t mode)
{
    drop_endpoint(lane, mode);
    if (lane->peer == NULL)
        link_lane_free(lane, VBN_CLOSE_NOW);
}

void link_lane_fail(link_lane_t *lane, vbn_status_t status, const char *text)
{
    vbn_peer_t *peer = lane->peer;
    if (peer == NULL) {
        LOG_DEBUG(lane->engine->params.log, "incoming connection over %s dropped: %s", transport_name(lane), text);
        link_lane_free(lane, VBN_CLOSE_NOW);
        return;
    }
    link_peer_end(peer, status, text, true);
}

/* ---------------------------------------------------------------------------------------------- sending */

static void send_control(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes)
{
    uint8_t bytes[16 + LINK_CHALLENGE_BYTES];
    link_header_t header = {.version = LINK_VERSION, .type = (uint8_t)type};
    if (lane->ep == NULL)
        return;
    link_header_encode(&header, bytes);
    if (body_bytes > 0)
        memcpy(bytes + LINK_HEADER_BYTES, body, body_bytes);
    tl_packet_t packet = {.header = bytes, .header_bytes = (uint32_t)(LINK_HEADER_BYTES + body_bytes)};
    if (lane_ops(lane)->send(lane->ep, &packet) != VBN_BUSY)
        return; /* taken, or ep_error follows */
    lane->blocked = true;
    memcpy(lane->hs->control, bytes, packet.header_bytes);
    lane->hs->control_bytes = (uint16_t)packet.header_bytes;
}

void link_wireup_resume(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    if (hs == NULL || hs->control_bytes == 0)
        return;
    tl_packet_t packet = {.header = hs->control, .header_bytes = hs->control_bytes};
    if (lane_ops(lane)->send(lane->ep, &packet) == VBN_BUSY) {
        lane->blocked = true;
        return;
    }
    hs->control_bytes = 0;
    if (lane->state == LANE_REJECTED)
        drop_lane(lane, VBN_CLOSE_FLUSH);
    else
        link_lane_check_ready(lane);
}

/* Tells the peer why and closes; the lane's own peer, if any, is handled by the caller. */
static void reject(link_lane_t *lane, link_reason_t reason)
{
    uint8_t body[LINK_REJECT_BYTES];
    le_put_u16(body, (uint16_t)reason);
    le_put_u16(body + 2, LINK_VERSION);
    send_control(lane, LINK_REJECT, body, sizeof(body));
    if (lane->peer == NULL && lane->hs->control_bytes > 0)
        lane->state = LANE_REJECTED;
    else
        drop_lane(lane, VBN_CLOSE_FLUSH);
}

static void count_refused(link_lane_t *lane, vbn_status_t status, const char *text)
{
    link_engine_t *engine = lane->engine;
    counter_id_t id = status == VBN_ERR_AUTH      ? COUNTER_AUTH_FAILED
                      : status == VBN_ERR_VERSION ? COUNTER_VERSION_REFUSED
                                                  : COUNTER_BAD_FRAMES;
    counter_add(engine->params.counters, id, 1);
    uint64_t now = os_now_ns();
    if (status == VBN_ERR_PROTOCOL || now - engine->last_auth_log_ns < LOG_EVERY_NS)
        return;
    engine->last_auth_log_ns = now;
    LOG_WARN(engine->params.log, "%s a peer over %s: %s", lane->initiator ? "refused to connect to" : "refused",
             transport_name(lane), text);
}

/* This side finds the other's packet wrong: counts, tells, ends. */
static void refuse(link_lane_t *lane, vbn_status_t status, link_reason_t reason)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", err_text());
    count_refused(lane, status, text);
    vbn_peer_t *peer = lane->peer;
    if (status == VBN_ERR_PROTOCOL)
        drop_lane(lane, VBN_CLOSE_NOW);
    else
        reject(lane, reason);
    if (peer != NULL)
        link_peer_end(peer, status, text, true);
}

/* ------------------------------------------------------------------------------------------------ steps */

static void make_offer(link_lane_t *lane, uint64_t target_uid, uint8_t bytes[LINK_OFFER_BYTES])
{
    link_engine_t *engine = lane->engine;
    link_offer_t offer = {.version = LINK_VERSION,
                          .auth = engine->key != NULL ? AUTH_ON : 0,
                          .uid = engine->uid,
                          .target_uid = target_uid,
                          .connection = lane->local_connection,
                          .window = (uint32_t)engine->params.settings->link_window,
                          .epoch = ++engine->epoch};
    os_random(offer.nonce, sizeof(offer.nonce));
    link_offer_encode(&offer, bytes);
}

vbn_status_t link_wireup_start(link_lane_t *lane, uint64_t target_uid)
{
    make_offer(lane, target_uid, lane->hs->transcript.hello);
    send_control(lane, LINK_HELLO, lane->hs->transcript.hello, LINK_OFFER_BYTES);
    return VBN_OK;
}

/* 0 when both sides use the same kind of authentication. */
static link_reason_t compare_auth(const link_lane_t *lane, const link_offer_t *remote)
{
    bool here = lane->engine->key != NULL;
    if (here == (remote->auth == AUTH_ON))
        return 0;
    err_set(VBN_ERR_AUTH, "security.auth differs: %s on this side, %s on the peer's; set it alike in the whole job",
            here ? "job-key" : "none", here ? "none" : "job-key");
    return here ? LINK_REASON_AUTH_REQUIRED : LINK_REASON_AUTH_NONE;
}

static void on_hello(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    uint8_t answer[LINK_CHALLENGE_BYTES];
    vbn_status_t status = link_offer_decode(body, body_bytes, &hs->remote);
    if (status >= 0 && (body_bytes != LINK_OFFER_BYTES || header->version != LINK_VERSION))
        status = err_set(VBN_ERR_PROTOCOL, "HELLO has %zu bytes", body_bytes);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_VERSION);
        return;
    }
    if (hs->remote.target_uid != lane->engine->uid || hs->remote.uid == lane->engine->uid) {
        reject(lane, LINK_REASON_TARGET);
        return;
    }
    link_reason_t reason = compare_auth(lane, &hs->remote);
    if (reason != 0) {
        refuse(lane, VBN_ERR_AUTH, reason);
        return;
    }
    memcpy(hs->transcript.hello, body, LINK_OFFER_BYTES);
    make_offer(lane, hs->remote.uid, hs->transcript.challenge);
    memcpy(answer, hs->transcript.challenge, LINK_OFFER_BYTES);
    status = link_auth_mac(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, 0, answer + LINK_OFFER_BYTES);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    lane->state = LANE_WAIT_PROOF;
    send_control(lane, LINK_CHALLENGE, answer, sizeof(answer));
}

static void on_challenge(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    uint8_t mac[HMAC_BYTES];
    vbn_status_t status = link_offer_decode(body, body_bytes, &hs->remote);
    if (status >= 0 && (body_bytes != LINK_CHALLENGE_BYTES || hs->remote.target_uid != lane->engine->uid ||
                        hs->remote.uid != lane->peer->uid))
        status = err_set(VBN_ERR_PROTOCOL, "CHALLENGE of %zu bytes is not from the worker that was called", body_bytes);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_VERSION);
        return;
    }
    link_reason_t reason = compare_auth(lane, &hs->remote);
    if (reason != 0) {
        refuse(lane, VBN_ERR_AUTH, reason);
        return;
    }
    memcpy(hs->transcript.challenge, body, LINK_OFFER_BYTES);
    status = link_auth_check(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, 0, body + LINK_OFFER_BYTES);
    if (status >= 0)
        status = link_auth_mac(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, 0, mac);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    lane->state = LANE_WAIT_WELCOME;
    send_control(lane, LINK_PROOF, mac, sizeof(mac));
}

static void trust(link_lane_t *lane)
{
    lane->state = LANE_PROVED;
    lane->remote_connection = lane->hs->remote.connection;
    if (lane->peer->window > lane->hs->remote.window)
        lane->peer->window = lane->hs->remote.window;
    vbn_status_t status = lane_ops(lane)->trust(lane->ep);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    link_lane_check_ready(lane);
}

/* Whether a proved incoming lane replaces what there is for its uid. Returns the peer to bind, NULL when refused. */
static vbn_peer_t *choose_peer(link_lane_t *lane)
{
    link_engine_t *engine = lane->engine;
    const link_offer_t *remote = &lane->hs->remote;
    vbn_peer_t *peer = map_get(&engine->peers, remote->uid);
    if (peer != NULL && peer->lane->initiator && peer->lane->state == LANE_WAIT_OTHER)
        return peer;
    if (peer != NULL && peer->lane->initiator && peer->lane->state != LANE_PROVED) {
        if (engine->uid > remote->uid)
            return peer;
        reject(lane, LINK_REASON_DUPLICATE);
        return NULL;
    }
    if (peer != NULL) {
        if (remote->epoch <= peer->remote_epoch) {
            reject(lane, LINK_REASON_DUPLICATE);
            return NULL;
        }
        link_peer_end(peer, VBN_ERR_PEER_LOST, "the peer lost the connection and opened a new one", true);
        peer = map_get(&engine->peers, remote->uid); /* the user may have dialled in the callback */
        if (peer != NULL && engine->uid < remote->uid) {
            reject(lane, LINK_REASON_DUPLICATE);
            return NULL;
        }
    }
    if (peer == NULL && link_peer_new(engine, remote->uid, &peer) < 0) {
        LOG_WARN(engine->params.log, "refused a peer: %s", err_text());
        reject(lane, LINK_REASON_LIMIT);
        return NULL;
    }
    return peer;
}

void link_lane_bind(link_lane_t *lane, vbn_peer_t *peer, uint64_t epoch)
{
    if (peer->lane != NULL && peer->lane != lane)
        link_lane_free(peer->lane, VBN_CLOSE_NOW);
    list_remove(&lane->link);
    lane->peer = peer;
    peer->lane = lane;
    peer->transport = lane->transport;
    peer->accepted = !lane->initiator;
    peer->remote_epoch = epoch;
    if (!lane->initiator) {
        char text[96];
        snprintf(text, sizeof(text), "%s: the peer opened the connection", transport_name(lane));
        free(peer->explain);
        peer->explain = strdup(text);
    }
}

static void on_proof(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    uint8_t answer[LINK_WELCOME_BYTES];
    if (body_bytes != HMAC_BYTES) {
        err_set(VBN_ERR_PROTOCOL, "PROOF has %zu bytes", body_bytes);
        refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
        return;
    }
    uint64_t epoch = ++lane->engine->epoch;
    vbn_status_t status = link_auth_check(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, 0, body);
    if (status >= 0)
        status = link_auth_mac(lane->engine->key, LINK_ROLE_WELCOME, &hs->transcript, epoch, answer + 8);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    vbn_peer_t *peer = choose_peer(lane);
    if (peer == NULL)
        return;
    link_lane_bind(lane, peer, hs->remote.epoch);
    le_put_u64(answer, epoch);
    send_control(lane, LINK_WELCOME, answer, sizeof(answer));
    trust(lane);
}

static void on_welcome(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    vbn_status_t status = VBN_OK;
    if (body_bytes != LINK_WELCOME_BYTES)
        status = err_set(VBN_ERR_PROTOCOL, "WELCOME has %zu bytes", body_bytes);
    else
        status = link_auth_check(lane->engine->key, LINK_ROLE_WELCOME, &lane->hs->transcript, le_get_u64(body),
                                 body + 8);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    lane->peer->remote_epoch = le_get_u64(body);
    trust(lane);
}

static vbn_status_t rejected_status(link_reason_t reason, unsigned version)
{
    switch (reason) {
    case LINK_REASON_AUTH:
        return err_set(VBN_ERR_AUTH, "the peer refused this side's proof: give all processes of the job the same key "
                                     "(vbn_config_set_job_key)");
    case LINK_REASON_AUTH_REQUIRED:
        return err_set(VBN_ERR_AUTH, "security.auth differs: none on this side, job-key on the peer's; set it alike in "
                                     "the whole job");
    case LINK_REASON_AUTH_NONE:
        return err_set(VBN_ERR_AUTH, "security.auth differs: job-key on this side, none on the peer's; set it alike in "
                                     "the whole job");
    case LINK_REASON_VERSION:
        return err_set(VBN_ERR_VERSION, "the peer speaks link version %u, this side %u: use the same release of Verbena "
                                        "in the whole job", version, (unsigned)LINK_VERSION);
    case LINK_REASON_TARGET:
        return err_set(VBN_ERR_UNREACHABLE, "another worker answers at this address; the one looked for is gone");
    case LINK_REASON_LIMIT:
        return err_set(VBN_ERR_LIMIT, "the peer has link.max_peers peers already");
    case LINK_REASON_DUPLICATE:
        break;
    }
    return err_set(VBN_ERR_PROTOCOL, "the peer refused the connection for an unknown reason %d", (int)reason);
}

static void on_reject(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    if (body_bytes < LINK_REJECT_BYTES) {
        err_set(VBN_ERR_PROTOCOL, "REJECT has %zu bytes", body_bytes);
        refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
        return;
    }
    link_reason_t reason = (link_reason_t)le_get_u16(body);
    if (reason == LINK_REASON_DUPLICATE && lane->initiator && lane->state == LANE_WAIT_WELCOME) {
        lane->state = LANE_WAIT_OTHER;
        drop_endpoint(lane, VBN_CLOSE_NOW);
        return;
    }
    vbn_status_t status = rejected_status(reason, le_get_u16(body + 2));
    char text[256];
    snprintf(text, sizeof(text), "%s", err_text());
    count_refused(lane, status, text);
    link_lane_fail(lane, status, text);
}

void link_wireup_rx(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes)
{
    if (lane->state == LANE_REJECTED)
        return;
    if (header->type == LINK_REJECT && lane->state != LANE_PROVED)
        on_reject(lane, body, body_bytes);
    else if (header->type == LINK_HELLO && lane->state == LANE_WAIT_HELLO)
        on_hello(lane, header, body, body_bytes);
    else if (header->type == LINK_CHALLENGE && lane->state == LANE_WAIT_CHALLENGE)
        on_challenge(lane, body, body_bytes);
    else if (header->type == LINK_PROOF && lane->state == LANE_WAIT_PROOF)
        on_proof(lane, body, body_bytes);
    else if (header->type == LINK_WELCOME && lane->state == LANE_WAIT_WELCOME)
        on_welcome(lane, body, body_bytes);
    else {
        err_set(VBN_ERR_PROTOCOL, "packet of type %u does not belong here", (unsigned)header->type);
        refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
    }
}

void link_lane_check_ready(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_handshake_t *hs = lane->hs;
    if (peer == NULL || hs == NULL || lane->state != LANE_PROVED || !lane->tl_ready || hs->control_bytes > 0)
        return;
    wheel_cancel(&lane->engine->wheel, &hs->timer);
    free(hs);
    lane->hs = NULL;
    if (peer->state == PEER_OPENING)
        peer->state = PEER_READY;
    counter_add(lane->engine->params.counters, COUNTER_PEERS_CONNECTED, 1);
    LOG_INFO(lane->engine->params.log, "peer %016llx uses %s", (unsigned long long)peer->uid,
             peer->explain != NULL ? peer->explain : transport_name(lane));
    link_peer_run_imports(peer);
    link_drain(peer);
}
