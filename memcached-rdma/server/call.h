/* SPDX-License-Identifier: Apache-2.0
 * call.h - one request that came as a message, until its answer has been sent. */
#ifndef MC_SERVER_CALL_H
#define MC_SERVER_CALL_H

#include "proto/message.h"
#include "server/native.h"

#define CALL_PIECES 4u /* of an answer that needs no heap */

typedef struct call {
    vbn_op_t op;      /* fetches the value, then sends the answer */
    list_link_t link; /* in `waiting` or `spare` of native */
    native_t *native;
    session_t *session;
    uint64_t deadline_ns; /* end of the lease by native_clock, while it waits */
    message_request_t message;
    store_draft_t draft;    /* of a value that is being fetched */
    char *data;             /* heap for a value that is fetched, with its key in front; NULL else */
    size_t data_bytes;      /* that are fetched, at its end */
    hold_t hold;            /* of the value, while it is fetched */
    loads_t loads;          /* values on disk that it needs */
    const char *key, *rest; /* key and other words for the next run, in `data` or in the draft */
    size_t rest_bytes;
    bool commits;  /* again: the draft is whole */
    reply_t reply; /* data of the answer */
    message_answer_t answer;
    struct iovec iov[CALL_PIECES], *more; /* more: heap, for longer lists */
} call_t;

/* The handler of requests; arg: the native_t. */
void call_on_message(void *arg, const vbn_am_message_t *message);
void call_free(call_t *call);

#endif
