/* SPDX-License-Identifier: Apache-2.0
 * verbs_send.h - send queues: requests collected, posted with one doorbell, a completion for few of them. One thread.
 *
 *   take --> slot (buffer) --add--> pending --flush: one doorbell--> posted --completion of it or a later one--> pop, free
 *
 * Slots and buffers belong to the interface and are shared by its queues, so an idle queue holds little: at most
 * `interval` - 1 slots whose end nobody asked for, and no buffers when their data went inline.
 *
 * S1 one request in `interval` asks for a completion, and the last of a doorbell when somebody waits for it (cookie).
 * S2 slots of a queue complete in order. S3 a slot's number changes when it is freed, so that a completion that comes
 * after its queue was destroyed finds nothing. */
#ifndef VBN_TL_VERBS_SEND_H
#define VBN_TL_VERBS_SEND_H

#include "base/counters.h"
#include "tl/verbs/verbs_memory.h"

#define VERBS_SGES 4
#define VERBS_SLOTS_MAX 4096u
#define VERBS_DEPTH 128u /* of a queue */
#define VERBS_INTERVAL 32u
#define VERBS_INLINE 128u          /* asked for; devices grant what they like */
#define VERBS_SMALL 640u           /* bytes of a small buffer */
#define VERBS_LARGE_DATAGRAM 4160u /* bytes of a buffer for any datagram */
#define VERBS_SEND_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ)

typedef struct verbs_sq verbs_sq_t;

typedef struct verbs_slot {
    struct ibv_send_wr wr; /* wr_id is the slot's number */
    struct ibv_sge sges[VERBS_SGES];
    verbs_sq_t *sq;          /* NULL: free */
    struct verbs_slot *next; /* in the queue, or among the free ones */
    uint8_t *buffer;
    void *cookie;
    const struct iovec *scatter; /* one-sided: where bytes read into the buffer go, else NULL */
    bool large;                  /* which pool the buffer is of */
    uint8_t placed; /* 1 or 2: it names memory of verbs_places.h, counted in slots->placed[placed - 1]; else 0 */
    bool one_sided; /* no packet */
} verbs_slot_t;

typedef struct verbs_slots {
    verbs_slot_t *array; /* [count] */
    verbs_slot_t *free;
    verbs_pool_t small, large;
    counters_t *counters;
    unsigned count, free_count;
    unsigned queues;
    uint32_t placed[2]; /* requests that name memory of others, by the parity of the time they were made in */
} verbs_slots_t;

struct verbs_sq {
    verbs_slots_t *slots;
    void *owner;
    struct ibv_qp *qp;
    struct ibv_qp_ex *extended; /* NULL: ibv_post_send */
    verbs_slot_t *first, *last; /* all taken by add, in order */
    verbs_slot_t *pending;      /* the first that is not posted */
    uint32_t inline_max;
    uint32_t used;
    uint32_t unsignalled, unsignalled_bytes;
    bool waited; /* somebody waits for a request that asked for no completion */
};

vbn_status_t verbs_slots_open(verbs_slots_t *slots, const verbs_port_t *port, const mpool_source_t *pages,
                              size_t large_bytes, unsigned count, counters_t *counters);
void verbs_slots_close(verbs_slots_t *slots);

/* Makes the queue pair in `attr` (sizes of the send side are filled in) and its queue. */
vbn_status_t verbs_sq_open(verbs_sq_t *sq, verbs_slots_t *slots, const verbs_port_t *port,
                           struct ibv_qp_init_attr *attr, void *owner);
void verbs_sq_close(verbs_sq_t *sq, const verbs_port_t *port); /* destroys the queue pair; slots are freed */
struct ibv_qp *verbs_sq_leave(verbs_sq_t *sq);                 /* frees the slots; the queue pair is the caller's */

bool verbs_sq_waited(const verbs_sq_t *sq); /* is there a slot with a cookie? */

/* A slot with a buffer of `bytes`, 0: without; NULL: not now. */
verbs_slot_t *verbs_sq_take(verbs_sq_t *sq, size_t bytes);
void verbs_sq_give_back(verbs_sq_t *sq, verbs_slot_t *slot); /* taken, not added */
/* wr without wr_id and flags; sges[0 .. num_sge-1]; the local key of the first one is filled in if it is the buffer. */
void verbs_sq_add(verbs_sq_t *sq, verbs_slot_t *slot);
/* 0, or the errno; then what was pending has not been sent and never completes. */
int verbs_sq_flush(verbs_sq_t *sq);

/* The slot of a completion; NULL: its queue is gone. */
verbs_slot_t *verbs_slots_find(const verbs_slots_t *slots, uint64_t number);
/* The first slot of the queue, taken off; the caller frees it. */
verbs_slot_t *verbs_sq_pop(verbs_sq_t *sq);
void verbs_slot_free(verbs_slots_t *slots, verbs_slot_t *slot);

#endif
