/* SPDX-License-Identifier: Apache-2.0
 * log.h - levelled log lines through one sink per context, rate-limited per call site. */
#ifndef VBN_BASE_LOG_H
#define VBN_BASE_LOG_H

#include "base/status.h"

typedef struct log_sink {
    vbn_log_func_t func; /* NULL: stderr, behind time (UTC), host and process; a function adds what it likes itself */
    void *arg;
    vbn_log_level_t level; /* lines above this level are not formatted */
} log_sink_t;

/* Writes one line of the category VBN_LOG_PROCESS when level <= sink->level. Any thread. At most 512 bytes, longer ones end
 * in "...". */
void log_write(const log_sink_t *sink, vbn_log_level_t level, const char *format, ...) BASE_PRINTF(3, 4);
/* The same about a peer (0: of unknown identity), VBN_LOG_PEER or VBN_LOG_PEER_LOST. */
void log_peer(const log_sink_t *sink, vbn_log_level_t level, vbn_log_category_t category, uint64_t peer,
              const char *format, ...) BASE_PRINTF(5, 6);

/* Writes the time as 2026-11-23T00:04:33.123Z, at least 25 bytes. Takes no lock, as gmtime does, which a child might inherit
 * locked. seconds: since 1970. */
void log_utc(int64_t seconds, long milliseconds, char *text, size_t capacity);

#define LOG_ERROR(sink, ...) log_write((sink), VBN_LOG_ERROR, __VA_ARGS__)
#define LOG_WARN(sink, ...) log_write((sink), VBN_LOG_WARN, __VA_ARGS__)
#define LOG_INFO(sink, ...) log_write((sink), VBN_LOG_INFO, __VA_ARGS__)
#define LOG_DEBUG(sink, ...) log_write((sink), VBN_LOG_DEBUG, __VA_ARGS__)
#define LOG_PEER(sink, level, peer, ...) log_peer((sink), (level), VBN_LOG_PEER, (peer), __VA_ARGS__)
#define LOG_PEER_LOST(sink, level, peer, ...) log_peer((sink), (level), VBN_LOG_PEER_LOST, (peer), __VA_ARGS__)

#endif
