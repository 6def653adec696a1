/* SPDX-License-Identifier: Apache-2.0
 * cell.h - what benchmarks of ranks (or PEs) have in common: cells, how they run, the forms of a program, processors.
 *
 * A benchmark gives its cells, its loops and the few calls of its library below; the rest is in this folder, without a call
 * of any library. So figures of MPI and of OpenSHMEM are taken in the same way.
 */
#ifndef MPI_BENCH_COMMON_CELL_H
#define MPI_BENCH_COMMON_CELL_H

#include <stddef.h>

#define LARGE 8192u /* bytes; longer messages have fewer rounds */

typedef struct line line_t; /* a cache line that both ranks write: place.c */

typedef struct bench {
    int rank, size;
    char *out, *in; /* page aligned */
    line_t *line;   /* NULL with other than two ranks */
} bench_t;

/* A loop runs so many rounds and gives the seconds that a round took here. */
typedef double (*loop_fn)(bench_t *bench, size_t bytes, int rounds);

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

/* Cells that one start of the program measures. */
typedef struct form {
    const char *name; /* the program's first word */
    int ranks;
    int pinned; /* each rank to a processor of its own, of a list; a probe stands around each cell */
    const cell_t *cells;
    size_t count;
} form_t;

/* What a benchmark gives. */
typedef struct library {
    const char *name;
    size_t bytes; /* of each of both buffers */
    const form_t *forms;
    size_t form_count;
    void (*meet)(void);                                                /* a barrier */
    void (*gather)(const bench_t *bench, double mine, double *values); /* every rank's, at rank 0 */
    int (*agree)(int value);                                           /* rank 0's, at every rank */
    char *(*memory)(size_t bytes);                                     /* NULL: there is none */
    void (*release)(char *memory);
    void (*abort_all)(void);
} library_t;

/* Runs the form that the words ask for and prints. set_up_seconds: what the library took to start. */
void bench_run(const library_t *library, bench_t *bench, int argc, char **argv, double set_up_seconds);

double seconds_now(void);
void bench_names(const library_t *library);                     /* the library in whose name bench_fail speaks */
_Noreturn void bench_fail(const char *what, const char *cause); /* ends the job */

/* Ends the job when not all bytes from `from` on are `value`: a library that is fast and wrong has no figures. */
void expect_bytes(const char *what, const char *from, size_t bytes, int value);

void cells_run(const library_t *library, bench_t *bench, const cell_t *cells, size_t count); /* prints each */

void place_pin(int rank, const char *list); /* "CPU,CPU": rank 0 to the first, 1 to the second */
void probe_open(const library_t *library, bench_t *bench);
double probe_run(const library_t *library,
                 bench_t *bench); /* the median ns of a line's way to the other rank; 0 without a line */

#endif
