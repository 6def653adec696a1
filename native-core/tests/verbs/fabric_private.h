/* SPDX-License-Identifier: Apache-2.0
 * fabric_private.h - objects of the scripted libibverbs. */
#ifndef VBN_TESTS_VERBS_FABRIC_PRIVATE_H
#define VBN_TESTS_VERBS_FABRIC_PRIVATE_H

#include "base/list.h"
#include "base/map.h"
#include "fabric.h"
#include "tl/verbs/verbs_api.h"

#define FABRIC_DEVICES 2u
#define FABRIC_CONTEXTS 160u
#define FABRIC_SGES 8
#define FABRIC_EVENTS 64u
#define FABRIC_GROUPS 8u

typedef struct fabric_context {
    list_link_t link;
    unsigned device;
    struct ibv_async_event events[FABRIC_EVENTS];
    unsigned event_count;
    list_link_t qps;
    struct verbs_context v; /* last: ibv_context is its end */
} fabric_context_t;

typedef struct fabric_mr {
    struct ibv_mr mr;
    int access;
} fabric_mr_t;

typedef struct fabric_cq {
    struct ibv_cq cq;
    struct ibv_wc *wcs; /* [capacity], from `first` on */
    unsigned capacity, first, count;
    bool armed;
} fabric_cq_t;

typedef struct fabric_receive {
    list_link_t link;
    uint64_t wr_id;
    struct ibv_sge sge;
} fabric_receive_t;

typedef struct fabric_srq {
    struct ibv_srq srq;
    list_link_t receives;
    unsigned count, max;
    unsigned limit; /* fewer are an event, once; 0: not */
} fabric_srq_t;

typedef struct fabric_request {
    list_link_t link;
    struct ibv_send_wr wr;
    struct ibv_sge sges[FABRIC_SGES];
    uint8_t *inlined;
    unsigned waited;
} fabric_request_t;

typedef struct fabric_ah {
    struct ibv_ah ah; /* first */
    struct ibv_ah_attr route;
} fabric_ah_t;

typedef struct fabric_qp {
    struct ibv_qp_ex qp; /* first */
    list_link_t link;
    fabric_srq_t *srq;
    fabric_srq_t own; /* receives without an srq */
    list_link_t requests;
    fabric_request_t *building; /* between wr_start and wr_complete: the latest */
    list_link_t built;
    unsigned used, max;   /* requests posted and not known to have ended */
    unsigned unsignalled; /* ended without a completion since the last one */
    unsigned inline_max;
    struct ibv_ah_attr route; /* RC: to the peer's port */
    uint32_t qkey, dest;
    int access;
    uint64_t bytes;                      /* of requests carried out */
    union ibv_gid groups[FABRIC_GROUPS]; /* that it is attached to */
    unsigned group_count;
} fabric_qp_t;

extern fabric_context_t *fabric_contexts[FABRIC_CONTEXTS];
extern map_t fabric_qps; /* number -> fabric_qp_t */
extern map_t fabric_mrs; /* key -> fabric_mr_t */

extern const struct verbs_cm fabric_cm; /* fabric_cm.c */

/* fabric.c */
/* The calls of the library come from the core's threads, too: each holds the one lock, which its caller may hold already. */
int fabric_enter(void);
void fabric_leave(const int *entered);
#define FABRIC_GUARD __attribute__((cleanup(fabric_leave), unused)) const int entered = fabric_enter()
bool fabric_lucky(unsigned ppm);
void *fabric_make(size_t bytes, uint64_t *count); /* zeroed, never NULL; counts */
uint32_t fabric_next_number(void);                /* of a queue pair or a key: no two are the same */
bool fabric_is_dead(unsigned device);

/* fabric_device.c, fabric_objects.c, fabric_qp.c, fabric_ah.c: each gives its part of the calls */
void fabric_device_calls(verbs_api_t *api);
void fabric_object_calls(verbs_api_t *api);
void fabric_qp_calls(verbs_api_t *api);
void fabric_ah_calls(verbs_api_t *api);
void fabric_device_reset(unsigned count);
void fabric_ah_reset(void);

struct ibv_device *fabric_device(unsigned device);
int fabric_read_pieces(void);
bool fabric_is_at(const struct ibv_context *context, const struct ibv_ah_attr *route);
void fabric_add_event(fabric_context_t *context, struct ibv_async_event event);
struct ibv_qp *fabric_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
static inline fabric_context_t *fabric_context_of(struct ibv_context *context)
{
    return container_of(verbs_get_ctx(context), fabric_context_t, v);
}

/* fabric_group.c */
int fabric_attach_group(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
int fabric_detach_group(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
bool fabric_in_group(const fabric_qp_t *qp, const union ibv_gid *gid);

/* fabric_data.c */
bool fabric_place_datagram(fabric_qp_t *to, const void *bytes, uint32_t length); /* if it takes any now */
int fabric_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fabric_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fabric_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fabric_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wcs);
int fabric_req_notify_cq(struct ibv_cq *cq, int solicited);
void fabric_fail_qp(fabric_qp_t *qp, enum ibv_wc_status status); /* the first request fails so, the rest is flushed */
void fabric_drop_requests(fabric_qp_t *qp);
void fabric_drop_receives(fabric_srq_t *srq);
void fabric_look_at_limit(fabric_srq_t *srq);
void fabric_wr_calls(struct ibv_qp_ex *qp);

#endif
