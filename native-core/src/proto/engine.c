/* SPDX-License-Identifier: Apache-2.0
 * engine.c - the protocol engine: opening and closing, dispatch of packets, end of peers. */
#include "proto/am.h"
#include "proto/backlog.h"
#include "proto/rma.h"
#include "proto/tag_posted.h"
#include "proto/ways/way.h"

#include <stdlib.h>

#include "mem/slab.h"

/* An answer to one of our ops. */
static void rx_status(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    proto_op_t *op = op_find(engine, peer, header->op);
    vbn_status_t status = (vbn_status_t) - (int)header->code;
    if (op == NULL) {
        proto_blame(engine, peer, "the peer answered an operation that is not pending");
        return;
    }
    if (status < 0 && status != VBN_ERR_LIMIT) /* which users do not see where it only means that a get has to wait */
        (void)err_set(status, "the peer answered %s: %s", vbn_status_name(status), status_meaning(status));
    bool (*on_status)(proto_op_t *, vbn_status_t, const proto_header_t *) = op_kind(op)->on_status;
    if (on_status == NULL || !on_status(op, status, header))
        proto_blame(engine, peer, "the peer sent an answer that does not fit the operation");
}

static void rx_unhandled(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    (void)peer;
    (void)header;
    counter_add(engine->counters, COUNTER_AM_UNHANDLED, 1); /* proto_rx found no handler */
}

static void rx_rts_device(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    device_read_told(peer, header);
    am_rx_rts(engine, peer, header);
}

static void rx_tag_rts_device(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header)
{
    device_read_told(peer, header);
    tag_rx_announced(engine, peer, header);
}

/* What comes in is for whom: all types that the decoder knows, but for DATA and TAG_MORE, which rx_any takes itself. */
static void (*const RX[PROTO_TYPE_END])(proto_engine_t *engine, vbn_peer_t *peer, const proto_header_t *header) = {
    [PROTO_AM] = rx_unhandled,
    [PROTO_RTS] = am_rx_rts,
    [PROTO_RTS_AT] = am_rx_rts,
    [PROTO_RTS_DEVICE] = rx_rts_device,
    [PROTO_TAG] = tag_rx_message,
    [PROTO_TAG_SYNC] = tag_rx_message,
    [PROTO_TAG_RTS] = tag_rx_announced,
    [PROTO_TAG_RTS_AT] = tag_rx_announced,
    [PROTO_TAG_RTS_DEVICE] = rx_tag_rts_device,
    [PROTO_TAG_WITHDRAW] = tag_rx_withdrawn,
    [PROTO_TAG_CREDIT_BACK] = tag_rx_credit,
    [PROTO_PULL] = packets_rx_pull,
    [PROTO_PULL_REST] = packets_rx_pull,
    [PROTO_PULL_AT] = process_copy_rx_pull,
    [PROTO_HELPED] = process_copy_rx_helped,
    [PROTO_PULL_PUT] = mapped_write_rx_pull,
    [PROTO_DATA_STAGED] = packets_rx_staged,
    [PROTO_STATUS] = rx_status,
    [PROTO_GET] = rma_rx_get,
    [PROTO_GET_BLOCKS] = rma_rx_get,
    [PROTO_PUT] = rma_rx_put,
    [PROTO_PUT_SIGNAL] = rma_rx_put,
    [PROTO_PUT_BLOCKS] = rma_rx_put_blocks,
    [PROTO_ATOMIC] = amo_rx,
    [PROTO_KEY_ASK] = device_rx_ask,
    [PROTO_KEY_TELL] = device_rx_tell,
    [PROTO_LANE_END] = device_rx_lane_end,
};

_Static_assert(PROTO_TYPE_END == 30, "each type but two has a row in RX");

static COLD void rx_any(proto_engine_t *engine, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes,
                        const void *payload, uint32_t payload_bytes)
{
    proto_header_t header;
    proto_data_t data;
    if (proto_peer_of(peer)->deaf)
        return;
    if (proto_is_data(PROTO_DATA, bytes, header_bytes, &data)) {
        packets_rx_data(engine, peer, &data, payload, payload_bytes);
        return;
    }
    if (proto_is_data(PROTO_TAG_MORE, bytes, header_bytes, &data)) {
        packets_rx_more(engine, peer, &data, payload, payload_bytes);
        return;
    }
    if (proto_decode(bytes, header_bytes, payload_bytes, &header) != VBN_OK) {
        proto_blame(engine, peer, err_text());
        return;
    }
    header.payload = payload;
    header.payload_bytes = payload_bytes;
    RX[header.type](engine, peer, &header);
}

/* Tagged messages are recognised by one comparison; everything else is decoded field by field. */
void proto_rx_other(proto_engine_t *engine, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes,
                    const void *payload, uint32_t payload_bytes)
{
    uint64_t tag;
    if (UNLIKELY(!proto_is_tag(bytes, header_bytes, &tag)) ||
        UNLIKELY(!tag_rx_posted(engine, peer, tag, payload, payload_bytes)))
        rx_any(engine, peer, bytes, header_bytes, payload, payload_bytes);
}

/* So are small active ones. */
NO_CANARY void proto_rx(void *arg, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes, const void *payload,
                        uint32_t payload_bytes)
{
    proto_engine_t *engine = arg;
    unsigned id;
    if (UNLIKELY(!proto_is_am(bytes, header_bytes, &id) || engine->handlers[id].func == NULL)) {
        proto_rx_other(engine, peer, bytes, header_bytes, payload, payload_bytes);
        return;
    }
    const vbn_am_message_t message = {.peer = peer,
                                      .header = (const uint8_t *)bytes + PROTO_PREFIX_BYTES,
                                      .header_length = header_bytes - PROTO_PREFIX_BYTES,
                                      .data = payload,
                                      .length = payload_bytes};
    engine->handlers[id].func(engine->handlers[id].arg, &message);
}

/* What else has a place. */
static bool may_have_place(const void *bytes)
{
    const unsigned type = *(const uint8_t *)bytes;
    return type == PROTO_DATA_STAGED || type == PROTO_PUT || type == PROTO_PUT_SIGNAL;
}

static void *engine_sink(void *arg, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes, uint32_t payload_bytes,
                         bool early)
{
    proto_engine_t *engine = arg;
    proto_header_t header;
    proto_data_t data;
    if (proto_peer_of(peer)->deaf)
        return NULL;
    if (proto_is_data(PROTO_DATA, bytes, header_bytes, &data))
        return early ? packets_sink_early(engine, peer, &data, payload_bytes)
                     : packets_sink(engine, peer, &data, payload_bytes);
    if (early || header_bytes == 0 || !may_have_place(bytes) ||              /* a put's place may depend on a fence */
        proto_decode(bytes, header_bytes, payload_bytes, &header) != VBN_OK) /* rx will blame */
        return NULL;
    header.payload_bytes = payload_bytes;
    if (header.type != PROTO_DATA_STAGED)
        return rma_sink_put(engine, peer, &header);
    return header.code == STAGE_PLAIN ? packets_sink_staged(engine, peer, &header) : NULL;
}

/* Other places than a put's are memory of our own operations, which nobody may free meanwhile. */
static bool engine_write_begin(void *arg, vbn_peer_t *peer, const void *place)
{
    const proto_peer_t *p = proto_peer_of(peer);
    (void)arg;
    return p->sink_mem == NULL || place != p->sink_address || mem_enter(p->sink_mem);
}

static void engine_write_end(void *arg, vbn_peer_t *peer, const void *place)
{
    const proto_peer_t *p = proto_peer_of(peer);
    (void)arg;
    if (p->sink_mem != NULL && place == p->sink_address)
        mem_leave(p->sink_mem);
}

/* Handles and peer of an op go before anything completes, so that callbacks see no half-dead ops. */
static void end_ops(proto_peer_t *p, vbn_status_t status)
{
    list_link_t *link;
    list_for_each(pos, &p->ops)
        container_of(pos, proto_op_t, link)->stream.peer = NULL;
    while ((link = list_pop(&p->ops)) != NULL) {
        proto_op_t *op = container_of(link, proto_op_t, link);
        if (op->state == OP_FINISHED)
            continue; /* its last done completes it with the result it has */
        if (op->kind == OP_RECEIVE)
            tag_unpost(&op->stream.engine->tags, op);
        list_remove(&op->order);
        list_remove(&op->stream.active);
        op_finish(op, status, op->stream.moved);
    }
}

/* A closing peer still needs us: for announced messages, puts and atomics of ours, and for what it gets from our memory. */
static bool engine_quiet(void *arg, vbn_peer_t *peer)
{
    (void)arg;
    const proto_peer_t *p = proto_peer_of(peer);
    list_for_each(pos, &p->ops) {
        const proto_op_t *op = container_of(pos, proto_op_t, link);
        if (!op_kind(op)->quiet)
            return false;
    }
    return list_empty(&p->streams);
}

static void engine_peer_down(void *arg, vbn_peer_t *peer, vbn_status_t status)
{
    proto_peer_t *p = proto_peer_of(peer);
    list_link_t *link;
    if (p->down)
        return;
    p->down = true;
    p->deaf = true;
    list_remove(&p->link);
    list_remove(&p->unflushed);
    backlog_peer_down(p);
    rma_sink_end(p);
    while ((link = list_pop(&p->remotes)) != NULL)
        container_of(link, vbn_am_remote_t, link)->peer = NULL;
    tag_peer_down(arg, p);
    while ((link = list_pop(&p->keys)) != NULL)
        key_peer_down(container_of(link, vbn_key_t, link));
    while ((link = list_pop(&p->streams)) != NULL) {
        proto_get_stream_t *get = container_of(link, proto_get_stream_t, link);
        list_remove(&get->stream.active);
        get->stream.peer = NULL;
        stream_settle(&get->stream);
    }
    end_ops(p, status);
    if (p->pick != NULL)
        mpool_put(&proto_engine_of(peer)->picks, p->pick);
    p->pick = NULL;
}

static void open_pools(proto_engine_t *engine, uint64_t whole_most)
{
    mpool_init(&engine->segments, sizeof(proto_segment_t), 64, 0);
    mpool_init(&engine->get_streams, sizeof(proto_get_stream_t), 64, 0);
    mpool_init(&engine->devices, sizeof(proto_device_t), 64, 0);
    mpool_init(&engine->picks, sizeof(pick_t), 8, 0);
    mpool_init(&engine->remotes, sizeof(vbn_am_remote_t), 64, 0);
    const mpool_source_t slabs = mem_slab_source(engine->memory);
    mpool_init_from(&engine->gathered, sizeof(proto_gathered_t) + whole_most, 4, 0, &slabs);
    mpool_init_from(&engine->bounces, PROTO_BOUNCE_BYTES, 4, 0, &slabs);
    mpool_init(&engine->flush_parts, sizeof(flush_part_t), 16, 0);
}

/* What the settings ask for all announced messages. */
static void choose_stages(proto_engine_t *engine, const settings_t *settings)
{
    static const unsigned COMPRESS[] = {[SETTING_PROTO_COMPRESS_AUTO] = 0,
                                        [SETTING_PROTO_COMPRESS_OFF] = 0,
                                        [SETTING_PROTO_COMPRESS_LZ4] = STAGE_LZ4,
                                        [SETTING_PROTO_COMPRESS_ZSTD] = STAGE_ZSTD};
    engine->packing = settings->proto_compress == SETTING_PROTO_COMPRESS_AUTO;
    engine->stages = COMPRESS[settings->proto_compress];
    if (settings->proto_checksum)
        engine->stages |= STAGE_CHECKSUM;
}

vbn_status_t proto_engine_open(const proto_params_t *params, proto_engine_t **engine_p)
{
    proto_engine_t *engine = calloc(1, sizeof(*engine));
    if (engine == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for the protocol engine");
    engine->kinds = PROTO_KINDS;
    engine->ways = PROTO_WAYS;
    engine->log = params->log;
    engine->fork_generation = os_fork_generation();
    engine->counters = params->counters;
    engine->memory = params->memory;
    mem_reach_open(&engine->reach, params->memory);
    engine->host = params->host != NULL ? *params->host : MODEL_HOST_DEFAULT;
    engine->measures = params->measures;
    engine->am_small_max = params->settings->proto_am_small_max;
    uint64_t whole_most = engine->am_small_max == 0 ? COST_WHOLE_MOST : engine->am_small_max;
    engine->short_max = whole_most < params->short_max ? whole_most : params->short_max;
    choose_stages(engine, params->settings);
    engine->short_end = 0; /* the first operation is timed */
    engine->stream_depth = (uint32_t)params->settings->proto_stream_depth;
    engine->max_incoming = (uint32_t)params->settings->proto_max_incoming;
    engine->tag_budget = params->settings->proto_tag_unexpected;
    handle_table_init(&engine->ops, PROTO_MAX_OPS);
    open_pools(engine, whole_most);
    tag_open(engine);
    list_init(&engine->peers);
    list_init(&engine->unflushed);
    list_init(&engine->active);
    list_init(&engine->requests);
    list_init(&engine->copying);
    keep_open(&engine->keep, params->memory);
    *engine_p = engine;
    return VBN_OK;
}

void proto_link_upcalls(proto_engine_t *engine, link_params_t *params)
{
    params->upper_bytes = sizeof(proto_peer_t);
    params->upcalls = (link_upcalls_t){.arg = engine,
                                       .rx = proto_rx,
                                       .sink = engine_sink,
                                       .write_begin = engine_write_begin,
                                       .write_end = engine_write_end,
                                       .peer_down = engine_peer_down,
                                       .quiet = engine_quiet};
}

void proto_attach(proto_engine_t *engine, link_engine_t *link)
{
    engine->link = link;
}

void proto_engine_close(proto_engine_t *engine)
{
    list_link_t *link;
    if (engine == NULL)
        return;
    tag_close(engine);
    keep_close(&engine->keep);
    mem_reach_close(&engine->reach);
    while ((link = list_pop(&engine->requests)) != NULL)
        free(container_of(link, key_request_t, link));
    handle_table_free(&engine->ops);
    mpool_free(&engine->segments);
    mpool_free(&engine->get_streams);
    mpool_free(&engine->devices);
    mpool_free(&engine->picks);
    mpool_free(&engine->remotes);
    mpool_free(&engine->gathered);
    mpool_free(&engine->flush_parts);
    mpool_free(&engine->bounces);
    stage_box_free(&engine->box);
    free(engine);
}

bool proto_busy(const proto_engine_t *engine)
{
    return !list_empty(&engine->active) || !list_empty(&engine->copying);
}

static unsigned run_list(list_link_t *list, void (*run)(proto_stream_t *stream))
{
    unsigned waiting = 0;
    unsigned events = 0;
    /* As many as there are now: streams that pause again wait for the next call. */
    list_for_each(pos, list)
        waiting++;
    for (list_link_t *link; events < waiting && (link = list_pop(list)) != NULL; events++)
        run(container_of(link, proto_stream_t, active));
    return events;
}

/* One after the other, so that the first ends soon and both sides of a pair are at the same one. */
static unsigned run_copies(proto_engine_t *engine)
{
    unsigned chunks = 0;
    for (list_link_t *link; chunks < PROTO_COPY_CHUNKS && (link = list_pop(&engine->copying)) != NULL; chunks++)
        way_run(container_of(link, proto_op_t, stream.active));
    return chunks;
}

static void go_on(proto_stream_t *s)
{
    if (s->kind == STREAM_DEVICE)
        way_run(container_of(s, proto_op_t, stream));
    else if (s->kind == STREAM_LOW_MARK)
        backlog_tell(s);
    else
        stream_pump(s);
}

static COLD unsigned run_active(proto_engine_t *engine)
{
    return run_list(&engine->active, go_on) + run_copies(engine);
}

unsigned proto_progress(proto_engine_t *engine)
{
    return proto_busy(engine) ? run_active(engine) : 0;
}
