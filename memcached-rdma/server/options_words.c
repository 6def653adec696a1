/* SPDX-License-Identifier: Apache-2.0
 * options_words.c - the words of -o. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/options.h"

#define WORD_MOST 32u
#define NEAR 3u /* letters to change */
#define LEASE_LEAST_MS 100u
#define LEASE_MOST_MS 60000u
#define TLS_WRITE_MOST_KB 1024u
#define IDLE_MOST_S 2147483647u
#define PINNED_MOST 80u /* percent: eviction needs the rest */
#define PAGE_MOST_MB 2048u
#define BUFFER_MOST_MB 1024u
#define ITEM_MOST (1u << 30)
#define AGE_MOST_S 4294967295u
#define READ_BUFFERS_MOST_MB 1048576u
#define MARK_MOST 4294967295u

static bool wrong_value(const char *word, const char *value, const char *cure)
{
    fprintf(stderr, "verbena-memcached: -o %s=%s: %s\n", word, value, cure);
    return false;
}

/* ---------------------------------------------------------------- how words.def takes the words */

static bool take_nothing(settings_t *settings, const char *value)
{
    (void)settings;
    (void)value;
    return true;
}

static bool take_track_sizes(settings_t *settings, const char *value)
{
    (void)value;
    settings->track_sizes = true;
    return true;
}

static bool take_key(settings_t *settings, const char *value)
{
    settings->key_file = value;
    return true;
}

static bool take_auth(settings_t *settings, const char *value)
{
    settings->no_auth = strcmp(value, "none") == 0;
    return settings->no_auth ||
           wrong_value("verbena_auth", value, "give none, or leave the word out: clients prove the key");
}

static bool take_onesided(settings_t *settings, const char *value)
{
    bool on = strcmp(value, "on") == 0;
    settings->onesided = on ? ONESIDED_ON : ONESIDED_OFF;
    return on || strcmp(value, "off") == 0 ||
           wrong_value("verbena_onesided", value,
                       "give on, off, or leave the word out: for clients of the server's user");
}

static bool take_core(settings_t *settings, const char *value)
{
    settings->core = value;
    return memory_check_settings(value) || wrong_value("verbena_core", value, vbn_error_text());
}

static bool take_number(const char *word, const char *value, unsigned long least, unsigned long most,
                        unsigned *number_p)
{
    char *end, cure[64];
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (isdigit((unsigned char)*value) && *end == '\0' && errno == 0 && number >= least && number <= most) {
        *number_p = (unsigned)number;
        return true;
    }
    (void)snprintf(cure, sizeof(cure), "give a number from %lu to %lu", least, most);
    return wrong_value(word, value, cure);
}

static bool take_mark(settings_t *settings, const char *value)
{
    return take_number("sock_cookie_id", value, 0, MARK_MOST, &settings->packet_mark);
}

static bool take_idle(settings_t *settings, const char *value)
{
    return take_number("idle_timeout", value, 0, IDLE_MOST_S, &settings->idle_s);
}

static bool take_read_buffers(settings_t *settings, const char *value)
{
    return take_number("read_buf_mem_limit", value, 0, READ_BUFFERS_MOST_MB, &settings->read_buffers_mb);
}

static bool take_pinned(settings_t *settings, const char *value)
{
    return take_number("verbena_pinned", value, 0, PINNED_MOST, &settings->pinned_percent);
}

static bool take_ext_path(settings_t *settings, const char *value)
{
    char error[DISK_ERROR];
    if (settings->ext_path_count == DISK_FILES_MAX)
        return wrong_value("ext_path", value, "at most 16 files can be given");
    if (!disk_file_parse(value, &settings->ext_paths[settings->ext_path_count], error))
        return wrong_value("ext_path", value, error);
    settings->ext_path_count++;
    return true;
}

static bool take_ext_page(settings_t *settings, const char *value)
{
    return take_number("ext_page_size", value, 1, PAGE_MOST_MB, &settings->ext_page_mb);
}

static bool take_ext_buffer(settings_t *settings, const char *value)
{
    return take_number("ext_wbuf_size", value, 1, BUFFER_MOST_MB, &settings->ext_wbuf_mb);
}

static bool take_ext_item(settings_t *settings, const char *value)
{
    return take_number("ext_item_size", value, 0, ITEM_MOST, &settings->ext_item_bytes);
}

static bool take_ext_threads(settings_t *settings, const char *value)
{
    return take_number("ext_threads", value, 1, DISK_THREADS_MAX, &settings->ext_threads);
}

static bool take_ext_age(settings_t *settings, const char *value)
{
    return take_number("ext_item_age", value, 0, AGE_MOST_S, &settings->ext_item_age);
}

#define TAKE_TEXT(name, member)                                                                                        \
    static bool name(settings_t *settings, const char *value)                                                          \
    {                                                                                                                  \
        settings->member = value;                                                                                      \
        return true;                                                                                                   \
    }
TAKE_TEXT(take_tls_chain, tls_chain)
TAKE_TEXT(take_tls_key, tls_key)
TAKE_TEXT(take_tls_ca, tls_ca)
TAKE_TEXT(take_tls_ciphers, tls_ciphers)
#undef TAKE_TEXT

static bool take_tls_key_format(settings_t *settings, const char *value)
{
    return take_number("ssl_keyformat", value, 1, 2, &settings->tls_key_format);
}

static bool take_tls_verify(settings_t *settings, const char *value)
{
    return take_number("ssl_verify_mode", value, 0, 3, &settings->tls_verify);
}

static bool take_tls_write(settings_t *settings, const char *value)
{
    return take_number("ssl_wbuf_size", value, 1, TLS_WRITE_MOST_KB, &settings->tls_write_kb);
}

static bool take_tls_sessions(settings_t *settings, const char *value)
{
    (void)value;
    settings->tls_sessions = true;
    return true;
}

static bool take_tls_kernel(settings_t *settings, const char *value)
{
    (void)value;
    settings->tls_kernel = true;
    return true;
}

static bool take_tls_version(settings_t *settings, const char *value)
{
    const char *number = strncmp(value, "tlsv1.", 6) == 0 ? value + 6 : value;
    bool right = *number >= '0' && *number <= '3' && number[1] == '\0';
    if (right)
        settings->tls_version = (unsigned)(*number - '0');
    return right || wrong_value("ssl_min_version", value, "give 0 to 3, or tlsv1.0, tlsv1.1, tlsv1.2 or tlsv1.3");
}

static bool take_hash(settings_t *settings, const char *value)
{
    (void)settings;
    return strcmp(value, "jenkins") == 0 || strcmp(value, "murmur3") == 0 || strcmp(value, "xxh3") == 0 ||
           wrong_value("hash_algorithm", value, "give jenkins, murmur3 or xxh3");
}

static bool take_lease(settings_t *settings, const char *value)
{
    char *end;
    unsigned long lease = strtoul(value, &end, 10);
    if (*end != '\0' || lease < LEASE_LEAST_MS || lease > LEASE_MOST_MS)
        return wrong_value("verbena_lease", value, "give 100 to 60000 milliseconds");
    settings->lease_ms = (unsigned)lease;
    return true;
}

typedef struct word {
    const char *name, *value, *standard;
    effect_t effect;
    bool (*take)(settings_t *settings, const char *value); /* NULL: the value is a number that nobody uses */
    double least, most;                                    /* such a number */
    bool whole;
    const char *help;
} word_t;

#define WHOLE(from, to) NULL, .least = from, .most = to, .whole = true
#define DECIMAL(from, to) NULL, .least = from, .most = to
static const word_t words[] = {
#define WORD(word, text, default_, use, function, line)                                                                \
    {.name = word, .value = text, .standard = default_, .effect = use, .help = line, .take = function},
#include "server/words.def"
};
#undef WHOLE
#undef DECIMAL
#define WORDS (sizeof(words) / sizeof(words[0]))

void options_words_standard(settings_t *settings)
{
    for (size_t i = 0; i < WORDS; i++)
        if (*words[i].standard != '\0')
            (void)words[i].take(settings, words[i].standard);
}

void options_words_help(void)
{
    char name[64];
    for (const word_t *word = words; word < words + WORDS; word++) {
        bool value = *word->value != '\0', standard = *word->standard != '\0';
        (void)snprintf(name, sizeof(name), "%s%s%s", word->name, value ? "=" : "", word->value);
        if (word->effect == WORKS)
            printf("   - %-26s%s%s%s%s\n", name, word->help, standard ? " (default: " : "", word->standard,
                   standard ? ")" : "");
    }
    puts("   Words that tune slabs, the LRU, the hash table and extstore are accepted and have no effect.");
}

/* ----------------------------------------------------------------------------------- wrong words */

/* Letters to insert, delete or replace; words longer than WORD_MOST are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[WORD_MOST + 1];
    size_t length = strlen(b);
    if (strlen(a) > WORD_MOST || length > WORD_MOST)
        return WORD_MOST;
    for (unsigned j = 0; j <= length; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= length; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[length];
}

void options_suggest(const char *wrong, const char *const *names, const char *prefix)
{
    const char *nearest = NULL;
    unsigned least = NEAR + 1;
    for (; *names != NULL; names++) {
        unsigned far = distance(wrong, *names);
        if (far < least) {
            least = far;
            nearest = *names;
        }
    }
    if (nearest != NULL)
        fprintf(stderr, "; did you mean %s%s", prefix, nearest);
}

static void unknown(const char *word)
{
    const char *names[WORDS + 1] = {0};
    for (size_t i = 0; i < WORDS; i++)
        names[i] = words[i].name;
    fprintf(stderr, "verbena-memcached: unknown word '%s' of -o", word);
    options_suggest(word, names, "");
    fprintf(stderr, "\n");
}

/* memcached refuses the others. */
static bool check_unused(const word_t *word, const char *value)
{
    char *end, cure[96];
    bool digits = value[strspn(value, "0123456789")] == '\0';
    double number = strtod(value, &end);
    if (end != value && *end == '\0' && (digits || !word->whole) && number >= word->least && number <= word->most)
        return true;
    (void)snprintf(cure, sizeof(cure), "give a number from %.10g to %.10g", word->least, word->most);
    return wrong_value(word->name, value, cure);
}

/* A word that the server has. */
static bool obey(settings_t *settings, const word_t *word, const char *value)
{
    if (word->effect == ABSENT) {
        fprintf(stderr, "verbena-memcached: -o %s is not there yet (docs/memcached.md of Verbena); leave it out\n",
                word->name);
        return false;
    }
    if (word->effect == NO_EFFECT)
        fprintf(stderr, "verbena-memcached: -o %s%s%s is accepted, no effect\n", word->name, value == NULL ? "" : "=",
                value == NULL ? "" : value);
    bool optional = *word->value == '\0' || (*word->value == '[' && value == NULL);
    if (!optional && (value == NULL || *value == '\0'))
        return wrong_value(word->name, "", "give a value");
    return word->take != NULL ? word->take(settings, value) : value == NULL || check_unused(word, value);
}

bool options_word(settings_t *settings, const char *word, const char *value)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].name, word) == 0)
            return obey(settings, &words[i], value);
    unknown(word);
    return false;
}
