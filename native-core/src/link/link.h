/* SPDX-License-Identifier: Apache-2.0
 * link.h - one link per peer: choice of transport, wire-up with version and mutual authentication, order, credits,
 * pending queue, peer death. The layer above sends packets of any kind and never sees "busy".
 *
 * struct vbn_peer is the link's peer object (peer/record.h). States:
 *
 *   NEW --connect--> OPENING --HELLO/CHALLENGE/PROOF--> READY --close--> CLOSING --> gone
 *                       \__________ error __________________/--> LOST (until the last reference is dropped)
 *
 * Packet header (16 bytes, little endian, see link_wire.h): version 4 bits | type 4 bits, flags 8, reserved 16,
 * connection id 32 (random, chosen by the receiver during wire-up), sequence 32, ack 32 (cumulative, returns credits).
 *
 * Invariants: L1 packets of one peer reach rx() in the order of link_send(). L2 nothing from an unauthenticated peer
 * goes above this layer. L3 every packet accepted by link_send with `done` gets exactly one done. L4 at most `window`
 * packets are unacknowledged; a side that owes more than window/4 credits and has nothing to send sends an ACK. */
#ifndef VBN_LINK_LINK_H
#define VBN_LINK_LINK_H

#include "base/list.h"
#include "base/os.h"
#include "base/wheel.h"
#include "tl/tl.h"

typedef struct link_engine link_engine_t;

#define LINK_HEADER_BYTES 16
#define LINK_UPPER_HEADER_MAX (TL_HEADER_MAX - LINK_HEADER_BYTES)
#define LINK_FRAME_MAX TL_HEADER_MAX /* bytes of a link_packet_t's frame */

/* A fast lane over one transport, given by the layers above (src/fast): short packets go past link_send and upcalls.rx,
 * in the way that link_peer_head_t and link_lane_head_t allow. The link itself knows no transport that has one. */
typedef struct link_fast {
    const tl_ops_t *transport;
    unsigned (*progress)(tl_iface_t *iface); /* in place of transport->progress */
} link_fast_t;

typedef struct link_upcalls {
    void *arg; /* passed to all: the protocol engine */
    /* One packet of an authenticated peer, in order; pointers valid during the call (payload may be sink's). */
    void (*rx)(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, const void *payload,
               uint32_t payload_bytes);
    /* Where a large payload should be written; NULL = nowhere special. header comes from the peer: check it. early: packets
     * before it have not arrived, so only a place that does not depend on them will do. Asked again, while the payload is
     * coming, after each packet of the peer that was delivered meanwhile. */
    void *(*sink)(void *arg, vbn_peer_t *peer, const void *header, uint32_t header_bytes, uint32_t payload_bytes,
                  bool early);
    /* As tl_upcalls_t.write_begin and write_end, of places that sink gave for packets of this peer. */
    bool (*write_begin)(void *arg, vbn_peer_t *peer, const void *place);
    void (*write_end)(void *arg, vbn_peer_t *peer, const void *place);
    /* Before the user's error callback: fail everything the upper layer has with this peer. */
    void (*peer_down)(void *arg, vbn_peer_t *peer, vbn_status_t status);
    /* Optional: false while the upper layer still has something to deliver to a peer that closes with VBN_CLOSE_FLUSH
     * (an announced message that is not pulled yet); link_quiet says when that may have changed. link_send works meanwhile.
     * NULL = never. */
    bool (*quiet)(void *arg, vbn_peer_t *peer);
    const link_fast_t *fast; /* optional */
} link_upcalls_t;

typedef struct link_params {
    const settings_t *settings;
    const log_sink_t *log;
    counters_t *counters;
    mem_registry_t *memory;
    const uint8_t *job_key;  /* 32 bytes, or NULL with security.auth=none */
    const os_clock_t *clock; /* NULL: the real one. With another one the engine has no descriptors and cannot sleep */
    uint64_t uid;            /* 0: random. Tests give one, so that a run can be repeated */
    size_t upper_bytes;      /* size of the upper layer's state in each peer, zeroed at creation */
    link_upcalls_t upcalls;
} link_params_t;

vbn_status_t link_engine_open(const link_params_t *params, link_engine_t **engine_p);
void link_engine_close(link_engine_t *engine);
unsigned link_engine_progress(link_engine_t *engine); /* transports, timers, pending queues */
vbn_status_t link_engine_arm(link_engine_t *engine);
int link_engine_fd(const link_engine_t *engine);
void link_engine_wake(link_engine_t *engine); /* any thread */
/* The timer runs from link_engine_progress(), that long from now by the clock. */
void link_timer_add(link_engine_t *engine, wheel_timer_t *timer, uint64_t delay_ns);
uint64_t link_engine_uid(const link_engine_t *engine);
vbn_status_t link_engine_address(link_engine_t *engine, void *blob, size_t *length_p);
/* As vbn_worker_transports. */
size_t link_engine_transports(const link_engine_t *engine, char *text, size_t capacity);

vbn_status_t link_connect(link_engine_t *engine, const void *blob, size_t length, vbn_peer_error_func_t error_func,
                          void *arg, vbn_peer_t **peer_p);
/* The same, without dialling: a new peer stays dormant until the first link_send or link_import, or until the peer itself
 * connects. Nothing is acknowledged or ends meanwhile. */
vbn_status_t link_connect_on_use(link_engine_t *engine, const void *blob, size_t length,
                                 vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p);
void link_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode);
/* Called once for each lost peer that sent a message or opened the connection, and that no link_connect refers to; the
 * handle ends with the call. func may be NULL. */
void link_engine_set_peer_lost(link_engine_t *engine, vbn_peer_error_func_t func, void *arg);

typedef void (*link_done_func_t)(void *arg, vbn_status_t status);

typedef struct link_packet {
    uint8_t *frame;        /* LINK_HEADER_BYTES that the link writes, then the upper layer's header; copied */
    uint32_t header_bytes; /* of the upper layer's header, at most LINK_UPPER_HEADER_MAX */
    uint32_t payload_bytes;
    const struct iovec *iov; /* array and memory stay untouched until done */
    uint32_t iov_count;
    bool patient;       /* a request whose answer the sender waits for in progress(): it may leave there, with others */
    mem_lease_t *lease; /* NULL, or the payload's; the caller of link_send is inside no memory */
    link_done_func_t done; /* NULL: payload_bytes must be 0 */
    void *arg;
} link_packet_t;

/* VBN_OK: gone, done not called. VBN_INPROGRESS: queued or in use, done comes (if not NULL). < 0: peer lost or closed.
 * payload_bytes + header <= link_caps(peer)->packet_max once READY; before that the packet simply waits. */
vbn_status_t link_send(vbn_peer_t *peer, const link_packet_t *packet);
/* Calls done when all that was sent before is acknowledged by the peer's link layer. */
vbn_status_t link_flush(vbn_peer_t *peer, link_done_func_t done, void *arg);
/* True when link_flush would have nothing to wait for. Then the next packet passes link_send, also a short one. */
bool link_flush_idle(vbn_peer_t *peer);

/* The first fields of every peer, for what must not cost a call: queries of the layer above, and src/fast. The first
 * cache line is what a short message needs, a tagged one the uid besides. */
#define LINK_PEER_HEAD                                                                                                 \
    void *upper_engine;          /* upcalls.arg of the peer's engine */                                                \
    tl_ep_t *clear;              /* its endpoint while the fast lane may send over it, else NULL (P0) */               \
    uint64_t fork_generation;    /* of the engine */                                                                   \
    uint64_t data_word;          /* bytes 0 to 7 of our DATA packets; set with clear */                                \
    uint32_t tx_next, rx_next;   /* sequence numbers: the next one to send, and the one expected */                    \
    uint32_t tx_acked, rx_acked; /* all before it is acknowledged: by the peer, and to the peer */                     \
    uint32_t window;             /* most packets unacknowledged */                                                     \
    uint32_t owed_most;          /* a quarter of it: when more are owed, an ACK goes out at once */                    \
    const tl_caps_t                                                                                                    \
        *caps;    /* of the chosen transport; before READY of the likely one, for packets that all take (P5) */        \
    uint64_t uid; /* of the peer's worker */
#define LINK_PEER_BYTES 208 /* of a peer, without the state of the layer above, which follows */
typedef struct link_peer_head {
    LINK_PEER_HEAD
} link_peer_head_t;

/* The first fields of every lane, what a tl_ep_t.owner points to. */
#define LINK_LANE_HEAD                                                                                                 \
    vbn_peer_t *peer;          /* NULL until proved for accepted lanes */                                              \
    uint64_t rx_word;          /* bytes 0 to 7 of the peer's DATA packets */                                           \
    uint32_t rx_room;          /* packets with fewer bytes of upper header may go straight up; 0: none may */          \
    uint32_t local_connection; /* what the peer calls it in its packets */
typedef struct link_lane_head {
    LINK_LANE_HEAD
} link_lane_head_t;

/* Any packet, with all checks: what the fast lane does not take itself. */
void link_rx_other(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes);

static inline void *link_peer_upper_engine(const vbn_peer_t *peer)
{
    return ((const link_peer_head_t *)peer)->upper_engine;
}

/* upper_bytes of state. */
static inline void *link_peer_upper(const vbn_peer_t *peer)
{
    return (char *)(uintptr_t)peer + LINK_PEER_BYTES;
}

static inline const tl_caps_t *link_caps(const vbn_peer_t *peer)
{
    return ((const link_peer_head_t *)peer)->caps;
}

static inline uint64_t link_peer_uid(const vbn_peer_t *peer)
{
    return ((const link_peer_head_t *)peer)->uid;
}

/* The upper layer may have become quiet towards the peer. */
void link_quiet(vbn_peer_t *peer);
bool link_ready(const vbn_peer_t *peer);
/* One-sided operations will follow: a lane over a transport that does them pays from now on. */
void link_promote(vbn_peer_t *peer);
/* func runs exactly once unless the call fails (< 0): also when the peer is lost, then with the peer's status. It may
 * run before link_import returns, and waits while the peer is not READY. */
vbn_status_t link_import(vbn_peer_t *peer, const mem_key_info_t *info, tl_import_func_t func, void *arg);
/* Bulk data past the packets, to a READY peer over a transport that offers it: see tl_direct_t and tl_ops_t. */
bool link_direct(const vbn_peer_t *peer, tl_direct_t *direct_p);
vbn_status_t link_copy(vbn_peer_t *peer, bool write, void *local, uint64_t remote, size_t length);
bool link_present(const vbn_peer_t *peer);
#define LINK_DEVICES 4u /* of a worker; tl/verbs opens no more */
/* Transfers that devices carry out, over connections that each side knows by a number of its own. */
typedef struct link_access {
    bool write;
    uint32_t key; /* of the peer's device, and the address there */
    uint64_t remote;
    const struct iovec *iov; /* array and memory stay untouched until done */
    uint32_t iov_count;
    link_done_func_t done; /* an error: the connection is gone. Then it may be within any call, and must call no user */
    void *arg;
} link_access_t;
bool link_native_possible(const vbn_peer_t *peer); /* a transport of this worker could */
/* One connection over each device that may be used now, the best first: by our numbers or the peer's. Returns how many. */
unsigned link_natives(const vbn_peer_t *peer, bool ours, uint32_t connections[LINK_DEVICES]);
/* Of all connections over the devices of these (by the peer's numbers) the one with the least to do. */
typedef struct link_way {
    uint32_t connection; /* 0: none may be used any more */
    unsigned device;     /* index of the one whose device it shares */
    unsigned all;        /* how many there are */
    bool lasts;          /* it is not on its way to its end: what begins may use it */
} link_way_t;
link_way_t link_native_way(const vbn_peer_t *peer, const uint32_t *connections, unsigned count);
/* As tl_ops_t.access and ring; by the peer's number. */
vbn_status_t link_access(vbn_peer_t *peer, uint32_t connection, const link_access_t *access, uint32_t *taken_p);
void link_ring(vbn_peer_t *peer); /* all of its connections */
/* For the peer, which knows the connection by this number. */
vbn_status_t link_expose(vbn_peer_t *peer, uint32_t connection, uint64_t key_handle, mem_exposed_t *exposed_p);
/* The peer has lost that connection: afterwards nothing that comes late over it is carried out. The peer may have ended. */
void link_native_end(vbn_peer_t *peer, uint32_t connection);
/* The upper layer found the peer lying: the peer is LOST with this status as soon as the running upcall has returned
 * (from the next progress at the latest), with peer_down and the user's error callback. Safe inside rx and sink; no
 * upcall happens inside. text is copied. Later packets of the peer may be dropped at once. Idempotent. */
void link_fail(vbn_peer_t *peer, vbn_status_t status, const char *text);
void link_peer_set_user(vbn_peer_t *peer, void *user);
void *link_peer_user(const vbn_peer_t *peer);
size_t link_explain(const vbn_peer_t *peer, char *text, size_t capacity);
const char *link_peer_transport(const vbn_peer_t *peer);                    /* static; NULL without a lane */
vbn_status_t link_peer_host_user(const vbn_peer_t *peer, uint32_t *user_p); /* as vbn_peer_host_user */

#endif
