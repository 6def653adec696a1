/* SPDX-License-Identifier: Apache-2.0
 * control.c - wire-up packets on their way: sent, over datagrams repeated until answered and answered when repeated;
 * and refusals. */
#include "link/lane/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"

#define LOG_EVERY_NS UINT64_C(1000000000)
#define RETRY_NS UINT64_C(50000000)
#define RETRY_DOUBLINGS 5u

static void push_control(link_lane_t *lane)
{
    link_handshake_t *hs = lane->hs;
    tl_packet_t packet = {.header = hs->control, .header_bytes = hs->control_bytes};
    hs->control_waits = link_lane_ops(lane)->send(lane->ep, &packet) == VBN_BUSY; /* else taken, or ep_error follows */
    lane->blocked = lane->blocked || hs->control_waits;
}

static void retry_later(link_handshake_t *hs)
{
    link_timer_add(hs->lane->engine, &hs->retry,
                   RETRY_NS << (hs->tries < RETRY_DOUBLINGS ? hs->tries : RETRY_DOUBLINGS));
}

/* Datagrams: the packet or its answer may be lost. The initiator asks again; the responder answers again. */
void link_control_retry(wheel_timer_t *timer)
{
    link_handshake_t *hs = container_of(timer, link_handshake_t, retry);
    link_lane_t *lane = hs->lane;
    if (lane->state == LANE_WAIT_AGAIN) {
        link_redial(lane);
        return;
    }
    if (lane->ep == NULL || (lane->state != LANE_WAIT_CHALLENGE && lane->state != LANE_WAIT_WELCOME))
        return;
    hs->tries = (uint8_t)(hs->tries + (hs->tries < UINT8_MAX));
    if (!hs->control_waits)
        push_control(lane);
    retry_later(hs);
}

void link_control_send(link_lane_t *lane, link_type_t type, const void *body, size_t body_bytes)
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
        link_lane_drop(lane, VBN_CLOSE_FLUSH);
    else if (lane->state == LANE_PROVED)
        link_lane_check_ready(lane);
}

static void answer_again(link_lane_t *lane, link_handshake_t *hs)
{
    tl_packet_t packet = {.header = hs->control, .header_bytes = hs->control_bytes};
    if (!lane->blocked && link_lane_ops(lane)->send(lane->ep, &packet) == VBN_BUSY)
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
void link_control_reject(link_lane_t *lane, link_reason_t reason)
{
    uint8_t body[LINK_REJECT_BYTES];
    le_put_u16(body, (uint16_t)reason);
    le_put_u16(body + 2, LINK_VERSION);
    link_control_send(lane, LINK_REJECT, body, sizeof(body));
    if (lane->peer == NULL && (lane->hs->control_waits || lane->datagram))
        lane->state = LANE_REJECTED;
    else
        link_lane_drop(lane, VBN_CLOSE_FLUSH);
}

void link_control_count(link_lane_t *lane, vbn_status_t status, const char *text)
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
    LOG_PEER_LOST(engine->params.log, VBN_LOG_WARN, 0, "%s a peer over %s: %s",
                  lane->initiator ? "refused to connect to" : "refused", link_lane_name(lane), text);
}

/* This side finds the other's packet wrong: counts, tells, ends. */
void link_control_refuse(link_lane_t *lane, vbn_status_t status, link_reason_t reason)
{
    char text[256];
    snprintf(text, sizeof(text), "%s", err_text());
    link_control_count(lane, status, text);
    vbn_peer_t *peer = lane->peer;
    if (status == VBN_ERR_PROTOCOL)
        link_lane_drop(lane, VBN_CLOSE_NOW);
    else
        link_control_reject(lane, reason);
    if (peer != NULL && link_lane_others(peer, lane))
        link_lane_lose(lane, text);
    else if (peer != NULL)
        link_peer_end(peer, status, text, true);
}
