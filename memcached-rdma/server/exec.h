/* SPDX-License-Identifier: Apache-2.0
 * exec.h - commands on the store: requests in, answers out. Knows no sockets, so that every carrier can call it. */
#ifndef MC_SERVER_EXEC_H
#define MC_SERVER_EXEC_H

#include "proto/reply.h"
#include "proto/request.h"
#include "server/load.h"
#include "server/server.h"

#define COPIED_VALUE_MAX 4096u /* bytes; a larger value is sent from where it is */
#define EXEC_PINS_FULL "SERVER_ERROR pinned items have used up their share; release some, or raise verbena_pinned or -m"
#define REPLY_PENDING_MAX (256u << 10) /* bytes; then the answers are sent before the next key or command */

typedef struct exec {
    server_t *server;
    worker_counters_t *counters;
    reply_t *reply;
    budget_t *budget; /* of the turn; a get that has used it up goes on in the next one */
    native_t *native; /* of the thread; NULL: no messages */
    loads_t *loads;   /* values on disk that the request needs */
    bool parked;      /* it needs more of them: loads_begin, then again */
    bool close;       /* the connection ends when the answers have been sent */
} exec_t;

/* A request without a value. False: it is not finished, because much waits to be sent, the turn's budget is used up, or it is
 * parked; call again with the same request, whose `rest`, `checked` and `resume` have moved on. */
bool exec_request(exec_t *exec, request_t *request);
/* A request with a value. True: fill the draft, then commit or abandon it. False: answered already; the value and its end
 * are to be thrown away. */
bool exec_begin(exec_t *exec, const request_t *request, store_draft_t *draft);
/* Parked: call again with the same draft, when the loads have read their values. */
void exec_commit(exec_t *exec, const request_t *request, store_draft_t *draft);
/* The value did not end where it should: abandons the draft. */
void exec_bad_value(exec_t *exec, const request_t *request, store_draft_t *draft);
/* The value had to give way to others: answers that there is no memory. */
void exec_lost(exec_t *exec, const request_t *request);
/* A piece of a reply has been sent. */
void exec_piece_done(reply_piece_t *piece);
/* A piece outlives the turn: whether it stays pinned, as large items do. */
bool exec_piece_stays(reply_piece_t *piece);

/* ---------------------------------------------------------------------- between the files of exec */

/* Adds a value, copied or in place. */
void exec_value(exec_t *exec, const store_hit_t *hit);
/* A request that came as a packet, without a value (exec_binary.c); and the answer to one with a value. */
void exec_packet(exec_t *exec, request_t *request);
void exec_packet_stored(exec_t *exec, const request_t *request, store_status_t status, uint64_t cas);
void exec_meta(exec_t *exec, const request_t *request);
/* value_bytes: of the item, or of the value that was not stored. */
void exec_meta_stored(exec_t *exec, const request_t *request, store_status_t status, uint64_t cas,
                      uint32_t value_bytes);
/* False: as exec_request; `resume` has moved on. */
bool exec_stats(exec_t *exec, request_t *request);
bool exec_crawler(exec_t *exec, request_t *request);   /* lru_crawler (dump.c) */
bool exec_cachedump(exec_t *exec, request_t *request); /* stats cachedump (dump.c) */
void exec_lru(exec_t *exec, const request_t *request); /* lru, slabs (tune.c) */
void exec_slabs(exec_t *exec, const request_t *request);
/* lru_crawler with another word than those that dump (tune.c). */
void exec_tune_crawler(exec_t *exec, const request_t *request);
/* Classes as lru_crawler names them: "all", "hash", or numbers with commas between; false: none of these. In tune.c. */
bool exec_classes(text_t names, uint64_t *mask_p);

#endif
