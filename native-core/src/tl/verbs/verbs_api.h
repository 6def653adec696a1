/* SPDX-License-Identifier: Apache-2.0
 * verbs_api.h - libibverbs, opened at run time: the calls that are symbols of the library. Those that verbs.h makes of a
 * device's table (ibv_post_send, ibv_poll_cq, ibv_wr_*) need no symbol and are used as they are.
 *
 * The library stays open for the life of the process. Any thread. */
#ifndef VBN_TL_VERBS_API_H
#define VBN_TL_VERBS_API_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct verbs_api {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attr);
    int (*query_port)(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr);
    int (*query_gid)(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
                     uint32_t flags, size_t entry_bytes);
    int (*query_pkey)(struct ibv_context *context, uint8_t port, int index, __be16 *pkey);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_mr *(*register_memory)(struct ibv_pd *pd, void *address, size_t length, uint64_t device_address,
                                      unsigned access);
    int (*deregister_memory)(struct ibv_mr *mr);
    struct ibv_comp_channel *(*create_channel)(struct ibv_context *context);
    int (*destroy_channel)(struct ibv_comp_channel *channel);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries, void *cq_context,
                                struct ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(struct ibv_cq *cq);
    int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
    void (*ack_cq_events)(struct ibv_cq *cq, unsigned count);
    struct ibv_srq *(*create_srq)(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
    int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
    int (*destroy_srq)(struct ibv_srq *srq);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
    struct ibv_qp_ex *(*extended_qp)(struct ibv_qp *qp);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    struct ibv_ah *(*create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
    int (*destroy_ah)(struct ibv_ah *ah);
    int (*attach_group)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
    int (*detach_group)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
    int (*get_async_event)(struct ibv_context *context, struct ibv_async_event *event);
    void (*ack_async_event)(struct ibv_async_event *event);
    const char *(*event_text)(enum ibv_event_type event);
    const char *(*status_text)(enum ibv_wc_status status);
} verbs_api_t;

/* VBN_ERR_UNSUPPORTED: this host has no device (the library is not even opened then; the text says how to get one if somebody
 * asked for RDMA), no library, or one without a call that is needed; the text names the package. */
vbn_status_t verbs_api_get(bool asked, const verbs_api_t **api_p);
/* Tests: what verbs_api_get gives from now on; NULL: the library again. */
void verbs_api_replace(const verbs_api_t *api);

/* Newer devices' queue pair with the ibv_wr_* calls of send_ops in *extended_p; NULL there: only ibv_post_send works. */
struct ibv_qp *verbs_create_qp(const verbs_api_t *api, struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
                               uint64_t send_ops, struct ibv_qp_ex **extended_p);

#endif
