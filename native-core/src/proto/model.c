/* SPDX-License-Identifier: Apache-2.0
 * model.c - the cost model. */
#include "proto/model.h"

#include <stddef.h>

#define PS_PER_NS 1000u
#define PAGE_PIN_PS 25u /* per byte: the kernel finds and pins a page of 4 KiB in about 100 ns */
#define MAPPED_NS 20u   /* checks before a copy of mapped memory */
#define KEYED_NS 60u    /* a key is looked up and held, per packet of a put */

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > MODEL_IMPOSSIBLE - 1 - b ? MODEL_IMPOSSIBLE - 1 : a + b;
}

/* Saturates; exact as long as it does not. */
static uint64_t bytes_ns(uint64_t bytes, uint32_t byte_ps)
{
    uint64_t whole = bytes / PS_PER_NS, rest = bytes % PS_PER_NS;
    if (byte_ps != 0 && whole > (MODEL_IMPOSSIBLE >> 1) / byte_ps)
        return MODEL_IMPOSSIBLE >> 1;
    uint64_t ns = whole * byte_ps + rest * byte_ps / PS_PER_NS;
    return ns < MODEL_IMPOSSIBLE >> 1 ? ns : MODEL_IMPOSSIBLE >> 1;
}

static model_curve_t *new_curve(model_t *model, model_way_t way, uint64_t fixed_ns, uint32_t byte_ps)
{
    model_curve_t *curve = &model->curves[model->count++];
    *curve = (model_curve_t){.way = way, .count = 1, .up_to = UINT64_MAX};
    curve->lines[0] = (model_line_t){.at_ns = fixed_ns, .byte_ps = byte_ps};
    return curve;
}

/* From `from` bytes on each byte takes `more_ps` more. */
static void bend(model_curve_t *curve, uint64_t from, uint32_t more_ps)
{
    const model_line_t *first = &curve->lines[0];
    curve->lines[1] = (model_line_t){
        .from = from, .at_ns = add(first->at_ns, bytes_ns(from, first->byte_ps)), .byte_ps = first->byte_ps + more_ps};
    curve->count = 2;
}

/* Packets one after the other; round_trips that come before the first data are in fixed_ns. */
static void add_packets(model_t *model, model_way_t way, const model_path_t *path, uint64_t fixed_ns, uint32_t more_ns)
{
    model_curve_t *curve = new_curve(model, way, fixed_ns, path->byte_ps);
    bend(curve, path->segment_bytes, (uint32_t)((uint64_t)more_ns * PS_PER_NS / path->segment_bytes));
}

void model_message(model_t *model, const model_host_t *host, const model_path_t *path, unsigned ways)
{
    uint64_t packet = path->packet_ns, call = host->syscall_ns;
    model->count = 0;
    if ((ways & MODEL_BIT(MODEL_WHOLE)) != 0)
        new_curve(model, MODEL_WHOLE, packet, path->byte_ps + host->copy_ps)->up_to = path->whole_max;
    if ((ways & MODEL_BIT(MODEL_GET)) != 0)
        (void)new_curve(model, MODEL_GET, packet + MAPPED_NS, host->copy_ps);
    if ((ways & MODEL_BIT(MODEL_PUT)) != 0 && path->map)
        (void)new_curve(model, MODEL_PUT, 3 * packet + MAPPED_NS, host->copy_ps);
    else if ((ways & MODEL_BIT(MODEL_PUT)) != 0)
        add_packets(model, MODEL_PUT, path, 4 * packet + KEYED_NS, path->more_ns + KEYED_NS);
    if ((ways & MODEL_BIT(MODEL_CMA)) != 0)
        (void)new_curve(model, MODEL_CMA, packet + 2 * call, host->copy_ps + PAGE_PIN_PS);
    if ((ways & MODEL_BIT(MODEL_BOTH)) != 0)
        (void)new_curve(model, MODEL_BOTH, 2 * packet + 4 * call, (host->copy_ps + PAGE_PIN_PS + 1) / 2);
    if ((ways & MODEL_BIT(MODEL_STREAM)) != 0)
        add_packets(model, MODEL_STREAM, path, 3 * packet, path->more_ns);
}

void model_access(model_t *model, const model_host_t *host, const model_path_t *path, unsigned ways)
{
    model->count = 0;
    if ((ways & MODEL_BIT(MODEL_GET)) != 0)
        (void)new_curve(model, MODEL_GET, MAPPED_NS, host->copy_ps);
    if ((ways & MODEL_BIT(MODEL_NATIVE)) != 0)
        (void)new_curve(model, MODEL_NATIVE, 2 * (uint64_t)path->packet_ns, path->wire_ps);
    add_packets(model, MODEL_STREAM, path, 2 * (uint64_t)path->packet_ns + KEYED_NS, path->more_ns);
}

uint64_t model_ns(const model_curve_t *curve, uint64_t bytes)
{
    if (bytes > curve->up_to)
        return MODEL_IMPOSSIBLE;
    const model_line_t *line = &curve->lines[0];
    for (unsigned i = 1; i < curve->count && curve->lines[i].from <= bytes; i++)
        line = &curve->lines[i];
    return add(line->at_ns, bytes_ns(bytes - line->from, line->byte_ps));
}

const model_curve_t *model_find(const model_t *model, model_way_t way)
{
    for (unsigned i = 0; i < model->count; i++)
        if (model->curves[i].way == way)
            return &model->curves[i];
    return NULL;
}

const model_curve_t *model_best(const model_t *model, uint64_t bytes)
{
    const model_curve_t *best = NULL;
    uint64_t least = MODEL_IMPOSSIBLE;
    for (unsigned i = 0; i < model->count; i++) {
        uint64_t ns = model_ns(&model->curves[i], bytes);
        if (ns < least) {
            best = &model->curves[i];
            least = ns;
        }
    }
    return best;
}

/* Bisection: a message sent whole pays more for each byte than any other way, so there is one crossing. Where segments
 * are so small that this is not so, the limit is one of the crossings. */
uint64_t model_whole_limit(const model_t *model, uint64_t least, uint64_t most)
{
    uint64_t low = least, high = most;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        const model_curve_t *best = model_best(model, middle);
        if (best != NULL && best->way == MODEL_WHOLE)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint64_t model_best_from(const model_t *model, model_way_t way, uint64_t least)
{
    uint64_t low = least, high = UINT64_C(1) << 30;
    const model_curve_t *best = model_best(model, high);
    if (best == NULL || best->way != way)
        return MODEL_IMPOSSIBLE;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        best = model_best(model, middle);
        if (best != NULL && best->way == way)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool model_packing_pays(const model_host_t *host, const model_path_t *path)
{
    uint64_t plain = path->byte_ps, packed = host->pack_ps + plain / 2;
    return packed * 10 < plain * 9;
}

const char *model_way_name(model_way_t way)
{
    static const char *const NAMES[MODEL_WAYS] = {
        [MODEL_WHOLE] = "eager", [MODEL_GET] = "mapped",  [MODEL_PUT] = "put",       [MODEL_CMA] = "cma",
        [MODEL_BOTH] = "both",   [MODEL_NATIVE] = "RDMA", [MODEL_STREAM] = "packets"};
    return (unsigned)way < MODEL_WAYS ? NAMES[way] : "none";
}
