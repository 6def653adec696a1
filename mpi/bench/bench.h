/* SPDX-License-Identifier: Apache-2.0
 * bench.h - a rank of mpibench, and what its files offer each other: main.c calls cells.c, that p2p.c, coll.c and probe.c.
 */
#ifndef MPI_BENCH_BENCH_H
#define MPI_BENCH_BENCH_H

#include <stddef.h>

#define MOST_BYTES (1u << 20) /* of one message */
#define WINDOW 64             /* messages in flight of bandwidth and rate */

typedef struct line line_t; /* a cache line that both ranks write: probe.c */

typedef struct bench {
    int rank, size;
    char *out, *in; /* page aligned, MOST_BYTES for each rank */
    line_t *line;   /* NULL with other than two ranks */
} bench_t;

/* A loop runs so many rounds and gives the seconds that a round took here. */
typedef double (*loop_fn)(bench_t *bench, size_t bytes, int rounds);

double seconds_now(void);

/* Ends the job when not all bytes from `from` on are `value`: a library that is fast and wrong has no figures. */
void expect_bytes(const char *what, const char *from, size_t bytes, int value);

void probe_open(bench_t *bench);
double probe_run(bench_t *bench); /* the median ns of a line's way to the other rank; 0 without a line. Collective */

double p2p_latency(bench_t *bench, size_t bytes, int rounds);
double p2p_window(bench_t *bench, size_t bytes, int rounds);

double coll_allreduce(bench_t *bench, size_t bytes, int rounds);
double coll_bcast(bench_t *bench, size_t bytes, int rounds);
double coll_alltoall(bench_t *bench, size_t bytes, int rounds);
double coll_barrier(bench_t *bench, size_t bytes, int rounds);

void cells_two(bench_t *bench);  /* prints every cell of two ranks */
void cells_four(bench_t *bench); /* and those of four ranks on two processors */

#endif
