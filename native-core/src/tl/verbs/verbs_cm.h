/* SPDX-License-Identifier: Apache-2.0
 * verbs_cm.h - librdmacm, opened at run time: the calls by which connections are made where the device or the user wants
 * that (rc/rc_cm.c). The library stays open for the life of the process. Any thread. */
#ifndef VBN_TL_VERBS_CM_H
#define VBN_TL_VERBS_CM_H

#include <rdma/rdma_cma.h>

#include "tl/verbs/verbs_port.h"

typedef struct verbs_cm {
    struct rdma_event_channel *(*create_channel)(void);
    void (*destroy_channel)(struct rdma_event_channel *channel);
    int (*create_id)(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                     enum rdma_port_space space);
    int (*destroy_id)(struct rdma_cm_id *id);
    int (*set_option)(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes);
    int (*bind_addr)(struct rdma_cm_id *id, struct sockaddr *address);
    int (*listen)(struct rdma_cm_id *id, int backlog);
    int (*resolve_addr)(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int timeout_ms);
    int (*resolve_route)(struct rdma_cm_id *id, int timeout_ms);
    int (*init_qp_attr)(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask);
    int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*establish)(struct rdma_cm_id *id);
    int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *param);
    int (*reject)(struct rdma_cm_id *id, const void *data, uint8_t bytes);
    int (*disconnect)(struct rdma_cm_id *id);
    int (*join_group)(struct rdma_cm_id *id, struct sockaddr *address, void *context);
    int (*get_event)(struct rdma_event_channel *channel, struct rdma_cm_event **event);
    int (*ack_event)(struct rdma_cm_event *event);
} verbs_cm_t;

/* VBN_ERR_UNSUPPORTED: no library, or one without a call that is needed; the text names the package. */
vbn_status_t verbs_cm_get(const verbs_cm_t **cm_p);
bool verbs_cm_is_of(const struct rdma_cm_id *id, const verbs_port_t *port); /* bound to that port */
/* As err_sys, for a channel of events that cannot be made: each errno has its cure. */
vbn_status_t verbs_cm_no_channel(int error, const char *what, const char *device);
/* Tests: what verbs_cm_get gives from now on; NULL: the library again. */
void verbs_cm_replace(const verbs_cm_t *cm);

#endif
