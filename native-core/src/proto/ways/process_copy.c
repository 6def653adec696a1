/* SPDX-License-Identifier: Apache-2.0
 * process_copy.c - announced messages between processes of one host, without packets: one copy from the sender's memory to the
 * receiver's.
 *
 *   sender                                       receiver
 *   RTS_AT: my address, key of my memory  --->   maps the memory, or reads the sender's process, chunk by chunk
 *                                         <---   PULL_AT (PICK_BOTH): my address, claim
 *   writes chunks from the end of the message
 *   into the receiver's process, as the claim    the claim (tl/claim.h) says where both meet
 *   allows, then HELPED                   --->   (only when the sender has taken a chunk)
 *                                         <---   STATUS
 *
 * A sender that is busy elsewhere takes no chunk, and the receiver copies all. Each side copies PROTO_COPY_CHUNKS per
 * progress call, of the transfer that came first. Help is requested for the next AHEAD transfers, oldest first, so that both
 * sides copy the same one. What cannot be copied falls back to packets: the receiver closes the claim, waits for HELPED if a
 * chunk was taken, and sends PULL. The first message out of a memory does not wait for its mapping: it is read from the
 * process, or sent in packets. Packets also come where the pair has measured that they are faster (pick.h), mapped or not.
 *
 * D1 the sender's buffer is not given back before STATUS, the receiver's not while the helper, or who writes (mapped_write.c), has
 * a chunk (transports keep that up when the connection ends: tl_ops_t.direct). D2 the receiver completes only after
 * link_present: a process that has the number of a dead peer may have been read. */
#include "proto/am.h"
#include "proto/head.h"
#include "proto/ways/way.h"
#include "tl/claim.h"

#define CHUNK_MIN (32u << 10)
#define CHUNK_MAX (256u << 10)
#define AHEAD 2u         /* transfers for which help is requested before the receiver copies them */
#define CHUNKS_WANTED 8u /* of a message, so that both sides end at about the same time */

/* Both sides compute the same. */
static uint64_t chunk_bytes(uint64_t length)
{
    uint64_t bytes = length / CHUNKS_WANTED & ~UINT64_C(4095);
    return bytes < CHUNK_MIN ? CHUNK_MIN : bytes > CHUNK_MAX ? CHUNK_MAX : bytes;
}

static uint64_t chunk_count(uint64_t length)
{
    return (length + chunk_bytes(length) - 1) / chunk_bytes(length);
}

/* Offset and bytes of a chunk. */
static uint64_t chunk_at(uint64_t length, uint32_t index, uint64_t *bytes_p)
{
    uint64_t bytes = chunk_bytes(length), at = index * bytes;
    *bytes_p = bytes < length - at ? bytes : length - at;
    return at;
}

/* ------------------------------------------------------------------------------------------- announcing */

bool process_copy_offer(proto_op_t *op, proto_header_t *header)
{
    const proto_stream_t *s = &op->stream;
    tl_direct_t direct;
    mem_key_info_t info;
    bool pays = s->length >= (s->engine->measures ? PICK_LEAST : cost_limits(s->engine, s->peer)->direct_from);
    const void *data = pays ? cursor_contiguous(&s->cursor, s->length) : NULL;
    if (data == NULL || !copying_reach(op, &direct))
        return false;
    proto_place_t place = {.address = direct.copies ? (uint64_t)(uintptr_t)data : 0};
    if (!op->direct.secret && mem_hold_range(s->engine->memory, data, (size_t)s->length, &info, &op->direct.held)) {
        place.key = info.key_handle;
        place.offset = info.offset;
        place.owner = info.owner_id;
        place.memory = info.mem_handle;
        place.memory_bytes = info.mem_bytes;
    }
    if (place.address == 0 && place.key == 0)
        return false;
    op->direct.offered = true;
    header->type = header->type == PROTO_RTS ? PROTO_RTS_AT : PROTO_TAG_RTS_AT;
    header->place = place;
    return true;
}

/* --------------------------------------------------------------------------------------------- helping */

static void help_end(proto_op_t *op, vbn_status_t status)
{
    const proto_stream_t *s = &op->stream;
    proto_header_t header = {.type = PROTO_HELPED, .code = (unsigned)-status, .op = s->target};
    if (op->direct.chunks > 0)
        (void)proto_send_header(s->peer, &header); /* a failure means that the peer is lost */
}

static void help(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    proto_direct_t *d = &op->direct;
    uint32_t total = (uint32_t)chunk_count(s->length);
    tl_direct_t direct;
    uint64_t bytes;
    _Atomic uint64_t *word = copying_reach(op, &direct) && direct.copies ? &direct.theirs[d->slot - 1] : NULL;
    uint32_t index = word != NULL && d->chunks < total ? claim_back(word, d->tag, total) : CLAIM_NONE;
    if (index == CLAIM_NONE) {
        help_end(op, VBN_OK);
        return;
    }
    d->chunks++;
    uint64_t at = chunk_at(s->length, index, &bytes);
    uint8_t *from = cursor_contiguous(&s->cursor, s->length);
    vbn_status_t status = link_copy(s->peer, true, from + at, s->key + at, (size_t)bytes);
    bool more = claim_release(word, d->tag, total);
    if (status == VBN_OK)
        counter_add(s->engine->counters, COUNTER_COPY_WRITTEN_BYTES, bytes);
    if (status == VBN_OK && more)
        copying_again(op);
    else
        help_end(op, status);
}

void process_copy_rx_pull(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    if (op == NULL || op->kind != OP_LARGE || op->state != OP_WAITING || op->stream.way != WAY_PROCESS_COPY ||
        chunk_count(op->stream.length) > CLAIM_CHUNKS_MAX) {
        proto_blame(engine, peer, "the peer sent a PULL_AT without an RTS_AT, or for a message that is already pulled");
        return;
    }
    head_note(op, false);
    op->state = OP_COPYING;
    op->stream.target = header->target;
    op->stream.key = header->place.address;
    op->direct.slot = (uint8_t)(1 + (header->claim & PROTO_CLAIM_SLOT));
    op->direct.tag = (uint32_t)(header->claim >> PROTO_CLAIM_TAG);
    list_append(&engine->copying, &op->stream.active);
}

/* -------------------------------------------------------------------------------------------- receiving */

/* Where the data is read from: our mapping of the sender's memory, else its process. */
static bool choose_source(proto_op_t *op, const proto_place_t *place, const tl_direct_t *direct)
{
    proto_stream_t *s = &op->stream;
    const mem_key_info_t info = {.key_handle = place->key,
                                 .owner_id = place->owner,
                                 .mem_handle = place->memory,
                                 .mem_bytes = place->memory_bytes,
                                 .length = place->memory_bytes,
                                 .access = VBN_ACCESS_READ};
    s->key = direct->copies ? place->address : 0;
    s->key_offset = 0;
    if (place->key != 0) {
        op->direct.import = keep_find(&s->engine->keep, direct->source, &info);
        if (op->direct.import != NULL)
            s->key_offset = (uint64_t)(uintptr_t)mem_import_address(op->direct.import) + place->offset;
        else
            keep_want(&s->engine->keep, s->engine->link, s->peer, direct->source, &info);
    }
    return s->key != 0 || s->key_offset != 0;
}

/* Whether the receiver copies, with help or alone; else the next way is tried. */
static bool copies(proto_op_t *op)
{
    const pick_way_t way = pull_pick(op);
    op->direct.alone = way != PICK_BOTH;
    if (way == PICK_PACKETS && op->direct.import != NULL) {
        mem_import_release(op->direct.import);
        op->direct.import = NULL;
    }
    return way != PICK_PACKETS;
}

/* Without a free claim, or where help does not pay, the receiver copies alone. */
static void ask_for_help(proto_op_t *op, const tl_direct_t *direct)
{
    proto_stream_t *s = &op->stream;
    proto_header_t header = {.type = PROTO_PULL_AT, .op = s->target, .target = op->handle};
    if (op->direct.alone || s->length < COST_HELP_LEAST || !direct->copies ||
        chunk_count(s->length) > CLAIM_CHUNKS_MAX || !copying_claim(op, direct, &header.claim))
        return;
    header.place.address = (uint64_t)(uintptr_t)cursor_contiguous(&s->cursor, s->length);
    (void)proto_send_header(s->peer, &header); /* a failure means that the peer is lost */
}

/* The helpers' order is the receiver's: so both sides are at the same transfer, with its memory in their caches. */
static void ask_ahead(proto_engine_t *engine)
{
    unsigned looked = 0;
    list_for_each(link, &engine->copying) {
        proto_op_t *op = container_of(link, proto_op_t, stream.active);
        tl_direct_t direct;
        if (op->kind == OP_PULL && op->direct.slot == 0 && op->direct.chunks == 0 && !op->direct.unhelped &&
            copying_reach(op, &direct))
            ask_for_help(op, &direct);
        if (++looked == AHEAD)
            return;
    }
}

vbn_status_t process_copy_begin(proto_op_t *op, const proto_place_t *place)
{
    proto_stream_t *s = &op->stream;
    tl_direct_t direct;
    if ((place->address == 0 && place->key == 0) || place->devices[0] != 0 || proto_peer_of(s->peer)->no_direct ||
        cursor_contiguous(&s->cursor, s->length) == NULL || !copying_reach(op, &direct) ||
        !choose_source(op, place, &direct) || !copies(op))
        return VBN_ERR_UNSUPPORTED;
    way_set(op, WAY_PROCESS_COPY);
    op->state = OP_COPYING;
    list_append(&s->engine->copying, &s->active);
    if (*direct.used == 0)
        ask_for_help(op, &direct);
    else
        ask_ahead(s->engine);
    return VBN_OK;
}

static void finish(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    if (!link_present(s->peer))
        return; /* D2: the end of the peer ends the op */
    proto_send_status(s->peer, s->target, VBN_OK, true, s->length);
    op_complete(op, VBN_OK, s->length);
}

/* Nothing is left to take: what about the chunks that the helper took? */
static void settle(proto_op_t *op, const tl_direct_t *direct)
{
    proto_stream_t *s = &op->stream;
    proto_direct_t *d = &op->direct;
    uint32_t total = (uint32_t)chunk_count(s->length);
    uint32_t taken = d->slot != 0 ? claim_back_of(atomic_get_acquire(&direct->ours[d->slot - 1])) : 0;
    if (taken > 0 && !d->heard)
        return; /* HELPED comes */
    if (d->failed) {
        (void)packets_instead(op); /* a failure means that the peer is lost */
    } else if (taken > 0 && d->unhelped) {
        copying_unclaim(op);
        d->chunks = taken < total ? total - taken : 0;
        list_append(&s->engine->copying, &s->active);
    } else {
        finish(op);
    }
}

static vbn_status_t copy_chunk(proto_op_t *op, uint32_t index)
{
    proto_stream_t *s = &op->stream;
    uint64_t bytes, at = chunk_at(s->length, index, &bytes);
    uint8_t *to = cursor_contiguous(&s->cursor, s->length);
    vbn_status_t status = VBN_OK;
    if (s->key_offset != 0)
        bytes_copy_bulk(to + at, (const uint8_t *)(uintptr_t)s->key_offset + at, (size_t)bytes);
    else
        status = link_copy(s->peer, false, to + at, s->key + at, (size_t)bytes);
    if (status != VBN_OK)
        return status;
    s->moved += bytes;
    counter_add(s->engine->counters, s->key_offset != 0 ? COUNTER_GET_MAPPED_BYTES : COUNTER_COPY_READ_BYTES, bytes);
    return VBN_OK;
}

static void cannot_read(proto_op_t *op, const tl_direct_t *direct)
{
    proto_stream_t *s = &op->stream;
    op->direct.failed = true;
    proto_peer_of(s->peer)->no_direct = true;
    LOG_PEER(s->engine->log, VBN_LOG_WARN, link_peer_uid(s->peer),
             "large messages of peer %016llx fall back to packets from now on: %s",
             (unsigned long long)link_peer_uid(s->peer), err_text());
    if (op->direct.slot != 0)
        (void)claim_close(&direct->ours[op->direct.slot - 1]);
    settle(op, direct);
}

static void receive(proto_op_t *op)
{
    proto_stream_t *s = &op->stream;
    proto_direct_t *d = &op->direct;
    uint64_t total = chunk_count(s->length);
    tl_direct_t direct;
    uint32_t index = CLAIM_NONE;
    if (!copying_reach(op, &direct))
        return; /* the end of the peer ends the op */
    if (d->slot == 0 && d->chunks == 0 && !d->unhelped)
        ask_for_help(op, &direct); /* its turn: others have given their claims back */
    if (d->slot != 0)
        index = claim_front(&direct.ours[d->slot - 1], d->tag, (uint32_t)total);
    else if (d->chunks < total)
        index = d->chunks++;
    if (index == CLAIM_NONE)
        settle(op, &direct);
    else if (copy_chunk(op, index) != VBN_OK)
        cannot_read(op, &direct);
    else
        copying_again(op);
    if (index == 0)
        ask_ahead(s->engine);
}

/* The helper has taken every chunk before this side came to the first. */
static bool all_helped(const proto_op_t *op, const tl_direct_t *direct)
{
    uint64_t word = atomic_get_acquire(&direct->ours[op->direct.slot - 1]);
    return claim_back_of(word) == chunk_count(op->stream.length);
}

void process_copy_rx_helped(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    tl_direct_t direct;
    if (op == NULL || op->kind != OP_PULL || op->state != OP_COPYING || op->direct.slot == 0 || op->direct.heard) {
        proto_blame(engine, peer, "the peer sent a HELPED for a message without help");
        return;
    }
    op->direct.heard = true;
    op->direct.unhelped = header->code != 0;
    if (copying_reach(op, &direct) && (list_empty(&op->stream.active) || all_helped(op, &direct))) {
        list_remove(&op->stream.active);
        settle(op, &direct); /* it waited for this, or never had its turn: its claim goes to the next */
    }
}

void process_copy_run(proto_op_t *op)
{
    if (op->kind == OP_PULL)
        receive(op);
    else
        help(op);
}

void process_copy_end(proto_op_t *op)
{
    if (op->kind == OP_PULL && op->direct.import != NULL)
        mem_import_release(op->direct.import);
    else if (op->kind == OP_LARGE && op->direct.held != NULL)
        mem_unhold(op->direct.held);
    if (op->kind == OP_PULL)
        copying_unclaim(op);
    op->direct = (proto_direct_t){0};
}
