/* SPDX-License-Identifier: Apache-2.0
 * explain.c - says which way an operation of a given size would take towards a peer, and what decides it. Uses the same
 * limits as the operations themselves. */
#include <stdarg.h>
#include <stdio.h>

#include "proto/proto_private.h"

typedef struct text {
    char *at;
    size_t capacity;
    size_t length; /* that the whole text has, also beyond capacity */
} text_t;

static BASE_PRINTF(2, 3) void add(text_t *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool room = text->length < text->capacity;
    int n = vsnprintf(room ? text->at + text->length : NULL, room ? text->capacity - text->length : 0, format,
                      arguments);
    va_end(arguments);
    if (n > 0)
        text->length += (size_t)n;
}

static uint64_t segment_bytes(const tl_caps_t *caps)
{
    uint64_t most = caps->packet_max - LINK_HEADER_BYTES - PROTO_HEADER_MAX;
    return caps->stream_chunk < most ? caps->stream_chunk : most;
}

static void add_packets(text_t *text, const proto_engine_t *engine, const tl_caps_t *caps, uint64_t size)
{
    uint64_t bytes = segment_bytes(caps);
    uint64_t packets = size == 0 ? 1 : (size + bytes - 1) / bytes;
    add(text, "%llu packet%s of at most %llu bytes", (unsigned long long)packets, plural(packets),
        (unsigned long long)bytes);
    if (packets > engine->stream_depth)
        add(text, ", %u at once (proto.stream_depth)", engine->stream_depth);
}

/* What an announced message of one piece at both sides may do instead. */
static void add_direct(text_t *text, const vbn_peer_t *peer, const cost_limit_t *limits, uint64_t size)
{
    const bool measures = proto_engine_of(peer)->measures;
    tl_direct_t direct;
    if (size < (measures ? PICK_LEAST : limits->direct_from) || !link_direct(peer, &direct))
        return;
    if (direct.copies)
        add(text,
            "in one copy from memory of vbn_mem_alloc, which it maps, or from the sender's process (tl.shm.copy)%s%s, "
            "else ",
            size >= (measures ? COST_HELP_LEAST : limits->help_from) ? ", the sender copying a part" : "",
            measures ? ", where the pair has measured that this is faster than packets" : "");
    else
        add(text, "in one copy from memory of vbn_mem_alloc, which it maps, else (this kernel or tl.shm.copy forbids "
                  "direct copies between both processes) ");
}

/* There is a connection whose devices work now. */
static bool by_devices(const vbn_peer_t *peer)
{
    uint32_t connections[LINK_DEVICES];
    return link_natives(peer, true, connections) > 0;
}

/* What the cost model says of each way, the chosen one first. */
static void add_estimates(text_t *text, const model_t *model, model_way_t chosen, uint64_t size)
{
    const char *before = "; estimated: ";
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < model->count; i++) {
            const model_curve_t *curve = &model->curves[i];
            uint64_t ns = model_ns(curve, size);
            if ((curve->way == chosen) != (round == 0) || ns == MODEL_IMPOSSIBLE)
                continue;
            add(text, "%s%s %.1f us", before, model_way_name(curve->way), (double)ns / 1000);
            before = ", ";
        }
    }
}

/* Ways that a message may take, depending on where its buffers lie. */
static unsigned ways_to(const vbn_peer_t *peer, const cost_limit_t *limits, uint64_t size, bool map)
{
    tl_direct_t direct;
    unsigned ways = MODEL_BIT(MODEL_WHOLE) | MODEL_BIT(MODEL_STREAM);
    if (map)
        ways |= MODEL_BIT(MODEL_PUT);
    if (size < limits->direct_from || !link_direct(peer, &direct))
        return ways;
    ways |= MODEL_BIT(MODEL_GET);
    if (direct.copies)
        ways |= MODEL_BIT(MODEL_CMA) | (size >= limits->help_from ? MODEL_BIT(MODEL_BOTH) : 0);
    return ways;
}

/* Of an announced message, wherever its buffers lie. */
static model_way_t usual_way(const model_t *model)
{
    if (model_find(model, MODEL_BOTH) != NULL)
        return MODEL_BOTH;
    return model_find(model, MODEL_CMA) != NULL ? MODEL_CMA : MODEL_STREAM;
}

static const char *why_limit(const proto_engine_t *engine, uint64_t limit, const model_path_t *path)
{
    if (limit == engine->am_small_max)
        return "proto.am_small_max";
    return limit == path->whole_max ? "the transport's best packet" : "the cost model";
}

static void add_message(text_t *text, const vbn_peer_t *peer, uint64_t size, bool tagged)
{
    proto_engine_t *engine = proto_engine_of(peer);
    const tl_caps_t *caps = link_caps(peer);
    const cost_limit_t *limits = cost_limits(engine, peer);
    uint64_t limit = limits->limit;
    model_path_t path = cost_path(engine, caps);
    const char *why = why_limit(engine, limit, &path);
    model_t model;
    model_message(&model, &engine->host, &path, ways_to(peer, limits, size, path.map));
    if (size <= limit) {
        add(text, "is sent eagerly in one packet (up to %llu byte%s: %s)", (unsigned long long)limit, plural(limit),
            why);
        if (tagged)
            add(text,
                "; rendezvous when that exceeds the credit of the receiver (proto.tag_unexpected there), now %u bytes",
                proto_peer_of(peer)->tag_credit);
    } else {
        add(text, "is sent by rendezvous: the receiver pulls it ");
        if (engine->packing && limits->packing_pays)
            add(text, "compressed by LZ4 (proto.compress), ");
        else
            add_direct(text, peer, limits, size);
        if (by_devices(peer))
            add(text, "by its device out of memory of vbn_mem_alloc, else ");
        if (path.map)
            add(text, "by the sender's copy into memory that the receiver has exported for writing, else ");
        add(text, "in ");
        add_packets(text, engine, caps, size);
        add(text, ", because at most %llu byte%s (%s) are sent eagerly", (unsigned long long)limit, plural(limit), why);
    }
    add_estimates(text, &model, size <= limit ? MODEL_WHOLE : usual_way(&model), size);
}

/* A get or put where there are devices that can do it. */
static void add_devices(text_t *text, const vbn_peer_t *peer, uint64_t size)
{
    uint64_t from = cost_limits(proto_engine_of(peer), peer)->native_from;
    if (by_devices(peer))
        add(text,
            "is carried out by the devices of both sides (RDMA offload) for memory of vbn_mem_alloc at the owner, from the "
            "second use of the key, else by packets: ");
    else if (size >= from)
        add(text,
            "is sent in packets, and opens a connection for later ones, which devices carry out (RDMA offload): ");
    else
        add(text, "is sent in packets, because less than %llu bytes are not worth a connection (the cost model): ",
            (unsigned long long)from);
}

/* Of memory whose owner allows that. */
static bool may_kernel(const vbn_peer_t *peer, uint64_t size)
{
    tl_direct_t direct;
    return size > VBN_WORDS_MAX && link_direct(peer, &direct) && direct.copies;
}

static void add_one_sided(text_t *text, const vbn_peer_t *peer, vbn_call_t call, uint64_t size)
{
    const tl_caps_t *caps = link_caps(peer);
    const proto_engine_t *engine = proto_engine_of(peer);
    const char *direct = call == VBN_CALL_ATOMIC ? "one processor atomic" : "one copy by this process";
    bool may_map = (caps->flags & TL_CAP_MAP) != 0;
    bool devices = call != VBN_CALL_ATOMIC && link_native_possible(peer);
    model_path_t path = cost_path(engine, caps);
    model_t model;
    model_access(&model, &engine->host, &path,
                 (may_map ? MODEL_BIT(MODEL_GET) : 0) | (devices ? MODEL_BIT(MODEL_NATIVE) : 0));
    if (may_map)
        add(text, "is %s where the key's memory is mapped here (vbn_key_pointer is not NULL), else %s", direct,
            call != VBN_CALL_ATOMIC && may_kernel(peer, size)
                ? "one copy by the kernel where the key has VBN_ACCESS_COPY, else "
                : "");
    else if (!devices)
        add(text, "is sent in packets, because this transport cannot map the peer's memory: ");
    if (devices)
        add_devices(text, peer, size);
    if (call == VBN_CALL_ATOMIC)
        add(text, "one packet that the owner executes and answers");
    else
        add_packets(text, engine, caps, size);
    add_estimates(text, &model, may_map ? MODEL_GET : devices && by_devices(peer) ? MODEL_NATIVE : MODEL_STREAM, size);
}

size_t proto_explain_call(const vbn_peer_t *peer, vbn_call_t call, size_t size, char *buffer, size_t capacity)
{
    static const char *const NAMES[] = {"active message", "tagged message", "put", "get", "atomic"};
    text_t text = {.at = buffer, .capacity = capacity};
    if (capacity > 0)
        buffer[0] = '\0';
    if (peer == NULL || (unsigned)call > VBN_CALL_ATOMIC) {
        add(&text, "no peer, or no such call");
        return text.length;
    }
    add(&text, "%s of %zu byte%s ", NAMES[call], size, plural(size));
    if (call == VBN_CALL_AM || call == VBN_CALL_TAG)
        add_message(&text, peer, size, call == VBN_CALL_TAG);
    else
        add_one_sided(&text, peer, call, size);
    add(&text, link_ready(peer) ? "; over " : "; not connected yet, probably over ");
    size_t at = text.length < capacity ? text.length : capacity;
    return text.length + link_explain(peer, buffer + at, capacity - at);
}
