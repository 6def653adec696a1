/* SPDX-License-Identifier: Apache-2.0
 * form.c - the forms of a benchmark program, and its buffers.
 *
 * usage: PROGRAM FORM CPU,CPU   a form of two ranks, one on each of these processors
 *        PROGRAM FORM           another form, its ranks placed by whoever starts them
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

static void measure(const library_t *library, bench_t *bench, const form_t *form, const char *list)
{
    if (bench->size != form->ranks)
        bench_fail(form->name, "wrong number of ranks");
    if (form->pinned)
        place_pin(bench->rank, list);
    bench->out = buffer(library, library->bytes);
    bench->in = buffer(library, library->bytes);
    if (form->pinned)
        probe_open(library, bench);
    library->meet();
    cells_run(library, bench, form->cells, form->count);
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

/* NULL: no form has this name, or it has another number of words. */
static const form_t *find(const library_t *library, int argc, char **argv)
{
    for (const form_t *form = library->forms; argc >= 2 && form < library->forms + library->form_count; form++)
        if (strcmp(argv[1], form->name) == 0 && argc == 2 + form->pinned)
            return form;
    return NULL;
}

void bench_run(const library_t *library, bench_t *bench, int argc, char **argv, double set_up_seconds)
{
    const form_t *form = find(library, argc, argv);
    bench_names(library);
    if (form != NULL)
        measure(library, bench, form, argv[2]);
    else if (argc == 2 && strcmp(argv[1], "start") == 0)
        print_start(library, bench, set_up_seconds);
    else
        bench_fail("usage", "start | FORM | FORM CPU,CPU");
}
