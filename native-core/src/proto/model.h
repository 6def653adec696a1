/* SPDX-License-Identifier: Apache-2.0
 * model.h - the cost model: what each way of moving bytes to a peer takes, as piecewise linear functions of their number,
 * and which is the cheapest. Pure functions, no state; any thread. Times in nanoseconds, costs per byte in picoseconds.
 *
 *   time |          whole /        whole   one packet, copied out by the receiver
 *        |               /  .      stream  announced, asked for, sent in segments straight to its place
 *        |            . / '        mapped  announced, copied by the receiver from the sender's mapped memory
 *        |       . '   /           cma     announced, copied by the kernel on the receiver's order
 *        |  . '  _,-'/             put     announced, answered with a key, copied by the sender
 *        |  _,-'                   both    announced, copied by both from both ends
 *        |                         native  a put or get that devices carry out
 *        +---------------- bytes
 *
 * Invariants: I1 a curve never falls. I2 of equal ways the one first in model_way_t is chosen, so that both sides and
 * every run choose alike from the same numbers. */
#ifndef VBN_PROTO_MODEL_H
#define VBN_PROTO_MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum model_way {
    MODEL_WHOLE,
    MODEL_GET, /* or one copy of mapped memory by put or get */
    MODEL_PUT,
    MODEL_CMA,
    MODEL_BOTH,
    MODEL_NATIVE,
    MODEL_STREAM,
    MODEL_WAYS
} model_way_t;

#define MODEL_BIT(way) (1u << (way))
#define MODEL_IMPOSSIBLE UINT64_MAX

/* What this host's processors and kernel take. */
typedef struct model_host {
    uint32_t copy_ps;     /* a byte of a large copy */
    uint32_t handover_ns; /* a cache line from one core to another */
    uint32_t syscall_ns;  /* the cheapest system call */
    uint32_t pack_ps;     /* a byte compressed by LZ4 */
} model_host_t;

/* What is assumed where nothing was measured. */
#define MODEL_HOST_DEFAULT ((model_host_t){.copy_ps = 100, .handover_ns = 100, .syscall_ns = 150, .pack_ps = 2500})

/* One transport on one host. */
typedef struct model_path {
    uint32_t packet_ns;     /* the smallest packet, from one worker to the other */
    uint32_t more_ns;       /* each further packet of a stream */
    uint32_t byte_ps;       /* a byte inside packets */
    uint32_t wire_ps;       /* of that, on the wire */
    uint32_t segment_bytes; /* data of one packet of a stream, not 0 */
    uint64_t whole_max;     /* most data that one packet takes whole */
    bool map;               /* memory of the core can be mapped by the other side */
} model_path_t;

typedef struct model_line {
    uint64_t from;  /* bytes */
    uint64_t at_ns; /* time for `from` bytes */
    uint32_t byte_ps;
} model_line_t;

#define MODEL_LINES 2u

typedef struct model_curve {
    model_way_t way;
    unsigned count;
    uint64_t up_to; /* most bytes that can go this way */
    model_line_t lines[MODEL_LINES];
} model_curve_t;

typedef struct model {
    unsigned count;
    model_curve_t curves[MODEL_WAYS];
} model_t;

/* Curves of a message's ways; ways: MODEL_BIT of each that is possible. */
void model_message(model_t *model, const model_host_t *host, const model_path_t *path, unsigned ways);
/* Curves of put and get: packets (MODEL_STREAM), and of `ways` one copy of mapped memory (MODEL_GET), devices
 * (MODEL_NATIVE). */
void model_access(model_t *model, const model_host_t *host, const model_path_t *path, unsigned ways);
/* MODEL_IMPOSSIBLE beyond up_to. */
uint64_t model_ns(const model_curve_t *curve, uint64_t bytes);
const model_curve_t *model_find(const model_t *model, model_way_t way); /* NULL: not possible */
/* The cheapest way, of equal ones the first; NULL when none is possible. */
const model_curve_t *model_best(const model_t *model, uint64_t bytes);
/* Most bytes, from `least` up to `most`, that are best sent whole; `least` when not even those are. */
uint64_t model_whole_limit(const model_t *model, uint64_t least, uint64_t most);
/* Fewest bytes, `least` or more, from which `way` is the best of the model; MODEL_IMPOSSIBLE when it is not at 1 GiB. The
 * way must be the one with the cheapest byte, so that there is one crossing. */
uint64_t model_best_from(const model_t *model, model_way_t way, uint64_t least);
/* Compressing data, assumed to become half, saves a tenth of the time or more on this path. */
bool model_packing_pays(const model_host_t *host, const model_path_t *path);
const char *model_way_name(model_way_t way);

#endif
