/* SPDX-License-Identifier: Apache-2.0
 * bench.h - what the files of shmembench offer each other: main.c runs the forms of cells.c; the loops of
 * their cells are in rma.c and coll.c.
 */
#ifndef SHMEM_BENCH_BENCH_H
#define SHMEM_BENCH_BENCH_H

#include "common/cell.h"

#define MOST_BYTES (1u << 20) /* of one operation */

/* One PE works on the other's memory, which only waits. */
double rma_put(bench_t *bench, size_t bytes, int rounds);
double rma_put_quiet(bench_t *bench, size_t bytes, int rounds);
double rma_get(bench_t *bench, size_t bytes, int rounds);
double rma_p(bench_t *bench, size_t bytes, int rounds);
double rma_g(bench_t *bench, size_t bytes, int rounds);
double amo_fetch_add(bench_t *bench, size_t bytes, int rounds);
double amo_increment(bench_t *bench, size_t bytes, int rounds);
double amo_compare_swap(bench_t *bench, size_t bytes, int rounds);

double coll_ping_pong(bench_t *bench, size_t bytes, int rounds);
double coll_barrier(bench_t *bench, size_t bytes, int rounds);
double coll_broadcast(bench_t *bench, size_t bytes, int rounds);
double coll_reduce(bench_t *bench, size_t bytes, int rounds);

extern const form_t forms[];
extern const size_t form_count;

#endif
