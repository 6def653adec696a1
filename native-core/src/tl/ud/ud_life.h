/* SPDX-License-Identifier: Apache-2.0
 * ud_life.h - a worker's process answers its peers' questions whether it lives, while its program computes: by a queue pair
 * of its own and a thread that only does this. It sleeps until somebody asks.
 *
 * Peers ask only after a silence, and are answered only for endpoints that they have proved the job key for (vouch) and
 * whose random numbers they know; the answer goes to that endpoint's peer, whoever asked. A stopped process does not answer.
 *
 * L1 `lock` guards `peers` and what they point to. L2 the lock is kept until answers that name an address handle have left, so
 * that handles may be destroyed after ud_life_withdraw(). L3 all else belongs to the thread from open to close. */
#ifndef VBN_TL_UD_LIFE_H
#define VBN_TL_UD_LIFE_H

#include <pthread.h>

#include "tl/ud/ud_wire.h"
#include "tl/verbs/verbs_iface.h"

#define UD_LIFE_RECEIVES 128u

/* Part of an endpoint: where answers for it go. */
typedef struct ud_life_peer {
    uint64_t id; /* of the endpoint; 0: not vouched for */
    uint64_t remote_id;
    verbs_route_t route; /* its handle only */
    uint32_t qpn;
} ud_life_peer_t;

typedef struct ud_question {
    uint64_t number; /* of the receive */
    uint32_t bytes;
    const uint8_t *at;
} ud_question_t;

typedef struct ud_life {
    pthread_mutex_t lock;
    map_t peers; /* id -> ud_life_peer_t */
    pthread_t thread;
    int stop_fd;          /* -1: not open */
    counters_t *counters; /* a row has one writer, the worker's is the worker's: nobody reads these */
    verbs_port_t port;    /* a copy: what is noted there is this thread's */
    verbs_cq_t cq;
    verbs_slots_t slots;
    verbs_datagram_t datagram;
    ud_question_t questions[UD_LIFE_RECEIVES];
    unsigned question_count;
} ud_life_t;

/* After the interface, whose port and pages it uses. The address says its queue pair from then on. */
vbn_status_t ud_life_open(ud_life_t *life, verbs_iface_t *iface, const tl_params_t *params);
void ud_life_close(ud_life_t *life);
/* The peer has proved the job key: questions for this endpoint are answered from now on. */
void ud_life_vouch(ud_life_t *life, ud_life_peer_t *peer);
void ud_life_withdraw(ud_life_t *life, ud_life_peer_t *peer);

#endif
