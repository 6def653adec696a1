/* SPDX-License-Identifier: Apache-2.0
 * words.c - words of the command line, and of a file with programs of the job.
 */
#include "launch/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void words_refuse(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    launch_say("%s; mpiexec --help lists the options", text);
    exit(2);
}

char *words_value(words_t *words, const char *option)
{
    if (words->at == words->end || strcmp(*words->at, ":") == 0)
        words_refuse("%s needs a value", option);
    return *words->at++;
}

int words_ranks(const char *option, const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < 1 || value > WORDS_MOST_RANKS)
        words_refuse("%s %s: not a number of ranks from 1 to %d", option, text, WORDS_MOST_RANKS);
    return (int)value;
}

int words_has(const char *word, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(word, *names) == 0)
            return 1;
    return 0;
}

typedef struct list {
    char **words;
    size_t count;
} list_t;

static void add(list_t *list, char *word)
{
    list->words = realloc(list->words,
                          (list->count + 2) * sizeof(*list->words)); /* parse_part may write behind the end */
    if (list->words == NULL || word == NULL)
        words_refuse("no memory left");
    list->words[list->count++] = word;
    list->words[list->count] = NULL;
}

/* Ends the word at *text, whose quotes are dropped, and gives it; NULL: the line has no more. *open_p: a quote that the line does
 * not close, or 0. */
static char *next_word(char **text, char *open_p)
{
    char *from = *text + strspn(*text, " \t\r\n");
    char *to = from, *word = from, quote = 0;
    *open_p = 0;
    if (*from == 0 || *from == '#')
        return NULL;
    for (; *from != 0 && (quote != 0 || strchr(" \t\r\n", *from) == NULL); from++) {
        if (*from == quote)
            quote = 0;
        else if (quote == 0 && (*from == '"' || *from == '\''))
            quote = *from;
        else
            *to++ = *from;
    }
    *text = *from == 0 ? from : from + 1;
    *to = 0;
    *open_p = quote;
    return word;
}

void words_read_file(words_t *words, const char *option, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, *word, open;
    size_t room = 0;
    int number = 0;
    static char between[] = ":"; /* parse_part drops it */
    static list_t list;          /* of one file; the arguments of programs stay in it */
    if (words->of_file)
        words_refuse("%s %s: a file of programs names no other one", option, path);
    if (words->at != words->end)
        words_refuse("%s %s: the file names the programs, so no word may follow it", option, path);
    if (file == NULL)
        words_refuse("%s %s: cannot be read: %s", option, path, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        char *left = line;
        number++;
        for (int first = 1; (word = next_word(&left, &open)) != NULL; first = 0) {
            if (open != 0)
                words_refuse(
                    "%s %s: line %d opens a quote (%c) that it does not close; close it, or put the %c into other "
                    "quotes",
                    option, path, number, open, open);
            if (first && list.count > 0)
                add(&list, between);
            add(&list, strdup(word));
        }
    }
    if (ferror(file))
        words_refuse("%s %s: cannot be read: %s", option, path, strerror(errno));
    free(line);
    (void)fclose(file);
    if (list.count == 0)
        words_refuse("%s %s: the file names no program", option, path);
    *words = (words_t){.at = list.words, .end = list.words + list.count, .of_file = 1};
}
