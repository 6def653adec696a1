/* SPDX-License-Identifier: Apache-2.0
 * verbs_handles.h - address handles made by helper threads: on RoCE the kernel asks the network for the neighbour's hardware
 * address first, which takes it a second when nobody answers.
 *
 * All calls belong to the interface's thread. A handle_t is the caller's; from ask() until answer() gives it back it is
 * this module's, and a helper writes `ah` and `error` of it. Helpers start when there is a question and nobody free for
 * it, block all signals, and end with close(). */
#ifndef VBN_TL_VERBS_HANDLES_H
#define VBN_TL_VERBS_HANDLES_H

#include <pthread.h>

#include "base/list.h"
#include "tl/verbs/verbs_cq.h"

#define VERBS_HELPERS 4u /* silent hosts that may be asked at a time: others wait behind them */

typedef struct verbs_handle {
    list_link_t link;
    struct ibv_ah_attr attr; /* where to */
    struct ibv_ah *ah;       /* NULL: failed, with this errno */
    int error;
    void *owner; /* the caller's */
} verbs_handle_t;

typedef struct verbs_handles {
    const verbs_port_t *port;
    unsigned open; /* asked and not given back; of the interface's thread */
    unsigned threads;
    pthread_t thread[VERBS_HELPERS];
    int event_fd; /* readable when there is an answer, watched by the completion queue's epoll descriptor; -1 before the first */
    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t asked, answered;
    list_link_t questions, answers; /* verbs_handle_t.link */
    unsigned waiting, idle;         /* questions that nobody has taken; helpers without one */
    bool stop;
} verbs_handles_t;

void verbs_handles_open(verbs_handles_t *handles, const verbs_port_t *port);
/* Waits for what the kernel is doing, a second at most. Handles that were not given back are the caller's again. */
void verbs_handles_close(verbs_handles_t *handles);
/* In the calling thread, as long as that takes. */
void verbs_handle_make(const verbs_port_t *port, verbs_handle_t *handle);
/* Without a helper (no thread to be had) it is made here. */
void verbs_handles_ask(verbs_handles_t *handles, const verbs_cq_t *cq, verbs_handle_t *handle);
/* Until there is an answer, or so long. */
void verbs_handles_wait(verbs_handles_t *handles, uint64_t ns);
/* One that is answered, the caller's again; NULL: none now. */
verbs_handle_t *verbs_handles_answer(verbs_handles_t *handles);

#endif
