/* SPDX-License-Identifier: Apache-2.0
 * bench.h - what the files of mpibench offer each other: main.c runs the cells of cells.c, whose loops are in p2p.c and coll.c.
 */
#ifndef MPI_BENCH_BENCH_H
#define MPI_BENCH_BENCH_H

#include "common/cell.h"

#define MOST_BYTES (1u << 20) /* of one message */
#define WINDOW 64             /* messages in flight of bandwidth and rate */

double p2p_latency(bench_t *bench, size_t bytes, int rounds);
double p2p_window(bench_t *bench, size_t bytes, int rounds);

double coll_allreduce(bench_t *bench, size_t bytes, int rounds);
double coll_bcast(bench_t *bench, size_t bytes, int rounds);
double coll_alltoall(bench_t *bench, size_t bytes, int rounds);
double coll_barrier(bench_t *bench, size_t bytes, int rounds);

extern const cell_t cells_two[], cells_four[]; /* of two ranks; of four ranks on two processors */
extern const size_t cells_two_count, cells_four_count;

#endif
