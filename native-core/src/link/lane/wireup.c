/* SPDX-License-Identifier: Apache-2.0
 * wireup.c - the handshake of a lane, and which lane a peer keeps.
 *
 *   initiator                      responder
 *   WAIT_CHALLENGE --HELLO-------> WAIT_HELLO
 *                  <--CHALLENGE--- WAIT_PROOF     the responder has proved the key
 *   WAIT_WELCOME   --PROOF-------> decides        the initiator has proved the key
 *   PROVED         <--WELCOME----- PROVED         both call trust(); ready when the transport is
 *
 * One lane per pair: the responder decides when it has the PROOF, so the initiator sends data only after WELCOME. When
 * both dial, the lane of the smaller uid stays: that side answers PROOF of the other with REJECT(duplicate), the other
 * side drops its own lane when it accepts. Epochs tell a redial (newer than the offer that made the lane in use: the old lane
 * is dead) from a duplicate that was on its way. A connection of a new peer that ends before WELCOME is dialled again
 * (lane/redial.c). A lane that joins those of a peer (its PROOF says so) decides nothing, and
 * when its wire-up fails the peer does not notice. */
#include "link/lane/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

#define AUTH_ON 1u

static void make_offer(link_lane_t *lane, uint64_t target_uid, uint8_t bytes[LINK_OFFER_BYTES])
{
    link_engine_t *engine = lane->engine;
    link_offer_t offer = {.version = LINK_VERSION,
                          .auth = engine->key != NULL ? AUTH_ON : 0,
                          .keeps = lane->datagram || link_keeps_wanted(engine, lane->transport),
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
    link_control_send(lane, LINK_HELLO, lane->hs->transcript.hello, LINK_OFFER_BYTES);
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
        link_control_refuse(lane, status, LINK_REASON_VERSION);
        return;
    }
    if (hs->remote.target_uid != lane->engine->uid || hs->remote.uid == lane->engine->uid) {
        link_control_reject(lane, LINK_REASON_TARGET);
        return;
    }
    link_reason_t reason = compare_auth(lane, &hs->remote);
    if (reason != 0) {
        link_control_refuse(lane, VBN_ERR_AUTH, reason);
        return;
    }
    lane->kept = lane->datagram || (hs->remote.keeps && link_keeps_wanted(lane->engine, lane->transport));
    memcpy(hs->transcript.hello, body, LINK_OFFER_BYTES);
    make_offer(lane, hs->remote.uid, hs->transcript.challenge);
    memcpy(answer, hs->transcript.challenge, LINK_OFFER_BYTES);
    status = link_auth_mac(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, NULL, answer + LINK_OFFER_BYTES);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    lane->state = LANE_WAIT_PROOF;
    link_control_send(lane, LINK_CHALLENGE, answer, sizeof(answer));
}

static link_mode_t mode_of(const link_lane_t *lane)
{
    if (lane->hs->adds)
        return LINK_MODE_ADDS;
    return lane->peer->arq != NULL ? LINK_MODE_RESUMES : LINK_MODE_NEW;
}

static void on_challenge(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    uint8_t answer[LINK_PROOF_BYTES];
    link_arq_t *arq = lane->peer->arq; /* a session that goes on */
    link_state_t state = {.session = arq != NULL ? arq->session : 0,
                          .expected = arq != NULL ? lane->peer->rx_next : 0,
                          .mode = mode_of(lane)};
    vbn_status_t status = link_offer_decode(body, body_bytes, &hs->remote);
    if (status >= 0 && (body_bytes != LINK_CHALLENGE_BYTES || hs->remote.target_uid != lane->engine->uid ||
                        hs->remote.uid != lane->peer->uid))
        status = err_set(VBN_ERR_PROTOCOL, "CHALLENGE of %zu bytes is from a worker other than the one dialled",
                         body_bytes);
    if (status < 0) {
        link_control_refuse(lane, status, LINK_REASON_VERSION);
        return;
    }
    link_reason_t reason = compare_auth(lane, &hs->remote);
    if (reason != 0) {
        link_control_refuse(lane, VBN_ERR_AUTH, reason);
        return;
    }
    memcpy(hs->transcript.challenge, body, LINK_OFFER_BYTES);
    status = link_auth_check(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, NULL, body + LINK_OFFER_BYTES);
    link_state_encode(&state, answer);
    if (status >= 0)
        status = link_auth_mac(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, answer, answer + LINK_STATE_BYTES);
    if (status < 0) {
        link_control_refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    lane->kept = lane->datagram || (hs->remote.keeps && link_keeps_wanted(lane->engine, lane->transport));
    lane->state = LANE_WAIT_WELCOME;
    link_control_send(lane, LINK_PROOF, answer, sizeof(answer));
}

static void trust(link_lane_t *lane)
{
    lane->state = LANE_PROVED;
    lane->remote_connection = lane->hs->remote.connection;
    if (lane->peer->window > lane->hs->remote.window && lane->peer->arq == NULL)
        link_set_window(lane->peer, lane->hs->remote.window);
    vbn_status_t status = link_lane_ops(lane)->trust(lane->ep);
    if (status >= 0 && lane->kept && lane->peer->arq == NULL) /* packets may come before the transport says ready */
        status = lane->engine->events->lane_proved(lane->peer, lane->hs->session);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    link_lane_check_ready(lane);
}

/* Whether a proved incoming lane replaces the one that its uid has. Returns the peer to bind, NULL when refused. */
static vbn_peer_t *choose_peer(link_lane_t *lane)
{
    link_engine_t *engine = lane->engine;
    const link_offer_t *remote = &lane->hs->remote;
    vbn_peer_t *peer = map_get(&engine->peers, remote->uid);
    if (peer != NULL && peer->dormant)
        return peer;
    const link_lane_t *own = peer != NULL && peer->arq == NULL && peer->lane->initiator ? peer->lane : NULL;
    if (own != NULL && (own->state == LANE_WAIT_OTHER || own->state == LANE_WAIT_AGAIN))
        return peer;
    if (own != NULL && own->state != LANE_PROVED) {
        if (engine->uid > remote->uid)
            return peer;
        link_control_reject(lane, LINK_REASON_DUPLICATE);
        return NULL;
    }
    if (peer != NULL) {
        if (remote->epoch <= peer->remote_epoch) {
            link_control_reject(lane, LINK_REASON_DUPLICATE);
            return NULL;
        }
        link_peer_end(peer, VBN_ERR_PEER_LOST, "the peer lost the connection and opened a new one", true);
        peer = map_get(&engine->peers, remote->uid); /* the user may have dialled in the callback */
        if (peer != NULL && engine->uid < remote->uid) {
            link_control_reject(lane, LINK_REASON_DUPLICATE);
            return NULL;
        }
    }
    if (peer == NULL && link_peer_new(engine, remote->uid, NULL, NULL, &peer) < 0) {
        LOG_PEER_LOST(engine->params.log, VBN_LOG_WARN, 0, "refused a peer: %s", err_text());
        link_control_reject(lane, LINK_REASON_LIMIT);
        return NULL;
    }
    return peer;
}

/* The peer that the proved lane belongs to, bound to it; NULL when refused. */
static vbn_peer_t *bind_peer(link_lane_t *lane, const link_state_t *state)
{
    uint64_t epoch = lane->hs->remote.epoch;
    vbn_peer_t *peer;
    if (state->mode == LINK_MODE_ADDS) {
        lane->hs->adds = true;
        return lane->engine->events->lane_joins(lane, state->session);
    }
    if (state->mode == LINK_MODE_NEW) {
        peer = choose_peer(lane);
    } else {
        peer = link_resume_accept(lane, state->session, state->expected);
        if (peer == NULL)
            link_control_reject(lane, LINK_REASON_GONE);
    }
    if (peer != NULL)
        link_lane_bind(lane, peer, epoch);
    return peer;
}

static void on_proof(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    link_state_t state;
    uint8_t answer[LINK_WELCOME_BYTES];
    if (body_bytes != LINK_PROOF_BYTES || !link_state_decode(body, &state) ||
        (state.mode == LINK_MODE_NEW) != (state.session == 0)) {
        err_set(VBN_ERR_PROTOCOL, "PROOF of %zu bytes is malformed", body_bytes);
        link_control_refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
        return;
    }
    vbn_status_t status = link_auth_check(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, body,
                                          body + LINK_STATE_BYTES);
    if (status < 0) {
        link_control_refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    hs->session = ++lane->engine->epoch;
    vbn_peer_t *peer = bind_peer(lane, &state);
    if (peer == NULL)
        return;
    link_state_t mine = {
        .session = hs->session, .expected = state.session != 0 ? peer->rx_next : 0, .mode = state.mode};
    link_state_encode(&mine, answer);
    status = link_auth_mac(lane->engine->key, LINK_ROLE_WELCOME, &hs->transcript, answer, answer + LINK_STATE_BYTES);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    link_control_send(lane, LINK_WELCOME, answer, sizeof(answer));
    trust(lane);
}

static void on_welcome(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    vbn_peer_t *peer = lane->peer;
    link_state_t state;
    vbn_status_t status = VBN_OK;
    if (body_bytes != LINK_WELCOME_BYTES || !link_state_decode(body, &state))
        status = err_set(VBN_ERR_PROTOCOL, "WELCOME of %zu bytes is malformed", body_bytes);
    else
        status = link_auth_check(lane->engine->key, LINK_ROLE_WELCOME, &lane->hs->transcript, body,
                                 body + LINK_STATE_BYTES);
    if (status >= 0 && (state.mode != mode_of(lane) ||
                        (state.mode == LINK_MODE_RESUMES && !link_credit_ack_valid(peer, state.expected))))
        status = err_set(VBN_ERR_PROTOCOL, "WELCOME has a wrong mode or sequence");
    if (status < 0) {
        link_control_refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    peer->remote_epoch = lane->hs->session = state.session;
    if (state.mode == LINK_MODE_RESUMES)
        peer->arq->resume_ack = state.expected;
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
        return err_set(VBN_ERR_VERSION,
                       "the peer speaks link version %u, this side %u: use the same release of Verbena "
                       "in the whole job",
                       version, (unsigned)LINK_VERSION);
    case LINK_REASON_TARGET:
        return err_set(VBN_ERR_UNREACHABLE, "another worker answers at this address; the one looked for is gone");
    case LINK_REASON_LIMIT: return err_set(VBN_ERR_LIMIT, "the peer has link.max_peers peers already");
    case LINK_REASON_GONE: return err_set(VBN_ERR_PEER_LOST, "the connection broke and the peer no longer resumes it");
    case LINK_REASON_DUPLICATE: break;
    }
    return err_set(VBN_ERR_PROTOCOL, "the peer refused the connection for an unknown reason %d", (int)reason);
}

static void on_reject(link_lane_t *lane, const uint8_t *body, size_t body_bytes)
{
    if (body_bytes < LINK_REJECT_BYTES) {
        err_set(VBN_ERR_PROTOCOL, "REJECT has %zu bytes", body_bytes);
        link_control_refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
        return;
    }
    link_reason_t reason = (link_reason_t)le_get_u16(body);
    if (lane->hs->adds && lane->peer != NULL && link_lane_others(lane->peer, lane)) {
        link_lane_lose(lane, "the peer refused the connection");
        return;
    }
    if (reason == LINK_REASON_DUPLICATE && lane->initiator && lane->state == LANE_WAIT_WELCOME) {
        lane->state = LANE_WAIT_OTHER;
        link_lane_drop_endpoint(lane, VBN_CLOSE_NOW);
        return;
    }
    vbn_status_t status = rejected_status(reason, le_get_u16(body + 2));
    char text[256];
    snprintf(text, sizeof(text), "%s", err_text());
    link_control_count(lane, status, text);
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
        link_control_refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
    }
}

static void one_more(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_lane_unlink(lane);
    link_lane_insert(peer, lane);
    peer->arq->attempts = 0;
    counter_add(peer->engine->params.counters, COUNTER_LANES_ADDED, 1);
    LOG_PEER(peer->engine->params.log, VBN_LOG_INFO, peer->uid, "peer %016llx has one lane more, over %s (%u now)",
             (unsigned long long)peer->uid, link_lane_name(lane), link_lane_count(peer, -1));
    lane->engine->events->lane_ready(lane, LINK_READY_ADDED);
}

void link_lane_check_ready(link_lane_t *lane)
{
    vbn_peer_t *peer = lane->peer;
    link_handshake_t *hs = lane->hs;
    if (peer == NULL || hs == NULL || lane->state != LANE_PROVED || !lane->tl_ready || hs->control_waits)
        return;
    bool adds = hs->adds;
    if (hs->redials > 0)
        link_set_lost_text(peer, NULL);
    link_lane_stop_timers(lane);
    if (lane->datagram && !lane->initiator)
        lane->welcome = hs;
    else
        link_handshake_free(hs);
    lane->hs = NULL;
    if (!adds)
        peer->head.caps = link_lane_shown_caps(lane);
    if (adds) {
        one_more(lane);
        return;
    }
    if (peer->state == PEER_OPENING)
        peer->state = PEER_READY;
    peer->seen = peer->seen || peer->accepted; /* it may use memory here without a message */
    if (peer->arq != NULL && peer->arq->resume_until_ns != 0) {
        link_resume_done(peer);
        lane->engine->events->lane_ready(lane, LINK_READY_RESUMED);
        return;
    }
    counter_add(lane->engine->params.counters, COUNTER_PEERS_CONNECTED, 1);
    char why[512];
    link_peer_why(peer, why, sizeof(why));
    LOG_PEER(lane->engine->params.log, VBN_LOG_INFO, peer->uid, "peer %016llx uses %s", (unsigned long long)peer->uid,
             why);
    lane->engine->events->lane_ready(lane, LINK_READY_FIRST);
}
