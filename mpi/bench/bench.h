/* SPDX-License-Identifier: Apache-2.0
 * bench.h - what the files of mpibench offer each other: main.c runs the forms of cells.c; the loops of their cells are in the
 * other files.
 */
#ifndef MPI_BENCH_BENCH_H
#define MPI_BENCH_BENCH_H

#include <mpi.h>

#include "common/cell.h"

#define MOST_BYTES (1u << 20) /* of one message */
#define WINDOW 64             /* messages in flight of bandwidth and rate */
#define PUTS 16               /* of one flush in sync_flush */

double p2p_latency(bench_t *bench, size_t bytes, int rounds);
double p2p_window(bench_t *bench, size_t bytes, int rounds);

double coll_allreduce(bench_t *bench, size_t bytes, int rounds);
double coll_bcast(bench_t *bench, size_t bytes, int rounds);
double coll_alltoall(bench_t *bench, size_t bytes, int rounds);
double coll_barrier(bench_t *bench, size_t bytes, int rounds);

/* Rank 0 works on memory of rank 1 in a window; each operation is followed by a flush. */
double rma_put(bench_t *bench, size_t bytes, int rounds);
double rma_get(bench_t *bench, size_t bytes, int rounds);
double rma_fetch_and_op(bench_t *bench, size_t bytes, int rounds);
double rma_compare_and_swap(bench_t *bench, size_t bytes, int rounds);
double rma_accumulate(bench_t *bench, size_t bytes, int rounds);

/* A synchronisation with puts of 8 bytes. */
double sync_flush(bench_t *bench, size_t bytes, int rounds);
double sync_lock(bench_t *bench, size_t bytes, int rounds);
double sync_fence(bench_t *bench, size_t bytes, int rounds);
double sync_pscw(bench_t *bench, size_t bytes, int rounds);

/* A window of at least so many bytes at each rank, each byte the rank plus 1. *base_p: this rank's memory. */
MPI_Win window_open(const bench_t *bench, size_t bytes, char **base_p);

double counter_add(bench_t *bench, size_t bytes, int rounds);

extern const form_t forms[];
extern const size_t form_count;

#endif
