/* SPDX-License-Identifier: Apache-2.0
 * options_words.c - the words of -o. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/options.h"

#define WORD_MOST 32u
#define NEAR 3u /* letters to change */
#define LEASE_LEAST_MS 100u
#define LEASE_MOST_MS 60000u

typedef enum effect { WORKS, NO_EFFECT, ABSENT } effect_t;

typedef struct word {
    const char *name;
    effect_t effect;
} word_t;

/* clang-format off */
static const word_t words[] = {
    {"maxconns_fast", WORKS}, {"track_sizes", WORKS},
    {"hashpower", NO_EFFECT}, {"tail_repair_time", NO_EFFECT}, {"hash_algorithm", NO_EFFECT},
    {"lru_crawler", NO_EFFECT}, {"no_lru_crawler", NO_EFFECT}, {"lru_crawler_sleep", NO_EFFECT},
    {"lru_crawler_tocrawl", NO_EFFECT}, {"lru_maintainer", NO_EFFECT}, {"no_lru_maintainer", NO_EFFECT},
    {"hot_lru_pct", NO_EFFECT}, {"warm_lru_pct", NO_EFFECT}, {"hot_max_factor", NO_EFFECT},
    {"warm_max_factor", NO_EFFECT}, {"temporary_ttl", NO_EFFECT}, {"slab_chunk_max", NO_EFFECT},
    {"slab_reassign", NO_EFFECT}, {"no_slab_reassign", NO_EFFECT}, {"slab_automove", NO_EFFECT},
    {"no_slab_automove", NO_EFFECT}, {"slab_automove_ratio", NO_EFFECT}, {"slab_automove_window", NO_EFFECT},
    {"slab_automove_freeratio", NO_EFFECT}, {"watcher_logbuf_size", NO_EFFECT}, {"worker_logbuf_size", NO_EFFECT},
    {"no_hashexpand", NO_EFFECT}, {"modern", NO_EFFECT}, {"no_modern", NO_EFFECT}, {"no_inline_ascii_resp", NO_EFFECT},
    {"no_chunked_items", NO_EFFECT}, {"no_drop_privileges", NO_EFFECT},
    {"no_maxconns_fast", ABSENT}, {"read_buf_mem_limit", ABSENT}, {"resp_obj_mem_limit", ABSENT},
    {"idle_timeout", ABSENT}, {"sock_cookie_id", ABSENT}, {"ext_path", ABSENT}, {"ext_page_size", ABSENT},
    {"ext_wbuf_size", ABSENT}, {"ext_threads", ABSENT}, {"ext_io_depth", ABSENT}, {"ext_item_size", ABSENT},
    {"ext_item_age", ABSENT}, {"ext_low_ttl", ABSENT}, {"ext_drop_unread", ABSENT}, {"ext_recache_rate", ABSENT},
    {"ext_compact_under", ABSENT}, {"ext_drop_under", ABSENT}, {"ext_max_frag", ABSENT}, {"ext_max_sleep", ABSENT},
    {"ssl_chain_cert", ABSENT}, {"ssl_key", ABSENT}, {"ssl_keyformat", ABSENT}, {"ssl_verify_mode", ABSENT},
    {"ssl_ciphers", ABSENT}, {"ssl_ca_cert", ABSENT}, {"ssl_wbuf_size", ABSENT}, {"ssl_session_cache", ABSENT},
    {"ssl_kernel_tls", ABSENT}, {"ssl_min_version", ABSENT}, {"verbena_key", WORKS}, {"verbena_auth", WORKS},
    {"verbena_core", WORKS}, {"verbena_onesided", WORKS}, {"verbena_max_item_direct", ABSENT},
    {"verbena_lease", WORKS}, {"verbena_segment", ABSENT}};
/* clang-format on */
#define WORDS (sizeof(words) / sizeof(words[0]))

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

static bool wrong_value(const char *word, const char *value, const char *cure)
{
    fprintf(stderr, "verbena-memcached: -o %s=%s: %s\n", word, value, cure);
    return false;
}

/* verbena_*: requests through the core. */
static bool take_verbena(settings_t *settings, const char *word, const char *value)
{
    char *end;
    if (value == NULL || *value == '\0')
        return wrong_value(word, "", "give a value");
    if (strcmp(word, "verbena_key") == 0) {
        settings->key_file = value;
    } else if (strcmp(word, "verbena_auth") == 0) {
        settings->no_auth = strcmp(value, "none") == 0;
        return settings->no_auth || wrong_value(word, value, "give none, or leave the word out: clients prove the key");
    } else if (strcmp(word, "verbena_onesided") == 0) {
        bool on = strcmp(value, "on") == 0;
        settings->onesided = on ? ONESIDED_ON : ONESIDED_OFF;
        return on || strcmp(value, "off") == 0 ||
               wrong_value(word, value, "give on, off, or leave the word out: for clients of the server's user");
    } else if (strcmp(word, "verbena_core") == 0) {
        settings->core = value;
        return memory_check_settings(value) || wrong_value(word, value, vbn_error_text());
    } else {
        unsigned long lease = strtoul(value, &end, 10);
        if (*end != '\0' || lease < LEASE_LEAST_MS || lease > LEASE_MOST_MS)
            return wrong_value(word, value, "give 100 to 60000 milliseconds");
        settings->lease_ms = (unsigned)lease;
    }
    return true;
}

static bool take_word(settings_t *settings, const char *word, const char *value)
{
    if (strncmp(word, "verbena_", 8) == 0)
        return take_verbena(settings, word, value);
    if (strcmp(word, "track_sizes") == 0)
        settings->track_sizes = true;
    return true;
}

bool options_word(settings_t *settings, const char *word, const char *value)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (strcmp(words[i].name, word) != 0)
            continue;
        if (words[i].effect == ABSENT) {
            fprintf(stderr, "verbena-memcached: -o %s is not there yet (docs/memcached.md of Verbena); leave it out\n",
                    word);
            return false;
        }
        if (words[i].effect == NO_EFFECT)
            fprintf(stderr, "verbena-memcached: -o %s%s%s is accepted, no effect\n", word, value == NULL ? "" : "=",
                    value == NULL ? "" : value);
        return words[i].effect == NO_EFFECT || take_word(settings, word, value);
    }
    unknown(word);
    return false;
}
