/* SPDX-License-Identifier: Apache-2.0
 * cost.c - the cost model applied to transports: what their caps and this host's figures make of a path, and which sizes
 * of messages go which way. */
#include "proto/proto_private.h"

#include <string.h>

model_path_t cost_path(const proto_engine_t *engine, const tl_caps_t *caps)
{
    const model_host_t *host = &engine->host;
    uint32_t local = caps->handovers * host->handover_ns + caps->syscalls * host->syscall_ns;
    bool map = (caps->flags & TL_CAP_MAP) != 0;
    uint32_t wire_ps = map || caps->mbytes_per_s == 0 ? 0 : 1000000u / caps->mbytes_per_s;
    uint64_t header = LINK_HEADER_BYTES + PROTO_HEADER_MAX;
    uint64_t segment = caps->packet_max - header < caps->stream_chunk ? caps->packet_max - header : caps->stream_chunk;
    uint64_t whole = caps->packet_max - header - VBN_AM_HEADER_MAX;
    return (model_path_t){.packet_ns = caps->latency_ns + local,
                          .more_ns = local,
                          .byte_ps = wire_ps + caps->copies * host->copy_ps,
                          .wire_ps = wire_ps,
                          .segment_bytes = (uint32_t)segment,
                          .whole_max = caps->eager_best < whole ? caps->eager_best : whole,
                          .map = map};
}

static uint64_t whole_limit(const proto_engine_t *engine, const model_path_t *path)
{
    uint64_t setting = engine->am_small_max;
    if (setting != 0)
        return setting < path->whole_max ? setting : path->whole_max;
    if (path->whole_max <= COST_WHOLE_LEAST)
        return path->whole_max;
    model_t model;
    model_message(&model, &engine->host, path, MODEL_BIT(MODEL_WHOLE) | MODEL_BIT(MODEL_STREAM));
    return model_whole_limit(&model, COST_WHOLE_LEAST,
                             path->whole_max < COST_WHOLE_MOST ? path->whole_max : COST_WHOLE_MOST);
}

static uint64_t best_from(const proto_engine_t *engine, const model_path_t *path, model_way_t way, model_way_t other,
                          uint64_t least)
{
    model_t model;
    model_message(&model, &engine->host, path, MODEL_BIT(way) | MODEL_BIT(other));
    return model_best_from(&model, way, least);
}

/* The power of two from which on packets take a packet's time longer than a device would. */
static uint64_t native_from(const proto_engine_t *engine, const model_path_t *path)
{
    model_t model;
    uint64_t bytes = 1;
    model_access(&model, &engine->host, path, MODEL_BIT(MODEL_NATIVE));
    const model_curve_t *native = model_find(&model, MODEL_NATIVE), *stream = model_find(&model, MODEL_STREAM);
    while (bytes < UINT64_C(1) << 30 && model_ns(stream, bytes) < model_ns(native, bytes) + path->packet_ns)
        bytes *= 2;
    return bytes;
}

static void compute(const proto_engine_t *engine, cost_limit_t *limit)
{
    model_path_t path = cost_path(engine, &limit->caps);
    limit->limit = whole_limit(engine, &path);
    limit->direct_from = best_from(engine, &path, MODEL_CMA, MODEL_STREAM, COST_DIRECT_LEAST);
    limit->help_from = best_from(engine, &path, MODEL_BOTH, MODEL_CMA, COST_HELP_LEAST);
    limit->native_from = native_from(engine, &path);
    limit->packing_pays = model_packing_pays(&engine->host, &path);
}

/* Remembered by value: caps of a peer may change when it becomes ready. The one used last comes first. */
COLD const cost_limit_t *cost_find(proto_engine_t *engine, const tl_caps_t *caps)
{
    unsigned at = 1;
    while (at < COST_LIMITS - 1 && memcmp(&engine->limits[at].caps, caps, sizeof(*caps)) != 0)
        at++;
    cost_limit_t found = engine->limits[at];
    if (memcmp(&found.caps, caps, sizeof(*caps)) != 0) {
        memset(&found, 0, sizeof(found));
        memcpy(&found.caps, caps, sizeof(*caps));
        compute(engine, &found);
    }
    engine->limits[at] = engine->limits[0];
    engine->limits[0] = found;
    return &engine->limits[0];
}
