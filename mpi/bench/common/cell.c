/* SPDX-License-Identifier: Apache-2.0
 * cell.c - how a cell runs: some rounds to warm up, then three loops, of which the fastest counts, as what disturbs only
 * makes slower. A library that is very slow gets fewer rounds, the same number in all ranks.
 */
#include "cell.h"

#include <stdio.h>

#define LOOPS 3
#define LOOP_SECONDS 0.25 /* about the most that a loop takes */
#define FEWEST 10         /* rounds */
#define MOST_RANKS 64

/* Seconds of a round; what counts is rank 0's result. */
static double run(const library_t *library, bench_t *bench, const cell_t *cell, int rounds)
{
    double values[MOST_RANKS] = {0};
    double sum = 0;
    library->gather(bench, cell->loop(bench, cell->bytes, rounds), values);
    for (int rank = 0; rank < bench->size; rank++)
        sum += values[rank];
    return cell->all ? sum / bench->size : values[0];
}

/* The first rounds also make connections; the second lot says how long a round takes. */
static int warm_up(const library_t *library, bench_t *bench, const cell_t *cell)
{
    const int wanted = cell->rounds[cell->bytes > LARGE];
    (void)run(library, bench, cell, FEWEST);
    double took = seconds_now();
    (void)run(library, bench, cell, FEWEST);
    took = (seconds_now() - took) / FEWEST;
    int rounds = took * wanted < LOOP_SECONDS ? wanted : (int)(LOOP_SECONDS / took);
    rounds = library->agree(rounds < FEWEST ? FEWEST : rounds);
    if (rounds >= 10 * FEWEST)
        (void)run(library, bench, cell, rounds / 10);
    return rounds;
}

static double best_of(const library_t *library, bench_t *bench, const cell_t *cell, int rounds)
{
    double best = run(library, bench, cell, rounds);
    for (int i = 1; i < LOOPS; i++) {
        const double took = run(library, bench, cell, rounds);
        best = took < best ? took : best;
    }
    return cell->per != 0 ? cell->per / best : cell->scale * best;
}

void cells_run(const library_t *library, bench_t *bench, const cell_t *cells, size_t count)
{
    if (bench->size > MOST_RANKS)
        bench_fail("cells", "too many ranks");
    double before = probe_run(library, bench);
    for (const cell_t *cell = cells; cell < cells + count; cell++) {
        const int rounds = warm_up(library, bench, cell);
        const double value = best_of(library, bench, cell, rounds);
        const double after = probe_run(library, bench);
        if (bench->rank == 0)
            printf("{\"row\": \"%s\", \"size\": %zu, \"unit\": \"%s\", \"value\": %.6g, \"before\": %.1f, "
                   "\"after\": %.1f}\n",
                   cell->row, cell->bytes, cell->unit, value, before, after);
        before = after;
    }
}
