/* SPDX-License-Identifier: Apache-2.0
 * options.c - flags of the command line. */
#include "server/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define ITEM_LEAST 1024u
#define ITEM_MOST (1024 * MIB)
#define THREADS_SENSIBLE 64u /* memcached warns above it */
#define PORT_MOST 65535u
#define MEMORY_MOST_MB ((uint64_t)SIZE_MAX >> 21)

typedef struct row {
    char letter;
    const char *name, *value, *standard;
    effect_t effect;
    const char *help;
} row_t;

static const row_t rows[] = {
#define OPTION(letter, name, value, standard, effect, taken, help) {letter, name, value, standard, effect, help},
#include "server/options.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* The rows as getopt_long reads them. */
typedef struct tables {
    char letters[2 * ROWS + 1];
    struct option names[ROWS + 1];
} tables_t;

static bool wrong(const char *what, const char *value, const char *cure)
{
    fprintf(stderr, "verbena-memcached: %s '%s': %s\n", what, value, cure);
    return false;
}

static bool read_number(const char *flag, const char *text, uint64_t least, uint64_t most, uint64_t *value_p)
{
    char *end;
    char cure[96];
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && value >= least && value <= most) {
        *value_p = value;
        return true;
    }
    (void)snprintf(cure, sizeof(cure), "give a number from %llu to %llu", (unsigned long long)least,
                   (unsigned long long)most);
    return wrong(flag, text, cure);
}

static bool take_number(char letter, const char *text, unsigned least, unsigned most, unsigned *value_p)
{
    const char flag[3] = {'-', letter, '\0'};
    uint64_t value;
    if (!read_number(flag, text, least, most, &value))
        return false;
    *value_p = (unsigned)value;
    return true;
}

static bool take_port(settings_t *settings, const char *text)
{
    uint64_t value = 0;
    bool any = strcmp(text, "-1") == 0;
    if (!any && !read_number("-p", text, 0, PORT_MOST, &value))
        return false;
    settings->port = any ? -1 : (int)value;
    return true;
}

static bool take_memory(settings_t *settings, const char *text)
{
    uint64_t value;
    if (!read_number("-m", text, 1, MEMORY_MOST_MB, &value))
        return false;
    settings->memory_bytes = (size_t)value * MIB;
    return true;
}

static bool take_threads(settings_t *settings, const char *text)
{
    if (!take_number('t', text, 1, WORKERS_MAX, &settings->threads))
        return false;
    if (settings->threads > THREADS_SENSIBLE)
        fprintf(stderr, "verbena-memcached: -t %s: more threads than processors gain nothing; give at most %u\n", text,
                THREADS_SENSIBLE);
    return true;
}

static bool take_verbose(settings_t *settings, const char *text)
{
    (void)text;
    settings->verbosity++;
    return true;
}

static bool take_growth(settings_t *settings, const char *text)
{
    char *end;
    settings->growth_factor = strtod(text, &end);
    return (end != text && *end == '\0' && settings->growth_factor > 1) || wrong("-f", text, "give a factor above 1");
}

static bool take_delimiter(settings_t *settings, const char *text)
{
    if (*text == '\0')
        return wrong("-D", text, "give the sign behind the prefix of a key, such as :");
    settings->delimiter = *text;
    settings->detail = true;
    return true;
}

static bool take_protocol(settings_t *settings, const char *text)
{
    static const char *const names[] = {
        [PROTOCOL_AUTO] = "auto", [PROTOCOL_TEXT] = "ascii", [PROTOCOL_BINARY] = "binary"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            settings->protocol = (protocol_t)i;
            return true;
        }
    return wrong("-B", text, "give auto, ascii or binary");
}

/* Sizes as -I takes them: bytes, or with k or m behind the number. */
static bool take_item_size(settings_t *settings, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'k' || *end == 'K' ? 10 : *end == 'm' || *end == 'M' ? 20 : 0;
    bool whole = isdigit((unsigned char)*text) && errno == 0 && end[shift != 0] == '\0' && value < ((uint64_t)1 << 40);
    if (!whole || value << shift < ITEM_LEAST || value << shift > ITEM_MOST)
        return wrong("-I", text, "give a size from 1k to 1024m");
    settings->item_max = (size_t)(value << shift);
    return true;
}

static bool take_mask(settings_t *settings, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 8);
    if (end == text || *end != '\0' || value > 0777)
        return wrong("-a", text, "give an access mask in octal, such as 700");
    settings->socket_mask = (unsigned)value;
    return true;
}

static bool take_listen(settings_t *settings, char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ";,", &rest); word != NULL; word = strtok_r(NULL, ";,", &rest)) {
        bool plain = strncmp(word, "notls:", 6) == 0;
        word += plain ? 6 : 0;
        if (settings->listen_count == LISTENERS_MAX)
            return wrong("-l", word, "too many addresses");
        settings->listen_plain[settings->listen_count] = plain;
        settings->listen[settings->listen_count++] = word;
    }
    return true;
}

static bool take_words(settings_t *settings, char *list)
{
    char *rest = NULL;
    for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        if (!options_word(settings, word, value))
            return false;
    }
    return true;
}

static bool absent(char letter)
{
    fprintf(stderr, "verbena-memcached: -%c is not there yet (docs/memcached.md of Verbena); leave it out\n", letter);
    return false;
}

/* No UDP is all UDP that there is. */
static bool take_udp(settings_t *settings, const char *text)
{
    uint64_t value;
    (void)settings;
    return read_number("-U", text, 0, PORT_MOST, &value) && (value == 0 || absent('U'));
}

#define ON(member) (settings->member = true)
#define OFF(member) (settings->member = false, true)
#define TEXT(member) (settings->member = text, true)
#define NUMBER(member, least, most) take_number(letter, text, least, most, &settings->member)
#define CALL(function) function(settings, text)
#define ENDS true
#define NOT_THERE absent(letter)

/* text: the value, NULL if the flag has none. False: a line on stderr says why. */
static bool take(settings_t *settings, char letter, char *text)
{
    switch (letter) {
#define OPTION(letter_, name, value, standard, effect, taken, help)                                                    \
    case letter_: return taken;
#include "server/options.def"
    default: return false;
    }
}

static const row_t *find_row(int letter)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].letter == letter)
            return &rows[i];
    return NULL;
}

/* A flag of the command line. */
static bool obey(settings_t *settings, int letter, char *text)
{
    const row_t *row = find_row(letter);
    if (row->effect == NO_EFFECT)
        fprintf(stderr, "verbena-memcached: -%c is accepted, no effect\n", letter);
    return take(settings, row->letter, text);
}

static void set_standards(settings_t *settings)
{
    *settings = (settings_t){.evict = true,
                             .cas = true,
                             .flush_enabled = true,
                             .dump_enabled = true,
                             .watch_enabled = true,
                             .delimiter = ':'};
    for (size_t i = 0; i < ROWS; i++)
        if (*rows[i].standard != '\0') /* such a flag does not write to its value */
            (void)take(settings, rows[i].letter, (char *)(uintptr_t)rows[i].standard);
    options_words_standard(settings);
}

/* ------------------------------------------------------------------------------------------ texts */

static void print_row(const row_t *row)
{
    char flag[64];
    bool value = *row->value != '\0', standard = *row->standard != '\0';
    if (*row->name == '\0')
        (void)snprintf(flag, sizeof(flag), "-%c %s", row->letter, row->value);
    else
        (void)snprintf(flag, sizeof(flag), "-%c, --%s%s%s", row->letter, row->name, value ? "=" : "", row->value);
    printf("%-31s%s%s%s%s%s\n", flag, row->help, row->effect == NO_EFFECT ? ": accepted, no effect" : "",
           standard ? " (default: " : "", row->standard, standard ? ")" : "");
}

static void print_help(void)
{
    printf("memcached %s (verbena-memcached " VBN_VERSION_STRING ")\n", MC_VERSION);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].effect != ABSENT)
            print_row(&rows[i]);
        if (rows[i].letter == 'o')
            options_words_help();
    }
    puts("docs/memcached.md of Verbena lists missing commands and flags.");
}

static void print_text(int letter)
{
    if (letter == 'h')
        print_help();
    else
        puts(letter == 'V' ? "memcached " MC_VERSION : "Apache-2.0: see LICENSE of Verbena");
}

static bool unknown(char **argv)
{
    const char *words[ROWS + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (*rows[i].name != '\0')
            words[count++] = rows[i].name;
    const char *given = argv[optind - 1];
    const row_t *row = find_row(optopt);
    if (row != NULL && *row->value != '\0') {
        fprintf(stderr, "verbena-memcached: -%c needs a value\n", optopt);
        return false;
    }
    fprintf(stderr, "verbena-memcached: unknown option '%s'", given);
    options_suggest(given + strspn(given, "-"), words, "--");
    fprintf(stderr, "; -h lists all\n");
    return false;
}

static bool check(const settings_t *settings)
{
    if (settings->item_max > settings->memory_bytes / 2)
        return wrong("-I", "too large", "an item may take half of the memory: raise -m");
    if (settings->no_auth && (settings->login_file != NULL || settings->tls))
        return wrong("-o", "verbena_auth=none",
                     "messages have neither the login of -Y nor the TLS of -Z; leave one of them out");
    if (settings->no_auth && settings->onesided == ONESIDED_ON)
        return wrong("-o", "verbena_onesided=on",
                     "with verbena_auth=none everybody could read all items; leave one of them out");
    return true;
}

static void fill_tables(tables_t *tables)
{
    char *letter = tables->letters;
    struct option *name = tables->names;
    for (const row_t *row = rows; row < rows + ROWS; row++) {
        bool value = *row->value != '\0';
        *letter++ = row->letter;
        if (value)
            *letter++ = ':';
        if (*row->name != '\0')
            *name++ = (struct option){row->name, value ? required_argument : no_argument, NULL, row->letter};
    }
    *letter = '\0';
    *name = (struct option){0};
}

options_result_t options_read(int argc, char **argv, settings_t *settings)
{
    tables_t tables;
    int flag;
    bool good = true;
    fill_tables(&tables);
    set_standards(settings);
    opterr = 0;
    while (good && (flag = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (flag == 'h' || flag == 'V' || flag == 'i') {
            print_text(flag);
            return OPTIONS_DONE;
        }
        good = flag == '?' ? unknown(argv) : obey(settings, flag, optarg);
    }
    if (good && optind < argc)
        good = wrong("unexpected word", argv[optind], "-h lists the options");
    return good && check(settings) ? OPTIONS_RUN : OPTIONS_WRONG;
}
