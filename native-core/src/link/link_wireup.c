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
#define RETRY_NS UINT64_C(50000000)
#define RETRY_DOUBLINGS 5u

static void retry_expired(wheel_timer_t *timer);

static const char *transport_name(const link_lane_t *lane)
{
    return lane->ops->name;
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
    case LANE_LINGERS: return "nothing";
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
    link_lane_broke(lane, VBN_ERR_TIMEOUT, text);
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
    lane->ops = engine->transports[transport].ops;
    lane->upper_rx = engine->params.upcalls.rx;
    lane->initiator = initiator;
    lane->state = initiator ? LANE_WAIT_CHALLENGE : LANE_WAIT_HELLO;
    os_random(&lane->local_connection, sizeof(lane->local_connection));
    list_init(&lane->link);
    lane->datagram = (engine->transports[transport].ops->caps(engine->transports[transport].iface)->flags &
                      TL_CAP_RELIABLE) == 0;
    lane->kept = lane->datagram;
    hs->lane = lane;
    wheel_timer_init(&hs->retry, retry_expired);
    hs->transcript.transport = engine->transports[transport].ops->name;
    wheel_timer_init(&hs->timer, wireup_expired);
    link_timer_add(engine, &hs->timer, engine->params.settings->link_wireup_timeout);
    *lane_p = lane;
    return VBN_OK;
}

static void drop_endpoint(link_lane_t *lane, vbn_close_mode_t mode)
{
    if (lane->ep != NULL)
        lane->ops->disconnect(lane->ep, mode, lane->engine->params.settings->link_close_timeout);
    lane->ep = NULL;
}

static void stop_timers(link_lane_t *lane)
{
    wheel_cancel(&lane->engine->wheel, &lane->hs->timer);
    wheel_cancel(&lane->engine->wheel, &lane->hs->retry);
}

void link_lane_stranger_gone(link_lane_t *lane)
{
    lane->engine->strangers -= lane->stranger;
    lane->stranger = false;
}

/* The memory stays until the end of the progress call: a caller up the stack may look at the lane. */
void link_lane_free(link_lane_t *lane, vbn_close_mode_t mode)
{
    drop_endpoint(lane, mode);
    if (lane->hs != NULL)
        stop_timers(lane);
    free(lane->welcome);
    lane->welcome = NULL;
    lane->peer = NULL;
    link_lane_stranger_gone(lane);
    list_remove(&lane->link);
    list_append(&lane->engine->dead_lanes, &lane->link);
}

static void drop_lane(link_lane_t *lane, vbn_close_mode_t mode)
{
    drop_endpoint(lane, mode);
    if (lane->peer == NULL)
        link_lane_free(lane, VBN_CLOSE_NOW);
}

void link_lane_broke(link_lane_t *lane, vbn_status_t status, const char *text)
{
    if (lane->peer == NULL || lane->peer->lane != lane || !link_resume_begin(lane->peer, text))
        link_lane_fail(lane, status, text);
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

static void push_control(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    tl_packet_t packet = {.header = hs->control, .header_bytes = hs->control_bytes};
    hs->control_waits = lane->ops->send(lane->ep, &packet) == VBN_BUSY; /* else taken, or ep_error follows */
    lane->blocked = lane->blocked || hs->control_waits;
}

static void retry_later(link_handshake_t *hs)
{
    link_timer_add(hs->lane->engine, &hs->retry, RETRY_NS << (hs->tries < RETRY_DOUBLINGS ? hs->tries : RETRY_DOUBLINGS));
}

/* Datagrams: the packet or its answer may be lost. The initiator asks again; the responder answers again. */
static void retry_expired(wheel_timer_t *timer)
{
    link_handshake_t *hs = container_of(timer, link_handshake_t, retry);
    link_lane_t *lane = hs->lane;
    if (lane->ep == NULL || (lane->state != LANE_WAIT_CHALLENGE && lane->state != LANE_WAIT_WELCOME))
        return;
    hs->tries = (uint8_t)(hs->tries + (hs->tries < UINT8_MAX));
    if (!hs->control_waits)
        push_control(lane);
    retry_later(hs);
}

static void send_control(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes)
{
    link_handshake_t *hs = lane->hs;
    link_header_t header = {.version = LINK_VERSION, .type = (uint8_t)type};
    if (lane->ep == NULL)
        return;
    link_header_encode(&header, hs->control);
    if (body_bytes > 0)
        memcpy(hs->control + LINK_HEADER_BYTES, body, body_bytes);
    hs->control_bytes = (uint16_t)(LINK_HEADER_BYTES + body_bytes);
    push_control(lane);
    hs->tries = 0;
    if (lane->datagram && lane->initiator)
        retry_later(hs);
}

void link_wireup_resume(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    if (hs == NULL || !hs->control_waits)
        return;
    push_control(lane);
    if (hs->control_waits)
        return;
    if (lane->state == LANE_REJECTED && !lane->datagram)
        drop_lane(lane, VBN_CLOSE_FLUSH);
    else if (lane->state == LANE_PROVED)
        link_lane_check_ready(lane);
}

static void answer_again(link_lane_t *lane, link_handshake_t *hs)
{
    tl_packet_t packet = {.header = hs->control, .header_bytes = hs->control_bytes};
    if (!lane->blocked && lane->ops->send(lane->ep, &packet) == VBN_BUSY)
        lane->blocked = true; /* the peer asks once more */
}

static bool responder_repeats(link_lane_t *lane, unsigned type, const uint8_t *body, size_t body_bytes)
{
    if (lane->state == LANE_WAIT_HELLO) {
        if (type != LINK_HELLO) /* the rest of a connection that is gone */
            link_lane_free(lane, VBN_CLOSE_NOW);
        return type != LINK_HELLO;
    }
    if (lane->state == LANE_WAIT_PROOF && type == LINK_HELLO && body_bytes == LINK_OFFER_BYTES &&
        memcmp(body, lane->hs->transcript.hello, LINK_OFFER_BYTES) == 0)
        answer_again(lane, lane->hs);
    if (lane->state == LANE_PROVED && type == LINK_PROOF && (lane->hs != NULL || lane->welcome != NULL))
        answer_again(lane, lane->hs != NULL ? lane->hs : lane->welcome);
    return lane->state != LANE_WAIT_PROOF || (type != LINK_PROOF && type != LINK_REJECT);
}

bool link_wireup_repeated(link_lane_t *lane, const link_header_t *header, const uint8_t *body, size_t body_bytes)
{
    if (!lane->initiator)
        return responder_repeats(lane, header->type, body, body_bytes);
    link_type_t expected = lane->state == LANE_WAIT_CHALLENGE ? LINK_CHALLENGE : LINK_WELCOME;
    bool waits = lane->state == LANE_WAIT_CHALLENGE || lane->state == LANE_WAIT_WELCOME;
    return !waits || (header->type != expected && header->type != LINK_REJECT);
}

/* Tells the peer why and closes; the lane's own peer, if any, is handled by the caller. */
static void reject(link_lane_t *lane, link_reason_t reason)
{
    uint8_t body[LINK_REJECT_BYTES];
    le_put_u16(body, (uint16_t)reason);
    le_put_u16(body + 2, LINK_VERSION);
    send_control(lane, LINK_REJECT, body, sizeof(body));
    if (lane->peer == NULL && (lane->hs->control_waits || lane->datagram))
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
    uint64_t now = link_now_ns(engine);
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
                          .keeps = lane->datagram || link_resume_wanted(engine, lane->transport),
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
    lane->kept = lane->datagram || (hs->remote.keeps && link_resume_wanted(lane->engine, lane->transport));
    memcpy(hs->transcript.hello, body, LINK_OFFER_BYTES);
    make_offer(lane, hs->remote.uid, hs->transcript.challenge);
    memcpy(answer, hs->transcript.challenge, LINK_OFFER_BYTES);
    status = link_auth_mac(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, NULL, answer + LINK_OFFER_BYTES);
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
    uint8_t answer[LINK_PROOF_BYTES];
    link_arq_t *arq = lane->peer->arq; /* a session that goes on */
    link_state_t state = {.session = arq != NULL ? arq->session : 0, .expected = arq != NULL ? lane->peer->rx_next : 0};
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
    status = link_auth_check(lane->engine->key, LINK_ROLE_CHALLENGE, &hs->transcript, NULL, body + LINK_OFFER_BYTES);
    link_state_encode(&state, answer);
    if (status >= 0)
        status = link_auth_mac(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, answer, answer + LINK_STATE_BYTES);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    lane->kept = lane->datagram || (hs->remote.keeps && link_resume_wanted(lane->engine, lane->transport));
    lane->state = LANE_WAIT_WELCOME;
    send_control(lane, LINK_PROOF, answer, sizeof(answer));
}

static void trust(link_lane_t *lane)
{
    lane->state = LANE_PROVED;
    lane->remote_connection = lane->hs->remote.connection;
    if (lane->peer->window > lane->hs->remote.window)
        lane->peer->window = lane->hs->remote.window;
    vbn_status_t status = lane->ops->trust(lane->ep);
    if (status >= 0 && lane->kept && lane->peer->arq == NULL) /* packets may come before the transport says ready */
        status = link_arq_open(lane->peer, lane->hs->session);
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
    const link_lane_t *own = peer != NULL && peer->arq == NULL && peer->lane->initiator ? peer->lane : NULL;
    if (own != NULL && own->state == LANE_WAIT_OTHER)
        return peer;
    if (own != NULL && own->state != LANE_PROVED) {
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
    link_lane_stranger_gone(lane);
    lane->peer = peer;
    peer->lane = lane;
    peer->clear = NULL;
    peer->transport = lane->transport;
    peer->head.caps = lane->ops->caps(lane->engine->transports[lane->transport].iface);
    peer->accepted = !lane->initiator;
    peer->remote_epoch = epoch;
    if (!lane->initiator) {
        char text[96];
        snprintf(text, sizeof(text), "%s: the peer opened the connection", transport_name(lane));
        free(peer->explain);
        peer->explain = strdup(text);
    }
}

/* The peer that the proved lane belongs to, bound to it; NULL when refused. */
static vbn_peer_t *bind_peer(link_lane_t *lane, const link_state_t *state)
{
    uint64_t epoch = lane->hs->remote.epoch;
    vbn_peer_t *peer;
    if (state->session == 0) {
        peer = choose_peer(lane);
    } else {
        peer = link_resume_accept(lane, state->session, state->expected);
        if (peer == NULL)
            reject(lane, LINK_REASON_GONE);
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
    if (body_bytes != LINK_PROOF_BYTES || !link_state_decode(body, &state)) {
        err_set(VBN_ERR_PROTOCOL, "PROOF of %zu bytes is malformed", body_bytes);
        refuse(lane, VBN_ERR_PROTOCOL, LINK_REASON_AUTH);
        return;
    }
    vbn_status_t status = link_auth_check(lane->engine->key, LINK_ROLE_PROOF, &hs->transcript, body,
                                          body + LINK_STATE_BYTES);
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    hs->session = ++lane->engine->epoch;
    vbn_peer_t *peer = bind_peer(lane, &state);
    if (peer == NULL)
        return;
    bool resumed = peer->arq != NULL;
    link_state_t mine = {.session = hs->session, .expected = resumed ? peer->rx_next : 0, .resumed = resumed};
    link_state_encode(&mine, answer);
    status = link_auth_mac(lane->engine->key, LINK_ROLE_WELCOME, &hs->transcript, answer, answer + LINK_STATE_BYTES);
    if (status < 0) {
        link_lane_fail(lane, status, err_text());
        return;
    }
    send_control(lane, LINK_WELCOME, answer, sizeof(answer));
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
    if (status >= 0 && (state.resumed != (peer->arq != NULL) ||
                        (state.resumed && !link_arq_ack_valid(peer, state.expected))))
        status = err_set(VBN_ERR_PROTOCOL, "WELCOME does not fit the connection that goes on");
    if (status < 0) {
        refuse(lane, status, LINK_REASON_AUTH);
        return;
    }
    peer->remote_epoch = lane->hs->session = state.session;
    if (state.resumed)
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
        return err_set(VBN_ERR_VERSION, "the peer speaks link version %u, this side %u: use the same release of Verbena "
                                        "in the whole job", version, (unsigned)LINK_VERSION);
    case LINK_REASON_TARGET:
        return err_set(VBN_ERR_UNREACHABLE, "another worker answers at this address; the one looked for is gone");
    case LINK_REASON_LIMIT:
        return err_set(VBN_ERR_LIMIT, "the peer has link.max_peers peers already");
    case LINK_REASON_GONE:
        return err_set(VBN_ERR_PEER_LOST, "the connection broke and the peer has given it up");
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
    if (peer == NULL || hs == NULL || lane->state != LANE_PROVED || !lane->tl_ready || hs->control_waits)
        return;
    stop_timers(lane);
    if (lane->datagram && !lane->initiator)
        lane->welcome = hs;
    else
        free(hs);
    lane->hs = NULL;
    if (peer->state == PEER_OPENING)
        peer->state = PEER_READY;
    if (lane->datagram && lane->initiator)
        link_send_ack(peer, 0); /* shows the responder that WELCOME arrived */
    if (peer->arq != NULL && peer->arq->resume_until_ns != 0) {
        link_resume_done(peer);
        return;
    }
    counter_add(lane->engine->params.counters, COUNTER_PEERS_CONNECTED, 1);
    LOG_INFO(lane->engine->params.log, "peer %016llx uses %s", (unsigned long long)peer->uid,
             peer->explain != NULL ? peer->explain : transport_name(lane));
    link_peer_run_imports(peer);
    link_drain(peer);
}
