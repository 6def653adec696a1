/* SPDX-License-Identifier: Apache-2.0
 * tcp_private.h - interface and endpoint of the TCP transport.
 *
 *   CONNECTING --connected--> OPENING --trust()--> READY        accepted endpoints start in OPENING
 *        \____________________ error _______________/--> FAILED --disconnect()--> GONE
 *   any --disconnect(FLUSH)--> FLUSHING (queue written, SHUT_WR, wait for the peer's end) --> GONE
 *
 * Everything belongs to the worker's thread. Upcalls may call send, trust and disconnect on any endpoint, so:
 * T1 a GONE endpoint is freed only at the end of progress(), never below an upcall. T2 after each upcall the state is
 * read again before the endpoint is touched. T3 send() makes no upcall: what goes wrong is noted in `broken` and
 * reported by progress(). T4 an endpoint with work that the kernel will not announce is in `pending`. T5 tx_done of
 * every queued cookie runs before ep_error; after disconnect() the endpoint reads no memory of its caller. */
#ifndef VBN_TL_TCP_PRIVATE_H
#define VBN_TL_TCP_PRIVATE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/hot.h"
#include "base/list.h"
#include "base/mpool.h"
#include "base/os.h"
#include "base/os_own.h"
#include "base/seldom.h"
#include "tl/tcp/tcp_address.h"
#include "tl/tcp/tcp_frame.h"
#include "tl/tcp/tcp_route.h"
#include "tl/tcp/tcp_sources.h"
#include "tl/tcp/tcp_targets.h"
#include "tl/tcp/tcp_tls.h"
#include "tl/tl.h"

_Static_assert(TCP_HEADER_MAX == TL_HEADER_MAX, "tcp_frame.h repeats tl.h");
_Static_assert(TCP_ADDRESS_BYTES_MAX <= TL_ADDRESS_MAX, "address fits");

#define TCP_RX_BYTES (64u << 10)   /* receive buffer of a trusted endpoint that has something in it */
#define TCP_RX_OPENING_BYTES 1024u /* of an untrusted one: one signalling frame and the start of the next */
#define TCP_RX_AHEAD_BYTES 1024u   /* read behind a large payload: the next packet's header, little of its payload */
#define TCP_EAGER_BEST (64u << 10) /* so much goes whole where the model agrees: an announcement costs a round trip */
#define TCP_DIRECT_MIN (31u << 10) /* payloads from here on are received in place (sink) when not yet buffered */
#define TCP_RX_PACKETS 64u         /* packets one endpoint may deliver per progress() */
#define TCP_RX_READS 16u           /* system calls one endpoint may make per progress() */
#define TCP_TX_QUEUE 16u           /* queued packets per endpoint */
#define TCP_TX_QUEUE_OPENING 3u    /* of an accepted, untrusted endpoint (memory bound) */
#define TCP_TX_INLINE (TCP_PREFIX_BYTES + TL_SIGNAL_MAX)
#define TCP_TX_TOGETHER (32u << 10) /* packets up to so many bytes wait for others of the same turn */
#define TCP_TX_ALONE 2u             /* packets of one turn that are written at once */
#define TCP_TX_BATCH (64u << 10)    /* bytes that are written together at most */
#define TCP_TX_IOVS 64u             /* pieces per sendmsg() */
#define TCP_EVENTS 64
#define TCP_ALIVE_TRIES 3u /* questions without an answer after which a host may be gone */
#define TCP_ERROR_TEXT 256

/* A packet on its way out: on the stack of send() at first, copied to the heap when the socket is full. */
typedef struct tcp_tx {
    list_link_t link;
    void *cookie;            /* NULL: no tx_done */
    void *copy;              /* owned copy of the payload, else NULL; single then points into it */
    const struct iovec *iov; /* the caller's array, or &single */
    uint32_t iov_count;
    mem_lease_t *lease; /* of tl_packet_t: iov is looked at inside it only */
    uint32_t iov_index; /* first piece not wholly written */
    size_t iov_offset;  /* bytes of it that are written */
    struct iovec single;
    uint32_t head_bytes;  /* prefix + header (+ small copied payload) in head */
    uint32_t head_offset; /* written part of head */
    size_t rest_bytes;    /* not yet written, head and payload */
    uint8_t head[TCP_TX_INLINE];
} tcp_tx_t;

typedef enum tcp_state {
    TCP_CONNECTING,
    TCP_OPENING,
    TCP_READY,
    TCP_FLUSHING,
    TCP_FAILED,
    TCP_GONE,
} tcp_state_t;

typedef struct tcp_iface tcp_iface_t;

typedef struct tcp_ep {
    tl_ep_t base;
    tcp_iface_t *iface;
    list_link_t all;       /* in iface->eps, or iface->gone */
    list_link_t pending;   /* in iface->pending, or alone (T4) */
    list_link_t untrusted; /* accepted and not trusted: in iface->untrusted, oldest first */
    tcp_source_t *source;  /* meanwhile; NULL: it counts for nobody */
    list_link_t timed;     /* deadline_ns counts: in iface->timed */
    list_link_t watched;   /* the peer may not have all yet: in iface->watched */
    uint64_t deadline_ns;
    uint64_t acked_ms;            /* watched: when its kernel acknowledged last, as known; */
    uint32_t repeated, timed_out; /* what the kernel had counted by then */
    int fd;                       /* -1: closed */
    tcp_tls_t *tls;               /* NULL: plain */
    tcp_state_t state;
    uint32_t epoll_mask; /* registered events, 0 = not registered */
    int broken;          /* errno of a failed send, 0 = none (T3) */
    bool trusted;
    bool announce_ready;
    bool want_tx_ready; /* said VBN_BUSY */
    bool delivering;    /* packets of its buffer are being handed up */
    bool gathering;     /* packets were queued because of that: written at the end of the turn */
    bool detached;      /* disconnect(FLUSH) was called: no upcalls any more */
    bool write_ended;   /* SHUT_WR done */
    bool read_ended;    /* flushing, and the peer's end was seen */
    uint64_t flush_due_ns;

    /* receive: rx[rx_head .. rx_tail) is not yet handed up */
    uint8_t *rx; /* trusted: TCP_RX_BYTES while a packet is cut or being read, else NULL (iface->rx_spare) */
    uint32_t rx_capacity;
    uint32_t rx_head;
    uint32_t rx_tail;
    /* large payload being received; its header lies at rx[0 .. large_header) */
    uint8_t *large; /* NULL = none; sink's memory, or assembly */
    uint32_t large_bytes;
    uint32_t large_have;
    uint32_t large_header;
    uint8_t *assembly;
    uint32_t assembly_bytes;

    list_link_t tx;
    list_link_t written; /* of tx, wholly written: tx_done follows in progress() */
    uint32_t tx_count;
    uint32_t turn; /* of the interface, when turn_packets were sent */
    uint32_t turn_packets;
    uint32_t queued_bytes; /* since gathering began */

    tcp_address_t *targets; /* while connecting, owned */
    uint32_t target;
    uint64_t target_due_ns; /* end of the whole attempt; accepted: from then on it makes room for others */
    tcp_ip_t peer_ip;
    uint16_t peer_port;
} tcp_ep_t;

struct tcp_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;      /* towards other hosts, at the interface's speed */
    tl_caps_t near_caps; /* towards this host */
    tcp_address_t address;
    tcp_choice_t choice;
    tcp_tls_context_t *tls;          /* NULL: plain */
    tcp_nets_t nets;                 /* when it was opened */
    int listen_fds[TCP_ADDRESS_IPS]; /* one for each of address.ips */
    int epoll_fd;
    int timer_fd;   /* armed for the nearest deadline of `timed` */
    int reserve_fd; /* given up for a moment to refuse connections when descriptors are exhausted */
    bool limit_logged;
    struct tcp_ep *hot; /* read without asking epoll first: it brought packets within the last few turns; NULL = none */
    uint32_t hot_turns; /* since hot brought something */
    uint32_t unlooked;  /* turns since the last look at epoll */
    bool idle;          /* the last look at epoll found nothing */
    bool progressing;
    uint32_t turn; /* counts progress() */
    uint32_t ep_count;
    uint32_t untrusted_count;
    uint32_t guest_count;    /* connections that wait for a place */
    uint32_t process_guests; /* that may wait at all interfaces of the process */
    uint64_t looked_ns;
    seldom_t clock;    /* while there is no connection */
    uint64_t timer_ns; /* time the timer is armed for, 0 = not armed */
    uint64_t look_ns;  /* next look at the watched, 0 = none */
    list_link_t eps;
    list_link_t pending;
    list_link_t untrusted;
    list_link_t timed;
    list_link_t watched;
    list_link_t gone;
    list_link_t guests_gone; /* freed at the end of progress() */
    tcp_sources_t sources;
    mpool_t tx_pool;
    uint8_t *rx_spare; /* the receive buffer of whoever is read next; NULL = none yet, or lent */
};

static inline tcp_iface_t *tcp_iface_of(const tl_iface_t *iface)
{
    return container_of(iface, tcp_iface_t, base);
}

static inline tcp_ep_t *tcp_ep_of(tl_ep_t *ep)
{
    return container_of(ep, tcp_ep_t, base);
}

/* Is there a socket that may be read and written? */
static inline bool tcp_ep_is_open(const tcp_ep_t *ep)
{
    return ep->state == TCP_OPENING || ep->state == TCP_READY || ep->state == TCP_FLUSHING;
}

/* tcp_options.c */
void tcp_socket_options(const tcp_iface_t *iface, int fd); /* of every socket: buffers, keep-alive */
void tcp_option(int fd, int level, int option, uint64_t value);

/* tcp_listen.c */
vbn_status_t tcp_listen_open(tcp_iface_t *iface);
void tcp_listen_close(tcp_iface_t *iface);
bool tcp_listen_owns(const tcp_iface_t *iface, const void *event); /* is it a listener that epoll names? */
unsigned tcp_listen_accept(tcp_iface_t *iface, const void *event); /* returns connections accepted or refused */

/* tcp_stranger.c */
void tcp_stranger_enter(tcp_ep_t *ep);  /* it takes a place */
void tcp_stranger_leave(tcp_ep_t *ep);  /* if it is unauthenticated: it has proved the key, or ends */
void tcp_stranger_proved(tcp_ep_t *ep); /* its host is preferred from now on */

/* tcp_places.c */
void tcp_places_init(tcp_iface_t *iface);
void tcp_places_close(tcp_iface_t *iface);
/* A connection has come: it gets an endpoint, waits for a place, or is closed. */
void tcp_places_enter(tcp_iface_t *iface, int fd, const struct sockaddr *from);
bool tcp_places_owns(const void *event); /* is it a waiting connection that epoll names? */
void tcp_places_event(tcp_iface_t *iface, void *event);
bool tcp_places_ready(const tcp_iface_t *iface); /* would tcp_places_admit do something? */
unsigned tcp_places_admit(tcp_iface_t *iface);   /* returns connections that have got a place */
void tcp_places_reap(tcp_iface_t *iface);

/* tcp_connect.c */
/* What address names, decoded, in the order in which it is tried. VBN_ERR_UNREACHABLE, VBN_ERR_PROTOCOL, VBN_ERR_VERSION. */
vbn_status_t tcp_connect_targets(const tcp_iface_t *iface, const void *address, size_t length,
                                 tcp_address_t *targets_p);
vbn_status_t tcp_connect(tl_iface_t *iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p);
void tcp_connect_event(tcp_ep_t *ep);   /* the socket became writable or failed */
void tcp_connect_expired(tcp_ep_t *ep); /* the current address took too long */

/* tcp_ep.c */
tcp_ep_t *tcp_ep_new(tcp_iface_t *iface, tcp_state_t state); /* NULL: out of memory, recorded */
/* The socket is connected: TLS begins if it is wanted. Else VBN_OK. */
vbn_status_t tcp_ep_secure(tcp_ep_t *ep, bool initiator);
vbn_status_t tcp_ep_watch(tcp_ep_t *ep); /* registers the events that the state needs */
void tcp_ep_close_socket(tcp_ep_t *ep);
void tcp_ep_pend(tcp_ep_t *ep);
void tcp_ep_peer_text(const tcp_ep_t *ep, char text[TCP_ENDPOINT_TEXT]);

/* tcp_timer.c */
void tcp_ep_set_deadline(tcp_ep_t *ep, uint64_t deadline_ns);
void tcp_ep_clear_deadline(tcp_ep_t *ep);
void tcp_timer_by(tcp_iface_t *iface, uint64_t due_ns);        /* it fires then at the latest */
uint64_t tcp_timer_take(tcp_iface_t *iface);                   /* it has fired: the time now */
tcp_ep_t *tcp_timer_next(tcp_iface_t *iface, uint64_t now_ns); /* one whose deadline has come, which it has no more */
void tcp_timer_again(tcp_iface_t *iface);                      /* sets the timer to the next deadline */

/* tcp_end.c */
/* Ends the endpoint with upcalls tx_done and ep_error; a flushing one silently. From progress() only. */
void tcp_ep_fail(tcp_ep_t *ep, vbn_status_t status, const char *format, ...) BASE_PRINTF(3, 4);
vbn_status_t tcp_trust(tl_ep_t *ep);
void tcp_disconnect(tl_ep_t *ep, vbn_close_mode_t mode, uint64_t timeout_ns);
void tcp_ep_flush_step(tcp_ep_t *ep); /* flushing: ends our direction once the queue is written, retires after both */
void tcp_ep_retire(tcp_ep_t *ep);     /* to GONE: closes, drops, frees at the end of progress */
void tcp_ep_reap(tcp_iface_t *iface);

/* tcp_alive.c */
void tcp_alive_watch(tcp_ep_t *ep);                       /* not watched yet */
void tcp_alive_look(tcp_iface_t *iface, uint64_t now_ns); /* if it is time */
static inline void tcp_alive_wrote(tcp_ep_t *ep)
{
    if (UNLIKELY(list_empty(&ep->watched)))
        tcp_alive_watch(ep);
}

/* tcp_rx.c */
void tcp_resink(tl_ep_t *ep);
unsigned tcp_rx_progress(tcp_ep_t *ep); /* returns packets delivered, or 1 for a failure */

/* tcp_tx.c */
vbn_status_t tcp_send(tl_ep_t *ep, const tl_packet_t *packet);
unsigned tcp_tx_progress(tcp_ep_t *ep); /* writes the queue; returns packets completed */

/* tcp_queue.c */
vbn_status_t tcp_tx_own(tcp_tx_t *tx); /* replaces the caller's payload by an own copy of the unwritten rest */
void tcp_tx_free(tcp_ep_t *ep, tcp_tx_t *tx);
vbn_status_t tcp_tx_detach(tcp_ep_t *ep); /* copies payloads that still belong to the caller */
void tcp_tx_drop(tcp_ep_t *ep, bool upcalls, vbn_status_t status);

#endif
