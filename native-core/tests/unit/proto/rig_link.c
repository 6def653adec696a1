/* SPDX-License-Identifier: Apache-2.0
 * rig_link.c - the functions of link.h that the protocol layer calls, over the rig. */
#include "rig_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *rig_flatten(const link_packet_t *p)
{
    uint8_t *data = malloc(p->payload_bytes + 1u);
    size_t at = 0;
    for (uint32_t i = 0; i < p->iov_count; i++) {
        if (p->iov[i].iov_len > 0)
            memcpy(data + at, p->iov[i].iov_base, p->iov[i].iov_len);
        at += p->iov[i].iov_len;
    }
    if (at != p->payload_bytes)
        abort(); /* the caller's sum is wrong */
    return data;
}

vbn_status_t link_send(vbn_peer_t *peer, const link_packet_t *p)
{
    if (peer->down != VBN_OK)
        return VBN_ERR_PEER_LOST;
    if (p->header_bytes > LINK_UPPER_HEADER_MAX ||
        p->header_bytes + p->payload_bytes + LINK_HEADER_BYTES > peer->rig->caps.packet_max)
        abort();
    packet_t *packet = calloc(1, sizeof(*packet));
    memcpy(packet->header, p->frame + LINK_HEADER_BYTES, p->header_bytes);
    memset(p->frame, 0xee, LINK_HEADER_BYTES); /* the room is the link's */
    packet->header_bytes = p->header_bytes;
    packet->payload_bytes = p->payload_bytes;
    packet->sent = *p;
    packet->late = peer->rig->options.late_done;
    if (!packet->late)
        packet->payload = rig_flatten(p);
    list_append(&peer->inbox, &packet->link);
    return packet->late ? VBN_INPROGRESS : VBN_OK;
}

static void look(const vbn_peer_t *peer)
{
    rig_t *rig = peer->rig;
    (rig->first != NULL ? rig->first : rig)->flush_looks++;
}

bool link_flush_idle(vbn_peer_t *peer)
{
    look(peer);
    return list_empty(&peer->inbox);
}

vbn_status_t link_flush(vbn_peer_t *peer, link_done_func_t done, void *arg)
{
    look(peer);
    if (list_empty(&peer->inbox))
        return VBN_OK;
    flush_t *flush = calloc(1, sizeof(*flush));
    flush->done = done;
    flush->arg = arg;
    list_append(&peer->flushes, &flush->link);
    return VBN_INPROGRESS;
}

bool link_ready(const vbn_peer_t *peer)
{
    return peer->rig->ready;
}

/* One connection, with one number at both sides. */
unsigned link_natives(const vbn_peer_t *peer, bool ours, uint32_t connections[LINK_DEVICES])
{
    const rig_t *rig = peer->rig;
    (void)ours;
    if (rig->devices == NULL || rig->hidden || !rig->ready || peer->down != VBN_OK)
        return 0;
    connections[0] = rig_devices_connection(rig->devices);
    return 1;
}

link_way_t link_native_way(const vbn_peer_t *peer, const uint32_t *connections, unsigned count)
{
    uint32_t now[LINK_DEVICES];
    for (unsigned i = 0; link_natives(peer, false, now) > 0 && i < count; i++)
        if (connections[i] == now[0])
            return (link_way_t){.connection = now[0], .device = i, .all = 1, .lasts = true};
    return (link_way_t){0};
}

bool link_native_possible(const vbn_peer_t *peer)
{
    return peer->rig->devices != NULL;
}

vbn_status_t link_access(vbn_peer_t *peer, uint32_t connection, const link_access_t *access, uint32_t *taken_p)
{
    return rig_devices_access(peer->rig->devices, peer->side, connection, access, taken_p);
}

void link_ring(vbn_peer_t *peer)
{
    (void)peer;
}

vbn_status_t link_expose(vbn_peer_t *peer, uint32_t connection, uint64_t key_handle, mem_exposed_t *exposed_p)
{
    if (peer->rig->devices == NULL)
        return err_set(VBN_ERR_UNSUPPORTED, "the rig has no devices");
    return rig_devices_expose(peer->rig->devices, peer->side, connection, key_handle, exposed_p);
}

void link_native_end(vbn_peer_t *peer, uint32_t connection)
{
    rig_devices_t *devices = peer->rig->devices;
    if (devices != NULL && rig_devices_connection(devices) == connection)
        rig_devices_break(devices);
}

void link_promote(vbn_peer_t *peer)
{
    peer->rig->promoted[peer->side]++;
}

vbn_status_t link_import(vbn_peer_t *peer, const mem_key_info_t *info, tl_import_func_t func, void *arg)
{
    import_request_t *request = calloc(1, sizeof(*request));
    request->func = func;
    request->arg = arg;
    request->owner = 1 - peer->side;
    request->info = *info;
    list_append(&peer->rig->imports, &request->link);
    return VBN_INPROGRESS;
}

size_t link_explain(const vbn_peer_t *peer, char *text, size_t capacity)
{
    (void)peer;
    return (size_t)snprintf(text, capacity, "the rig");
}

void link_timer_add(link_engine_t *engine, wheel_timer_t *timer, uint64_t delay_ns)
{
    wheel_add(&engine->wheel, timer, engine->rig->now_ms - engine->wheel.now_ms + delay_ns / 1000000);
}

void link_quiet(vbn_peer_t *peer)
{
    (void)peer;
}

bool link_direct(const vbn_peer_t *peer, tl_direct_t *direct_p)
{
    rig_t *rig = peer->rig;
    *direct_p = (tl_direct_t){.copies = rig->options.copies,
                              .source = RIG_SOURCE,
                              .ours = rig->claims[peer->side],
                              .used = &rig->claims_used[peer->side],
                              .theirs = rig->claims[1 - peer->side],
                              .lent = &rig->lent[peer->side],
                              .guard = {.writing = &rig->writing[1 - peer->side], .shut = &rig->shut[1 - peer->side]}};
    return rig->options.direct && rig->ready && peer->down == VBN_OK;
}

vbn_status_t link_copy(vbn_peer_t *peer, bool write, void *local, uint64_t remote, size_t length)
{
    rig_t *rig = peer->rig;
    void *there = (void *)(uintptr_t)remote;
    if (rig->copies_left[peer->side] == 0)
        return err_set(VBN_ERR_ACCESS, "the rig forbids the copy");
    if (rig->copies_left[peer->side] > 0)
        rig->copies_left[peer->side]--;
    memcpy(write ? there : local, write ? local : there, length);
    return VBN_OK;
}

bool link_present(const vbn_peer_t *peer)
{
    return !peer->rig->absent;
}

void link_fail(vbn_peer_t *peer, vbn_status_t status, const char *text)
{
    (void)text;
    if (peer->failure == VBN_OK)
        peer->failure = status;
}
