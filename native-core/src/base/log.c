/* SPDX-License-Identifier: Apache-2.0
 * log.c - formatting, rate limit and the default sink of log lines.
 *
 * Rate limit: of lines with one format at one sink at most 20 per second are written; the first line of a later second
 * is preceded by "suppressed n lines like the next". The state is a small lock-free table of the process (a lock would
 * not survive fork()); a word of it packs tag, second and count. Two formats that meet in one word share its limit. */
#include "base/log.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/os.h"

#define LOG_LINE_BYTES 512   /* without the terminating 0 */
#define LOG_PREFIX_BYTES 160 /* of a line on stderr: time, host, process, level */
#define LOG_LINES_PER_SECOND 20u
#define LOG_WORDS 256u
#define LOG_PROBES 4u

/* count:24 | second:24 | tag:16. Relaxed: nothing else is published through it. */
static _Atomic uint64_t log_words[LOG_WORDS];

#define COUNT_MAX UINT32_C(0xffffff)
#define WORD(tag, second, count) ((uint64_t)(count) << 40 | (uint64_t)(second) << 16 | (uint64_t)(tag))
#define WORD_TAG(word) ((uint32_t)((word) & 0xffff))
#define WORD_SECOND(word) ((uint32_t)((word) >> 16) & COUNT_MAX)
#define WORD_COUNT(word) ((uint32_t)((word) >> 40))

static uint64_t site_hash(const log_sink_t *sink, const char *format)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)(uintptr_t)sink;
    for (; *format != '\0'; format++)
        hash = (hash ^ (unsigned char)*format) * UINT64_C(0x100000001b3);
    return hash;
}

/* The word of this tag, else one that nobody used this second, else a shared one. */
static _Atomic uint64_t *find_word(uint64_t hash, uint32_t tag, uint32_t second)
{
    _Atomic uint64_t *idle = NULL;
    for (unsigned i = 0; i < LOG_PROBES; i++) {
        _Atomic uint64_t *word = &log_words[(hash + i) % LOG_WORDS];
        uint64_t value = atomic_get_relaxed(word);
        if (WORD_COUNT(value) != 0 && WORD_TAG(value) == tag)
            return word;
        if (idle == NULL && (WORD_COUNT(value) == 0 || WORD_SECOND(value) != second))
            idle = word;
    }
    return idle != NULL ? idle : &log_words[hash % LOG_WORDS];
}

/* Counts one line; true when it may be written. *suppressed_p: lines kept back in this site's last busy second. */
static bool admit(const log_sink_t *sink, const char *format, uint32_t *suppressed_p)
{
    uint64_t hash = site_hash(sink, format);
    uint32_t tag = (uint32_t)(hash >> 48);
    uint32_t second = (uint32_t)(os_now_ns() / UINT64_C(1000000000)) & COUNT_MAX;
    _Atomic uint64_t *word = find_word(hash, tag, second);
    uint64_t old = atomic_get_relaxed(word);
    uint32_t count;
    bool same;
    do {
        same = WORD_COUNT(old) != 0 && WORD_SECOND(old) == second;
        count = same ? WORD_COUNT(old) + (WORD_COUNT(old) < COUNT_MAX) : 1;
    } while (!atomic_compare_exchange_weak_explicit(word, &old, WORD(tag, second, count), memory_order_relaxed,
                                                    memory_order_relaxed));
    bool past = !same && WORD_TAG(old) == tag && WORD_COUNT(old) > LOG_LINES_PER_SECOND;
    *suppressed_p = past ? WORD_COUNT(old) - LOG_LINES_PER_SECOND : 0;
    return count <= LOG_LINES_PER_SECOND;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

void log_utc(int64_t seconds, long milliseconds, char *text, size_t capacity)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day = seconds / 86400;
    int64_t year = 1970;
    int month = 0;
    int of_day = (int)(seconds % 86400);
    for (int length = 365; day >= length; length = is_leap(year) ? 366 : 365) {
        day -= length;
        year++;
    }
    for (int length = lengths[0]; day >= length; length = lengths[month] + (month == 1 && is_leap(year))) {
        day -= length;
        month++;
    }
    snprintf(text, capacity, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%03ldZ", year, month + 1, (int)day + 1,
             of_day / 3600, of_day / 60 % 60, of_day % 60, milliseconds);
}

/* One write, so that lines of several threads and processes do not mix; a failure has nowhere to be told. The process is
 * asked for each time: it may be a child of the one before. */
static void write_stderr(vbn_log_level_t level, const char *line)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char text[LOG_LINE_BYTES + LOG_PREFIX_BYTES];
    char when[32];
    char host[HOST_NAME_MAX + 1] = "";
    struct timespec now;
    const char *name = (unsigned)level < 4 ? names[level] : "log";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    log_utc((int64_t)now.tv_sec, now.tv_nsec / 1000000, when, sizeof(when));
    if (gethostname(host, sizeof(host)) != 0)
        snprintf(host, sizeof(host), "-");
    int length = snprintf(text, sizeof(text), "%s %s verbena[%d]: %s: %s\n", when, host, (int)getpid(), name, line);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

static void emit(const log_sink_t *sink, const vbn_log_record_t *record)
{
    if (sink->func != NULL)
        sink->func(sink->arg, record);
    else
        write_stderr(record->level, record->text);
}

static BASE_PRINTF(3, 0) void write_line(const log_sink_t *sink, vbn_log_record_t record, const char *format,
                                         va_list args)
{
    char line[LOG_LINE_BYTES + 1];
    uint32_t suppressed;
    record.text = line;
    if (record.level > sink->level || !admit(sink, format, &suppressed))
        return;
    if (suppressed > 0) {
        snprintf(line, sizeof(line), "suppressed %u line%s like the next", suppressed, plural(suppressed));
        emit(sink, &record);
    }
    int length = vsnprintf(line, sizeof(line), format, args);
    if (length < 0)
        return;
    if (length > LOG_LINE_BYTES)
        memcpy(line + LOG_LINE_BYTES - 3, "...", 4);
    for (char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) /* text from a peer must not forge lines */
            *at = ' ';
    emit(sink, &record);
}

void log_write(const log_sink_t *sink, vbn_log_level_t level, const char *format, ...)
{
    vbn_log_record_t record = {.level = level, .category = VBN_LOG_PROCESS};
    va_list args;
    va_start(args, format);
    write_line(sink, record, format, args);
    va_end(args);
}

void log_peer(const log_sink_t *sink, vbn_log_level_t level, vbn_log_category_t category, uint64_t peer,
              const char *format, ...)
{
    vbn_log_record_t record = {.level = level, .category = category, .peer = peer};
    va_list args;
    va_start(args, format);
    write_line(sink, record, format, args);
    va_end(args);
}
