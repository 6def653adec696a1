/* SPDX-License-Identifier: Apache-2.0
 * device.c - gets, puts and pulls (device_read.c) that the devices of both sides carry out, without the owner's processor.
 *
 *   importer                                              owner
 *   KEY_ASK: key, connection                      --->    registers the key's memory with its device (mem/expose.h)
 *                                                 <---    KEY_TELL: address and key of the device, or STATUS
 *   reads and writes by the device, pieces of a megabyte, up to proto.stream_depth at once
 *
 * Until the answer is there, and wherever else something is missing, operations go by packets. For pulls the announcement is
 * the answer. What it says holds for that connection. When it breaks, whatever of an
 * operation was done already, all of it is done again by packets; for a put only when the owner has answered LANE_END:
 * from then on nothing that comes late can overwrite later data. A key that was revoked breaks the connection, and the
 * packets then say VBN_ERR_STALE.
 *
 * Order: a put counts as not sent until it is done (fence_enter), so what comes after a fence waits for it; and nothing goes
 * this way while packets from before a fence are not answered. A put's signal is a packet, sent when the data is there. */
#include <stdlib.h>

#include "proto/rma.h"
#include "proto/ways/way.h"

#define PIECE_MOST (UINT64_C(1) << 30)   /* offered to the device, which takes as much as it likes */
#define PIECE_LEAST (UINT64_C(64) << 10) /* of a transfer over several connections */

/* ------------------------------------------------------------------------------------------------ keys */

/* A question under way. */
struct key_ask {
    vbn_op_t op;
    vbn_key_t *key; /* NULL: nobody waits any more */
    uint32_t connection;
    unsigned device; /* where in key->device the answer belongs */
};

static void told(vbn_op_t *op, vbn_status_t status, size_t length)
{
    key_ask_t *ask = container_of(op, key_ask_t, op);
    vbn_key_t *key = ask->key;
    (void)length;
    if (key != NULL) {
        key->ask = NULL;
        key->device[ask->device].connection = ask->connection; /* not asked again as long as it lives */
        key->device[ask->device].known = status == VBN_OK;
    }
    free(ask);
}

/* No device serves the key. */
bool key_on_status(proto_op_t *op, vbn_status_t status, const proto_header_t *header)
{
    if (status >= 0 || header->last != 1)
        return false;
    op_complete(op, status, 0);
    return true;
}

static void ask_owner(vbn_key_t *key, unsigned device, uint32_t connection)
{
    if (key->ask != NULL)
        return;
    key_ask_t *ask = calloc(1, sizeof(*ask));
    if (ask == NULL)
        return;
    *ask = (key_ask_t){.op.done = told, .key = key, .connection = connection, .device = device};
    if (op_begin(&ask->op, key->peer, OP_KEY, NULL, 0, 0, true) != VBN_OK) {
        free(ask);
        return;
    }
    proto_op_t *op = op_of(&ask->op);
    const proto_header_t header = {
        .type = PROTO_KEY_ASK, .op = op->handle, .target = connection, .key = key->info.key_handle};
    if (proto_send_header(key->peer, &header) >= 0) {
        key->ask = ask;
        return;
    }
    op_detach(op);
    free(ask);
}

void device_forget(vbn_key_t *key)
{
    if (key->ask != NULL)
        key->ask->key = NULL;
    key->ask = NULL;
}

void device_rx_ask(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    mem_exposed_t exposed;
    vbn_status_t status = link_expose(peer, (uint32_t)header->target, header->key, &exposed);
    if (status < 0) {
        LOG_PEER(engine->log, VBN_LOG_DEBUG, link_peer_uid(peer), "no device serves a key to peer %016llx: %s",
                 (unsigned long long)link_peer_uid(peer), err_text());
        proto_send_status(peer, header->op, status, true, 0);
        return;
    }
    const proto_header_t answer = {
        .type = PROTO_KEY_TELL, .op = header->op, .key = exposed.key, .offset = exposed.address};
    (void)proto_send_header(peer, &answer); /* a failure means that the peer is lost */
}

void device_rx_tell(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op->kind != OP_KEY) {
        proto_blame(engine, peer, "the peer sent a KEY_TELL without a KEY_ASK");
        return;
    }
    const key_ask_t *ask = container_of(container_of((uint64_t *)op, vbn_op_t, priv), key_ask_t, op);
    vbn_key_t *key = ask->key;
    if (key != NULL && header->offset > UINT64_MAX - key->info.length) {
        proto_blame(engine, peer, "the peer's device serves a key at an impossible address");
        return;
    }
    if (key != NULL) {
        key->device[ask->device].address = header->offset;
        key->device[ask->device].key = (uint32_t)header->key;
    }
    op_complete(op, VBN_OK, 0);
}

/* ----------------------------------------------------------------------------------------- operations */

/* An announcement offers memory that is held; all else has a record of its own. */
void device_end(proto_op_t *op)
{
    if (op->kind != OP_LARGE) {
        mpool_put(&op->stream.engine->devices, op->stream.device);
        op->stream.device = NULL;
        return;
    }
    if (op->direct.held != NULL)
        mem_unhold(op->direct.held);
    op->direct = (proto_direct_t){0};
}

static void later(proto_stream_t *s)
{
    list_remove(&s->active);
    list_append(&s->engine->active, &s->active);
}

/* The data is there. */
static void finish(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    if (op->kind == OP_PULL)
        proto_send_status(s->peer, s->device->target, VBN_OK, true, s->length);
    if (op->kind != OP_PUT || op->signal.key == 0) {
        op_complete(op, VBN_OK, s->length);
        return;
    }
    way_set(op, WAY_PACKETS);
    s->kind = STREAM_PUT;
    op->state = OP_RUNNING;
    vbn_status_t status = handle_new(&s->engine->ops, op, &op->handle);
    s->target = op->handle;
    if (status == VBN_OK)
        stream_pump(s); /* its last segment, without data */
    else
        op_complete(op, status, 0);
}

static void pump(proto_stream_t *s);

static void piece_done(void *arg, vbn_status_t status)
{
    proto_segment_t *segment = arg;
    proto_stream_t *s = segment->stream;
    proto_op_t *op = container_of(s, proto_op_t, stream);
    mpool_put(&s->engine->segments, segment);
    s->in_flight--;
    if (op->state == OP_FINISHED) { /* the peer ended first */
        stream_settle(s);
        return;
    }
    if (status < 0 && s->status == VBN_OK)
        s->status = status;
    if (s->status != VBN_OK && s->in_flight == 0)
        later(s); /* begun again, or the peer's end ends it */
    else if (s->status == VBN_OK && s->moved < s->length)
        pump(s);
    else if (s->status == VBN_OK && s->in_flight == 0)
        finish(op);
}

/* Bytes of a request: as many as the device likes, or a part for each of several connections. */
static uint64_t piece_bytes(const proto_stream_t *s, unsigned connections)
{
    uint64_t left = s->length - s->moved, most = PIECE_MOST;
    if (connections > 1)
        most = s->length / connections > PIECE_LEAST ? (s->length / connections | 4095) + 1 : PIECE_LEAST;
    return left < most ? left : most;
}

static bool send_piece(proto_stream_t *s)
{
    const proto_device_t *device = s->device;
    bool write = container_of(s, const proto_op_t, stream)->kind == OP_PUT;
    link_way_t way = {.connection = device->connections[0], .all = 1};
    if (!write)
        way = link_native_way(s->peer, device->connections, device->count);
    proto_segment_t *segment = mpool_get(&s->engine->segments);
    proto_cursor_t cursor = s->cursor;
    uint32_t taken = 0;
    if (segment == NULL)
        return false;
    segment->stream = s;
    (void)cursor_cut(&cursor, piece_bytes(s, way.all), segment->iov, &segment->iov_count);
    const link_access_t access = {.write = write,
                                  .key = device->keys[way.device],
                                  .remote = device->addresses[way.device] + s->moved,
                                  .iov = segment->iov,
                                  .iov_count = segment->iov_count,
                                  .done = piece_done,
                                  .arg = segment};
    vbn_status_t status = link_access(s->peer, way.connection, &access, &taken);
    if (status == VBN_INPROGRESS) {
        s->in_flight++;
        s->moved += taken;
        cursor_scatter(&s->cursor, NULL, taken); /* only moves on */
        counter_add(s->engine->counters, write ? COUNTER_PUT_NATIVE_BYTES : COUNTER_GET_NATIVE_BYTES, taken);
        return true;
    }
    mpool_put(&s->engine->segments, segment);
    if (status < 0)
        s->status = status;
    return false;
}

static void pump(proto_stream_t *s)
{
    bool sent = false;
    while (s->status == VBN_OK && s->moved < s->length && s->in_flight < s->engine->stream_depth && send_piece(s))
        sent = true;
    if (sent)
        link_ring(s->peer);
    if (s->in_flight == 0)
        later(s); /* no room, or no connection any more */
}

/* All of it again, by packets. */
static void begin_again(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    const proto_device_t device = *s->device;
    way_set(op, WAY_PACKETS);
    counter_add(s->engine->counters, COUNTER_NATIVE_REDONE, 1);
    s->kind = op->kind == OP_PUT ? STREAM_PUT : STREAM_PULL;
    s->cursor.index = 0;
    s->cursor.offset = 0;
    s->moved = 0;
    s->status = VBN_OK;
    op->state = OP_ENDING;
    vbn_status_t status = VBN_OK;
    if (op->kind == OP_PULL) {
        s->target = device.target;
        status = packets_instead(op);
    } else if (op->kind == OP_GET) {
        status = op_start(op);
    } else if ((status = handle_new(&s->engine->ops, op, &op->handle)) == VBN_OK) {
        const proto_header_t header = {.type = PROTO_LANE_END, .op = op->handle, .target = device.connections[0]};
        status = proto_send_header(s->peer, &header);
    }
    if (status < 0)
        op_complete(op, status, 0);
}

void device_run(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    if (s->status != VBN_OK && s->in_flight == 0)
        begin_again(op);
    else
        pump(s);
}

bool device_begin(proto_op_t *op, const proto_device_t *device)
{
    proto_stream_t *s = &op->stream;
    proto_device_t *kept = mpool_get(&s->engine->devices);
    if (kept == NULL)
        return false;
    way_set(op, WAY_DEVICE);
    *kept = *device;
    s->device = kept;
    s->kind = STREAM_DEVICE;
    op->state = OP_DEVICE;
    pump(s);
    return true;
}

/* Adds what the owner has told of this connection, or asks it. */
static void add_device(vbn_key_t *key, uint64_t offset, unsigned at, uint32_t connection, proto_device_t *device)
{
    unsigned i = 0;
    while (i < LINK_DEVICES && key->device[i].connection != connection)
        i++;
    if (i == LINK_DEVICES) {
        ask_owner(key, at, connection);
        return;
    }
    if (!key->device[i].known)
        return;
    device->addresses[device->count] = key->device[i].address + offset;
    device->keys[device->count] = key->device[i].key;
    device->connections[device->count++] = connection;
}

bool device_start(vbn_key_t *key, proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    proto_device_t device = {0};
    uint32_t connections[LINK_DEVICES];
    if (s->length == 0 || op->kind == OP_ATOMIC || key->info.by_packets || !cursor_is_list(&s->cursor))
        return false;
    unsigned count = link_natives(s->peer, false, connections);
    if (count == 0 && s->length >= cost_limits(s->engine, s->peer)->native_from)
        link_promote(s->peer);
    for (unsigned i = 0; i < count && (i == 0 || op->kind == OP_GET); i++)
        add_device(key, s->key_offset, i, connections[i], &device);
    return device.count > 0 && fence_allows_copy(proto_peer_of(s->peer), s->epoch) && device_begin(op, &device);
}

/* ------------------------------------------------------------------------------ a connection that broke */

void device_rx_lane_end(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    (void)engine;
    link_native_end(peer, (uint32_t)header->target);
    proto_send_status(peer, header->op, VBN_OK, true, 0); /* last: nothing comes over it any more */
}
