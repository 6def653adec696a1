/* SPDX-License-Identifier: Apache-2.0
 * form.c - the forms of a benchmark program, and its buffers.
 *
 * usage: PROGRAM two CPU,CPU    two ranks, one on each of these processors
 *        PROGRAM four           four ranks, placed by whoever starts them
 *        PROGRAM start          the time of the library's set-up only
 * Rank 0 prints one line of JSON for each cell. Wrong content ends the job with status 1.
 */
#include "cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *buffer(const library_t *library, size_t bytes)
{
    char *memory = library->memory(bytes);
    if (memory == NULL)
        bench_fail("buffers", "no memory");
    memset(memory, 0, bytes);
    return memory;
}

static void measure(const library_t *library, bench_t *bench, const char *form, const char *list)
{
    const int two = list != NULL;
    if (bench->size != (two ? 2 : 4))
        bench_fail(form, "wrong number of ranks");
    if (two)
        place_pin(bench->rank, list);
    bench->out = buffer(library, library->bytes);
    bench->in = buffer(library, library->bytes);
    if (two)
        probe_open(library, bench);
    library->meet();
    if (two)
        cells_run(library, bench, library->two, library->two_count);
    else
        cells_run(library, bench, library->four, library->four_count);
    library->release(bench->in);
    library->release(bench->out);
}

static void print_start(const library_t *library, const bench_t *bench, double seconds)
{
    double *values = calloc((size_t)bench->size, sizeof(double));
    double most = 0;
    if (values == NULL)
        bench_fail("start", "no memory");
    library->gather(bench, seconds, values);
    for (int rank = 0; rank < bench->size; rank++)
        most = values[rank] > most ? values[rank] : most;
    if (bench->rank == 0)
        printf("{\"row\": \"init\", \"size\": 0, \"unit\": \"ms\", \"value\": %.4f, \"before\": 0, \"after\": 0}\n",
               most * 1e3);
    free(values);
}

void bench_run(const library_t *library, bench_t *bench, int argc, char **argv, double set_up_seconds)
{
    bench_names(library);
    if (argc == 2 && strcmp(argv[1], "start") == 0)
        print_start(library, bench, set_up_seconds);
    else if (argc == 3 && strcmp(argv[1], "two") == 0)
        measure(library, bench, argv[1], argv[2]);
    else if (argc == 2 && strcmp(argv[1], "four") == 0)
        measure(library, bench, argv[1], NULL);
    else
        bench_fail("usage", "two CPU,CPU | four | start");
}
