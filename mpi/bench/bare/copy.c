/* SPDX-License-Identifier: Apache-2.0
 * copy.c - the rows copy.*: ways of bytes from one process's buffer into the other one's, as a ping-pong.
 *
 *   pull, push      one copy out of, or into, memory that both have mapped; push.stream: stores past the caches
 *   halves          the receiver pulls the first half while the sender pushes the second one
 *   read, write     one copy by the kernel, of memory that each has alone; kernel.halves: both at once
 *   ring.N          two copies, through a ring of pieces of N KiB
 * Each round uses the same bytes, which nobody changes, so that a processor may find them in its own cache. In rows `.written` the
 * sender writes a word of each line first, in rows `.fresh` each round uses other bytes of the buffers.
 */
#include "bare.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static void pull(int sends, size_t at, size_t bytes)
{
    if (sends) {
        bare_say();
    } else {
        bare_hear();
        memcpy(bare.in[bare.rank] + at, bare.out[bare.other] + at, bytes);
    }
}

static void push(int sends, size_t at, size_t bytes)
{
    if (sends) {
        memcpy(bare.in[bare.other] + at, bare.out[bare.rank] + at, bytes);
        bare_say();
    } else {
        bare_hear();
    }
}

#ifdef __SSE2__
static void stream(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + at), _mm_load_si128((const __m128i *)(const void *)(from + at)));
    _mm_sfence();
}

static void push_stream(int sends, size_t at, size_t bytes)
{
    if (sends) {
        stream(bare.in[bare.other] + at, bare.out[bare.rank] + at, bytes);
        bare_say();
    } else {
        bare_hear();
    }
}
#endif

static void halves(int sends, size_t at, size_t bytes)
{
    const size_t first = bytes / 2;
    if (sends) {
        bare_say();
        memcpy(bare.in[bare.other] + at + first, bare.out[bare.rank] + at + first, bytes - first);
        bare_say();
    } else {
        bare_hear();
        memcpy(bare.in[bare.rank] + at, bare.out[bare.other] + at, first);
        bare_hear();
    }
}

static void kernel_pull(int sends, size_t at, size_t bytes)
{
    if (sends) {
        bare_say();
    } else {
        bare_hear();
        kernel_read(bare.own_in + at, bare.own_out + at, bytes);
    }
}

static void kernel_push(int sends, size_t at, size_t bytes)
{
    if (sends) {
        kernel_write(bare.own_out + at, bare.own_in + at, bytes);
        bare_say();
    } else {
        bare_hear();
    }
}

static void kernel_halves(int sends, size_t at, size_t bytes)
{
    const size_t first = bytes / 2;
    if (sends) {
        bare_say();
        kernel_write(bare.own_out + at + first, bare.own_in + at + first, bytes - first);
        bare_say();
    } else {
        bare_hear();
        kernel_read(bare.own_in + at, bare.own_out + at, first);
        bare_hear();
    }
}

static void into(void *to, size_t at, const char *piece, size_t bytes)
{
    memcpy((char *)to + at, piece, bytes);
}

static void ring(int sends, size_t at, size_t bytes, size_t piece)
{
    if (sends)
        ring_put(bare.own_out + at, bytes, piece);
    else
        ring_take(bytes, piece, into, bare.own_in + at);
}

static void ring_16(int sends, size_t at, size_t bytes)
{
    ring(sends, at, bytes, 16u << 10);
}

static void ring_32(int sends, size_t at, size_t bytes)
{
    ring(sends, at, bytes, 32u << 10);
}

static void ring_64(int sends, size_t at, size_t bytes)
{
    ring(sends, at, bytes, 64u << 10);
}

static double measure(round_fn round, char *out, char *in, size_t bytes, int rounds, reuse_t reuse)
{
    size_t at = 0;
    memset(in, 0, SPAN);
    const double took = bare_rounds(round, out, bytes, rounds, reuse, &at);
    expect_bytes("copy", in + at, bytes, bare.other + 1);
    return took;
}

/* A round is there and back. */
#define WAY(way, out, in)                                                                                              \
    static void both_##way(size_t at, size_t bytes)                                                                    \
    {                                                                                                                  \
        way(bare.rank == 0, at, bytes);                                                                                \
        way(bare.rank != 0, at, bytes);                                                                                \
    }                                                                                                                  \
    BARE_LOOPS(both_##way, out, in)

WAY(pull, bare.out[bare.rank], bare.in[bare.rank])
WAY(push, bare.out[bare.rank], bare.in[bare.rank])
#ifdef __SSE2__
WAY(push_stream, bare.out[bare.rank], bare.in[bare.rank])
#endif
WAY(halves, bare.out[bare.rank], bare.in[bare.rank])
WAY(kernel_pull, bare.own_out, bare.own_in)
WAY(kernel_push, bare.own_out, bare.own_in)
WAY(kernel_halves, bare.own_out, bare.own_in)
WAY(ring_16, bare.own_out, bare.own_in)
WAY(ring_32, bare.own_out, bare.own_in)
WAY(ring_64, bare.own_out, bare.own_in)

#define CELLS(name, way) BARE_CELLS(name, both_##way, 0, 0.5e6)

const cell_t copy_cells[] = {
    CELLS("copy.pull", pull),
    CELLS("copy.push", push),
#ifdef __SSE2__
    CELLS("copy.push.stream", push_stream),
#endif
    CELLS("copy.halves", halves),
    CELLS("copy.read", kernel_pull),
    CELLS("copy.write", kernel_push),
    CELLS("copy.kernel.halves", kernel_halves),
    CELLS("copy.ring.16", ring_16),
    CELLS("copy.ring.32", ring_32),
    CELLS("copy.ring.64", ring_64),
};
const size_t copy_cell_count = sizeof(copy_cells) / sizeof(copy_cells[0]);
