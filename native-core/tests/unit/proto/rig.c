/* SPDX-License-Identifier: Apache-2.0
 * rig.c - the deterministic link of rig.h: implements the functions of link.h that the protocol layer calls. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/link_fast.h"
#include "proto/proto_private.h"
#include "rig_devices.h"
#include "tl/claim.h"

#define RIG_SOURCE 7u /* either side imports from one peer only */

typedef struct packet {
    list_link_t link;
    link_packet_t sent; /* late done */
    uint8_t header[LINK_UPPER_HEADER_MAX];
    uint32_t header_bytes;
    uint32_t payload_bytes;
    uint8_t *payload; /* copied, unless late */
    bool late;
} packet_t;

typedef struct flush {
    list_link_t link;
    link_done_func_t done;
    void *arg;
} flush_t;

typedef struct import_request {
    list_link_t link;
    tl_import_func_t func;
    void *arg;
    int owner;
    mem_key_info_t info;
} import_request_t;

struct vbn_peer {
    union {
        struct {
            link_peer_head_t head;
            rig_t *rig;
            int side;
            vbn_status_t down;
            vbn_status_t failure;
            list_link_t inbox; /* packets that this side has sent */
            list_link_t flushes;
        };
        uint8_t link_part[LINK_PEER_BYTES];
    };
    proto_peer_t upper; /* link_peer_upper() */
};

struct link_engine {
    rig_t *rig;
    wheel_t wheel;
};

struct rig {
    rig_options_t options;
    tl_caps_t caps;
    settings_t settings;
    model_host_t host;
    log_sink_t log;
    counters_t counters[2];
    mem_registry_t *memory[2];
    proto_engine_t *proto[2];
    link_engine_t link[2];
    link_params_t params[2];
    struct vbn_peer peer[2];
    list_link_t imports;
    bool ready;
    _Atomic uint64_t claims[2][TL_CLAIMS];
    uint32_t claims_used[2];
    int copies_left[2];
    bool absent;
    bool hidden;
    rig_devices_t *devices; /* NULL: none */
    uint64_t now_ms;
    uint64_t sunk;
    unsigned tags_delivered[2];
    unsigned promoted[2];
};

static void no_log(void *arg, vbn_log_level_t level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

rig_options_t rig_defaults(void)
{
    return (rig_options_t){.packet_max = 8192, .eager_best = 8192, .stream_chunk = 4096, .am_small_max = 1024,
                           .stream_depth = 4, .max_incoming = 64, .use_sink = true};
}

rig_t *rig_open(const rig_options_t *options)
{
    rig_t *rig = calloc(1, sizeof(*rig));
    rig->options = *options;
    settings_defaults(&rig->settings);
    rig->settings.proto_am_small_max = options->am_small_max;
    rig->settings.proto_stream_depth = options->stream_depth;
    rig->settings.proto_max_incoming = options->max_incoming;
    rig->settings.proto_checksum = options->checksum;
    rig->settings.proto_compress = options->compress_auto            ? SETTING_PROTO_COMPRESS_AUTO :
                                   options->compress == STAGE_LZ4    ? SETTING_PROTO_COMPRESS_LZ4 :
                                   options->compress == STAGE_ZSTD ? SETTING_PROTO_COMPRESS_ZSTD :
                                                                     SETTING_PROTO_COMPRESS_OFF;
    rig->log.func = no_log;
    rig->caps = (tl_caps_t){.packet_max = options->packet_max, .eager_best = options->eager_best,
                            .stream_chunk = options->stream_chunk, .traffic = TRAFFIC_AT(TRAFFIC_SHM),
                            .flags = options->import_fails ? TL_CAP_MAP : 0, .latency_ns = options->latency_ns,
                            .copies = 2, .mbytes_per_s = options->mbytes_per_s};
    rig->host = MODEL_HOST_DEFAULT;
    rig->copies_left[0] = rig->copies_left[1] = -1;
    rig->ready = !options->not_ready;
    list_init(&rig->imports);
    for (int i = 0; i < 2; i++) {
        if (mem_registry_open(&rig->log, &rig->counters[i], &rig->memory[i]) != VBN_OK)
            abort();
        proto_params_t params = {&rig->settings, &rig->log, &rig->counters[i], rig->memory[i], &rig->host};
        if (proto_engine_open(&params, &rig->proto[i]) != VBN_OK)
            abort();
        proto_link_upcalls(rig->proto[i], &rig->params[i]);
        rig->link[i] = (link_engine_t){.rig = rig};
        wheel_init(&rig->link[i].wheel, 0);
        proto_attach(rig->proto[i], &rig->link[i]);
        rig->peer[i] = (struct vbn_peer){.rig = rig, .side = i};
        rig->peer[i].head = (link_peer_head_t){.upper_engine = rig->params[i].upcalls.arg,
                                               .caps = &rig->caps};
        list_init(&rig->peer[i].inbox);
        list_init(&rig->peer[i].flushes);
    }
    if (options->devices)
        rig->devices = rig_devices_open(rig->memory);
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

static uint8_t *flatten(const link_packet_t *p)
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
        packet->payload = flatten(p);
    list_append(&peer->inbox, &packet->link);
    return packet->late ? VBN_INPROGRESS : VBN_OK;
}

/* The short way is that of shared memory, which nobody has here (link_peer_head_t.clear is NULL). */
bool link_short_more(vbn_peer_t *peer)
{
    (void)peer;
    return false;
}

void link_rx_other(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes)
{
    (void)ep;
    (void)header;
    (void)header_bytes;
    (void)payload;
    (void)payload_bytes;
    abort();
}

static void deliver(rig_t *rig, int to, const void *header, uint32_t header_bytes, const void *payload,
                    uint32_t payload_bytes)
{
    struct vbn_peer *peer = &rig->peer[to];
    const link_upcalls_t *up = &rig->params[to].upcalls;
    const void *place = payload;
    unsigned type = header_bytes > 0 ? *(const uint8_t *)header : PROTO_TYPE_END; /* the fuzzer sends nothing, too */
    rig->tags_delivered[to] += type == PROTO_TAG || type == PROTO_TAG_RTS;
    if (rig->options.use_sink && payload_bytes >= 512) {
        void *sink = up->sink(up->arg, peer, header, header_bytes, payload_bytes, false);
        if (sink != NULL) {
            memcpy(sink, payload, payload_bytes);
            rig->sunk += payload_bytes;
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
        packet->payload = flatten(&packet->sent);
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
        packet->payload = flatten(&packet->sent);
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

uint64_t rig_sunk(rig_t *rig)
{
    return rig->sunk;
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
    return proto_key_import(&rig->peer[side], blob, bytes, &key) == VBN_OK ? key : NULL;
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

uint32_t rig_encode(const rig_header_t *h, uint8_t *buffer)
{
    proto_header_t header = {.type = (proto_type_t)h->type, .code = h->code & 0xffu, .last = h->last,
                             .stages = h->code >> 8, .op = h->op,
                             .target = h->target, .key = h->key, .offset = h->offset, .length = h->length,
                             .compare = h->compare, .signal_value = h->value};
    return proto_encode(&header, buffer);
}

uint32_t rig_encode_at(const rig_header_t *h, const rig_place_t *place, uint8_t *buffer)
{
    proto_header_t header = {.type = (proto_type_t)h->type, .op = h->op, .target = h->target, .length = h->length,
                             .claim = h->value,
                             .place = {.address = place->address, .key = h->key, .offset = h->offset,
                                       .owner = place->owner, .memory = place->memory,
                                       .memory_bytes = place->memory_bytes}};
    header.place.devices[0] = h->value == 0 ? 0 : PROTO_DEVICE(h->value, h->key);
    return proto_encode(&header, buffer);
}

vbn_status_t rig_decode(const void *bytes, uint32_t count, uint32_t payload_bytes)
{
    proto_header_t header;
    return proto_decode(bytes, count, payload_bytes, &header);
}

/* ----------------------------------------------------------------------------- the rest of link.h */

vbn_status_t link_flush(vbn_peer_t *peer, link_done_func_t done, void *arg)
{
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

uint64_t link_peer_uid(const vbn_peer_t *peer)
{
    return 1001u - (unsigned)peer->side;
}

size_t link_explain(const vbn_peer_t *peer, char *text, size_t capacity)
{
    (void)peer;
    return (size_t)snprintf(text, capacity, "the rig");
}

wheel_t *link_engine_wheel(link_engine_t *engine)
{
    return &engine->wheel;
}

bool link_direct(const vbn_peer_t *peer, tl_direct_t *direct_p)
{
    rig_t *rig = peer->rig;
    *direct_p = (tl_direct_t){.copies = rig->options.copies, .source = RIG_SOURCE, .ours = rig->claims[peer->side],
                              .used = &rig->claims_used[peer->side], .theirs = rig->claims[1 - peer->side]};
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
