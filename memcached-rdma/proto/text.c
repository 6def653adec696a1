/* SPDX-License-Identifier: Apache-2.0
 * text.c - the text protocol: words of a line, one parser for each family of commands. */
#include "proto/text.h"

#include <string.h>

#include "proto/meta.h"
#include "util/number.h"

#define BAD_FORMAT "CLIENT_ERROR bad command line format"
#define WORDS_MAX 8u

/* A command, the fewest and most words of its line, and who parses them. */
typedef struct command {
    const char *name;
    unsigned fewest, most;
    request_kind_t kind;
    void (*parse)(request_t *request, const text_t *words, unsigned count);
    put_mode_t mode;
} command_t;

size_t text_line(const char *line, size_t length)
{
    if (length > 0 && line[length - 1] == '\n')
        length--;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    const char *zero = memchr(line, '\0', length);
    return zero == NULL ? length : (size_t)(zero - line);
}

bool text_is_long_get(const char *bytes, size_t length)
{
    static const char *const names[] = {"get ", "gets ", "gat ", "gats "};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (length >= strlen(names[i]) && memcmp(bytes, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void fail(request_t *request, const char *error)
{
    request->kind = REQUEST_ERROR;
    request->error = error;
}

static bool exptime_of(text_t word, int32_t *exptime_p)
{
    int64_t value;
    if (!number_i64(word.at, word.length, &value))
        return false;
    *exptime_p = (int32_t)value; /* as memcached: the low 32 bits */
    return true;
}

static bool take_key(request_t *request, text_t word)
{
    request->key = word;
    if (word.length <= KEY_MAX)
        return true;
    fail(request, BAD_FORMAT);
    return false;
}

/* The last word of a line that may end with it. */
static void take_noreply(request_t *request, const text_t *words, unsigned count)
{
    request->noreply = text_is(words[count - 1], "noreply");
}

/* --------------------------------------------------------------------------------------- families */

static void parse_get(request_t *request, const text_t *words, unsigned count)
{
    (void)count;
    request->touch = text_is(words[0], "gat") || text_is(words[0], "gats");
    request->cas = text_is(words[0], "gets") || text_is(words[0], "gats");
    if (!request->touch)
        return;
    if (!exptime_of(words[1], &request->exptime))
        fail(request, "CLIENT_ERROR invalid exptime argument");
    (void)text_word(&request->rest);
}

/* name key flags exptime bytes [cas] [noreply] */
static void parse_put(request_t *request, const text_t *words, unsigned count)
{
    uint64_t flags;
    int64_t bytes;
    bool cas = request->mode == PUT_CAS;
    take_noreply(request, words, count);
    if (!take_key(request, words[1]))
        return;
    if (!number_u64(words[2].at, words[2].length, &flags) || !exptime_of(words[3], &request->exptime) ||
        !number_i64(words[4].at, words[4].length, &bytes) || bytes < 0 || bytes > (int64_t)VALUE_MAX ||
        (cas && !number_u64(words[5].at, words[5].length, &request->number))) {
        fail(request, BAD_FORMAT);
        return;
    }
    request->client_flags = (uint32_t)flags;
    request->value_bytes = (size_t)bytes;
}

/* delete key [0] [noreply]; the key may be "noreply". */
static void parse_delete(request_t *request, const text_t *words, unsigned count)
{
    if (count > 2)
        take_noreply(request, words, count);
    bool zero = count > 2 && text_is(words[2], "0");
    bool valid = count == 2 || (count == 3 && (zero || request->noreply)) || (count == 4 && zero && request->noreply);
    if (!valid)
        fail(request, "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
    else
        (void)take_key(request, words[1]);
}

static void parse_delta(request_t *request, const text_t *words, unsigned count)
{
    take_noreply(request, words, count);
    request->decrement = text_is(words[0], "decr");
    if (take_key(request, words[1]) && !number_u64(words[2].at, words[2].length, &request->number))
        fail(request, "CLIENT_ERROR invalid numeric delta argument");
}

static void parse_touch(request_t *request, const text_t *words, unsigned count)
{
    take_noreply(request, words, count);
    if (take_key(request, words[1]) && !exptime_of(words[2], &request->exptime))
        fail(request, "CLIENT_ERROR invalid exptime argument");
}

static void parse_flush(request_t *request, const text_t *words, unsigned count)
{
    take_noreply(request, words, count);
    if (count == 1 || (count == 2 && request->noreply))
        return;
    request->has_exptime = exptime_of(words[1], &request->exptime);
    if (!request->has_exptime)
        fail(request, "CLIENT_ERROR invalid exptime argument");
}

static void parse_verbosity(request_t *request, const text_t *words, unsigned count)
{
    take_noreply(request, words, count);
    if (!number_u64(words[1].at, words[1].length, &request->number))
        fail(request, BAD_FORMAT);
}

static void parse_memory(request_t *request, const text_t *words, unsigned count)
{
    take_noreply(request, words, count);
    if (!number_u64(words[1].at, words[1].length, &request->number))
        fail(request, "ERROR");
}

static void parse_nothing(request_t *request, const text_t *words, unsigned count)
{
    (void)request;
    (void)words;
    (void)count;
}

static void parse_meta(request_t *request, const text_t *words, unsigned count)
{
    (void)words;
    (void)count;
    meta_parse(request);
}

static void parse_hello(request_t *request, const text_t *words, unsigned count)
{
    (void)count;
    (void)take_key(request, words[1]);
}

#define ANY WORDS_MAX
static const command_t commands[] = {
    {"get", 2, ANY, REQUEST_GET, parse_get, PUT_SET},
    {"set", 5, 6, REQUEST_PUT, parse_put, PUT_SET},
    {"mg", 2, ANY, REQUEST_META_GET, parse_meta, PUT_SET},
    {"ms", 2, ANY, REQUEST_META_PUT, parse_meta, PUT_SET},
    {"gets", 2, ANY, REQUEST_GET, parse_get, PUT_SET},
    {"gat", 2, ANY, REQUEST_GET, parse_get, PUT_SET},
    {"gats", 2, ANY, REQUEST_GET, parse_get, PUT_SET},
    {"bget", 2, ANY, REQUEST_GET, parse_get, PUT_SET},
    {"add", 5, 6, REQUEST_PUT, parse_put, PUT_ADD},
    {"replace", 5, 6, REQUEST_PUT, parse_put, PUT_REPLACE},
    {"append", 5, 6, REQUEST_PUT, parse_put, PUT_APPEND},
    {"prepend", 5, 6, REQUEST_PUT, parse_put, PUT_PREPEND},
    {"cas", 6, 7, REQUEST_PUT, parse_put, PUT_CAS},
    {"delete", 2, 4, REQUEST_DELETE, parse_delete, PUT_SET},
    {"incr", 3, 4, REQUEST_DELTA, parse_delta, PUT_SET},
    {"decr", 3, 4, REQUEST_DELTA, parse_delta, PUT_SET},
    {"touch", 3, 4, REQUEST_TOUCH, parse_touch, PUT_SET},
    {"md", 2, ANY, REQUEST_META_DELETE, parse_meta, PUT_SET},
    {"ma", 2, ANY, REQUEST_META_DELTA, parse_meta, PUT_SET},
    {"mn", 1, ANY, REQUEST_META_NOOP, parse_nothing, PUT_SET},
    {"me", 1, ANY, REQUEST_META_DEBUG, parse_meta, PUT_SET},
    {"flush_all", 1, 3, REQUEST_FLUSH, parse_flush, PUT_SET},
    {"stats", 1, ANY, REQUEST_STATS, parse_nothing, PUT_SET},
    {"version", 1, ANY, REQUEST_VERSION, parse_nothing, PUT_SET},
    {"verbosity", 2, 3, REQUEST_VERBOSITY, parse_verbosity, PUT_SET},
    {"cache_memlimit", 2, 3, REQUEST_MEMORY, parse_memory, PUT_SET},
    {"shutdown", 1, 2, REQUEST_SHUTDOWN, parse_nothing, PUT_SET},
    {"quit", 1, ANY, REQUEST_QUIT, parse_nothing, PUT_SET},
    {"vbn1", 2, 2, REQUEST_HELLO, parse_hello, PUT_SET},
    {"watch", 1, ANY, REQUEST_WATCH, parse_nothing, PUT_SET},
    {"lru", 2, ANY, REQUEST_LRU, parse_nothing, PUT_SET},
    {"lru_crawler", 2, ANY, REQUEST_CRAWLER, parse_nothing, PUT_SET},
    {"slabs", 2, ANY, REQUEST_SLABS, parse_nothing, PUT_SET},
    {"extstore", 2, ANY, REQUEST_ABSENT, parse_nothing, PUT_SET},
    {"refresh_certs", 1, ANY, REQUEST_CERTIFICATES, parse_nothing, PUT_SET},
};

static const command_t *find_command(text_t name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (name.length > 0 && commands[i].name[0] == name.at[0] && text_is(name, commands[i].name))
            return &commands[i];
    return NULL;
}

/* "POST / HTTP/1.1": a web page makes a browser send requests to ports of the user's own host, with commands in their body. */
static bool is_http(const char *line, size_t length)
{
    size_t end = length, start;
    while (end > 0 && line[end - 1] == ' ')
        end--;
    for (start = end; start > 0 && line[start - 1] != ' '; start--)
        ;
    return start > 0 && end - start >= 5 && memcmp(line + start, "HTTP/", 5) == 0;
}

void text_parse(const char *line, size_t length, request_t *request)
{
    text_t words[WORDS_MAX];
    unsigned count = 0;
    memset(request, 0, offsetof(request_t, meta)); /* meta_parse clears the rest where it is used */
    text_t rest = {.at = line, .length = length};
    request->command = text_word(&rest);
    request->rest = rest;
    const command_t *command = find_command(request->command);
    if (command == NULL && is_http(line, length)) {
        request->kind = REQUEST_QUIT; /* as memcached: closed without an answer */
        return;
    }
    if (command == NULL) {
        fail(request, "ERROR");
        return;
    }
    words[count++] = request->command;
    while (count < WORDS_MAX && count <= command->most) {
        words[count] = text_word(&rest);
        if (words[count].length == 0)
            break;
        count++;
    }
    if (count < command->fewest || (count > command->most && command->most != ANY)) {
        fail(request, "ERROR");
        return;
    }
    request->kind = command->kind;
    request->mode = command->mode;
    command->parse(request, words, count);
}
