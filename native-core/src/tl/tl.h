/* SPDX-License-Identifier: Apache-2.0
 * tl.h - what a transport is: packets to one remote interface, and nothing else. With TL_CAP_RELIABLE each
 * arrives once, in order, or the endpoint fails. Without it (datagrams) packets may be lost, duplicated or reordered, a
 * peer's end is not noticed, and a late packet may create an accepted endpoint: the link copes with all that.
 * Message semantics, order across lanes, credits, authentication live above.
 *
 * An interface (tl_iface_t) belongs to one worker thread; so do its endpoints. Upcalls run inside progress() (and
 * ep_error, tx_ready never from inside send()). A transport never blocks, never calls exit, never logs an error that it
 * also returns.
 *
 * Life of an endpoint
 *   connect() or upcall accepted()  -> OPENING   packets may be sent at once; they are queued or carried by a slow
 *                                                 signalling path. Only small ones (<= TL_SIGNAL_MAX) are allowed.
 *   trust()      by the link layer once the peer has proved the job key: a transport that shares resources (shm: ring
 *                memory) does so only now. Both sides call it.
 *   upcall ready() -> READY         full-size packets, full speed. (tcp: called from trust()'s next progress.)
 *   upcall ep_error() -> FAILED     the link must call disconnect(); nothing else is allowed.
 *   disconnect() -> gone            no upcall for this endpoint afterwards. FLUSH: what send() took is still written
 *                                   (in the background, at most the given time); NOW: dropped.
 */
#ifndef VBN_TL_TL_H
#define VBN_TL_TL_H

#include "base/counters.h"
#include "base/log.h"
#include "base/settings.h"
#include "mem/expose.h"
#include "mem/lease.h"
#include "tl/guard.h"

#define TL_SIGNAL_MAX 512  /* bytes of header + payload while OPENING */
#define TL_HEADER_MAX 320  /* bytes of packet header */
#define TL_ADDRESS_MAX 256 /* bytes of a transport's part of the worker address */

typedef struct tl_ops tl_ops_t;

typedef struct tl_iface {
    const tl_ops_t *ops;
} tl_iface_t;

typedef struct tl_ep {
    tl_iface_t *iface;
    void *owner; /* the link layer's lane; set by connect()'s argument or by the accepted() upcall */
} tl_ep_t;

/* Membership in a multicast group. */
typedef struct tl_group {
    tl_iface_t *iface;
    void *owner; /* the link layer's */
} tl_group_t;

/* One packet. header is always copied. Payload: see send(). */
typedef struct tl_packet {
    const void *header;
    uint32_t header_bytes;
    uint32_t payload_bytes; /* sum of iov */
    const struct iovec *iov;
    uint32_t iov_count;
    void *cookie; /* given to tx_done when send() says VBN_INPROGRESS */
    bool patient; /* its sender waits for an answer in progress(): may leave with others, there at the latest */
    /* NULL, or the payload's: send() is called inside it; who looks at iov later enters it, and a device that would read
     * the memory later gets a copy. */
    mem_lease_t *lease;
} tl_packet_t;

/* One transfer between memory here and memory that the peer's device serves. */
typedef struct tl_access {
    bool write; /* to the peer, else from it */
    uint32_t key;
    uint64_t remote;         /* the peer's address */
    const struct iovec *iov; /* array and memory stay untouched until access_done */
    uint32_t iov_count;
    void *cookie;
} tl_access_t;

typedef struct tl_upcalls {
    void *arg; /* the link engine; passed to accepted */
    void (*accepted)(void *arg, tl_ep_t *ep);
    void (*ready)(tl_ep_t *ep);
    /* A whole packet: header bytes as sent, and payload. payload is the transport's buffer, valid during the call, or
     * the address that sink() gave. */
    void (*rx)(tl_ep_t *ep, const void *header, uint32_t header_bytes, const void *payload, uint32_t payload_bytes);
    /* Optional placement: asked when a large payload is about to be copied; returns where all payload_bytes may be
     * written, or NULL for the transport's own buffer. rx follows with that address, or ep_error. */
    void *(*sink)(tl_ep_t *ep, const void *header, uint32_t header_bytes, uint32_t payload_bytes);
    /* Optional, around whatever is written to a place of sink(), one copy or one system call at a time. write_begin:
     * false: the place is nobody's to write any more (its owner has freed it), from here on; rx may bring anything as
     * that payload. Between the two no other upcall. */
    bool (*write_begin)(tl_ep_t *ep, const void *place);
    void (*write_end)(tl_ep_t *ep, const void *place);
    void (*tx_done)(tl_ep_t *ep, void *cookie, vbn_status_t status);
    void (*tx_ready)(tl_ep_t *ep); /* after send() said VBN_BUSY: room again */
    /* What access() took is done: read, or visible at the peer. After ep_error none comes: the link takes them back. */
    void (*access_done)(tl_ep_t *ep, void *cookie);
    void (*alive)(tl_ep_t *ep); /* the peer's process has answered probe() */
    void (*ep_error)(tl_ep_t *ep, vbn_status_t status, const char *text);
    /* What another worker, of that uid, sent to a group joined here; may come twice, late or not at all. leave() may be called
     * inside. */
    void (*group_rx)(tl_group_t *group, uint64_t source, const void *payload, uint32_t bytes);
} tl_upcalls_t;

static inline bool tl_write_begin(const tl_upcalls_t *upcalls, tl_ep_t *ep, const void *place)
{
    return upcalls->write_begin == NULL || upcalls->write_begin(ep, place);
}

static inline void tl_write_end(const tl_upcalls_t *upcalls, tl_ep_t *ep, const void *place)
{
    if (upcalls->write_end != NULL)
        upcalls->write_end(ep, place);
}

typedef struct tl_params {
    const settings_t *settings;
    const log_sink_t *log;
    counters_t *counters;
    mem_registry_t *memory; /* shm: descriptors of keys */
    uint64_t worker_uid;    /* random, not 0 */
    unsigned device;        /* which of tl_ops_t.devices this interface is for */
    const uint8_t *job_key; /* 32 bytes, as long as the interface; NULL with security.auth=none */
    tl_upcalls_t upcalls;
} tl_params_t;

enum {
    TL_CAP_RELIABLE = 1u << 0, /* each packet once and in order, or the endpoint fails */
    TL_CAP_MAP = 1u << 1,      /* import() works: same-host memory can be mapped */
    TL_CAP_COPIES = 1u << 2,   /* send() never says VBN_INPROGRESS: it has copied what it took */
    TL_CAP_BREAKS = 1u << 3,   /* a connection may break while both workers live */
    TL_CAP_COSTLY = 1u << 4,   /* connections take what a device is short of: peers start elsewhere and are promoted */
    TL_CAP_NATIVE = 1u << 5,   /* expose(), access() and ring() work: devices read and write the peers' memory */
    TL_CAP_GROUPS = 1u << 6,   /* join(), leave() and cast() work: packets to many at once, unreliable */
    TL_CAP_TLS = 1u << 7,      /* what connections carry is encrypted by TLS 1.3 */
    TL_CAP_SELF = 1u << 8,     /* reaches its own worker, which no other transport does, and nobody else */
};

typedef struct tl_caps {
    unsigned flags;
    uint32_t packet_max;   /* header + payload bytes when READY */
    uint32_t eager_best;   /* payload up to which a message should go whole */
    uint32_t stream_chunk; /* best payload of a bulk packet */
    uint32_t unread_max;   /* TL_CAP_BREAKS: packets that its program has not acknowledged, at most; 0: any number */
    uint32_t group_max;    /* TL_CAP_GROUPS: bytes of a packet to a group */
    uint32_t traffic;      /* TRAFFIC_AT(way): where its operations are counted */
    /* For the cost model, rough. What the host itself takes is added to latency and bandwidth from its own figures. */
    uint32_t latency_ns;   /* of a packet, beyond its handovers and system calls */
    uint32_t mbytes_per_s; /* the model takes the copies instead where memory can be mapped */
    uint8_t handovers;     /* of cache lines from one core to another, per packet */
    uint8_t syscalls;      /* per packet, both sides */
    uint8_t copies;        /* of each byte, both sides, on its way to its place */
} tl_caps_t;

#define TL_CLAIMS 16u /* transfers of one direction of a pair that both sides may copy together at a time */

/* Ways of bulk data past the packets, to one READY peer. */
typedef struct tl_direct {
    bool copies;       /* copy() works */
    uint64_t consents; /* with it: where the peer's process has the address of its table of consents (mem/consent.h) */
    uint64_t source;   /* of imports from this peer (mem.h) */
    _Atomic uint64_t *ours;   /* TL_CLAIMS words shared with the peer (claim.h), handed out here */
    uint32_t *used;           /* bit per claim of ours that is handed out: the caller sets and clears it */
    _Atomic uint64_t *theirs; /* handed out by the peer; it may write anything into them, and into ours */
    guard_t guard;            /* entered before memory of the peer is written in place, other than by copy() */
    bool *lent;               /* the caller sets it before the peer is asked to write so */
} tl_direct_t;

typedef void (*tl_import_func_t)(void *arg, vbn_status_t status, mem_import_t *import);

struct tl_ops {
    const char *name;
    /* Optional: how many devices the settings ask for, each to be opened as an interface of its own; NULL: one. A device
     * reaches those of the same place among the peer's. */
    unsigned (*devices)(const settings_t *settings);
    vbn_status_t (*open)(const tl_params_t *params, tl_iface_t **iface_p);
    void (*close)(tl_iface_t *iface); /* drops all endpoints, no upcalls */
    const tl_caps_t *(*caps)(const tl_iface_t *iface);
    /* Optional: caps of a READY endpoint, where some peers are nearer than others. They live as long as the interface. */
    const tl_caps_t *(*ep_caps)(const tl_ep_t *ep);
    /* Writes this interface's address, at most TL_ADDRESS_MAX bytes. */
    vbn_status_t (*address)(const tl_iface_t *iface, void *buffer, size_t *length_p);
    /* VBN_OK when the (untrusted, bounded) address can be reached from here, else VBN_ERR_UNREACHABLE or PROTOCOL; reason
     * gets one clause either way, e.g. "same host 8f3a, socket @vbn-..". Does not block. */
    vbn_status_t (*reachable)(const tl_iface_t *iface, const void *address, size_t length, char *reason,
                              size_t capacity);
    /* Returns the number of events handled. */
    unsigned (*progress)(tl_iface_t *iface);
    /* VBN_OK: nothing is waiting and event_fd will become readable when something arrives; else VBN_BUSY. */
    vbn_status_t (*arm)(tl_iface_t *iface);
    /* Optional: a cheap look, without side effects, whether progress() would find something; for a worker that waits a moment
     * before it sleeps. May miss what arm() finds. */
    bool (*waiting)(tl_iface_t *iface);
    int (*event_fd)(const tl_iface_t *iface); /* -1 = never needs waiting (self) */
    vbn_status_t (*connect)(tl_iface_t *iface, const void *address, size_t length, void *owner, tl_ep_t **ep_p);
    vbn_status_t (*trust)(tl_ep_t *ep);
    void (*disconnect)(tl_ep_t *ep, vbn_close_mode_t mode, uint64_t timeout_ns);
    /* Optional: a packet that is being received into a place of sink() asks once more: when the answer is another one (NULL:
     * the operation has ended, or the packet came another way) nothing is written to the first place from here on, and rx
     * may bring anything as its payload. Transports that receive a payload within one progress call need it not. */
    void (*resink)(tl_ep_t *ep);
    /* VBN_OK: taken, payload may be reused. VBN_INPROGRESS: taken, payload in use until tx_done(cookie) (only when
     * cookie != NULL; with NULL the transport copies what it cannot send at once). VBN_BUSY: not taken, tx_ready will
     * come. VBN_ERR_INVALID: not taken, the packet is larger than the endpoint takes or its iov does not add up; the endpoint
     * lives. Other errors: endpoint failed, ep_error follows from progress. */
    vbn_status_t (*send)(tl_ep_t *ep, const tl_packet_t *packet);
    /* Optional, of READY endpoints: sends a keep-alive probe that the peer answers without its program. Datagrams: the
     * peer's process answers, and the upcall alive() tells; a process that is gone does not. Connections: the peer's
     * device answers or the endpoint fails; NULL where the kernel notices a host or process that is gone. Costs at most a
     * small packet, which may be lost. */
    void (*probe)(tl_ep_t *ep);
    /* TL_CAP_MAP only: maps the memory of a peer's key; func runs from progress or at once. */
    vbn_status_t (*import)(tl_ep_t *ep, const mem_key_info_t *info, tl_import_func_t func, void *arg);
    /* Optional, direct, copy and present together. direct: false when there is nothing past the packets. After disconnect() no
     * helper of a claim in use writes any more. */
    bool (*direct)(tl_ep_t *ep, tl_direct_t *direct_p);
    /* Moves bytes between `local` here and `remote` in the peer's process, all or a part with an error. Blocks for the
     * copy: callers keep `length` small. */
    vbn_status_t (*copy)(tl_ep_t *ep, bool write, void *local, uint64_t remote, size_t length);
    /* Optional, with them: nothing more is handed to helpers. False: one writes just now; asked again, it says true after a
     * second at the latest. disconnect() waits for that, so it is asked before; also of an endpoint that has failed. */
    bool (*settled)(tl_ep_t *ep);
    /* False when the peer may have ended or let go of us: what was copied before cannot be relied on. */
    bool (*present)(tl_ep_t *ep);
    /* Optional: the user id of the peer's process, from the kernel and not from the peer (vbn_peer_host_user). */
    vbn_status_t (*host_user)(const tl_ep_t *ep, uint32_t *user_p);
    /* TL_CAP_NATIVE only, of READY endpoints. expose: what the peer needs to reach the memory of this key of ours through
     * access(), until the key is revoked. */
    vbn_status_t (*expose)(tl_ep_t *ep, uint64_t key_handle, mem_exposed_t *exposed_p);
    /* VBN_INPROGRESS: the first *taken_p bytes are taken, access_done follows; ring() hands over all that was taken
     * since. VBN_BUSY: room when one of those under way is done. < 0: endpoint failed, ep_error follows. A refusal by the
     * peer's device ends the endpoint. They have no order among each other or with packets. */
    vbn_status_t (*access)(tl_ep_t *ep, const tl_access_t *access, uint32_t *taken_p);
    void (*ring)(tl_ep_t *ep);
    /* TL_CAP_GROUPS only. A group is an IP multicast address, IPv4 as ::ffff:a.b.c.d. join: VBN_ERR_UNSUPPORTED when the port
     * cannot have that one. close() leaves all. */
    vbn_status_t (*join)(tl_iface_t *iface, const uint8_t address[16], void *owner, tl_group_t **group_p);
    void (*leave)(tl_group_t *group);
    /* To all other members, at most caps.group_max bytes, copied. VBN_BUSY: not taken, room after some progress. */
    vbn_status_t (*cast)(tl_group_t *group, const struct iovec *iov, uint32_t iov_count);
};

extern const tl_ops_t tl_self_ops;
extern const tl_ops_t tl_shm_ops;
extern const tl_ops_t tl_tcp_ops;
extern const tl_ops_t tl_rc_ops; /* without libibverbs' headers at build time these two never open */
extern const tl_ops_t tl_ud_ops;

#endif
