/* SPDX-License-Identifier: Apache-2.0
 * cells.c - what is measured: each row with its sizes, its rounds and its unit.
 *
 * A cell: some rounds to warm up, then three loops, of which the fastest counts: what disturbs only makes slower. A library
 * that is very slow gets fewer rounds, the same number in all ranks.
 */
#include "bench.h"

#include <mpi.h>
#include <stdio.h>

#define LOOPS 3
#define LOOP_SECONDS 0.25 /* about the most that a loop takes */
#define FEWEST 10        /* rounds */
#define LARGE 8192u      /* bytes; longer messages have fewer rounds */

typedef struct cell {
    const char *row;
    loop_fn loop;
    size_t bytes;
    int rounds[2]; /* up to LARGE, above */
    int all;       /* the mean over the ranks counts, not rank 0's time */
    double scale;  /* the value: scale * seconds of a round, or with `per` per / seconds */
    double per;
    const char *unit;
} cell_t;

#define LATENCY(size) {"latency", p2p_latency, size, {10000, 1000}, 0, 0.5e6, 0, "us"}
#define BANDWIDTH(size) {"bandwidth", p2p_window, size, {100, 20}, 0, 0, (double)(size)*WINDOW * 1e-9, "GB/s"}
#define COLLECTIVE(name, size) {#name, coll_##name, size, {1000, 100}, 1, 1e6, 0, "us"}

static const cell_t two[] = {
    LATENCY(8), LATENCY(65536), LATENCY(1u << 20),
    {"rate", p2p_window, 8, {1000, 0}, 0, 0, WINDOW * 1e-6, "Mmsg/s"},
    BANDWIDTH(4096), BANDWIDTH(65536), BANDWIDTH(1u << 20),
    COLLECTIVE(allreduce, 8), COLLECTIVE(allreduce, 65536), COLLECTIVE(allreduce, 1u << 20),
    COLLECTIVE(bcast, 8), COLLECTIVE(bcast, 65536), COLLECTIVE(bcast, 1u << 20),
    COLLECTIVE(alltoall, 8), COLLECTIVE(alltoall, 65536),
    COLLECTIVE(barrier, 0),
};
static const cell_t four[] = {COLLECTIVE(allreduce, 8), COLLECTIVE(barrier, 0)};

/* Seconds of a round, the same number at all ranks. */
static double run(bench_t *bench, const cell_t *cell, int rounds)
{
    double mine = cell->loop(bench, cell->bytes, rounds);
    double sum = 0;
    if (!cell->all && bench->rank != 0)
        mine = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return cell->all ? sum / bench->size : sum;
}

/* The first rounds also make connections; the second lot says how long a round takes. */
static int warm_up(bench_t *bench, const cell_t *cell)
{
    const int wanted = cell->rounds[cell->bytes > LARGE];
    (void)run(bench, cell, FEWEST);
    double took = seconds_now();
    (void)run(bench, cell, FEWEST);
    took = (seconds_now() - took) / FEWEST;
    int rounds = took * wanted < LOOP_SECONDS ? wanted : (int)(LOOP_SECONDS / took);
    rounds = rounds < FEWEST ? FEWEST : rounds;
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rounds >= 10 * FEWEST)
        (void)run(bench, cell, rounds / 10);
    return rounds;
}

static double best_of(bench_t *bench, const cell_t *cell, int rounds)
{
    double best = run(bench, cell, rounds);
    for (int i = 1; i < LOOPS; i++) {
        const double took = run(bench, cell, rounds);
        best = took < best ? took : best;
    }
    return cell->per != 0 ? cell->per / best : cell->scale * best;
}

static void run_cells(bench_t *bench, const cell_t *cells, size_t count)
{
    double before = probe_run(bench);
    for (const cell_t *cell = cells; cell < cells + count; cell++) {
        const int rounds = warm_up(bench, cell);
        const double value = best_of(bench, cell, rounds);
        const double after = probe_run(bench);
        if (bench->rank == 0)
            printf("{\"row\": \"%s\", \"size\": %zu, \"unit\": \"%s\", \"value\": %.6g, \"before\": %.1f, "
                   "\"after\": %.1f}\n",
                   cell->row, cell->bytes, cell->unit, value, before, after);
        before = after;
    }
}

void cells_two(bench_t *bench)
{
    run_cells(bench, two, sizeof(two) / sizeof(two[0]));
}

void cells_four(bench_t *bench)
{
    run_cells(bench, four, sizeof(four) / sizeof(four[0]));
}
