/* SPDX-License-Identifier: Apache-2.0
 * words.h - words of the command line: those that are left to read, and the lines for wrong ones.
 */
#ifndef VERBENA_LAUNCH_WORDS_H
#define VERBENA_LAUNCH_WORDS_H

#include "launch/launch.h"

#define WORDS_MOST_RANKS 65536

typedef struct words {
    char **at;
    char **end;
    int of_file; /* they are the lines of a file */
} words_t;

/* Prints the fault, and how to see all options; ends with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void words_refuse(const char *format, ...);
/* The value behind an option. */
char *words_value(words_t *words, const char *option);
int words_ranks(const char *option, const char *text);
/* names: NULL last. */
int words_has(const char *word, const char *const *names);
/* The lines of a file take the place of the words that are left, none: each line is a part of the command line. */
void words_read_file(words_t *words, const char *option, const char *path);

/* Takes an option of the launchers of Open MPI and MPICH that has no meaning here; 0: neither has it (foreign.c). */
int foreign_take(launch_job_t *job, words_t *words, const char *word);

#endif
