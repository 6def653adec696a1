/* SPDX-License-Identifier: Apache-2.0
 * bare.h - the parts of barebench: two processes, memory that both have mapped, memory that each has alone.
 */
#ifndef MPI_BENCH_BARE_BARE_H
#define MPI_BENCH_BARE_BARE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cell.h"

#define MOST_BYTES (4u << 20)
#define SPAN (8 * (size_t)MOST_BYTES) /* of a buffer: rows `.fresh` go through all of it */
#define RING_BYTES (256u << 10)       /* of a ring, whatever its pieces are: it stays in a cache */
#define LINE 64

/* What one process tells the other, on a line of its own. */
typedef struct count {
    _Alignas(LINE) _Atomic uint64_t value;
} count_t;

/* Both have it mapped; index: the process that writes it. */
typedef struct meeting {
    count_t said[2];
    count_t put[2];   /* pieces, into its own ring */
    count_t taken[2]; /* pieces, out of the other one's ring */
    double values[2];
    int value;
    pid_t pids[2];
} meeting_t;

typedef struct bare {
    meeting_t *meeting;
    int rank, other;
    char *out[2], *in[2];   /* [rank] SPAN bytes that both have mapped */
    char *own_out, *own_in; /* SPAN bytes that each has alone, at the same addresses in both */
    char *ring[2];          /* [rank] RING_BYTES that this rank fills */
} bare_t;

extern bare_t bare;

/* What a loop does with its buffers between two rounds. */
typedef enum reuse { SAME, WRITTEN, FRESH } reuse_t;

/* What both do in a round with these bytes of their buffers. */
typedef void (*round_fn)(size_t at, size_t bytes);
/* Rounds between two meetings of both: seconds of one. out: the buffer that WRITTEN writes to: a word of each line, with the value
 * that is there, so that the line is in this processor's cache alone. *at_p: where the last round's bytes are. */
double bare_rounds(round_fn round, char *out, size_t bytes, int rounds, reuse_t reuse, size_t *at_p);

/* Loops of a cell, one for each reuse, by measure(round, out, in, bytes, rounds, reuse) of the file. */
#define BARE_LOOP(name, reuse, round, out, in)                                                                         \
    static double name(bench_t *bench, size_t bytes, int rounds)                                                       \
    {                                                                                                                  \
        (void)bench;                                                                                                   \
        return measure(round, out, in, bytes, rounds, reuse);                                                          \
    }
#define BARE_LOOPS(round, out, in)                                                                                     \
    BARE_LOOP(same_##round, SAME, round, out, in)                                                                      \
    BARE_LOOP(written_##round, WRITTEN, round, out, in)                                                                \
    BARE_LOOP(fresh_##round, FRESH, round, out, in)

/* Cells of these loops. all, scale: as in a cell_t. */
#define BARE_CELL(name, loop, size, all, scale) {name, loop, size, {2000, 500}, all, scale, 0, "us"}
/* clang-format off */
#define BARE_CELLS(name, round, all, scale)                                                                            \
    BARE_CELL(name, same_##round, 16u << 10, all, scale), BARE_CELL(name, same_##round, 64u << 10, all, scale),        \
    BARE_CELL(name, same_##round, 256u << 10, all, scale), BARE_CELL(name, same_##round, 1u << 20, all, scale),        \
    BARE_CELL(name, same_##round, 4u << 20, all, scale),                                                               \
    BARE_CELL(name ".written", written_##round, 64u << 10, all, scale),                                                \
    BARE_CELL(name ".written", written_##round, 1u << 20, all, scale),                                                 \
    BARE_CELL(name ".fresh", fresh_##round, 64u << 10, all, scale),                                                    \
    BARE_CELL(name ".fresh", fresh_##round, 1u << 20, all, scale)
/* clang-format on */

/* Tells the other one that a step is done. */
void bare_say(void);
/* Waits until the other one has said so once more. */
void bare_hear(void);

void ring_put(const char *from, size_t bytes, size_t piece);
/* Each piece goes to `use` with its place in the whole. */
typedef void (*ring_use_fn)(void *arg, size_t at, const char *piece, size_t bytes);
void ring_take(size_t bytes, size_t piece, ring_use_fn use, void *arg);
/* Puts and takes as many bytes, piece by piece in turns. */
void ring_swap(const char *from, size_t bytes, size_t piece, ring_use_fn use, void *arg);

/* Bytes of the other one's own memory by the kernel. */
void kernel_read(char *to, const char *theirs, size_t bytes);
void kernel_write(const char *from, char *theirs, size_t bytes);

extern const cell_t copy_cells[], sum_cells[], rate_cells[];
extern const size_t copy_cell_count, sum_cell_count, rate_cell_count;

#endif
