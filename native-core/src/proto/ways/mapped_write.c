/* SPDX-License-Identifier: Apache-2.0
 * mapped_write.c - announced messages that the sender writes to their place: for receive buffers in memory of vbn_mem_alloc that
 * their owner has exported for writing, where the receiver can neither map nor read the sender's data.
 *
 *   sender                                         receiver
 *   RTS                                    --->
 *                                          <---    PULL_PUT: key and place of the receive buffer
 *   has the memory mapped:
 *     copies, a chunk per progress call, then
 *   STATUS                                 --->    complete
 *   has not: maps it for later, and answers as if it were PULL
 *
 * Each chunk is written inside the connection's guard (tl/guard.h): a receive that ends with its peer shuts it and waits for
 * the chunk that is being written (D1 in process_copy.c), so nothing is written afterwards. The key is one that the user has
 * exported: a receive gives nobody rights that he did not have. The mapping is kept by keep.c. The sender's op is complete
 * when the last byte is copied; STATUS goes behind the copies, so whoever sees it sees them (the ring's release and
 * acquire). */
#include "proto/head.h"
#include "proto/ways/way.h"

#define CHUNK (256u << 10) /* copied before other peers get their turn */

static bool pays(const proto_engine_t *engine, const tl_caps_t *caps, uint64_t length)
{
    model_t model;
    model_path_t path = cost_path(engine, caps);
    model_message(&model, &engine->host, &path, MODEL_BIT(MODEL_PUT) | MODEL_BIT(MODEL_STREAM));
    return path.map && model_best(&model, length)->way == MODEL_PUT;
}

vbn_status_t mapped_write_begin(proto_op_t *op, const proto_place_t *place)
{
    const proto_stream_t *s = &op->stream;
    mem_key_info_t info;
    tl_direct_t direct;
    (void)place;
    const void *to = cursor_contiguous(&s->cursor, s->length);
    if (to == NULL || !pays(s->engine, link_caps(s->peer), s->length) || !link_direct(s->peer, &direct) ||
        !mem_find_writable(s->engine->memory, to, (size_t)s->length, &info))
        return VBN_ERR_UNSUPPORTED;
    proto_header_t header = {.type = PROTO_PULL_PUT, .op = s->target, .target = op->handle};
    header.place = (proto_place_t){.key = info.key_handle,
                                   .offset = info.offset,
                                   .owner = info.owner_id,
                                   .memory = info.mem_handle,
                                   .memory_bytes = info.mem_bytes};
    *direct.lent = true;
    way_set(op, WAY_MAPPED_WRITE);
    op->state = OP_RUNNING;
    op->direct.put = true;
    (void)proto_send_header(s->peer, &header); /* a failure means that the peer is lost */
    return VBN_OK;
}

void mapped_write_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    const proto_place_t *place = &header->place;
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op->kind != OP_LARGE || op->state != OP_WAITING || op->stream.length == 0 ||
        op->stream.length > place->memory_bytes - place->offset) {
        proto_blame(engine, peer, "the peer sent a PULL_PUT without an RTS, or to memory that is too small");
        return;
    }
    const mem_key_info_t info = {.key_handle = place->key,
                                 .owner_id = place->owner,
                                 .mem_handle = place->memory,
                                 .mem_bytes = place->memory_bytes,
                                 .length = place->memory_bytes,
                                 .access = VBN_ACCESS_READ | VBN_ACCESS_WRITE};
    head_note(op, false);
    way_set(op, WAY_PACKETS); /* what the announcement offered is not used */
    op->stream.stages = 0;
    op->stream.target = header->target;
    op->state = OP_RUNNING;
    tl_direct_t direct;
    bool near = link_direct(peer, &direct);
    mem_import_t *import = near ? keep_find(&engine->keep, direct.source, &info) : NULL;
    if (import == NULL) {
        if (near)
            keep_want(&engine->keep, engine->link, peer, direct.source, &info);
        stream_pump(&op->stream);
        return;
    }
    way_set(op, WAY_MAPPED_WRITE);
    op->state = OP_WRITING;
    op->direct.import = import;
    op->direct.put = true;
    op->stream.key_offset = place->offset;
    list_append(&engine->copying, &op->stream.active);
}

void mapped_write_run(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    uint64_t left = s->length - s->moved, bytes = left < CHUNK ? left : CHUNK;
    uint8_t *to = (uint8_t *)mem_import_address(op->direct.import) + s->key_offset + s->moved;
    tl_direct_t direct;
    if (!link_direct(s->peer, &direct) || !guard_enter(&direct.guard))
        return; /* the receive has ended with its peer, which ends this op */
    cursor_gather(&s->cursor, to, bytes);
    guard_leave(&direct.guard);
    s->moved += bytes;
    counter_add(s->engine->counters, COUNTER_PUT_MAPPED_BYTES, bytes);
    if (s->moved < s->length) {
        copying_again(op);
        return;
    }
    proto_send_status(s->peer, s->target, VBN_OK, true, s->length);
    op_complete(op, VBN_OK, s->length);
}

void mapped_write_end(proto_op_t *op)
{
    if (op->direct.import != NULL)
        mem_import_release(op->direct.import);
    op->direct = (proto_direct_t){0};
}
