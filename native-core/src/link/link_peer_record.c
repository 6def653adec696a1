/* SPDX-License-Identifier: Apache-2.0
 * link_peer_record.c - a peer's record: made, its address, the sentence about its transport, the text of its loss. No function
 * here calls another file of the layer or a callback. */
#include "link/link_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sentence with its end, two bytes of length, the address. */
static uint8_t *tail(const vbn_peer_t *peer)
{
    return (uint8_t *)(uintptr_t)peer->upper_state + peer->engine->params.upper_bytes;
}

static void write_tail(vbn_peer_t *peer, const char *why, const link_blob_t *address)
{
    uint8_t *at = tail(peer);
    memcpy(at, why != NULL ? why : "", peer->why_bytes);
    if (address == NULL)
        return;
    at += peer->why_bytes;
    le_put_u16(at, (uint16_t)address->length);
    memcpy(at + 2, address->bytes, address->length);
    peer->dials = true;
}

link_blob_t link_peer_blob(const vbn_peer_t *peer)
{
    const uint8_t *at = tail(peer) + peer->why_bytes;
    return (link_blob_t){at + 2, le_get_u16(at)};
}

vbn_status_t link_peer_address(const vbn_peer_t *peer, link_address_t *address)
{
    link_blob_t blob = link_peer_blob(peer);
    return link_address_decode(blob.bytes, blob.length, address);
}

vbn_status_t link_peer_new(link_engine_t *engine, uint64_t uid, const char *why, const link_blob_t *address,
                           vbn_peer_t **peer_p)
{
    size_t why_bytes = why != NULL ? strlen(why) + 1 : 0;
    size_t bytes = sizeof(vbn_peer_t) + engine->params.upper_bytes + why_bytes +
                   (address != NULL ? 2 + address->length : 0);
    if (engine->peers.count >= (uint64_t)engine->params.settings->link_max_peers)
        return err_set(VBN_ERR_LIMIT, "the worker has as many peers as link.max_peers=%lld allows; raise that setting",
                       (long long)engine->params.settings->link_max_peers);
    vbn_peer_t *peer = calloc(1, bytes);
    if (peer == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a peer (%zu bytes)", bytes);
    peer->engine = engine;
    peer->head = (link_peer_head_t){.upper_engine = engine->params.upcalls.arg,
                                    .fork_generation = engine->fork_generation,
                                    .caps = engine->transports[0].ops->caps(engine->transports[0].iface)};
    peer->uid = uid;
    peer->why_bytes = (uint16_t)why_bytes;
    write_tail(peer, why, address);
    link_set_window(peer, (uint32_t)engine->params.settings->link_window);
    list_init(&peer->queue);
    list_init(&peer->inflight);
    list_init(&peer->work);
    vbn_status_t status = map_put(&engine->peers, uid, peer);
    if (status < 0) {
        free(peer);
        return status;
    }
    *peer_p = peer;
    return VBN_OK;
}

void link_peer_why(const vbn_peer_t *peer, char *text, size_t capacity)
{
    if (peer->moved && !peer->accepted)
        (void)snprintf(text, capacity, "%s: a connection over another transport ended before the peer had answered",
                       peer->engine->transports[peer->transport].name);
    else if (peer->why_bytes > 0 && !peer->accepted)
        (void)snprintf(text, capacity, "%s", (const char *)tail(peer));
    else if (peer->lane != NULL)
        (void)snprintf(text, capacity, "%s: the peer opened the connection", link_lane_name(peer->lane));
    else
        (void)snprintf(text, capacity, "the peer opened the connection");
}

link_extra_t *link_extra(vbn_peer_t *peer)
{
    if (peer->extra != NULL)
        return peer->extra;
    link_extra_t *extra = calloc(1, sizeof(*extra));
    if (extra == NULL)
        return NULL;
    extra->peer = peer;
    wheel_timer_init(&extra->closing, NULL);
    peer->extra = extra;
    return extra;
}

const char *link_lost_text(const vbn_peer_t *peer, const char *otherwise)
{
    return peer->extra != NULL && peer->extra->lost_text != NULL ? peer->extra->lost_text : otherwise;
}

void link_set_lost_text(vbn_peer_t *peer, const char *text)
{
    link_extra_t *extra = text != NULL ? link_extra(peer) : peer->extra;
    if (extra == NULL)
        return;
    free(extra->lost_text);
    extra->lost_text = text != NULL ? strdup(text) : NULL;
}

void link_closing_stop(vbn_peer_t *peer)
{
    if (peer->extra != NULL)
        wheel_cancel(&peer->engine->wheel, &peer->extra->closing);
}
