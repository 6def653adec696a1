/* SPDX-License-Identifier: Apache-2.0
 * device_read.c - announced messages that the receiver's device reads out of the sender's memory, without the sender's processor.
 *
 *   sender                                          receiver
 *   RTS_DEVICE: address of the data, key    --->    reads over the connections that share these devices (device.c)
 *   and a connection of each device         <---    STATUS; or PULL, when something is missing there or breaks
 *
 * For data in one piece that lies in memory of vbn_mem_alloc. The sender holds it until its op ends, and its device serves
 * all of that memory for reading from then on, as a mapping of it does (mem/expose.h). An announcement that names no
 * device says that the data comes by packets, and that a connection for devices would pay. */
#include "proto/ways/way.h"

/* Tells where the devices serve the data; false: none does. */
static bool serve(const proto_op_t *op, const mem_key_info_t *info, proto_place_t *place)
{
    const proto_stream_t *s = &op->stream;
    uint32_t connections[LINK_DEVICES];
    unsigned count = link_natives(s->peer, true, connections), told = 0;
    for (unsigned i = 0; i < count; i++) {
        mem_exposed_t exposed;
        vbn_status_t status = link_expose(s->peer, connections[i], info->key_handle, &exposed);
        if (status == VBN_OK) {
            place->address = exposed.address + info->offset;
            place->devices[told++] = PROTO_DEVICE(connections[i], exposed.key);
        } else if (status != VBN_ERR_UNSUPPORTED && status != VBN_ERR_STALE) { /* else: gone meanwhile */
            proto_peer_of(s->peer)->no_direct = true;
            LOG_PEER(s->engine->log, VBN_LOG_INFO, link_peer_uid(s->peer),
                     "large messages to peer %016llx fall back to packets from now on: %s",
                     (unsigned long long)link_peer_uid(s->peer), err_text());
        }
    }
    return told > 0;
}

/* The data comes by packets this time; when it is large enough, both sides see to it that there is a connection. */
static bool pays(const proto_stream_t *s)
{
    uint32_t connections[LINK_DEVICES];
    if (link_natives(s->peer, true, connections) > 0 || s->length < cost_limits(s->engine, s->peer)->native_from)
        return false;
    link_promote(s->peer);
    return true;
}

bool device_read_offer(proto_op_t *op, proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    mem_key_info_t info;
    bool may = !op->direct.secret && s->length > 0 && link_native_possible(s->peer) &&
               !proto_peer_of(s->peer)->no_direct;
    const void *data = may ? cursor_contiguous(&s->cursor, s->length) : NULL;
    if (data == NULL || !mem_hold_range(s->engine->memory, data, (size_t)s->length, &info, &op->direct.held))
        return false;
    if (mem_is_shared(op->direct.held)) { /* its key is one of all of it, which no device can serve */
        mem_unhold(op->direct.held);
        op->direct.held = NULL;
        return false;
    }
    op->direct.offered = serve(op, &info, &header->place);
    if (!op->direct.offered) {
        mem_unhold(op->direct.held);
        op->direct.held = NULL;
        if (!pays(s))
            return false;
    }
    header->type = header->type == PROTO_RTS ? PROTO_RTS_DEVICE : PROTO_TAG_RTS_DEVICE;
    return true;
}

void device_read_told(vbn_peer_t *peer, const proto_header_t *header)
{
    if (header->place.devices[0] == 0)
        link_promote(peer); /* the side that dialled has to know */
}

vbn_status_t device_read_begin(proto_op_t *op, const proto_place_t *place)
{
    const proto_stream_t *s = &op->stream;
    proto_device_t device = {.target = s->target};
    for (unsigned i = 0; i < LINK_DEVICES && place->devices[i] != 0; i++) {
        device.addresses[i] = place->address;
        device.keys[i] = (uint32_t)(place->devices[i] >> 32);
        device.connections[i] = (uint32_t)place->devices[i];
        device.count++;
    }
    bool may = device.count > 0 && cursor_is_list(&s->cursor) &&
               link_native_way(s->peer, device.connections, device.count).lasts;
    return may && device_begin(op, &device) ? VBN_OK : VBN_ERR_UNSUPPORTED;
}
