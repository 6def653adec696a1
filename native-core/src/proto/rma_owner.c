/* SPDX-License-Identifier: Apache-2.0
 * rma_owner.c - gets and puts by packets, at the owner of the memory, which checks each packet. */
#include "proto/rma.h"

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
    *get = (proto_get_stream_t){
        .stream = {.key = header->key, .key_offset = header->offset, .target = header->op, .length = header->length},
        .block = blocks ? header->block : 0,
        .stride = header->stride};
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
    if (mem_reach(&engine->reach, header->key, header->offset, header->length, VBN_ACCESS_WRITE, &p->sink_address,
                  &mem) != VBN_OK)
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
    const proto_header_t word = {.code = header->code | PROTO_ATOMIC_WIDE,
                                 .key = header->signal_key,
                                 .offset = header->signal_offset,
                                 .operand = header->signal_value};
    uint64_t before;
    return amo_execute(engine, &word, &before);
}

void rma_rx_put(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
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
        bool placed = p->sink_mem != NULL && header->payload == p->sink_address;
        if (!probe && !placed && header->length > 0)
            bytes_copy_seen(address, header->payload, (size_t)header->length, address);
        mem_leave(mem);
        if (signals)
            status = apply_signal(engine, header);
    }
    rma_sink_end(p);
    if (last || probe || status != VBN_OK)
        proto_send_status(peer, header->op, status, last, status == VBN_OK ? header->length : 0);
}

void rma_rx_put_blocks(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    void *address;
    vbn_mem_t *mem;
    bool last = header->code == PROTO_PUT_LAST;
    vbn_status_t status = mem_reach(&engine->reach, header->key, header->offset, span_of(header), VBN_ACCESS_WRITE,
                                    &address, &mem);
    if (status == VBN_OK) {
        char *to = address;
        for (uint64_t done = 0; done < header->length; done += header->block, to += header->stride)
            bytes_copy_seen(to, (const char *)header->payload + done, (size_t)header->block, to);
        mem_leave(mem);
    }
    if (last || status != VBN_OK)
        proto_send_status(peer, header->op, status, last, status == VBN_OK ? header->length : 0);
}
