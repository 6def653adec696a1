/* SPDX-License-Identifier: Apache-2.0
 * perform.h - what a request does to the store. Every carrier calls these, and writes answers of its own: lines on sockets
 * (exec.c, exec_meta.c), messages of the core (answer.c). */
#ifndef MC_SERVER_PERFORM_H
#define MC_SERVER_PERFORM_H

#include "server/load.h"
#include "server/server.h"

store_key_t perform_key(text_t key);

/* New expiries that a get may set, as seconds of the store's clock. */
typedef struct perform_expiry {
    uint32_t touch, vivify;
} perform_expiry_t;

perform_expiry_t perform_expiry(const server_t *server, const request_t *request);
/* One key of a get: of the request, or of its list. STORE_ON_DISK, here and below: `loads` has noted the values. */
store_status_t perform_get(const server_t *server, loads_t *loads, const request_t *request, perform_expiry_t expiry,
                           text_t key, store_visit_t visit, void *arg);
/* Notes what such a get will need, and does nothing else. */
void perform_look(const server_t *server, loads_t *loads, text_t key);
store_status_t perform_touch(const server_t *server, const request_t *request);
/* STORE_OK: fill the draft, then commit or abandon it. Otherwise an old value that must not stand for the new one is gone. */
store_status_t perform_begin(const server_t *server, const request_t *request, store_draft_t *draft);
/* A new value cannot be stored, for its size or for lack of memory: as in memcached the old one goes, so that it does not stand
 * for the new one, with set and with ms in each of its modes. */
void perform_lost(const server_t *server, const request_t *request);
store_status_t perform_commit(const server_t *server, loads_t *loads, const request_t *request, store_draft_t *draft,
                              uint64_t *cas_p);
store_status_t perform_delete(const server_t *server, const request_t *request);
/* False: -F forbids it. */
bool perform_flush(server_t *server, worker_counters_t *counters, const request_t *request);
store_status_t perform_delta(const server_t *server, loads_t *loads, const request_t *request, store_number_t *number);

#endif
