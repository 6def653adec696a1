/* SPDX-License-Identifier: Apache-2.0
 * verbs_port.h - one port of one device, opened for one interface: which it is and why, its GID, protection domain,
 * events. Belongs to the interface's thread. */
#ifndef VBN_TL_VERBS_PORT_H
#define VBN_TL_VERBS_PORT_H

#include "base/log.h"
#include "base/settings.h"
#include "tl/verbs/verbs_address.h"
#include "tl/verbs/verbs_api.h"
#include "tl/verbs/verbs_info.h"

typedef struct verbs_port {
    const verbs_api_t *api;
    const log_sink_t *log;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr limits;
    verbs_address_t address; /* without queue pair */
    uint32_t message_max;
    enum ibv_mtu mtu;
    uint8_t number;
    uint8_t gid_index;
    uint32_t network; /* index of the GID's network interface; 0: the device says none */
    int gid_wanted;   /* index named by the setting, -1: any */
    uint16_t pkey;    /* of index 0, which queue pairs use; network order */
    uint8_t service_level, traffic_class;
    bool iwarp;  /* connections by rdma_cm only, no datagrams, no GID of use */
    bool dead;   /* the device is gone: nothing on it works any more */
    bool moved;  /* what peers know of it has changed, `news` says how: whoever sees this ends all endpoints */
    bool absent; /* it has lost its address */
    char news[256];
    char name[72];   /* device:port */
    char why[256];   /* the choice, and its GID */
    char reason[64]; /* of the choice */
} verbs_port_t;

#define VERBS_DEVICES_MAX 4u /* of a worker */

/* How many devices tl.verbs.device asks for: its entries, or all that there are. */
unsigned verbs_port_count(const settings_t *settings);
/* Opens the device of that place in tl.verbs.device, its first port that works; if that is empty, the first such port of
 * all. VBN_ERR_UNSUPPORTED: there is none. */
vbn_status_t verbs_port_open(verbs_port_t *port, const settings_t *settings, unsigned device, const log_sink_t *log);
void verbs_port_close(verbs_port_t *port);
/* The route to a peer's port. */
void verbs_port_route(const verbs_port_t *port, const verbs_address_t *to, struct ibv_ah_attr *route);

/* Memory for the device, with the cure when locked memory is what is missing. Unless peers reach it the device may write it
 * in any order (relaxed ordering, where there is such a thing): only a completion says that the bytes are there. What peers
 * write is in order, because what they send afterwards may come over another queue pair. */
vbn_status_t verbs_register(const verbs_port_t *port, void *address, size_t bytes, unsigned access,
                            struct ibv_mr **mr_p);
/* "creating X on mlx5_0:1: <errno>" */
vbn_status_t verbs_failed(const verbs_port_t *port, const char *what, int error);

int verbs_port_query(const verbs_port_t *port, struct ibv_port_attr *attr);
void verbs_port_describe(verbs_port_t *port); /* fills `why` */

/* verbs_change.c: takes one event off the device's queue, and notes what it changes of the port; false: none. Acknowledge it
 * with api->ack_async_event. */
bool verbs_port_event(verbs_port_t *port, struct ibv_async_event *event);

#endif
