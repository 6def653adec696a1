/* SPDX-License-Identifier: Apache-2.0
 * options.h - the command line: memcached's. The flags are rows of options.def, the words of -o are rows of words.def. */
#ifndef MC_SERVER_OPTIONS_H
#define MC_SERVER_OPTIONS_H

#include "server/server.h"

typedef enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG } options_result_t;

/* Reads the command line. DONE: it asked for a text, which was printed; WRONG: one line on stderr says what is wrong, and
 * the nearest right word or that the option is not there yet. The strings stay the caller's. */
options_result_t options_read(int argc, char **argv, settings_t *settings);

/* ------------------------------------------------------------------- between options.c and options_words.c */

typedef enum effect { WORKS, NO_EFFECT, ABSENT } effect_t;

/* An -o word and its value, or NULL; in options_words.c. */
bool options_word(settings_t *settings, const char *word, const char *value);
/* Sets the defaults of all words. */
void options_words_standard(settings_t *settings);
/* Prints the words that work. */
void options_words_help(void);
/* Prints the nearest of some words to a wrong one, or nothing when none is near. */
void options_suggest(const char *wrong, const char *const *words, const char *prefix);

#endif
