/* SPDX-License-Identifier: Apache-2.0
 * rma.c - put and get: by a copy where the memory is mapped here, by devices where they can (native.c), else by packets that
 * the owner checks one by one. */
#include "proto/traffic.h"

/* ------------------------------------------------------------------------------------- issuing side */

vbn_status_t rma_check(const vbn_key_t *key, uint64_t offset, uint64_t length, unsigned access)
{
    if (key == NULL)
        return err_set(VBN_ERR_INVALID, "no key given");
    if (proto_forked(key->engine))
        return proto_refuse_fork();
    if ((access & ~key->info.access) != 0)
        return err_set(VBN_ERR_ACCESS, "the key does not allow %s",
                       (access & ~key->info.access & VBN_ACCESS_READ) != 0 ? "reading" : "writing");
    if (offset > key->info.length || length > key->info.length - offset)
        return err_set(VBN_ERR_RANGE, "range %llu + %llu is beyond the key's %llu byte%s", (unsigned long long)offset,
                       (unsigned long long)length, (unsigned long long)key->info.length, plural(key->info.length));
    if (key->peer == NULL)
        return err_set(VBN_ERR_PEER_LOST, "the owner of the memory is lost; release the key");
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

/* One block after the other between mapped memory and here; words without a call. */
static void copy_blocks(const vbn_key_t *key, op_kind_t kind, uint64_t offset, const vbn_strided_t *blocks)
{
    char *there = (char *)key->address + offset, *here = blocks->base;
    size_t block = blocks->block;
    for (size_t i = 0; i < blocks->count; i++, there += blocks->remote_stride, here += blocks->local_stride) {
        char *to = kind == OP_GET ? here : there;
        const char *from = kind == OP_GET ? there : here;
        if (block == 8)
            memcpy(to, from, 8);
        else if (block == 4)
            memcpy(to, from, 4);
        else
            memcpy(to, from, block);
    }
    counter_add(key->engine->counters, kind == OP_GET ? COUNTER_GET_MAPPED_BYTES : COUNTER_PUT_MAPPED_BYTES,
                block * blocks->count);
}

static vbn_status_t send_get(proto_op_t *op)
{
    const proto_stream_t *s = &op->stream;
    op->state = OP_RUNNING;
    op->code = 1;
    proto_peer_of(s->peer)->gets++;
    proto_header_t header = {.type = PROTO_GET, .op = op->handle, .key = s->key, .offset = s->key_offset,
                             .length = s->length};
    if (s->cursor.count == CURSOR_STRIDED && s->cursor.strided->count > 1) {
        header.type = PROTO_GET_BLOCKS;
        header.block = s->cursor.strided->block;
        header.stride = s->cursor.strided->remote_stride;
    }
    return proto_send_header(s->peer, &header);
}

/* As many as the owner's proto.max_incoming, if that is ours; when it is less, it refuses what is too much. */
static vbn_status_t start_get(proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    if (p->gets < op->stream.engine->max_incoming && list_empty(&p->crowd))
        return send_get(op);
    list_append(&p->crowd, &op->stream.active);
    return VBN_OK;
}

/* One that cannot be sent ends, which comes back here: the outermost call goes on with the next. */
static void next_get(proto_peer_t *p)
{
    vbn_status_t status = VBN_ERR_CLOSED;
    if (p->asking)
        return;
    p->asking = true;
    while (status < 0 && !p->down && !list_empty(&p->crowd)) {
        proto_op_t *op = container_of(list_pop(&p->crowd), proto_op_t, stream.active);
        status = send_get(op);
        if (status < 0)
            op_complete(op, status, 0);
    }
    p->asking = false;
}

void rma_get_leave(proto_op_t *op)
{
    op->code = 0;
    if (op->stream.peer == NULL)
        return;
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    p->gets--;
    next_get(p);
}

/* When none is left that could end, it asks again at once: the owner needs a moment more for one that has ended here. */
void rma_get_refused(proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(op->stream.peer);
    op->state = OP_WAITING;
    op->code = 0;
    list_prepend(&p->crowd, &op->stream.active);
    if (--p->gets == 0)
        next_get(p);
}

/* Before the link is ready its packet size is not known for sure: a large put asks first, which waits for it. */
vbn_status_t rma_start_put(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    vbn_peer_t *peer = s->peer;
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

vbn_status_t rma_send(proto_op_t *op)
{
    vbn_status_t status = handle_new(&op->stream.engine->ops, op, &op->handle);
    if (status != VBN_OK)
        return err_add(status, "too many operations are pending in this worker");
    if (op->kind == OP_GET)
        return start_get(op);
    return op->kind == OP_ATOMIC ? amo_send(op) : rma_start_put(op);
}

/* A put with a signal goes by packets: the signal's word may belong to other memory. */
static bool may_copy(const vbn_key_t *key, const proto_op_t *op)
{
    return key->address != NULL && op->signal.key == 0 &&
           fence_allows_copy(proto_peer_of(key->peer), op->stream.epoch);
}

void rma_start(vbn_key_t *key, proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    list_remove(&s->active);
    if (!may_copy(key, op)) {
        vbn_status_t status = rma_send(op);
        if (status < 0)
            op_complete(op, status, 0);
    } else if (op->kind == OP_ATOMIC) {
        amo_copy(key, op);
        op_complete(op, VBN_OK, s->length);
    } else if (s->cursor.count == CURSOR_STRIDED) {
        copy_blocks(key, (op_kind_t)op->kind, s->key_offset, s->cursor.strided);
        op_complete(op, VBN_OK, s->length);
    } else {
        copy_mapped(key, (op_kind_t)op->kind, s->key_offset, s->length, &s->cursor);
        op_complete(op, VBN_OK, s->length);
    }
}

vbn_status_t rma_submit(vbn_key_t *key, proto_op_t *op)
{
    proto_peer_t *p = proto_peer_of(key->peer);
    vbn_status_t status = VBN_OK;
    if (op->kind != OP_GET) {
        list_append(&p->order, &op->order);
        proto_unflushed(key->peer); /* devices carry it out without a packet */
    }
    if (fence_blocks(p, op)) {
        list_append(&p->fenced, &op->stream.active);
        return VBN_INPROGRESS;
    }
    if (op->kind != OP_GET)
        fence_enter(op);
    if (key->request != NULL && op->signal.key == 0)
        list_append(&key->waiting, &op->stream.active);
    else if (!native_start(key, op))
        status = rma_send(op);
    if (status < 0) {
        op_detach(op);
        return status;
    }
    return VBN_INPROGRESS;
}

static inline vbn_status_t issued(const vbn_key_t *key, op_kind_t kind, vbn_op_t *op, vbn_status_t status,
                                  uint64_t length)
{
    return traffic_end(key->engine, key->peer, kind == OP_GET ? TRAFFIC_GET : TRAFFIC_PUT, length, op, status);
}

static vbn_status_t issue(vbn_key_t *key, op_kind_t kind, uint64_t offset, const struct iovec *iov, size_t count,
                          vbn_op_t *user_op)
{
    uint64_t length = 0;
    vbn_status_t status = op_check(user_op, iov, count, &length);
    if (status == VBN_OK)
        status = rma_check(key, offset, length, kind == OP_GET ? VBN_ACCESS_READ : VBN_ACCESS_WRITE);
    if (status != VBN_OK)
        return status;
    traffic_begin(key->engine);
    if (rma_mapped(key)) {
        proto_cursor_t cursor;
        cursor_init(&cursor, iov, count);
        copy_mapped(key, kind, offset, length, &cursor);
        return issued(key, kind, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, key->peer, kind, iov, count, length, false);
    if (status == VBN_OK) {
        op->stream.key = key->info.key_handle;
        op->stream.key_offset = offset;
        status = rma_submit(key, op);
    }
    return issued(key, kind, user_op, status, length);
}

/* One buffer and a range of memory that is mapped here, all in order, no fence to wait for and not the one to be timed:
 * nothing is left but to copy. */
static inline bool is_copy(const vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                           const vbn_op_t *op, unsigned access)
{
    return key != NULL && op != NULL && iov != NULL && count == 1 && key->address != NULL && key->peer != NULL &&
           (key->info.access & access) != 0 && iov->iov_base != NULL && offset <= key->info.length &&
           iov->iov_len <= key->info.length - offset && !proto_forked(key->engine) &&
           fence_allows_copy(link_peer_upper(key->peer), key->engine->fence_epoch) && traffic_untimed(key->engine);
}

vbn_status_t proto_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_READ))) {
        bytes_copy(iov->iov_base, key->address + offset, iov->iov_len);
        counter_add(key->engine->counters, COUNTER_GET_MAPPED_BYTES, iov->iov_len);
        traffic_short(key->engine, link_caps(key->peer)->traffic, TRAFFIC_GET, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_GET, offset, iov, count, op);
}

vbn_status_t proto_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op)
{
    if (LIKELY(is_copy(key, offset, iov, count, op, VBN_ACCESS_WRITE))) {
        bytes_copy(key->address + offset, iov->iov_base, iov->iov_len);
        counter_add(key->engine->counters, COUNTER_PUT_MAPPED_BYTES, iov->iov_len);
        traffic_short(key->engine, link_caps(key->peer)->traffic, TRAFFIC_PUT, iov->iov_len);
        return op_set_done(op, VBN_OK, iov->iov_len);
    }
    return issue(key, OP_PUT, offset, iov, count, op);
}

/* span_p: bytes from the first to the last one in the remote memory. */
static vbn_status_t check_strided(const vbn_strided_t *blocks, const vbn_op_t *op, uint64_t *span_p)
{
    if (blocks == NULL || op == NULL)
        return err_set(VBN_ERR_INVALID, "a strided operation needs a vbn_strided_t and a vbn_op_t");
    size_t block = blocks->block, count = blocks->count;
    *span_p = 0;
    if (block == 0 || count == 0)
        return VBN_OK;
    if (blocks->base == NULL || block > SIZE_MAX / 2 / count)
        return err_set(VBN_ERR_INVALID, "blocks have no address, or are too many: %zu of %zu byte%s", count, block,
                       plural(block));
    if (count > 1 && (blocks->remote_stride < block || blocks->remote_stride > SIZE_MAX / 2 / count))
        return err_set(VBN_ERR_INVALID, "remote stride of %zu byte%s for blocks of %zu: they would overlap or end beyond "
                       "any memory", blocks->remote_stride, plural(blocks->remote_stride), block);
    *span_p = (count - 1) * blocks->remote_stride + block;
    return VBN_OK;
}

static vbn_status_t issue_strided(vbn_key_t *key, op_kind_t kind, size_t offset, const vbn_strided_t *blocks,
                                  vbn_op_t *user_op)
{
    uint64_t span;
    vbn_status_t status = check_strided(blocks, user_op, &span);
    if (status == VBN_OK)
        status = rma_check(key, offset, span, kind == OP_GET ? VBN_ACCESS_READ : VBN_ACCESS_WRITE);
    if (status != VBN_OK)
        return status;
    uint64_t length = blocks->block * blocks->count;
    if (length == 0)
        return op_set_done(user_op, VBN_OK, 0);
    traffic_begin(key->engine);
    if (rma_mapped(key)) {
        copy_blocks(key, kind, offset, blocks);
        return issued(key, kind, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    const struct iovec *data = (const struct iovec *)(const void *)blocks; /* the cursor knows what it is */
    status = op_begin(user_op, key->peer, kind, data, CURSOR_STRIDED_COUNT, length, false);
    if (status == VBN_OK) {
        proto_op_t *op = op_of(user_op);
        op->stream.key = key->info.key_handle;
        op->stream.key_offset = offset;
        status = rma_submit(key, op);
    }
    return issued(key, kind, user_op, status, length);
}

vbn_status_t proto_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    return issue_strided(key, OP_PUT, offset, blocks, op);
}

vbn_status_t proto_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op)
{
    return issue_strided(key, OP_GET, offset, blocks, op);
}

static vbn_status_t check_signal(const vbn_key_t *key, const vbn_signal_t *signal)
{
    if (signal == NULL || (signal->kind != VBN_ATOMIC_ADD && signal->kind != VBN_ATOMIC_SWAP))
        return err_set(VBN_ERR_INVALID, "a signal is VBN_ATOMIC_ADD or VBN_ATOMIC_SWAP of a 64-bit word");
    vbn_status_t status = amo_check(signal->key, signal->offset, sizeof(uint64_t), VBN_ACCESS_WRITE);
    if (status == VBN_OK && key != NULL && signal->key->peer != key->peer)
        status = err_set(VBN_ERR_INVALID, "the data and its signal belong to different peers");
    return status;
}

vbn_status_t proto_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                              const vbn_signal_t *signal, vbn_op_t *user_op)
{
    uint64_t length = 0;
    vbn_status_t status = op_check(user_op, iov, count, &length);
    if (status == VBN_OK)
        status = rma_check(key, offset, length, VBN_ACCESS_WRITE);
    if (status == VBN_OK)
        status = check_signal(key, signal);
    if (status != VBN_OK)
        return status;
    traffic_begin(key->engine);
    if (rma_mapped(key) && signal->key->address != NULL) {
        proto_cursor_t cursor;
        cursor_init(&cursor, iov, count);
        copy_mapped(key, OP_PUT, offset, length, &cursor);
        (void)amo_apply(signal->key->address + signal->offset, (unsigned)signal->kind | PROTO_ATOMIC_WIDE,
                        signal->value, 0);
        return issued(key, OP_PUT, user_op, op_set_done(user_op, VBN_OK, length), length);
    }
    proto_op_t *op = op_of(user_op);
    status = op_begin(user_op, key->peer, OP_PUT, iov, count, length, false);
    if (status != VBN_OK)
        return issued(key, OP_PUT, user_op, status, length);
    op->stream.key = key->info.key_handle;
    op->stream.key_offset = offset;
    op->code = (uint8_t)signal->kind;
    op->signal.key = signal->key->info.key_handle;
    op->signal.offset = signal->offset;
    op->signal.value = signal->value;
    return issued(key, OP_PUT, user_op, rma_submit(key, op), length);
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

/* Bytes from the first to the last one of blocks; the decoder has checked that it can be computed. */
static uint64_t span_of(const proto_header_t *header)
{
    return (header->length / header->block - 1) * header->stride + header->block;
}

void rma_rx_get(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    void *address;
    vbn_mem_t *mem;
    if (p->stream_count >= engine->max_incoming) {
        proto_send_status(peer, header->op, VBN_ERR_LIMIT, true, 0); /* asks again when one has ended */
        return;
    }
    bool blocks = header->type == PROTO_GET_BLOCKS;
    uint64_t span = blocks ? span_of(header) : header->length;
    vbn_status_t status = mem_reach(&engine->reach, header->key, header->offset, span, VBN_ACCESS_READ, &address, &mem);
    if (status == VBN_OK)
        mem_leave(mem);
    proto_get_stream_t *get = status == VBN_OK && header->length > 0 ? mpool_get(&engine->get_streams) : NULL;
    if (get == NULL) {
        if (status == VBN_OK && header->length > 0)
            status = VBN_ERR_NO_MEMORY;
        proto_send_status(peer, header->op, status, true, 0);
        return;
    }
    *get = (proto_get_stream_t){.stream = {.key = header->key, .key_offset = header->offset, .target = header->op,
                                           .length = header->length},
                                .block = blocks ? header->block : 0, .stride = header->stride};
    stream_init(&get->stream, engine, peer, STREAM_GET);
    list_append(&p->streams, &get->link);
    p->stream_count++;
    stream_pump(&get->stream);
}

void rma_sink_end(proto_peer_t *p)
{
    if (p->sink_mem != NULL)
        mem_unreference(p->sink_mem);
    p->sink_mem = NULL;
    p->sink_address = NULL;
}

void *rma_sink_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_peer_t *p = proto_peer_of(peer);
    vbn_mem_t *mem;
    rma_sink_end(p);
    /* The range may be refused once more in rx, which then counts and answers. */
    if (mem_reach(&engine->reach, header->key, header->offset, header->length, VBN_ACCESS_WRITE, &p->sink_address, &mem) !=
        VBN_OK)
        return NULL;
    mem_reference(mem);
    p->sink_mem = mem;
    mem_leave(mem);
    return p->sink_address;
}

/* The segments before the last one were written when the last one may be: they had the same key, which cannot become
 * valid again, and lower offsets. */
static vbn_status_t apply_signal(proto_engine_t *engine, const proto_header_t *header)
{
    const proto_header_t word = {.code = header->code | PROTO_ATOMIC_WIDE, .key = header->signal_key,
                                 .offset = header->signal_offset, .operand = header->signal_value};
    uint64_t before;
    return amo_execute(engine, &word, &before);
}

void rma_rx_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, const void *payload)
{
    proto_peer_t *p = proto_peer_of(peer);
    bool signals = header->type == PROTO_PUT_SIGNAL;
    bool probe = !signals && (header->code & PROTO_PUT_PROBE) != 0;
    bool last = signals || (header->code & PROTO_PUT_LAST) != 0;
    void *address;
    vbn_mem_t *mem;
    vbn_status_t status = mem_reach(&engine->reach, header->key, header->offset, header->length, VBN_ACCESS_WRITE,
                                    &address, &mem);
    if (status == VBN_OK) {
        bool placed = p->sink_mem != NULL && payload == p->sink_address;
        if (!probe && !placed && header->length > 0)
            bytes_copy_bulk(address, payload, (size_t)header->length);
        mem_leave(mem);
        if (signals)
            status = apply_signal(engine, header);
    }
    rma_sink_end(p);
    if (last || probe || status != VBN_OK)
        proto_send_status(peer, header->op, status, last, status == VBN_OK ? header->length : 0);
}

void rma_rx_put_blocks(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header, const void *payload)
{
    void *address;
    vbn_mem_t *mem;
    bool last = header->code == PROTO_PUT_LAST;
    vbn_status_t status = mem_reach(&engine->reach, header->key, header->offset, span_of(header), VBN_ACCESS_WRITE,
                                    &address, &mem);
    if (status == VBN_OK) {
        char *to = address;
        for (uint64_t done = 0; done < header->length; done += header->block, to += header->stride)
            memcpy(to, (const char *)payload + done, (size_t)header->block);
        mem_leave(mem);
    }
    if (last || status != VBN_OK)
        proto_send_status(peer, header->op, status, last, status == VBN_OK ? header->length : 0);
}
