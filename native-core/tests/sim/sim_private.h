/* SPDX-License-Identifier: Apache-2.0
 * sim_private.h - structures of the simulated network.
 *
 *   send() --> endpoint's tx queue (payload read later) --> launch: faults, arrival time --> heap --> inbox --> rx
 *
 * Endpoint ids are unique in a net and never used again, so a packet to or from an endpoint that is gone finds nothing.
 * The first packet of a connection, or on datagram fabrics any packet to an unknown endpoint, makes an accepted one. */
#ifndef VBN_TESTS_SIM_PRIVATE_H
#define VBN_TESTS_SIM_PRIVATE_H

#include "base/list.h"
#include "base/map.h"
#include "sim.h"

/* WAKE: to the sender itself, see due_ns. ASK is answered by ALIVE without the receiver's progress. */
typedef enum sim_kind { SIM_DATA, SIM_FIN, SIM_BROKEN, SIM_WAKE, SIM_ASK, SIM_ALIVE } sim_kind_t;

typedef struct sim_packet {
    list_link_t link; /* in an endpoint's tx, an inbox or net->held */
    uint64_t due_ns;  /* of its arrival; in tx: not launched before */
    uint64_t serial;  /* of equal due times the smaller one is first */
    uint64_t from_uid, to_uid;
    uint64_t from_ep, to_ep; /* to_ep 0: the sender does not know it yet */
    const struct iovec *iov; /* in tx: payload still to be read; else NULL */
    uint32_t iov_count;
    void *cookie;
    uint32_t header_bytes;
    uint32_t payload_bytes;
    uint8_t fabric;
    uint8_t kind;                 /* sim_kind_t */
    bool first;                   /* of its connection */
    _Alignas(16) uint8_t bytes[]; /* header, padding to 16, payload */
} sim_packet_t;

typedef struct sim_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;
    sim_net_t *net;
    unsigned fabric;
    list_link_t news; /* endpoints with something to tell */
    list_link_t dead; /* endpoints, freed after progress */
    list_link_t inbox;
    uint32_t inbox_count;
    map_t by_id;     /* endpoint id -> endpoint */
    map_t by_remote; /* the other side's endpoint id -> accepted endpoint */
    bool in_progress;
} sim_iface_t;

typedef struct sim_ep {
    tl_ep_t base;
    list_link_t link; /* in iface->news or ->dead */
    list_link_t tx;   /* sim_packet_t */
    uint64_t id;
    uint64_t remote_uid;
    uint64_t remote_ep;   /* 0: not known yet */
    uint64_t last_due_ns; /* reliable: nothing arrives earlier than this */
    uint8_t failed;       /* sim_failure_t, FAILED_NOT while it lives */
    bool launched;        /* its first packet is on the way */
    bool tell_ready, blocked, told, gone;
} sim_ep_t;

typedef enum sim_failure { FAILED_NOT, FAILED_CLOSED, FAILED_BROKEN, FAILED_GONE } sim_failure_t;

typedef struct sim_pair {
    list_link_t link;
    uint64_t from_uid, to_uid;
    unsigned fabric;
    bool cut;
} sim_pair_t;

struct sim_net {
    os_clock_t clock;
    uint64_t now_ns;
    uint64_t random_state;
    uint64_t next_ep, next_serial;
    sim_fabric_t fabrics[SIM_FABRICS];
    uint64_t kill_after[SIM_FABRICS];
    map_t ifaces[SIM_FABRICS]; /* worker uid -> interface */
    list_link_t pairs;
    list_link_t held; /* packets of reliable fabrics that met a partition, in order */
    sim_packet_t **heap;
    size_t heap_count, heap_capacity;
    sim_tap_func_t tap;
    void *tap_arg;
};

static inline uint32_t sim_payload_at(uint32_t header_bytes)
{
    return (header_bytes + 15u) & ~15u;
}

/* sim_net.c */
/* That of the last sim_net_enter(); NULL: there was none, or it is closed. */
sim_net_t *sim_net_entered(void);
bool sim_net_lucky(sim_net_t *net, uint32_t ppm);
/* Takes the packet over: it is lost, doubled, delayed as the fabric says. ep: its sender, may fail by it. */
void sim_net_launch(sim_net_t *net, sim_ep_t *ep, sim_packet_t *packet);
/* Sends a FIN or BROKEN; in order after the data, or at once. */
void sim_net_notify(sim_net_t *net, sim_ep_t *ep, sim_kind_t kind, bool ordered);
/* A SIM_WAKE for the endpoint at that time. */
void sim_net_wake(sim_net_t *net, sim_ep_t *ep, uint64_t due_ns);
void sim_packet_free(sim_packet_t *packet);
sim_packet_t *sim_packet_new(const sim_ep_t *ep, uint32_t header_bytes, uint32_t payload_bytes);

/* sim_iface.c */
/* The endpoint is broken: told by the next progress. */
void sim_ep_fail(sim_ep_t *ep, sim_failure_t why);

#endif
