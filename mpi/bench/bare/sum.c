/* SPDX-License-Identifier: Apache-2.0
 * sum.c - the rows sum.*: both processes get the sum of both inputs, doubles.
 *
 *   mapped          each sums its half of both inputs, mapped, and writes it into both results
 *   ring, N KiB     both inputs go through rings; each sums all of them
 *   ring.slices     each sends the half that it does not sum; sums come back through the rings
 *   read            each reads the other's input by the kernel, piece by piece, and sums all of it
 *   read.slices     each reads and sums its half, then reads the other half of the result
 */
#include "bare.h"

#include <string.h>

#define PIECE (32u << 10)

/* Bytes of doubles. */
static void add(char *to, const char *a, const char *b, size_t bytes)
{
    double *sum = (double *)(void *)to;
    const double *left = (const double *)(const void *)a;
    const double *right = (const double *)(const void *)b;
    for (size_t i = 0; i < bytes / sizeof(double); i++)
        sum[i] = left[i] + right[i];
}

static void add_twice(char *to, char *too, const char *a, const char *b, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) { /* so that the second store finds the first one's line near */
        const size_t part = bytes - at < PIECE ? bytes - at : PIECE;
        add(to + at, a + at, b + at, part);
        memcpy(too + at, to + at, part);
    }
}

static void mapped(size_t at, size_t bytes)
{
    const size_t half = bytes / 2;
    const size_t mine = at + (bare.rank == 0 ? 0 : half);
    bare_say();
    bare_hear();
    add_twice(bare.in[bare.rank] + mine, bare.in[bare.other] + mine, bare.out[bare.rank] + mine,
              bare.out[bare.other] + mine, half);
    bare_say();
    bare_hear();
}

typedef struct operands {
    char *to;
    const char *own;
} operands_t;

static void use_sum(void *arg, size_t at, const char *piece, size_t bytes)
{
    const operands_t *operands = arg;
    add(operands->to + at, operands->own + at, piece, bytes);
}

static void use_copy(void *arg, size_t at, const char *piece, size_t bytes)
{
    memcpy((char *)arg + at, piece, bytes);
}

static void ring(size_t at, size_t bytes)
{
    operands_t operands = {bare.own_in + at, bare.own_out + at};
    ring_swap(bare.own_out + at, bytes, PIECE, use_sum, &operands);
}

static void ring_slices(size_t at, size_t bytes)
{
    const size_t half = bytes / 2;
    const size_t mine = at + (bare.rank == 0 ? 0 : half);
    const size_t theirs = at + (bare.rank == 0 ? half : 0);
    operands_t operands = {bare.own_in + mine, bare.own_out + mine};
    ring_swap(bare.own_out + theirs, half, PIECE, use_sum, &operands);
    ring_swap(bare.own_in + mine, half, PIECE, use_copy, bare.own_in + theirs);
}

static void read_all(size_t at, size_t bytes)
{
    static _Alignas(4096) char room[PIECE];
    bare_say();
    bare_hear();
    for (size_t done = 0; done < bytes; done += PIECE) {
        const size_t part = bytes - done < PIECE ? bytes - done : PIECE;
        kernel_read(room, bare.own_out + at + done, part);
        add(bare.own_in + at + done, bare.own_out + at + done, room, part);
    }
    bare_say();
    bare_hear();
}

static void read_slices(size_t at, size_t bytes)
{
    const size_t half = bytes / 2;
    const size_t mine = at + (bare.rank == 0 ? 0 : half);
    const size_t theirs = at + (bare.rank == 0 ? half : 0);
    bare_say();
    bare_hear();
    kernel_read(bare.own_in + mine, bare.own_out + mine, half);
    add(bare.own_in + mine, bare.own_in + mine, bare.own_out + mine, half);
    bare_say();
    bare_hear();
    kernel_read(bare.own_in + theirs, bare.own_in + theirs, half);
    bare_say();
    bare_hear();
}

static void fill(char *memory, double value)
{
    double *doubles = (double *)(void *)memory;
    for (size_t i = 0; i < SPAN / sizeof(double); i++)
        doubles[i] = value;
}

static void expect_sum(const char *from, size_t bytes)
{
    const double *doubles = (const double *)(const void *)from;
    for (size_t i = 0; i < bytes / sizeof(double); i++)
        if (doubles[i] != 3)
            bench_fail("sum", "wrong content");
}

static double measure(round_fn round, char *out, char *in, size_t bytes, int rounds, reuse_t reuse)
{
    size_t at = 0;
    fill(out, bare.rank + 1);
    memset(in, 0, SPAN);
    const double took = bare_rounds(round, out, bytes, rounds, reuse, &at);
    expect_sum(in + at, bytes);
    return took;
}

BARE_LOOPS(mapped, bare.out[bare.rank], bare.in[bare.rank])
BARE_LOOPS(ring, bare.own_out, bare.own_in)
BARE_LOOPS(ring_slices, bare.own_out, bare.own_in)
BARE_LOOPS(read_all, bare.own_out, bare.own_in)
BARE_LOOPS(read_slices, bare.own_out, bare.own_in)

#define CELLS(name, sum) BARE_CELLS(name, sum, 1, 1e6)

const cell_t sum_cells[] = {
    CELLS("sum.mapped", mapped),           CELLS("sum.ring", ring),
    CELLS("sum.ring.slices", ring_slices), CELLS("sum.read", read_all),
    CELLS("sum.read.slices", read_slices),
};
const size_t sum_cell_count = sizeof(sum_cells) / sizeof(sum_cells[0]);
