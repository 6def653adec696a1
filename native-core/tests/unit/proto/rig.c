/* SPDX-License-Identifier: Apache-2.0
 * rig.c - the deterministic link of rig.h, as the tests steer it. */
#include "rig_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void no_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record;
}

rig_options_t rig_defaults(void)
{
    return (rig_options_t){.packet_max = 8192,
                           .eager_best = 8192,
                           .stream_chunk = 4096,
                           .am_small_max = 1024,
                           .stream_depth = 4,
                           .max_incoming = 64,
                           .host = MODEL_HOST_DEFAULT,
                           .use_sink = true};
}

static void set_up(rig_t *rig, const rig_options_t *options)
{
    rig->options = *options;
    settings_defaults(&rig->settings);
    rig->settings.proto_am_small_max = options->am_small_max;
    rig->settings.proto_stream_depth = options->stream_depth;
    rig->settings.proto_max_incoming = options->max_incoming;
    if (options->tag_unexpected != 0)
        rig->settings.proto_tag_unexpected = (uint64_t)options->tag_unexpected;
    rig->settings.proto_checksum = options->checksum;
    rig->settings.proto_compress = options->compress_auto            ? SETTING_PROTO_COMPRESS_AUTO
                                   : options->compress == STAGE_LZ4  ? SETTING_PROTO_COMPRESS_LZ4
                                   : options->compress == STAGE_ZSTD ? SETTING_PROTO_COMPRESS_ZSTD
                                                                     : SETTING_PROTO_COMPRESS_OFF;
    rig->log.func = no_log;
    rig->caps = (tl_caps_t){.packet_max = options->packet_max,
                            .eager_best = options->eager_best,
                            .stream_chunk = options->stream_chunk,
                            .traffic = TRAFFIC_AT(TRAFFIC_SHM),
                            .flags = options->import_fails ? TL_CAP_MAP : 0,
                            .latency_ns = options->latency_ns,
                            .copies = 2,
                            .mbytes_per_s = options->mbytes_per_s};
    rig->copies_left[0] = rig->copies_left[1] = -1;
    rig->ready = !options->not_ready;
    list_init(&rig->imports);
}

static void open_engine(rig_t *rig, int i)
{
    counters_t *counters = &(rig->first != NULL ? rig->first : rig)->counters[i];
    proto_params_t params = {.settings = &rig->settings,
                             .log = &rig->log,
                             .counters = counters,
                             .memory = rig->memory[i],
                             .host = &rig->options.host};
    if (proto_engine_open(&params, &rig->proto[i]) != VBN_OK)
        abort();
    rig->link[i] = (link_engine_t){.rig = rig};
    wheel_init(&rig->link[i].wheel, 0);
    proto_attach(rig->proto[i], &rig->link[i]);
}

static void make_peer(rig_t *rig, int i)
{
    proto_link_upcalls(rig->proto[i], &rig->params[i]);
    rig->peer[i] = (struct vbn_peer){.rig = rig, .side = i};
    rig->peer[i].head = (link_peer_head_t){.upper_engine = rig->params[i].upcalls.arg,
                                           .caps = &rig->caps,
                                           .uid = 1001u - (unsigned)i + UINT64_C(1000000) * rig->number};
    list_init(&rig->peer[i].inbox);
    list_init(&rig->peer[i].flushes);
}

rig_t *rig_open(const rig_options_t *options)
{
    rig_t *rig = calloc(1, sizeof(*rig));
    set_up(rig, options);
    for (int i = 0; i < 2; i++) {
        if (mem_registry_open(&rig->log, &rig->counters[i], &rig->memory[i]) != VBN_OK)
            abort();
        if (i == 1 && options->owner_incoming != 0)
            rig->settings.proto_max_incoming = options->owner_incoming;
        open_engine(rig, i);
        make_peer(rig, i);
    }
    if (options->devices)
        rig->devices = rig_devices_open(rig->memory);
    return rig;
}

rig_t *rig_join(rig_t *first)
{
    rig_t *rig = calloc(1, sizeof(*rig));
    set_up(rig, &first->options);
    rig->first = first;
    rig->number = ++first->joined;
    memcpy(rig->memory, first->memory, sizeof(rig->memory));
    rig->proto[1] = first->proto[1];
    open_engine(rig, 0);
    for (int i = 0; i < 2; i++)
        make_peer(rig, i);
    return rig;
}

static void packet_free(packet_t *packet)
{
    free(packet->payload);
    free(packet);
}

void rig_kill(rig_t *rig, int side, vbn_status_t status)
{
    struct vbn_peer *peer = &rig->peer[side];
    list_link_t *link;
    if (peer->down != VBN_OK)
        return;
    peer->down = status;
    while ((link = list_pop(&peer->inbox)) != NULL) {
        packet_t *packet = container_of(link, packet_t, link);
        if (packet->late && packet->sent.done != NULL)
            packet->sent.done(packet->sent.arg, status);
        packet_free(packet);
    }
    while ((link = list_pop(&peer->flushes)) != NULL) {
        flush_t *flush = container_of(link, flush_t, link);
        flush->done(flush->arg, status);
        free(flush);
    }
    if (rig->devices != NULL)
        rig_devices_break(rig->devices);
    rig->params[side].upcalls.peer_down(rig->proto[side], peer, status);
}

void rig_close(rig_t *rig)
{
    list_link_t *link;
    for (int i = 0; i < 2; i++)
        rig_kill(rig, i, VBN_ERR_CLOSED);
    while ((link = list_pop(&rig->imports)) != NULL)
        free(container_of(link, import_request_t, link));
    rig_devices_close(rig->devices);
    if (rig->first != NULL) {
        proto_engine_close(rig->proto[0]);
        free(rig);
        return;
    }
    for (int i = 0; i < 2; i++) {
        proto_engine_close(rig->proto[i]);
        if (mem_registry_close(rig->memory[i]) != VBN_OK)
            abort(); /* a test left memory behind */
    }
    free(rig);
}

vbn_peer_t *rig_peer(rig_t *rig, int side)
{
    return &rig->peer[side];
}

static void deliver(rig_t *rig, int to, const void *header, uint32_t header_bytes, const void *payload,
                    uint32_t payload_bytes)
{
    struct vbn_peer *peer = &rig->peer[to];
    const link_upcalls_t *up = &rig->params[to].upcalls;
    const void *place = payload;
    unsigned type = header_bytes > 0 ? *(const uint8_t *)header : PROTO_TYPE_END; /* the fuzzer sends nothing, too */
    rig->tags_delivered[to] += type == PROTO_TAG || type == PROTO_TAG_SYNC || type == PROTO_TAG_RTS;
    if (rig->options.use_sink && payload_bytes >= 512) {
        void *sink = up->sink(up->arg, peer, header, header_bytes, payload_bytes, false);
        if (sink != NULL && up->write_begin(up->arg, peer, sink)) {
            memcpy(sink, payload, payload_bytes);
            up->write_end(up->arg, peer, sink);
            place = sink;
        }
    }
    up->rx(up->arg, peer, header, header_bytes, place, payload_bytes);
    if (peer->failure != VBN_OK)
        rig_kill(rig, to, peer->failure);
}

static void end_flushes(struct vbn_peer *peer)
{
    list_link_t *link;
    while (list_empty(&peer->inbox) && (link = list_pop(&peer->flushes)) != NULL) {
        flush_t *flush = container_of(link, flush_t, link);
        flush->done(flush->arg, VBN_OK);
        free(flush);
    }
}

bool rig_deliver(rig_t *rig, int to)
{
    struct vbn_peer *from = &rig->peer[1 - to];
    list_link_t *link = list_pop(&from->inbox);
    if (link == NULL)
        return false;
    rig->ready = true;
    packet_t *packet = container_of(link, packet_t, link);
    if (packet->late)
        packet->payload = rig_flatten(&packet->sent);
    if (rig->peer[to].down == VBN_OK)
        deliver(rig, to, packet->header, packet->header_bytes, packet->payload, packet->payload_bytes);
    if (packet->late && packet->sent.done != NULL)
        packet->sent.done(packet->sent.arg, VBN_OK);
    packet_free(packet);
    end_flushes(from);
    return true;
}

uint32_t rig_take(rig_t *rig, int to, uint8_t *header, uint8_t *payload, uint32_t *payload_bytes_p)
{
    struct vbn_peer *from = &rig->peer[1 - to];
    list_link_t *link = list_pop(&from->inbox);
    if (link == NULL)
        return 0;
    packet_t *packet = container_of(link, packet_t, link);
    uint32_t header_bytes = packet->header_bytes;
    if (packet->late)
        packet->payload = rig_flatten(&packet->sent);
    memcpy(header, packet->header, header_bytes);
    memcpy(payload, packet->payload, packet->payload_bytes);
    *payload_bytes_p = packet->payload_bytes;
    if (packet->late && packet->sent.done != NULL)
        packet->sent.done(packet->sent.arg, VBN_OK);
    packet_free(packet);
    end_flushes(from);
    return header_bytes;
}

void rig_run(rig_t *rig)
{
    unsigned moved;
    do {
        moved = rig->devices != NULL && rig_devices_step(rig->devices);
        for (int i = 0; i < 2; i++) {
            moved += rig_deliver(rig, i);
            if (proto_busy(rig->proto[i]))
                moved += proto_progress(rig->proto[i]);
        }
    } while (moved > 0);
}

void rig_inject(rig_t *rig, int to, const void *header, uint32_t header_bytes, const void *payload,
                uint32_t payload_bytes)
{
    if (rig->peer[to].down == VBN_OK)
        deliver(rig, to, header, header_bytes, payload, payload_bytes);
}

vbn_status_t rig_failure(rig_t *rig, int side)
{
    return rig->peer[side].failure;
}

uint64_t rig_counter(rig_t *rig, int side, const char *name)
{
    for (int i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&rig->counters[side].values[i]);
    abort();
}

uint64_t rig_traffic(rig_t *rig, int side, unsigned class_index, uint64_t size, unsigned what)
{
    traffic_cell_t *cell = &rig->counters[side].traffic[TRAFFIC_SHM][class_index][traffic_bucket(size)];
    _Atomic uint64_t *const values[] = {&cell->operations, &cell->bytes, &cell->timed, &cell->ns};
    return atomic_get_relaxed(values[what]);
}

unsigned rig_flush_looks(rig_t *rig)
{
    return rig->flush_looks;
}

vbn_status_t rig_handler(rig_t *rig, int side, unsigned id, vbn_am_func_t func, void *arg)
{
    return proto_am_handler(rig->proto[side], id, func, arg);
}

vbn_mem_t *rig_mem(rig_t *rig, int side, size_t size)
{
    vbn_mem_t *mem = NULL;
    return mem_alloc(rig->memory[side], size, VBN_BACKING_MEMFD, NULL, &mem) == VBN_OK ? mem : NULL;
}

void *rig_mem_address(vbn_mem_t *mem)
{
    return mem_address(mem);
}

void rig_mem_free(vbn_mem_t *mem)
{
    (void)mem_free(mem);
}

bool rig_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
{
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    return mem_key_export(mem, offset, length, access, blob, &bytes) == VBN_OK;
}

vbn_key_t *rig_import(rig_t *rig, int side, vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
{
    uint8_t blob[VBN_KEY_MAX];
    size_t bytes = sizeof(blob);
    vbn_key_t *key = NULL;
    if (mem_key_export(mem, offset, length, access, blob, &bytes) != VBN_OK)
        return NULL;
    return proto_key_import(&rig->peer[side], blob, bytes, &key, NULL) == VBN_OK ? key : NULL;
}

void rig_imports_answer(rig_t *rig)
{
    list_link_t *link;
    while ((link = list_pop(&rig->imports)) != NULL) {
        import_request_t *request = container_of(link, import_request_t, link);
        request->func(request->arg, err_set(VBN_ERR_UNSUPPORTED, "the rig cannot map"), NULL);
        free(request);
    }
}

void rig_imports_map(rig_t *rig)
{
    list_link_t *link;
    while ((link = list_pop(&rig->imports)) != NULL) {
        import_request_t *request = container_of(link, import_request_t, link);
        mem_import_t *import = NULL;
        int fd = -1;
        vbn_status_t status = mem_key_descriptor(rig->memory[request->owner], request->info.key_handle, &fd);
        if (status == VBN_OK)
            status = mem_import_map(rig->memory[1 - request->owner], RIG_SOURCE, &request->info, fd, &import);
        request->func(request->arg, status, import);
        free(request);
    }
}

unsigned rig_promoted(rig_t *rig, int side)
{
    return rig->promoted[side];
}

void rig_hide_devices(rig_t *rig, bool hidden)
{
    rig->hidden = hidden;
}

bool rig_devices_turn(rig_t *rig)
{
    return rig->devices != NULL && rig_devices_step(rig->devices);
}

void rig_break_devices(rig_t *rig)
{
    rig_devices_break(rig->devices);
}

void rig_fail_copies(rig_t *rig, int side, int after)
{
    rig->copies_left[side] = after;
}

bool rig_busy(rig_t *rig, int side)
{
    return proto_busy(rig->proto[side]);
}

bool rig_progress(rig_t *rig, int side)
{
    return proto_progress(rig->proto[side]) > 0;
}

void rig_set_present(rig_t *rig, bool present)
{
    rig->absent = !present;
}

void rig_sleep(rig_t *rig, unsigned ms)
{
    rig->now_ms += ms;
}

void rig_tick(rig_t *rig, unsigned ms)
{
    rig->now_ms += ms;
    for (int i = 0; i < 2; i++)
        (void)wheel_advance(&rig->link[i].wheel, rig->now_ms * 1000000);
}

uint32_t rig_claim(uint64_t *word, const char *what, uint32_t tag, uint32_t total)
{
    _Atomic uint64_t shared = *word;
    uint32_t result = 0;
    if (strcmp(what, "open") == 0)
        claim_open(&shared, tag);
    else if (strcmp(what, "front") == 0)
        result = claim_front(&shared, tag, total);
    else if (strcmp(what, "back") == 0)
        result = claim_back(&shared, tag, total);
    else if (strcmp(what, "release") == 0)
        result = claim_release(&shared, tag, total);
    else if (strcmp(what, "close") == 0)
        result = claim_back_of(claim_close(&shared));
    else
        abort();
    *word = atomic_get_relaxed(&shared);
    return result;
}

void rig_scribble_claims(rig_t *rig, uint64_t value)
{
    for (unsigned i = 0; i < 2 * TL_CLAIMS; i++)
        atomic_set_relaxed(&rig->claims[i / TL_CLAIMS][i % TL_CLAIMS], value);
}

void rig_shut(rig_t *rig, int side)
{
    (void)guard_shut(&(guard_t){.writing = &rig->writing[side], .shut = &rig->shut[side]});
}

bool rig_op_pending(const vbn_op_t *op)
{
    const proto_op_t *own = (const proto_op_t *)op->priv;
    return own->link.next != NULL && own->link.next != &own->link;
}

uint64_t rig_key_handle(const vbn_key_t *key)
{
    return key->info.key_handle;
}

proto_engine_t *rig_engine(rig_t *rig, int side)
{
    return rig->proto[side];
}

unsigned rig_tags_delivered(rig_t *rig, int to)
{
    return rig->tags_delivered[to];
}

uint64_t rig_tags_kept(rig_t *rig, int side)
{
    uint64_t bytes = 0;
    list_for_each(link, &rig->proto[side]->tags.all) {
        const tag_message_t *message = container_of(link, const tag_message_t, all);
        if (!message->announced)
            bytes += sizeof(*message) + (message->small ? TAG_SMALL_BYTES : message->length);
    }
    return bytes;
}

static const char *budget_problem(const proto_engine_t *engine)
{
    uint64_t extra = 0, first = 0;
    list_for_each(link, &engine->peers) {
        extra += container_of(link, const proto_peer_t, link)->tag_extra;
        first += PROTO_TAG_FIRST;
    }
    if (extra != engine->tag_extra || first != (uint64_t)engine->peer_count * PROTO_TAG_FIRST)
        return "the sums over all peers are wrong";
    if (first <= engine->tag_budget / 2 && first + extra + engine->orphan_bytes > engine->tag_budget)
        return "more credit is out than the budget";
    return NULL;
}

const char *rig_tag_credit_problem(rig_t *rig)
{
    for (int i = 0; i < 2; i++) {
        const char *problem = budget_problem(rig->proto[i]);
        if (problem != NULL)
            return problem;
        const proto_peer_t *ours = proto_peer_of(&rig->peer[i]), *theirs = proto_peer_of(&rig->peer[1 - i]);
        if (!ours->down && !theirs->down && ours->tag_credit != theirs->tag_open)
            return "both sides count another credit";
    }
    return NULL;
}

uint32_t rig_encode(const rig_header_t *h, uint8_t *buffer)
{
    proto_header_t header = {.type = (proto_type_t)h->type,
                             .code = h->code & 0xffu,
                             .last = h->last,
                             .stages = h->code >> 8,
                             .op = h->op,
                             .target = h->target,
                             .key = h->key,
                             .offset = h->offset,
                             .length = h->length,
                             .compare = h->compare,
                             .signal_value = h->value};
    return proto_encode(&header, buffer);
}

uint32_t rig_encode_at(const rig_header_t *h, const rig_place_t *place, uint8_t *buffer)
{
    proto_header_t header = {.type = (proto_type_t)h->type,
                             .op = h->op,
                             .target = h->target,
                             .length = h->length,
                             .claim = h->value,
                             .place = {.address = place->address,
                                       .key = h->key,
                                       .offset = h->offset,
                                       .owner = place->owner,
                                       .memory = place->memory,
                                       .memory_bytes = place->memory_bytes}};
    header.place.devices[0] = h->value == 0 ? 0 : PROTO_DEVICE(h->value, h->key);
    return proto_encode(&header, buffer);
}

vbn_status_t rig_decode(const void *bytes, uint32_t count, uint32_t payload_bytes)
{
    proto_header_t header;
    return proto_decode(bytes, count, payload_bytes, &header);
}
