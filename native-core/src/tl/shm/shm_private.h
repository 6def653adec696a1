/* SPDX-License-Identifier: Apache-2.0
 * shm_private.h - interface and endpoint of the shared-memory transport. One worker thread owns all of it.
 *
 * Wire-up of a pair, each side the same:
 *   socket connected        PACKET messages carry small packets over the socket, in order
 *   trust()                 WANT{packet size}: "make me a ring"
 *   WANT in, and trusted    make the receive ring, RING{bytes} + descriptor
 *   (before RING            BELL{bytes, index} + descriptor: how to get the attention of a worker that does not poll it)
 *   RING in                 check, map, MAPPED; from then on packets go through the peer's ring only
 *   MAPPED in               the peer's last socket packet has been seen: start to poll the receive ring
 *   (MAPPED in              try to read the word of WANT in the peer's memory: are direct copies allowed?)
 *   both                    upcall ready(); ASK/ANSWER fetch descriptors of keys, WAKE ends a sleep
 *
 * Invariants: S1 order: a side's packets on the socket end before its MAPPED, its packets in the ring begin after.
 * S2 no descriptor leaves before trust(). S3 an endpoint is freed only outside of progress (the dead list), so that
 * upcalls may disconnect anything. S4 ep_error comes only from the failed list, once. */
#ifndef VBN_TL_SHM_PRIVATE_H
#define VBN_TL_SHM_PRIVATE_H

#include "base/list.h"
#include "base/os_own.h"
#include "base/seldom.h"
#include "tl/shm/shm_address.h"
#include "tl/shm/shm_bell.h"
#include "tl/shm/shm_ring.h"
#include "tl/tl.h"

#define SHM_FRAMES_PER_POLL 32u /* of one ring before the next ring's turn; up to a quarter ring more */
#define SHM_NOTES_PER_POLL 64u  /* socket messages of one endpoint before the next one's turn */
#define SHM_ACCEPTS_PER_POLL 16u
#define SHM_ASKS_MAX 64u           /* descriptors asked for and not answered, per endpoint */
#define SHM_ASKS_QUEUED_MAX 65536u /* waiting behind those */
#define SHM_OUTBOX_MAX 256u        /* answers that wait for the socket; more means the peer does not read */
#define SHM_SOCKET_POLL_NS 100000u /* idle sockets are looked at this often while the worker polls */
#define SHM_LIGHT_RINGS 16u        /* a worker with more has producers fence for good: no membarrier */

enum {
    SHM_PACKET = 1,
    SHM_WANT,
    SHM_RING,
    SHM_MAPPED,
    SHM_ASK,
    SHM_ANSWER,
    SHM_WAKE,
    SHM_BELL,
    SHM_REFUSED,
    SHM_NOTES
};

#define SHM_NOTE_BARRIER 1u /* WANT.flags: the sender is registered for membarrier */

/* One socket message. Host byte order: both sides are on one host. PACKET: the bytes of the packet follow. */
typedef struct shm_note {
    uint8_t type;
    uint8_t flags;
    uint16_t header_bytes; /* PACKET */
    int32_t status;        /* ANSWER, REFUSED */
    uint32_t id;           /* ASK, ANSWER; BELL: index of the bit */
    uint32_t packet_max;   /* WANT */
    uint64_t value; /* ASK: key handle; RING, BELL: bytes; WANT: trial.word; MAPPED: address of the sender's trial */
} shm_note_t;

_Static_assert(sizeof(shm_note_t) == 24, "socket message layout");

struct shm_ep;

/* Notes of a type that shm_socket.c itself does not handle. */
typedef struct shm_receiver {
    bool with_fd; /* a descriptor may come along */
    /* Called by progress for each one; takes over fd. fd_lost: one came, and there was no room for it. */
    void (*receive)(struct shm_ep *ep, const shm_note_t *note, int fd, bool fd_lost);
    void (*sent)(struct shm_ep *ep); /* called when one has left; NULL: nothing is to be done then */
} shm_receiver_t;

typedef struct shm_outgoing {
    list_link_t link;
    shm_note_t note;
    int fd; /* sent along and closed; -1 = none */
} shm_outgoing_t;

typedef struct shm_ask {
    list_link_t link;
    mem_key_info_t info;
    tl_import_func_t func;
    void *arg;
    uint32_t id;
} shm_ask_t;

/* A packet of ours that goes through a small ring in parts. */
typedef struct shm_cut {
    uint8_t *packet; /* header, then payload; NULL = none */
    uint32_t bytes;
    uint32_t header_bytes;
    uint32_t sent;
} shm_cut_t;

typedef struct shm_iface {
    tl_iface_t base;
    tl_params_t params;
    tl_caps_t caps;
    shm_address_t address;
    shm_geometry_t geometry; /* of rings made here; stride is then the peer's wish */
    int listen_fd;
    int epoll_fd;
    int reserve_fd; /* given up for a moment to refuse a connection when descriptors have run out */
    bool same_user;
    bool barrier; /* membarrier works here */
    bool armed;
    bool in_progress;
    bool no_copy_logged;
    bool no_ring_logged;
    bool grows;       /* rings made here begin small */
    bool attention;   /* look at the sockets in the next progress (shm_attend) */
    bool untidy;      /* failed, dead or ring_holes have something */
    seldom_t clock;   /* .in is 0 while attention or opening is set */
    unsigned opening; /* endpoints that are not ready */
    unsigned dialing; /* of them: connect() has to be repeated */
    uint64_t polled_ns;
    uint64_t looked_ns; /* shm_rings_look */
    list_link_t eps;
    list_link_t failed;    /* shm_ep_t.failed_link */
    list_link_t dead;      /* shm_ep_t.link */
    struct shm_ep **rings; /* endpoints with a ring, hot ones first; NULL = hole, closed after progress */
    uint32_t hot;
    uint32_t ring_count;
    uint32_t awake_looks; /* at the rings since this worker slept */
    uint32_t round;       /* counts the cold rings that were looked at */
    uint32_t ring_capacity;
    bool ring_holes;
    size_t ring_memory; /* bytes of rings made here that have memory */
    shm_bell_t *bell;   /* ours; its descriptor, and bytes of the mapping */
    int bell_fd;
    size_t bell_bytes;
    struct shm_ep **bell_rings; /* 64 per word: whose bit it is, NULL = free */
    uint32_t bell_words;
    uint32_t bell_from;              /* no bit below it is free */
    uint8_t *bounce;                 /* shm_direct.c; NULL until it is needed */
    const shm_receiver_t *receivers; /* SHM_NOTES rows, by type */
} shm_iface_t;

/* What the peer reads in this process's memory, to see whether it can. */
typedef struct shm_trial {
    uint64_t word;     /* random */
    uint64_t consents; /* mem_consents_cell */
} shm_trial_t;

typedef struct shm_ep {
    tl_ep_t base;
    list_link_t link;
    list_link_t failed_link;
    int fd;
    bool dialing;
    bool gone;   /* disconnected: no more upcalls */
    bool broken; /* in or past the failed list */
    bool hup;
    bool trusted;
    bool wanted; /* WANT came */
    bool ring_sent;
    bool tx_open;
    bool rx_open;
    bool rx_quick; /* rx_open, and the socket has not ended */
    bool ready;
    bool blocked; /* send said BUSY */
    bool peer_barrier;
    bool wants_out; /* EPOLLOUT is set */
    uint32_t peer_packet_max;
    uint32_t frames_after_hup;
    vbn_status_t error;
    char *error_text;
    struct sockaddr_un *target; /* while dialing */
    socklen_t target_bytes;
    shm_tx_t tx;
    shm_rx_t rx;
    shm_bell_t *tx_bell; /* the peer's; NULL = none */
    size_t tx_bell_bytes;
    uint32_t tx_bell_index;
    uint32_t bell_index; /* in our bell, or SHM_BELL_NONE */
    uint32_t ring_at;    /* in iface->rings, with in_rings */
    uint32_t busy_from;  /* rx.position when awake_looks was a multiple of those in shm_hot.c */
    uint32_t looked_rx;  /* positions at the last look */
    uint32_t looked_tx;
    uint16_t idle_looks;
    bool in_rings;
    size_t tx_bytes; /* of the mappings */
    size_t rx_bytes;
    size_t rx_committed; /* of them: with memory */
    bool growing;        /* GROW is in tx and not answered: nothing may follow it */
    uint32_t asked_at;   /* tx.position behind the last GROW */
    uint32_t strain;     /* sends since that met a full ring, or were cut */
    uint32_t earn;       /* what the next GROW takes */
    shm_cut_t cut;
    uint8_t *parts; /* of a packet of the peer's, peer_packet_max bytes, or NULL */
    uint32_t parts_bytes;
    list_link_t outbox; /* shm_outgoing_t */
    uint32_t outbox_count;
    list_link_t asks_queued; /* shm_ask_t */
    list_link_t asks_sent;
    uint32_t asks_queued_count;
    uint32_t asks_sent_count;
    uint32_t next_ask;
    uint64_t source;      /* of what is mapped for this connection */
    uint32_t claims_used; /* of the claims in rx */
    bool lent;            /* the peer may write into our memory, inside the guard in rx */
    uint64_t settle_ns;   /* a helper that copies when its claim is closed has until then; 0: none was met */
    bool copies;          /* the peer's memory can be read and written directly */
    pid_t process;        /* of the peer, as the kernel says */
    shm_trial_t trial;    /* what the peer reads of us */
    uint64_t peer_word;   /* what we should read */
    uint64_t peer_consents;
} shm_ep_t;

/* The next progress looks at the sockets. */
static inline void shm_attend(shm_iface_t *iface)
{
    iface->attention = true;
    iface->clock.in = 0;
}

static inline shm_iface_t *shm_ep_iface(const shm_ep_t *ep)
{
    return (shm_iface_t *)ep->base.iface;
}

/* shm_listen.c */
vbn_status_t shm_listen_open(shm_iface_t *iface);
void shm_listen_close(shm_iface_t *iface);
void shm_listen_accept(shm_iface_t *iface);

/* shm_user.c */
/* SO_PEERCRED against our own user id. */
vbn_status_t shm_check_user(int fd);
vbn_status_t shm_host_user(const tl_ep_t *ep, uint32_t *user_p);

/* shm_ep.c */
shm_ep_t *shm_ep_new(shm_iface_t *iface, int fd);
vbn_status_t shm_ep_watch(shm_ep_t *ep); /* into the epoll */
vbn_status_t shm_connect(tl_iface_t *iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p);
void shm_ep_redial(shm_ep_t *ep);
void shm_disconnect(tl_ep_t *ep, vbn_close_mode_t mode, uint64_t timeout_ns);
/* Unmaps and frees; drops what is left without upcalls. */
void shm_ep_free(shm_ep_t *ep);
void shm_ep_check_ready(shm_ep_t *ep);

/* shm_fail.c */
/* Puts it on the failed list; text is copied. The first failure counts. */
void shm_ep_fail(shm_ep_t *ep, vbn_status_t status, const char *text);
void shm_ep_stop_dialing(shm_ep_t *ep);
void shm_ep_close_rings(shm_ep_t *ep); /* nothing goes through them any more */

/* shm_send.c */
vbn_status_t shm_send(tl_ep_t *ep, const tl_packet_t *packet);
/* Lets src/fast put at most `most` packets into the ring (tx.limit). False: none. */
bool shm_short_open(shm_ep_t *ep, uint32_t most);

/* shm_tell.c */
void shm_ep_kick(shm_ep_t *ep); /* tells a polling peer that its socket has something */
void shm_ep_tell_now(shm_ep_t *ep, uint32_t how);
void shm_publish(shm_ep_t *ep); /* gives consumed slots back, wakes a producer that waits for them */
bool shm_barrier_register(void);
/* After flags were set: no producer that was in front of them is behind them any more. needed: some ring was not fenced
 * before. False: the order is not known, and the flags must be taken back. */
bool shm_order(shm_iface_t *iface, bool needed);
bool shm_barrier(void); /* every thread of registered processes has passed a full fence */

/* shm_small.c: while ep->tx.small, or ep->rx.small */
/* As shm_send when tx_open; VBN_BUSY, and what shm_tx_put says. */
vbn_status_t shm_small_send(shm_ep_t *ep, const tl_packet_t *packet);
bool shm_small_open(shm_ep_t *ep);       /* packets may be put; else `blocked` is set */
bool shm_small_room(const shm_ep_t *ep); /* after shm_tx_refresh: a blocked sender has something to do */
bool shm_small_unblock(shm_ep_t *ep);    /* does it; true: packets may be put if there is room */
void shm_small_begin(shm_ep_t *ep, size_t committed);
void shm_small_end(shm_ep_t *ep);
/* Frames GROW, PART and LAST, before they are consumed. Changes frame->data_at. Gives the packet that LAST completes, in memory
 * of the heap, which the caller frees, and how it lies there; NULL: none is complete. */
uint8_t *shm_small_frame(shm_ep_t *ep, shm_frame_t *frame, shm_frame_t *whole_p);

/* shm_socket.c */
/* Sends at once or queues; takes over fd. Failing breaks the endpoint. */
void shm_note_send(shm_ep_t *ep, const shm_note_t *note, int fd);
void shm_outbox_flush(shm_ep_t *ep);
void shm_ep_want_out(shm_ep_t *ep, bool wanted);
unsigned shm_socket_read(shm_ep_t *ep);

/* shm_wireup.c */
vbn_status_t shm_trust(tl_ep_t *ep);
/* Handles WANT, BELL, RING, MAPPED. Takes over fd. */
void shm_wireup_note(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost);
void shm_wireup_mapped_sent(shm_ep_t *ep);

/* shm_hot.c */
vbn_status_t shm_ring_join(shm_ep_t *ep); /* hot */
void shm_ring_leave(shm_ep_t *ep);
void shm_rings_close_holes(shm_iface_t *iface);
void shm_ring_heat(shm_ep_t *ep);            /* polled from now on */
void shm_rings_ask_bell(shm_iface_t *iface); /* heats rings whose bit is set */
void shm_rings_look(shm_iface_t *iface);     /* every 100 us: statistics, rings that get cold, a round over cold ones */
bool shm_bell_join(shm_ep_t *ep);            /* false: it has no bit and is always polled */
void shm_bell_leave(shm_ep_t *ep);

/* shm_import.c */
vbn_status_t shm_import(tl_ep_t *ep, const mem_key_info_t *info, tl_import_func_t func, void *arg);
void shm_import_ask_more(shm_ep_t *ep);
void shm_import_note(shm_ep_t *ep, const shm_note_t *note, int fd, bool fd_lost);
/* Completes (status) or, with call = false, drops everything that is pending. */
void shm_import_end(shm_ep_t *ep, vbn_status_t status, bool call);

/* shm_direct.c */
/* Tries whether the peer's memory can be read: its word is at address. */
void shm_direct_probe(shm_ep_t *ep, uint64_t address);
bool shm_direct(tl_ep_t *ep, tl_direct_t *direct_p);
vbn_status_t shm_copy(tl_ep_t *ep, bool write, void *local, uint64_t remote, size_t length);
bool shm_present(tl_ep_t *ep);
/* Closes our claims; false: a helper copies just now. */
bool shm_settled(tl_ep_t *ep);
void shm_direct_close(shm_ep_t *ep); /* waits until that is over */

/* shm_progress.c */
/* The ring's next frame, whatever it is; when there is none, what else is due. count: frames taken in this turn; returns
 * it, one higher when there was a frame. */
unsigned shm_poll_rest(shm_ep_t *ep, unsigned count);
unsigned shm_poll_sockets(shm_iface_t *iface);
unsigned shm_tidy(shm_iface_t *iface);
void shm_wake_up(shm_iface_t *iface); /* progress after shm_arm */
unsigned shm_progress(tl_iface_t *iface);
vbn_status_t shm_arm(tl_iface_t *iface);
bool shm_waiting(tl_iface_t *iface);

/* The statistics of short packets are brought up to date here: now and then, and at the end. */
static inline void shm_count_short(shm_ep_t *ep)
{
    shm_tx_t *tx = &ep->tx;
    counters_t *counters = shm_ep_iface(ep)->params.counters;
    uint32_t packets = tx->position - tx->counted;
    counter_add(counters, COUNTER_SHM_TX_PACKETS, packets);
    counter_add(counters, COUNTER_SHM_TX_BYTES, tx->short_bytes);
    tx->counted = tx->position;
    tx->short_bytes = 0;
}

/* Tells a consumer that has asked to be told. */
static inline void shm_ep_tell(shm_ep_t *ep)
{
    uint32_t how = shm_tx_must_tell(&ep->tx);
    if (UNLIKELY(how != 0))
        shm_ep_tell_now(ep, how);
}

/* A turn of progress, around its look at the rings. False: it is called from an upcall, there is no turn. */
static ALWAYS_INLINE bool shm_turn_begin(shm_iface_t *iface)
{
    if (UNLIKELY(iface->in_progress))
        return false;
    iface->in_progress = true;
    if (UNLIKELY(iface->armed))
        shm_wake_up(iface);
    if (UNLIKELY(iface->hot != iface->ring_count))
        shm_rings_ask_bell(iface);
    return true;
}

/* count: frames of this turn. Returns it with the other events that were handled. */
static ALWAYS_INLINE unsigned shm_turn_end(shm_iface_t *iface, unsigned count)
{
    if (UNLIKELY(iface->clock.in == 0))
        count += shm_poll_sockets(iface);
    else
        iface->clock.in--;
    iface->in_progress = false;
    if (UNLIKELY(iface->untidy))
        count += shm_tidy(iface);
    return count;
}

#endif
