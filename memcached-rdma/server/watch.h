/* SPDX-License-Identifier: Apache-2.0
 * watch.h - lines about events, for clients that have said `watch`.
 *
 * Each watcher has a log of bounded size, which the thread of its connection empties. Who reports an event waits for no watcher: a
 * line that finds no place in a log is counted and skipped, for this watcher alone. Lines are whole or absent. While nobody
 * watches, an event costs a load. The lock of the logs is a leaf, and may be taken under a shard's. */
#ifndef MC_SERVER_WATCH_H
#define MC_SERVER_WATCH_H

#include <pthread.h>

#include "base/atomics.h"
#include "base/list.h"
#include "proto/reply.h"
#include "store/store.h"

struct server;
struct worker;

enum { WATCH_FETCHERS = 1, WATCH_MUTATIONS = 2, WATCH_EVICTIONS = 4, WATCH_CONNECTIONS = 8 };

/* Of the server. */
typedef struct watch {
    pthread_mutex_t lock; /* of the list, and of the logs in it */
    list_link_t watchers;
    _Atomic unsigned count, kinds; /* kinds: those that somebody watches */
    _Atomic unsigned open;         /* and those for which a log has place */
    _Atomic uint64_t number;       /* of the last event */
    _Atomic uint64_t written, skipped, sent;
} watch_t;

typedef struct watcher watcher_t;

/* NULL: no memory. */
watch_t *watch_open(void);

static inline bool watch_wants(const watch_t *watch, unsigned kind)
{
    return (atomic_get_relaxed(&watch->kinds) & kind) != 0;
}

/* The command: its kinds. NULL: *watcher_p is a new watcher, whose events wake the worker. Otherwise the answer. */
const char *watch_add(struct worker *worker, const request_t *request, watcher_t **watcher_p);
void watch_remove(const struct server *server, watcher_t *watcher);
/* Moves what a log has into an answer. The watcher's thread. */
void watch_take(const struct server *server, watcher_t *watcher, reply_t *reply);

/* Events; nothing happens when nobody watches them. fd: the client's socket, 0: it came by messages. */
void watch_get(const struct server *server, text_t key, const store_hit_t *hit, int fd); /* hit NULL: a miss */
void watch_put(const struct server *server, const request_t *request, store_status_t status);
void watch_eviction(const struct server *server, const store_hit_t *hit);
/* reason NULL: a new connection. address: "tcp:HOST:PORT", "tcp6:[HOST]:PORT", "unix:PATH". */
void watch_conn(const struct server *server, const char *address, int fd, const char *reason);

#endif
