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
    add(text, "%llu %s of at most %llu bytes", (unsigned long long)packets, packets == 1 ? "packet" : "packets",
        (unsigned long long)bytes);
    if (packets > engine->stream_depth)
        add(text, ", %u at once (proto.stream_depth)", engine->stream_depth);
}

static void add_message(text_t *text, const vbn_peer_t *peer, uint64_t size, bool tagged)
{
    const proto_engine_t *engine = proto_engine_of(peer);
    const tl_caps_t *caps = link_caps(peer);
    uint64_t limit = proto_small_limit(engine, peer);
    const char *why = limit == engine->am_small_max ? "proto.am_small_max" : "the transport's best packet";
    if (size <= limit) {
        add(text, "goes whole in one packet (up to %llu bytes: %s)", (unsigned long long)limit, why);
        if (tagged)
            add(text, "; announced while %u bytes sent before have no receive", PROTO_TAG_CREDIT);
        return;
    }
    add(text, "is announced and pulled by the receiver in ");
    add_packets(text, engine, caps, size);
    add(text, ", because more than %llu bytes (%s) do not go whole", (unsigned long long)limit, why);
}

static void add_one_sided(text_t *text, const vbn_peer_t *peer, vbn_call_t call, uint64_t size)
{
    const tl_caps_t *caps = link_caps(peer);
    const char *direct = call == VBN_CALL_ATOMIC ? "one processor atomic" : "one copy by this process";
    if ((caps->flags & TL_CAP_MAP) != 0)
        add(text, "is %s where the key's memory is mapped here (vbn_key_pointer is not NULL), else ", direct);
    else
        add(text, "goes by packets, as this transport cannot map the peer's memory: ");
    if (call == VBN_CALL_ATOMIC)
        add(text, "one packet that the owner executes and answers");
    else
        add_packets(text, proto_engine_of(peer), caps, size);
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
    add(&text, "%s of %zu bytes ", NAMES[call], size);
    if (call == VBN_CALL_AM || call == VBN_CALL_TAG)
        add_message(&text, peer, size, call == VBN_CALL_TAG);
    else
        add_one_sided(&text, peer, call, size);
    add(&text, link_ready(peer) ? "; over " : "; not connected yet, probably over ");
    size_t at = text.length < capacity ? text.length : capacity;
    return text.length + link_explain(peer, buffer + at, capacity - at);
}
