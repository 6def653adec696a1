/* SPDX-License-Identifier: Apache-2.0
 * peer.c - the start of a peer's state, packets without payload to it, refusals of calls, and the blame of a peer that lies. The
 * bottom of this layer: it calls none of the other files, and nearly all of them call it. */
#include "proto/proto_private.h"

void proto_peer_init(const vbn_peer_t *peer, proto_peer_t *p)
{
    list_init(&p->ops);
    list_init(&p->order);
    list_init(&p->streams);
    list_init(&p->remotes);
    list_init(&p->keys);
    list_init(&p->fenced);
    list_init(&p->crowd);
    list_init(&p->unflushed);
    list_init(&p->tagged);
    p->peer = (vbn_peer_t *)peer; /* callers may only look at it; the peer itself never is constant */
    list_append(&proto_engine_of(peer)->peers, &p->link);
    p->tag_credit = p->tag_open = PROTO_TAG_FIRST; /* T1 in tag_credit.c */
    proto_engine_of(peer)->peer_count++;
    p->initialised = true;
}

vbn_status_t proto_refuse_fork(void)
{
    return err_set(VBN_ERR_FORKED, "the worker belongs to the parent process; open a context of its own after fork()");
}

vbn_status_t proto_refuse_peer(const vbn_peer_t *peer)
{
    if (peer == NULL)
        return err_set(VBN_ERR_INVALID, "no peer given");
    if (proto_forked(proto_engine_of(peer)))
        return proto_refuse_fork();
    return err_set(VBN_ERR_PEER_LOST, "the peer is lost; disconnect it and connect again");
}

void proto_blame(proto_engine_t *engine, vbn_peer_t *peer, const char *what)
{
    proto_peer_t *p = proto_peer_of(peer);
    counter_add(engine->counters, COUNTER_BAD_FRAMES, 1);
    if (p->bad)
        return;
    p->bad = true;
    p->deaf = true;
    link_fail(peer, VBN_ERR_PROTOCOL, what);
}

vbn_status_t proto_send_header(vbn_peer_t *peer, const proto_header_t *header)
{
    uint8_t frame[LINK_FRAME_MAX];
    link_packet_t packet = {.frame = frame,
                            .header_bytes = proto_encode(header, frame + LINK_HEADER_BYTES),
                            .patient = header->type == PROTO_GET || header->type == PROTO_GET_BLOCKS ||
                                       header->type == PROTO_ATOMIC};
    return proto_link_send(peer, &packet);
}

void proto_send_status(vbn_peer_t *peer, uint64_t op, vbn_status_t status, bool last, uint64_t length)
{
    proto_header_t header = {.type = PROTO_STATUS, .code = (unsigned)-status, .last = last, .op = op, .length = length};
    /* A failure means that the peer is lost; peer_down tells it. */
    (void)proto_send_header(peer, &header);
}
