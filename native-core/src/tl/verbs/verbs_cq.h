/* SPDX-License-Identifier: Apache-2.0
 * verbs_cq.h - the completion queue of an interface, for all its queue pairs and both directions, and the descriptor that
 * becomes readable when it has something. One thread.
 *
 * V1 No overrun: the queue has room for all receives and for twice the send requests that may be posted (those of a
 * destroyed queue pair may still lie in it). V2 A completion is known by its request's number, never by a pointer. */
#ifndef VBN_TL_VERBS_CQ_H
#define VBN_TL_VERBS_CQ_H

#include "tl/verbs/verbs_port.h"

#define VERBS_POLL 16

typedef struct verbs_cq {
    verbs_port_t *port;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    int epoll_fd;
    int next, count; /* of `polled`: not given out yet */
    struct ibv_wc polled[VERBS_POLL];
} verbs_cq_t;

vbn_status_t verbs_cq_open(verbs_cq_t *cq, verbs_port_t *port, uint32_t entries);
void verbs_cq_close(verbs_cq_t *cq);
vbn_status_t verbs_cq_watch(const verbs_cq_t *cq, int fd); /* makes epoll_fd readable with this one, too */
/* Polls VERBS_POLL at a time. NULL: empty. Valid until the next call. */
const struct ibv_wc *verbs_cq_next(verbs_cq_t *cq);
/* As tl_ops_t.arm. */
vbn_status_t verbs_cq_arm(verbs_cq_t *cq);

#endif
