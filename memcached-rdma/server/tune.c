/* SPDX-License-Identifier: Apache-2.0
 * tune.c - commands that tune memcached's slabs, its LRU and its crawler. There are none of these here, and the commands get the
 * answers that scripts of operators expect. */
#include <stdlib.h>
#include <string.h>

#include "proto/text.h"
#include "server/exec.h"
#include "util/number.h"

#define CLASSES_MOST 63u
#define SLEEP_MOST_US 1000000u
#define PERCENT_MOST 80u
#define WORDS 6u

typedef struct words {
    text_t at[WORDS];
    unsigned count;
} words_t;

/* The words behind the name of the command. */
static words_t split(const request_t *request)
{
    words_t words = {0};
    text_t rest = request->rest;
    while (words.count < WORDS) {
        text_t word = text_word(&rest);
        if (word.length == 0)
            break;
        words.at[words.count++] = word;
    }
    return words;
}

static bool is_number(text_t word)
{
    uint64_t number;
    return number_u64(word.at, word.length, &number) && number <= UINT32_MAX;
}

static bool is_factor(text_t word, double *value_p)
{
    char text[32], *end;
    if (word.length >= sizeof(text))
        return false;
    memcpy(text, word.at, word.length);
    text[word.length] = '\0';
    *value_p = strtod(text, &end);
    return end != text && *end == '\0';
}

bool exec_classes(text_t names, uint64_t *mask_p)
{
    *mask_p = UINT64_MAX;
    if (text_is(names, "all") || text_is(names, "hash"))
        return true;
    *mask_p = 0;
    while (names.length > 0) {
        const char *comma = memchr(names.at, ',', names.length);
        size_t length = comma == NULL ? names.length : (size_t)(comma - names.at);
        uint64_t number;
        if (!number_u64(names.at, length, &number) || number < 1 || number > CLASSES_MOST)
            return false;
        *mask_p |= (uint64_t)1 << (number - 1);
        length += comma != NULL;
        names.at += length;
        names.length -= length;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------- lru_crawler */

static const char *set_crawler(server_t *server, bool on)
{
    bool was_off = atomic_exchange_explicit(&server->crawler_off, !on, memory_order_relaxed);
    return on && !was_off ? "ERROR failed to start lru crawler thread" : "OK";
}

static const char *crawl(const server_t *server, text_t names)
{
    uint64_t classes;
    if (atomic_get_relaxed(&server->crawler_off))
        return "CLIENT_ERROR lru crawler disabled";
    if (text_is(names, "hash"))
        return "ERROR an unknown error happened";
    return exec_classes(names, &classes) ? "OK" : "BADCLASS invalid class id"; /* the housekeeper does it anyway */
}

static const char *set_sleep(text_t word)
{
    uint64_t number;
    if (!is_number(word))
        return "CLIENT_ERROR bad command line format";
    (void)number_u64(word.at, word.length, &number);
    return number > SLEEP_MOST_US ? "CLIENT_ERROR sleep must be one second or less" : "OK";
}

static const char *tune_crawler(server_t *server, const words_t *words)
{
    const text_t *at = words->at;
    if (words->count == 1 && (text_is(at[0], "enable") || text_is(at[0], "disable")))
        return set_crawler(server, text_is(at[0], "enable"));
    if (words->count != 2)
        return "ERROR";
    if (text_is(at[0], "crawl"))
        return crawl(server, at[1]);
    if (text_is(at[0], "sleep"))
        return set_sleep(at[1]);
    if (text_is(at[0], "tocrawl"))
        return is_number(at[1]) ? "OK" : "CLIENT_ERROR bad command line format";
    return "ERROR";
}

void exec_tune_crawler(exec_t *exec, const request_t *request)
{
    words_t words = split(request);
    reply_line(exec->reply, tune_crawler(exec->server, &words));
}

/* ------------------------------------------------------------------------------------------ lru, slabs */

/* A last word noreply; it is not counted as one from here on. */
static bool take_noreply(words_t *words)
{
    bool quiet = words->count > 0 && text_is(words->at[words->count - 1], "noreply");
    words->count -= quiet;
    return quiet;
}

static const char *tune_lru(const text_t *at)
{
    uint64_t hot, warm;
    double hot_factor, warm_factor;
    if (!is_number(at[0]) || !is_number(at[1]) || !is_factor(at[2], &hot_factor) || !is_factor(at[3], &warm_factor))
        return "ERROR";
    (void)number_u64(at[0].at, at[0].length, &hot);
    (void)number_u64(at[1].at, at[1].length, &warm);
    if (hot + warm > PERCENT_MOST)
        return "ERROR hot and warm pcts must not exceed 80";
    return hot_factor > 0 && warm_factor > 0 ? "OK" : "ERROR hot/warm age factors must be greater than 0";
}

static const char *lru(const words_t *words)
{
    const text_t *at = words->at;
    int64_t ttl;
    if (words->count >= 5 && text_is(at[0], "tune"))
        return tune_lru(at + 1);
    if (words->count >= 2 && text_is(at[0], "mode"))
        return text_is(at[1], "flat") || text_is(at[1], "segmented") ? "OK" : "ERROR";
    if (words->count >= 2 && text_is(at[0], "temp_ttl"))
        return number_i64(at[1].at, at[1].length, &ttl) ? "OK" : "ERROR";
    return "ERROR";
}

void exec_lru(exec_t *exec, const request_t *request)
{
    words_t words = split(request);
    bool quiet = take_noreply(&words);
    const char *line = lru(&words);
    if (!quiet)
        reply_line(exec->reply, line);
}

static const char *reassign(text_t from, text_t to)
{
    int64_t source, target;
    if (!number_i64(from.at, from.length, &source) || !number_i64(to.at, to.length, &target))
        return "CLIENT_ERROR bad command line format";
    if (source == target)
        return "SAME src and dst class are identical";
    if (source < 1 || source > CLASSES_MOST || target < 0 || target > CLASSES_MOST)
        return "BADCLASS invalid src or dst class id";
    return "NOSPARE source class has no spare pages";
}

static const char *automove(text_t word)
{
    if (!is_number(word))
        return "CLIENT_ERROR bad command line format";
    return text_is(word, "0") || text_is(word, "1") || text_is(word, "2") ? "OK" : "ERROR";
}

/* As in memcached, reassign always answers. */
static const char *slabs(words_t *words)
{
    if (words->count == 3 && text_is(words->at[0], "reassign"))
        return reassign(words->at[1], words->at[2]);
    if (words->count < 2 || !text_is(words->at[0], "automove"))
        return "ERROR";
    bool quiet = take_noreply(words);
    const char *line = automove(words->at[1]);
    return quiet ? NULL : line;
}

void exec_slabs(exec_t *exec, const request_t *request)
{
    words_t words = split(request);
    const char *line = slabs(&words);
    if (line != NULL)
        reply_line(exec->reply, line);
}
