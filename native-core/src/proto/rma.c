/* SPDX-License-Identifier: Apache-2.0
 * rma.c - put and get: by a copy where the memory is mapped here, else by packets that the owner checks one by one. */
#include "proto/proto_private.h"

/* ------------------------------------------------------------------------------------- issuing side */

static vbn_status_t check_range(const vbn_key_t *key, uint64_t offset, uint64_t length, unsigned access)
{
    if ((key->info.access & access) == 0)
        return err_set(VBN_ERR_ACCESS, "the key does not allow %s", access == VBN_ACCESS_READ ? "reading" : "writing");
    if (offset > key->info.length || length > key->info.length - offset)
        return err_set(VBN_ERR_RANGE, "range %llu + %llu is beyond the key's %llu bytes", (unsigned long long)offset,
                       (unsigned long long)length, (unsigned long long)key->info.length);
    return VBN_OK;
}

static void copy_mapped(const vbn_key_t *key, op_kind_t kind, uint64_t offset, uint64_t length, proto_cursor_t *cursor)
{
    if (kind == OP_GET) {
        cursor_scatter(cursor, key->address + offset, length);
        counter_add(key->engine->counters, COUNTER_GET_MAPPED_BYTES, length);
    } else {
        cursor_gather(cursor, key->address + offset, length);
        counter_add(key->engine->counters, COUNTER_PUT_MAPPED_BYTES, length);
    }
}

static vbn_status_t start_get(vbn_peer_t *peer, proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    op->state = OP_RUNNING;
    proto_header_t header = {.type = PROTO_GET, .op = op->handle, .key = s->key, .offset = s->key_offset,
                             .length = s->length};
    return proto_send_header(peer, &header);
}

/* Before the link is ready its packet size is not known for sure: a large put asks first, which waits for it. */
static vbn_status_t start_put(vbn_peer_t *peer, proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    s->target = op->handle;
    if (!link_ready(peer) && s->length > proto_small_limit(s->engine, peer)) {
        op->state = OP_PROBING;
        proto_header_t header = {.type = PROTO_PUT, .code = PROTO_PUT_PROBE, .op = op->handle, .key = s->key,
                                 .offset = s->key_offset, .length = s->length};
        return proto_send_header(peer, &header);
    }
    op->state = OP_RUNNING;
    counter_add(s->engine->counters, COUNTER_PUT_STREAM_BYTES, s->length);
    stream_pump(s);
    return VBN_OK; /* a lost link shows in peer_down */
}

static vbn_status_t start_packets(vbn_key_t *key, proto_op_t *op)
{
    vbn_status_t status = handle_new(&key->engine->ops, op, &op->handle);
    if (status != VBN_OK)
        return err_add(status, "too many operations are pending in this worker");
    return op->kind == OP_GET ? start_get(key->peer, op) : start_put(key->peer, op);
}

void rma_start(vbn_key_t *key, proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    list_remove(&s->active);
    if (key->address != NULL) {
        copy_mapped(key, (op_kind_t)op->kind, s->key_offset, s->length, &s->cursor);
        op_complete(op, VBN_OK, s->length);
        return;
    }
    vbn_status_t status = start_packets(key, op);
    if (status < 0)
        op_complete(op, status, 0);
}

static vbn_status_t issue(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                          vbn_op_t *user_op)
{
    uint64_t length = 0;
    if (key == NULL)
        return err_set(VBN_ERR_INVALID, "no key given");
    vbn_status_t status = op_check(user_op, iov, count, &length);
    if (status == VBN_OK)
        status = check_range(key, offset, length, kind == OP_GET ? VBN_ACCESS_READ : VBN_ACCESS_WRITE);
    if (status == VBN_OK && key->peer == NULL)
        status = err_set(VBN_ERR_PEER_LOST, "the owner of the memory is lost; release the key");
    if (status != VBN_OK)
        return status;
    if (key->address != NULL) {
        proto_cursor_t cursor;
        cursor_init(&cursor, iov, count);
        copy_mapped(key, kind, offset, length, &cursor);
        return op_set_done(user_op, VBN_OK, length);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, key->peer, kind, iov, count, length, false);
    op->stream.key = key->info.key_handle;
    op->stream.key_offset = offset;
    if (status == VBN_OK && kind == OP_PUT)
        list_append(&proto_peer_of(key->peer)->order, &op->order);
    if (key->request != NULL)
        list_append(&key->waiting, &op->stream.active);
    else
        status = start_packets(key, op);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    return VBN_INPROGRESS;
}

/* One buffer and a range of memory that is mapped here, all in order: nothing is left but to copy. */
static inline bool is_copy(const vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                           const vbn_op_t *op, unsigned access)
{
    return key != NULL && op != NULL && iov != NULL && count == 1 && key->address != NULL && key->peer != NULL &&
           (key->info.access & access) != 0 && iov->iov_base != NULL && offset <= key->info.length &&
           iov->iov_len <= key->info.length - offset;
}

vbn_status_t proto_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_READ))) {
        bytes_copy(iov->iov_base, key->address + offset, iov->iov_len);
        counter_add(key->engine->counters, COUNTER_GET_MAPPED_BYTES, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_GET, offset, iov, count, op);
}

vbn_status_t proto_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_WRITE))) {
        bytes_copy(key->address + offset, iov->iov_base, iov->iov_len);
        counter_add(key->engine->counters, COUNTER_PUT_MAPPED_BYTES, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_PUT, offset, iov, count, op);
}

/* Segment refusals come first (not last), then exactly one last answer to the segment that says LAST. */
void rma_put_answer(proto_op_t *op, vbn_status_t status, bool last)
{
    proto_stream_t *s = &op->stream;
    bool probe = op->state == OP_PROBING;
    if (op->state == OP_FINISHED || (probe && last) || (!probe && last && !s->last_sent) ||
        (!probe && !last && status == VBN_OK)) {
        proto_blame(s->engine, s->peer, "the peer sent an answer that does not fit the put");
    } else if (probe && status == VBN_OK) {
        op->state = OP_RUNNING;
        counter_add(s->engine->counters, COUNTER_PUT_STREAM_BYTES, s->length);
        stream_pump(s);
    } else if (probe) {
        op_finish(op, status, 0);
    } else if (last) {
        vbn_status_t result = s->status != VBN_OK ? (vbn_status_t)s->status : status;
        op_finish(op, result, result == VBN_OK ? s->length : 0);
    } else {
        if (s->status == VBN_OK)
            s->status = status;
        stream_pump(s);
    }
}

/* ------------------------------------------------------------------------------------- owner's side */

void rma_rx_get(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    void *address;
    if (p->stream_count >= engine->max_incoming) {
        proto_blame(engine, peer, "the peer has more gets running than proto.max_incoming allows");
        return;
    }
    vbn_status_t status = mem_key_resolve(engine->memory, header->key, header->offset, header->length,
                                          VBN_ACCESS_READ, &address);
    proto_get_stream_t *get = status == VBN_OK && header->length > 0 ? mpool_get(&engine->get_streams) : NULL;
    if (get == NULL) {
        if (status == VBN_OK && header->length > 0)
            status = VBN_ERR_NO_MEMORY;
        proto_send_status(peer, header->op, status, true, 0);
        return;
    }
    *get = (proto_get_stream_t){.stream = {.key = header->key, .key_offset = header->offset, .target = header->op,
                                           .length = header->length}};
    stream_init(&get->stream, engine, peer, STREAM_GET);
    list_append(&p->streams, &get->link);
    p->stream_count++;
    stream_pump(&get->stream);
}

static void sink_end(proto_peer_t *p)
{
    if (p->sink_mem != NULL)
        mem_unhold(p->sink_mem);
    p->sink_mem = NULL;
    p->sink_address = NULL;
}

void *rma_sink_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    sink_end(p);
    /* The range may be refused once more in rx, which then counts and answers. */
    if (mem_key_hold(engine->memory, header->key, header->offset, header->length, VBN_ACCESS_WRITE, &p->sink_address,
                     &p->sink_mem) != VBN_OK)
        return NULL;
    return p->sink_address;
}

void rma_rx_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, const void *payload)
{
    proto_peer_t *p = proto_peer_of(peer);
    bool probe = (header->code & PROTO_PUT_PROBE) != 0;
    bool last = (header->code & PROTO_PUT_LAST) != 0;
    void *address;
    vbn_mem_t *mem;
    vbn_status_t status = mem_key_hold(engine->memory, header->key, header->offset, header->length, VBN_ACCESS_WRITE,
                                       &address, &mem);
    if (status == VBN_OK) {
        bool placed = p->sink_mem != NULL && payload == p->sink_address;
        if (!probe && !placed && header->length > 0)
            memcpy(address, payload, (size_t)header->length);
        mem_unhold(mem);
    }
    sink_end(p);
    if (last || probe || status != VBN_OK)
        proto_send_status(peer, header->op, status, last, status == VBN_OK ? header->length : 0);
}
