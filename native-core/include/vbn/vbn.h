/* SPDX-License-Identifier: Apache-2.0
 * vbn.h - the one public header of Verbena's native core.
 *
 * Objects: context (process identity, settings, memory) -> worker (one thread's engine) -> peer
 * (another worker, here or elsewhere), and memory with remote keys. Verbs: active message, tagged message,
 * put, get, atomic.
 *
 * Threading: a context may be used from any thread; everything that takes a worker or a peer belongs to
 * the one thread that drives that worker. Two contexts in one process do not share anything.
 *
 * Completion: every operation takes a caller-embedded vbn_op_t. A call returns
 *   VBN_OK          complete: buffers may be reused, op->done is NOT called.
 *   VBN_INPROGRESS  op->done is called later, from vbn_progress() on the worker's thread.
 *   < 0             failed without effect: op->done is NOT called. vbn_error_text() has the cause.
 * Ordering: active messages from one worker to one peer are handled in the order they were sent. One-sided operations
 * have no order unless vbn_fence or the completion of an op gives it.
 */
#ifndef VBN_VBN_H
#define VBN_VBN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBN_API __attribute__((visibility("default")))
#define VBN_VERSION_MAJOR 0
#define VBN_VERSION_MINOR 1
#define VBN_VERSION_STRING "0.1.0"

/* ------------------------------------------------------------------------------------------ status */

typedef enum vbn_status {
    VBN_OK = 0,                /* done */
    VBN_INPROGRESS = 1,        /* completes later through its op */
    VBN_BUSY = 2,              /* vbn_arm: there is work, do not sleep */
    VBN_ERR_INVALID = -1,      /* an argument is wrong */
    VBN_ERR_NO_MEMORY = -2,    /* heap, pool or tmpfs space is exhausted */
    VBN_ERR_LIMIT = -3,        /* a limit (setting, ulimit, quota) would be exceeded */
    VBN_ERR_SETTING = -4,      /* unknown setting or bad value */
    VBN_ERR_UNREACHABLE = -5,  /* no transport reaches the peer */
    VBN_ERR_AUTH = -6,         /* the peer does not know the job key */
    VBN_ERR_VERSION = -7,      /* the peer speaks another protocol version */
    VBN_ERR_PEER_LOST = -8,    /* the peer died or its connection broke */
    VBN_ERR_CLOSED = -9,       /* object closed while the operation was pending */
    VBN_ERR_STALE = -10,       /* handle or key of an object that is gone (generation differs) */
    VBN_ERR_RANGE = -11,       /* address range outside the key or memory */
    VBN_ERR_ACCESS = -12,      /* right missing, or file permissions forbid */
    VBN_ERR_TRUNCATED = -13,   /* receive buffer smaller than the message */
    VBN_ERR_PROTOCOL = -14,    /* the peer sent something malformed */
    VBN_ERR_TIMEOUT = -15,     /* no answer within the stated time */
    VBN_ERR_SYSTEM = -16,      /* a system call failed; the text names the call and the cause */
    VBN_ERR_FORKED = -17,      /* called in a child after fork() */
    VBN_ERR_UNSUPPORTED = -18, /* this build or host cannot do it */
    VBN_ERR_CORRUPT = -19,     /* stored or received data fails its checks */
    VBN_ERR_IN_USE = -20,      /* another process or worker has the port or address */
    VBN_STATUS_LAST = -21
} vbn_status_t;

/* Short constant name of a status, e.g. "VBN_ERR_AUTH". Any thread. */
VBN_API const char *vbn_status_name(vbn_status_t status);

/* Text of the calling thread's last failure: cause, contexts appended by callers, and the cure where one is known.
 * Failed operations and lost peers are failures of the thread inside vbn_progress. `done` and the error function find
 * the cause in the text; after vbn_progress the text is that of the last failure. Valid until the thread's next
 * failure. Never NULL. */
VBN_API const char *vbn_error_text(void);

/* ------------------------------------------------------------------------------------------ config */

typedef struct vbn_config vbn_config_t;
typedef struct vbn_context vbn_context_t;
typedef struct vbn_worker vbn_worker_t;
typedef struct vbn_peer vbn_peer_t;
typedef struct vbn_mem vbn_mem_t;
typedef struct vbn_key vbn_key_t;
typedef struct vbn_mapping vbn_mapping_t;
typedef struct vbn_group vbn_group_t;

typedef enum vbn_log_level { VBN_LOG_ERROR, VBN_LOG_WARN, VBN_LOG_INFO, VBN_LOG_DEBUG } vbn_log_level_t;

/* Subject of a log line, so that programs need not parse the text. */
typedef enum vbn_log_category {
    VBN_LOG_PROCESS,  /* this process: settings, limits, memory, devices, listeners */
    VBN_LOG_PEER,     /* a peer and its transport; the peer stays connected */
    VBN_LOG_PEER_LOST /* a peer was lost, dropped or refused; its users get a status, too */
} vbn_log_category_t;

typedef struct vbn_log_record {
    vbn_log_level_t level;
    vbn_log_category_t category;
    uint64_t peer;    /* vbn_peer_uid; 0: the line is about no peer, or about one that is not authenticated */
    const char *text; /* one line without its end, valid during the call */
} vbn_log_record_t;

/* Called for each log line, from any thread; must not call back into the core. */
typedef void (*vbn_log_func_t)(void *arg, const vbn_log_record_t *record);

#define VBN_JOB_KEY_BYTES 32

/* Settings start from their defaults; the environment (VBN_*) overrides them, and vbn_config_set overrides both. A
 * bad value is an error, and so is an unknown VBN_* name that resembles a setting; the text suggests the nearest
 * setting (docs/settings.md lists all). Other unknown VBN_* names (VBN_HOME) belong to other software: vbn_open logs
 * a warning and continues. */
VBN_API vbn_status_t vbn_config_create(vbn_config_t **config_p);
VBN_API void vbn_config_destroy(vbn_config_t *config);
VBN_API vbn_status_t vbn_config_set(vbn_config_t *config, const char *key, const char *value);
/* Sets a default of this program. Has no effect, and returns VBN_OK, if the environment or vbn_config_set has a
 * value. */
VBN_API vbn_status_t vbn_config_prefer(vbn_config_t *config, const char *key, const char *value);
/* Reads a value, as vbn_setting does of a context. */
VBN_API vbn_status_t vbn_config_get(const vbn_config_t *config, const char *key, char *text, size_t capacity,
                                    int64_t *number_p);
/* The 256-bit secret shared by the job's processes; copied. Without it vbn_open fails unless security.auth=none. */
VBN_API vbn_status_t vbn_config_set_job_key(vbn_config_t *config, const uint8_t key[VBN_JOB_KEY_BYTES]);
/* Reads the job key from a file of `vbn-info --new-key FILE`, with 64 hexadecimal digits. The file must be a plain
 * file of this user or root. Only its owner may write it, its group may read it, and others have no right.
 * VBN_ERR_ACCESS: wrong owner or mode; VBN_ERR_SETTING: the file contains no key. */
VBN_API vbn_status_t vbn_config_read_job_key(vbn_config_t *config, const char *path);
VBN_API void vbn_config_set_log(vbn_config_t *config, vbn_log_func_t func, void *arg);

/* ----------------------------------------------------------------------------------------- context */

/* Opens a context; config is copied and stays the caller's. Creates the statistics page. */
VBN_API vbn_status_t vbn_open(const vbn_config_t *config, vbn_context_t **context_p);
/* Closes a context whose workers and memory are closed; VBN_ERR_INVALID and no effect when some are left. */
VBN_API vbn_status_t vbn_close(vbn_context_t *context);
/* Reads the value of a setting that the context uses. Any thread.
 *   text, capacity   gets the value in the notation of docs/settings.md; NULL and 0: not wanted.
 *   number_p         gets the value as a number: bytes, nanoseconds, 0 or 1 of a bool. May be NULL.
 * VBN_ERR_SETTING: no such setting; VBN_ERR_LIMIT: the text does not fit; VBN_ERR_INVALID: an
 * enum or a string has no number. Nothing is written on failure. */
VBN_API vbn_status_t vbn_setting(const vbn_context_t *context, const char *key, char *text, size_t capacity,
                                 int64_t *number_p);

/* A row of the table of settings; its texts are valid for ever. */
typedef struct vbn_setting_info {
    const char *key;           /* "tl.tcp.port" */
    const char *environment;   /* "VBN_TL_TCP_PORT" */
    const char *type;          /* bool, int, size, time, enum, string */
    const char *value;         /* its default, as docs/settings.md writes it */
    const char *const *values; /* those that an enum may have, then NULL; NULL for other types */
    const char *help;          /* one or two sentences */
} vbn_setting_info_t;

/* Describes a setting: of all libraries that stand on this core. Any thread.
 *   index   from 0 up; the order may change with a version
 * VBN_ERR_INVALID: there are not so many. */
VBN_API vbn_status_t vbn_setting_at(size_t index, vbn_setting_info_t *info);

/* ------------------------------------------------------------------------------------------ worker */

VBN_API vbn_status_t vbn_worker_create(vbn_context_t *context, vbn_worker_t **worker_p);
/* Closes peers (as VBN_CLOSE_NOW: pending ops complete with VBN_ERR_CLOSED) and frees the worker. A peer that was given
 * to vbn_disconnect(VBN_CLOSE_FLUSH) before, and to which everything has been sent, sees an orderly end and no loss. */
VBN_API void vbn_worker_destroy(vbn_worker_t *worker);
/* Advances all communication of the worker without blocking; returns the number of events handled (0: none).
 * Callbacks may call it: the transport that delivers in the outer call then waits; other transports and timers
 * advance. */
VBN_API unsigned vbn_progress(vbn_worker_t *worker);
/* Before sleeping on vbn_event_fd: VBN_OK = may sleep, the fd becomes readable when there is work; VBN_BUSY = call
 * vbn_progress first. The poll loop: progress until 0 -> arm -> if OK poll(fd) -> progress. If messages arrive at
 * short intervals, vbn_arm first polls for up to progress.spin, and yields the processor between polls. With
 * progress.spin=0 it does neither, for event loops of other libraries. */
VBN_API vbn_status_t vbn_arm(vbn_worker_t *worker);
VBN_API int vbn_event_fd(const vbn_worker_t *worker);
/* Wakes a thread sleeping on the worker's event fd. Any thread. */
VBN_API void vbn_worker_wake(vbn_worker_t *worker);

#define VBN_ADDRESS_MAX 1024
/* Writes the worker's address blob (versioned, position independent, no secrets) for vbn_connect elsewhere.
 * length_p: in capacity, out length in bytes. VBN_ERR_LIMIT when the buffer is too small. */
VBN_API vbn_status_t vbn_worker_address(vbn_worker_t *worker, void *blob, size_t *length_p);
/* Writes the names of the transports that the worker has open, in the order of tl.enable: "self,shm,tcp". One of
 * tl.enable that is missing here could not be opened (no device; the log says why). Returns the length of the full text;
 * text is always terminated when capacity > 0. Worker's thread. */
VBN_API size_t vbn_worker_transports(const vbn_worker_t *worker, char *text, size_t capacity);

/* -------------------------------------------------------------------------------------------- peer */

/* vbn_progress calls it once when an established or connecting peer is lost. Pending ops have completed with the
 * same status before. The handle stays valid until vbn_disconnect. */
typedef void (*vbn_peer_error_func_t)(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text);

/* Gives the peer of this address: an existing one, or a new one that connects in the background (operations
 * may be issued at once and wait). Transport choice: same process -> self, same host with a reachable socket ->
 * shm, else tcp; logged once. error_func may be NULL; for an existing peer a non-NULL one replaces the one before.
 * Each successful call needs one vbn_disconnect. */
VBN_API vbn_status_t vbn_connect(vbn_worker_t *worker, const void *blob, size_t length,
                                 vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p);
#define VBN_CONNECT_ON_USE 1u /* do not dial before the peer is used */
/* vbn_connect with flags (0: the same). With VBN_CONNECT_ON_USE a new peer has no connection, descriptor, timer or
 * packet. It takes 464 bytes, and 0.6 to 1 KiB for the address and the text of vbn_explain. The first message, put,
 * get, atomic or import of mappable memory dials, and waits as after vbn_connect; so does vbn_connect of the same
 * address. If the peer connects to this worker first, its connection serves this handle: its messages have the handle
 * as sender, and tagged receives from the handle match them. A peer without a connection cannot be lost: error_func
 * is called only after a failed dial or a lost connection. Until then vbn_flush completes at once, and vbn_disconnect
 * ends the peer at once in both modes (receives posted from it complete with VBN_ERR_CLOSED). vbn_explain returns
 * "not connected", and vbn_peer_transport NULL. Errors: as vbn_connect, VBN_ERR_UNREACHABLE when no transport reaches
 * the address now. */
VBN_API vbn_status_t vbn_connect_flags(vbn_worker_t *worker, const void *blob, size_t length, unsigned flags,
                                       vbn_peer_error_func_t error_func, void *arg, vbn_peer_t **peer_p);
typedef enum vbn_close_mode {
    VBN_CLOSE_FLUSH, /* graceful: a background flush delivers everything sent, within link.close_timeout */
    VBN_CLOSE_NOW    /* pending operations complete with VBN_ERR_CLOSED */
} vbn_close_mode_t;
/* Drops the caller's reference; the handle must not be used afterwards. The connection ends with the last reference.
 * Exception: VBN_CLOSE_FLUSH does not end a connection that the other side opened; messages of that side still arrive.
 * For a peer that is known from its messages only, the call ends the connection. */
VBN_API void vbn_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode);
/* Sets the function for peers that opened the connection (vbn_am_message.peer, never given to vbn_connect here).
 * vbn_progress calls it once when such a peer is lost or closes, also one that has sent no message and only put or got
 * memory. The peer's handle may be used from its first message until this function returns. A server that keeps handles
 * sets this function before its message handlers. */
VBN_API void vbn_worker_set_peer_lost(vbn_worker_t *worker, vbn_peer_error_func_t func, void *arg);
/* User pointer of a peer, e.g. the session object a server hangs on it; NULL at first. */
VBN_API void vbn_peer_set_user(vbn_peer_t *peer, void *user);
VBN_API void *vbn_peer_user(const vbn_peer_t *peer);
/* 64-bit identity of the remote worker, equal on both sides of a job, never 0. */
VBN_API uint64_t vbn_peer_uid(const vbn_peer_t *peer);
/* User id of the peer's process from this host's kernel: the effective one when that process connected, or, if this
 * side connected, when it opened its worker. VBN_ERR_UNSUPPORTED: the peer's transport is neither shm nor self, so
 * the kernel does not know the user; VBN_ERR_PEER_LOST: the peer has no connection now. Nothing is written on
 * failure. Worker's thread. */
VBN_API vbn_status_t vbn_peer_host_user(const vbn_peer_t *peer, uint32_t *user_p);
/* Writes one line: the peer's transport and the reason ("shm: same host, ...; tcp: not needed"), whether the peer is
 * connected, and whether the connection is encrypted. Returns the length of the full text; text is always terminated
 * when capacity > 0. */
VBN_API size_t vbn_explain(const vbn_peer_t *peer, char *text, size_t capacity);

/* Bytes of data that wait here for the peer, for senders that limit their queue. The number is the length of
 * incomplete messages and puts: eager messages without credit or space, and rendezvous messages until the peer has
 * pulled them. It excludes data that a transport took at once, headers, gets and atomics. It also excludes messages
 * of up to 296 bytes, header included, on connections that keep packets until acknowledged (rc, ud,
 * link.resume_timeout, link.rails). O(1), 0 after a loss. Worker's thread. */
VBN_API uint64_t vbn_peer_queued(const vbn_peer_t *peer);
/* queued: bytes, as vbn_peer_queued. Runs on the worker's thread inside vbn_progress; may send, set another mark and
 * disconnect the peer. */
typedef void (*vbn_low_mark_func_t)(void *arg, vbn_peer_t *peer, uint64_t queued);
/* Calls func, once and from vbn_progress, each time that the queued bytes have fallen from above `bytes` to `bytes`
 * or below. It makes no call if they rise again before vbn_progress. One mark per peer: a new one replaces the one
 * before, func NULL removes it. vbn_disconnect (of any reference) and the loss of the peer remove it without a call:
 * the error function tells of a loss. Errors: VBN_ERR_PEER_LOST, VBN_ERR_NO_MEMORY (a mark takes some 200 bytes).
 * Worker's thread. */
VBN_API vbn_status_t vbn_peer_set_low_mark(vbn_peer_t *peer, uint64_t bytes, vbn_low_mark_func_t func, void *arg);
/* Name of the transport that carries the peer's packets now ("self", "shm", "tcp", "rc", "ud", as in tl.enable);
 * static. While the peer connects: the transport that is being tried. NULL when the peer has none (lost, closed,
 * reconnecting, not connected yet with VBN_CONNECT_ON_USE). */
VBN_API const char *vbn_peer_transport(const vbn_peer_t *peer);

typedef enum vbn_call { VBN_CALL_AM, VBN_CALL_TAG, VBN_CALL_PUT, VBN_CALL_GET, VBN_CALL_ATOMIC } vbn_call_t;
/* Writes one line: the protocol that a call moving `size` bytes to or from the peer would use now (eager, rendezvous,
 * ...), the limit or setting that decides, and the transport. Moves no data. Returns as vbn_explain. */
VBN_API size_t vbn_explain_call(const vbn_peer_t *peer, vbn_call_t call, size_t size, char *text, size_t capacity);

/* -------------------------------------------------------------------------------------- operations */

typedef struct vbn_op vbn_op_t;
/* length: bytes moved. Runs on the worker's thread inside vbn_progress; may issue new operations. */
typedef void (*vbn_op_func_t)(vbn_op_t *op, vbn_status_t status, size_t length);

/* Caller-embedded, caller-owned; must stay put until the operation has completed. Zero it before first use. */
struct vbn_op {
    vbn_op_func_t done; /* set by the caller; NULL = poll `complete` */
    void *user;         /* the caller's */
    int32_t status;     /* set on completion */
    uint32_t complete;  /* set to 1 on completion */
    uint64_t length;    /* set on completion */
    uint64_t priv[24];  /* the core's while pending */
};

/* Data that is not a list of buffers. Wherever a call takes (iov, count), count may be VBN_PACK and iov vbn_packed(&p).
 * Then the callbacks of p produce or consume the data. They run on the worker's thread, inside the issuing call or
 * vbn_progress, for ascending offsets, each byte once; they must not call the core. p stays untouched until
 * completion. */
typedef struct vbn_pack {
    /* Writes bytes [offset, offset+length) of the packed form to buffer. */
    void (*pack)(void *arg, size_t offset, void *buffer, size_t length);
    /* Takes bytes [offset, offset+length) of the packed form from buffer. */
    void (*unpack)(void *arg, size_t offset, const void *buffer, size_t length);
    void *arg;
    size_t length; /* of the packed form, bytes */
} vbn_pack_t;

#define VBN_PACK SIZE_MAX

static inline const struct iovec *vbn_packed(const vbn_pack_t *pack)
{
    return (const struct iovec *)(const void *)pack;
}

/* -------------------------------------------------------------------------------- active messages */

#define VBN_AM_IDS 64
#define VBN_AM_HEADER_MAX 192

typedef struct vbn_am_remote vbn_am_remote_t; /* data of a rendezvous message, still at the sender */

typedef struct vbn_am_message {
    vbn_peer_t *peer;   /* sender; may be used to answer, also after the handler while it is not lost */
    const void *header; /* valid during the handler only */
    size_t header_length;
    const void *data;        /* eager: the message's bytes, valid during the handler only; rendezvous: NULL */
    size_t length;           /* of the data, eager or rendezvous */
    vbn_am_remote_t *remote; /* rendezvous: must be ended by vbn_am_pull or vbn_am_drop, now or later; eager: NULL */
} vbn_am_message_t;

typedef void (*vbn_am_func_t)(void *arg, const vbn_am_message_t *message);

/* Sets the handler of id (0 .. VBN_AM_IDS-1) on this worker; NULL removes it. The worker counts and drops messages
 * without a handler; the sends of rendezvous ones complete with VBN_ERR_UNSUPPORTED. */
VBN_API vbn_status_t vbn_am_handler(vbn_worker_t *worker, unsigned id, vbn_am_func_t func, void *arg);

/* Stages of a message's data, for the flags of vbn_am_send and vbn_tag_send; rendezvous messages only. The data then
 * always travels in packets, also between processes of one host. The sender stops compressing a message whose first
 * 32 KiB do not shrink by a tenth. Damaged data completes the send and the receive with VBN_ERR_CORRUPT. */
#define VBN_SEND_CHECKSUM 2u /* CRC-32C of the data, compared by the receiver; the message is always rendezvous */
#define VBN_SEND_LZ4 4u
#define VBN_SEND_ZSTD 8u
#define VBN_SEND_STAGES (VBN_SEND_CHECKSUM | VBN_SEND_LZ4 | VBN_SEND_ZSTD)

/* Gives the receiver no right to the memory of the data. Without the flag the receiver of a rendezvous message from
 * memory of vbn_mem_alloc may map all of that memory, or read it through its device. With it the data travels by
 * packets, or by the kernel's copy where the kernel allows the receiver to read this process anyway. */
#define VBN_SEND_PRIVATE 16u

#define VBN_AM_PULL 1u /* always rendezvous, also when the data would fit into an eager packet */

/* Sends header (copied, at most VBN_AM_HEADER_MAX) and the concatenation of iov[0..count-1]. Data of up to 4 KiB
 * (more if the cost model chooses so; or proto.am_small_max) is sent eagerly. Larger data is sent by rendezvous: the
 * receiver pulls the data, and the op completes when the receiver has pulled or dropped it. iov entries and their
 * memory stay untouched until completion. flags: VBN_AM_PULL, VBN_SEND_*. */
VBN_API vbn_status_t vbn_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                                 const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op);
/* Pulls the whole remote data into iov (total capacity >= its length, else VBN_ERR_TRUNCATED and the data can
 * still be pulled or dropped). Ends the remote handle when it returns >= 0. iov entries and their memory stay untouched
 * until completion. */
VBN_API vbn_status_t vbn_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *op);
VBN_API void vbn_am_drop(vbn_am_remote_t *remote);

/* ------------------------------------------------------------------------------------------ groups */

/* Unreliable datagrams to many workers at once, by multicast of an RDMA device (transport ud). A datagram may be lost,
 * duplicated, delayed or reordered without notice: applications must add sequence numbers and retransmit. A member does
 * not receive its own datagrams. */

/* source: vbn_peer_uid of the sender. data is valid during the call. Runs inside vbn_progress; may leave the group. */
typedef void (*vbn_group_func_t)(void *arg, vbn_group_t *group, uint64_t source, const void *data, size_t length);

/* Joins the group of this address, an IP multicast address of the port's kind ("239.1.2.3", "ff15::1"); all
 * members have the same job key. vbn_group_leave or the end of the worker ends the membership. VBN_ERR_UNSUPPORTED: no
 * transport has multicast; VBN_ERR_INVALID: not a multicast address, or the worker has joined already. */
VBN_API vbn_status_t vbn_group_join(vbn_worker_t *worker, const char *address, vbn_group_func_t func, void *arg,
                                    vbn_group_t **group_p);
VBN_API void vbn_group_leave(vbn_group_t *group);
/* Largest datagram, in bytes. */
VBN_API size_t vbn_group_most(const vbn_group_t *group);
/* VBN_OK: taken, the buffers may be reused. VBN_BUSY: not taken; try again after vbn_progress. */
VBN_API vbn_status_t vbn_group_send(vbn_group_t *group, const struct iovec *iov, size_t count);

/* --------------------------------------------------------------------------------- tagged messages */

/* A receive matches a message when the tags are equal in the bits of the receive's mask and the sender is the requested
 * source. Among several matching messages the receive gets the one that arrived first; among several matching receives
 * the one posted first gets the message. Messages of one peer arrive in the order they were sent. Active and tagged
 * messages of a peer arrive in one common order, but a tagged message may wait for its receive.
 * The cost of matching an exact tag does not depend on the number of peers, posted receives and unexpected messages. */

typedef struct vbn_tag_message vbn_tag_message_t; /* taken by vbn_tag_probe, ended by vbn_tag_mrecv */

typedef struct vbn_tag_info {
    vbn_peer_t *peer; /* sender; may be used to answer while it is not lost. NULL when it is lost already */
    uint64_t source;  /* vbn_peer_uid of the sender */
    uint64_t tag;     /* of the message */
    size_t length;    /* of the message, bytes; also when the buffers were too small */
} vbn_tag_info_t;

#define VBN_TAG_SYNC 1u /* synchronous: complete only when a receive has matched the message */

/* Sends the concatenation of iov[0..count-1] with a tag. flags: VBN_TAG_SYNC, VBN_SEND_*. A message that
 * vbn_am_send would send eagerly is sent eagerly while the sender has credit at the receiver. A message uses its length
 * and 320 bytes of credit, and a receive that takes the message returns the credit. A peer begins with 4,416 bytes of
 * credit; the receiver grants up to 1 MiB, out of one budget for all its peers (proto.tag_unexpected). Larger messages,
 * and those without credit, are sent by rendezvous and complete when a receive has fetched the data. iov and its memory
 * stay untouched until completion. Errors: VBN_ERR_INVALID, VBN_ERR_PEER_LOST, VBN_ERR_LIMIT (proto.max_incoming
 * rendezvous messages wait at the peer already). */
VBN_API vbn_status_t vbn_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                                  vbn_op_t *op);
/* Receives one message into iov. The list and its memory stay, and the user leaves them alone, until completion.
 *   from   only from this peer; NULL = from any.
 *   mask   the bits of tag that count; UINT64_MAX = exactly this tag.
 *   info   gets sender, tag and length before completion; stays in place until then. May be NULL.
 * Completes with VBN_ERR_TRUNCATED when the message is longer than iov: the core writes nothing to iov and drops the
 * message; the sizes are in info and vbn_error_text(). Only in this case may the call itself return an error and yet
 * have an effect: a message that had arrived before is dropped. VBN_ERR_PEER_LOST: `from` is lost and no complete
 * message of that peer waits. A receive from any source outlives its peers; vbn_worker_destroy ends it with
 * VBN_ERR_CLOSED. */
VBN_API vbn_status_t vbn_tag_recv(vbn_worker_t *worker, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                                  const struct iovec *iov, size_t count, vbn_tag_info_t *info, vbn_op_t *op);
/* Looks for the message that vbn_tag_recv with these arguments would get. VBN_OK: there is one, described in info (may
 * be NULL). VBN_INPROGRESS: none so far; call vbn_progress and probe again.
 *   message_p   NULL: the message stays where it is. Else the message is taken out, so that no other receive gets it,
 *               and must be given to vbn_tag_mrecv. */
VBN_API vbn_status_t vbn_tag_probe(vbn_worker_t *worker, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                                   vbn_tag_info_t *info, vbn_tag_message_t **message_p);
/* Receives a message taken by vbn_tag_probe; as vbn_tag_recv. The message handle ends with the call unless that returns
 * VBN_ERR_INVALID. VBN_ERR_PEER_LOST: its sender was lost before the data was fetched. */
VBN_API vbn_status_t vbn_tag_mrecv(vbn_tag_message_t *message, const struct iovec *iov, size_t count,
                                   vbn_tag_info_t *info, vbn_op_t *op);
/* Cancels a receive that has not matched a message. VBN_OK: the receive is complete with VBN_ERR_CLOSED, done is not
 * called, the caller owns the buffers. VBN_INPROGRESS for a receive: too late, it completes (or is complete) as
 * usual. VBN_INPROGRESS for a send: it completes with VBN_ERR_CLOSED if its receiver answers that no receive had
 * matched it, otherwise as usual. VBN_ERR_INVALID: op is neither. */
VBN_API vbn_status_t vbn_tag_cancel(vbn_op_t *op);

/* ------------------------------------------------------------------------------------------ memory */

typedef enum vbn_backing {
    VBN_BACKING_MEMFD = 0, /* sealed anonymous file: no name, gone with its last user */
    VBN_BACKING_FILE = 1   /* named file in a private directory on tmpfs: others may map it by path */
} vbn_backing_t;

#define VBN_ACCESS_READ 1u  /* remote get, import read-only */
#define VBN_ACCESS_WRITE 2u /* remote put */
#define VBN_ACCESS_COPY 4u  /* with them, for memory of vbn_mem_register: peers of this host may copy by the kernel */

/* Allocates `size` bytes (rounded up to pages) of shareable memory, all pages preallocated, so that a shortage is
 * VBN_ERR_NO_MEMORY here and never a SIGBUS later. path: only for VBN_BACKING_FILE, the file to create, 0600, in
 * an existing directory of mode 0700 owned by the caller. Any thread. */
VBN_API vbn_status_t vbn_mem_alloc(vbn_context_t *context, size_t size, vbn_backing_t backing, const char *path,
                                   vbn_mem_t **mem_p);
/* Reserves shareable memory of `size` bytes (rounded up to pages) without pages, which several contexts may join and
 * commit later. Peers reach it by keys as memory of vbn_mem_alloc. Uncommitted pages read as zeros. A process that
 * touches one allocates it, and dies of SIGBUS if the host has no memory left: so commit pages before you export keys
 * of them. Devices serve the ranges of its keys. VBN_ERR_SYSTEM: the address space is too small (ulimit -v). Any
 * thread. */
VBN_API vbn_status_t vbn_mem_reserve(vbn_context_t *context, size_t size, vbn_mem_t **mem_p);
/* Makes a mapping of the caller's own shareable, like reserved memory. The `size` bytes at `address` are all of the memfd
 * `fd`, mapped shared and writable; the memfd is sealed against shrinking. The caller keeps the mapping until the context is
 * closed, and may close `fd`. The caller may give pages back at any time (MADV_REMOVE): peers that copy them get zeros. So
 * no device serves the memory. VBN_ERR_ACCESS: not sealed, or no memfd; VBN_ERR_RANGE: the memfd has another size. Any thread. */
VBN_API vbn_status_t vbn_mem_adopt(vbn_context_t *context, int fd, void *address, size_t size, vbn_mem_t **mem_p);
/* Allocates the pages of [offset, offset+length) in bytes of reserved or joined memory; existing pages keep their
 * content. The pages stay until the last context that shares the memory has freed it. VBN_ERR_NO_MEMORY: the host has
 * not enough memory (pages allocated so far stay); VBN_ERR_RANGE; VBN_ERR_INVALID: other memory, whose pages all
 * exist. Any thread. */
VBN_API vbn_status_t vbn_mem_commit(vbn_mem_t *mem, size_t offset, size_t length);
/* Bytes of memory that the host, and the control groups of this process, have left at this moment; UINT64_MAX: the kernel
 * does not say. Reads files below /proc and /sys: some 50 us. Any thread. */
VBN_API uint64_t vbn_mem_room(void);
/* Gives the whole pages of [offset, offset+length) in bytes of reserved or joined memory back to the host, in all
 * contexts that share it; a later vbn_mem_commit allocates them again, with zeros. Until then their state is that of
 * pages that were never committed. Keys of ranges inside [offset, offset+length) that this context has exported become
 * stale, and no device serves them any more; peers that have mapped the memory keep their mapping. No context and no
 * peer may use the range meanwhile, nor another key that overlaps it. VBN_ERR_RANGE; VBN_ERR_INVALID: other memory;
 * VBN_ERR_SYSTEM: the kernel keeps the pages. Any thread. */
VBN_API vbn_status_t vbn_mem_uncommit(vbn_mem_t *mem, size_t offset, size_t length);
/* Makes this context an owner of the whole memory behind a key. The context can commit it, export keys of it, and
 * free its part by vbn_mem_free; messages from the memory are copied once. The memory lives until all contexts that
 * share it have freed it, also after the end of its first owner. The key may be released afterwards; its addresses
 * remain valid. Keys and messages name joined memory by its first owner: a peer that has joined it uses its own
 * mapping, without a request. The key must have VBN_ACCESS_READ and VBN_ACCESS_WRITE and be mapped here
 * (vbn_key_pointer); the operation of vbn_key_import_op completes when it is. VBN_ERR_ACCESS: the key does not allow
 * both; VBN_ERR_UNSUPPORTED: not mapped here, or a named file; VBN_ERR_INVALID: not decided yet, or shared by this
 * context already; VBN_ERR_LIMIT: no descriptor left. Worker's thread. */
VBN_API vbn_status_t vbn_mem_join(vbn_key_t *key, vbn_mem_t **mem_p);
/* Maps a VBN_BACKING_FILE memory of another process of the same user read-only, checking owner, mode, format and
 * generation recorded in the file. VBN_ERR_STALE when its owner has freed it. Any thread. */
VBN_API vbn_status_t vbn_mem_open(vbn_context_t *context, const char *path, vbn_mem_t **mem_p);
/* Registers [address, address+length) of the caller's own memory for keys; `access` is the most that a key may allow.
 * Any alignment; host memory only. The call faults in all pages, for write access as private copies of the process.
 * Peers reach the memory by packets and never map it. With VBN_ACCESS_COPY keys may have that right, too: then vbn_get
 * and vbn_put of more than VBN_WORDS_MAX bytes from a process of this host are copied by the kernel at once, while the
 * owner's workers do anything, and fall back to packets where the kernel refuses (ptrace_scope, containers), before the
 * peer is connected, and for packed data, strides and lists of short pieces. vbn_mem_free, vbn_mem_revoke and
 * vbn_mem_invalidate end the right, but do not wait for such a copy that has begun: before the memory is reused, the
 * owner makes sure that its peers have no operation in progress. The memory stays the caller's: vbn_mem_free ends the
 * registration and must come before the memory is unmapped. When the kernel nevertheless reports the memory unmapped,
 * moved or discarded, its keys become VBN_ERR_STALE. Registering the same memory again is cheap: the registration cache
 * keeps whole pages after vbn_mem_free, within mem.cache_regions and mem.cache_bytes. VBN_ERR_RANGE: not mapped;
 * VBN_ERR_ACCESS: not mapped with these rights. Any thread. */
VBN_API vbn_status_t vbn_mem_register(vbn_context_t *context, void *address, size_t length, unsigned access,
                                      vbn_mem_t **mem_p);
/* Tells the core that an allocator is about to unmap this range or to change its pages. The core stops using
 * registrations of the range and makes their keys stale, with the guarantee of vbn_mem_revoke. Needed only where the
 * kernel does not report such changes (mem.watch, files on disk). Any thread. */
VBN_API vbn_status_t vbn_mem_invalidate(vbn_context_t *context, const void *address, size_t length);
/* Makes all keys of the memory stale and unlinks its named file, but leaves it mapped here until vbn_mem_free; for
 * owners whose readers (a JVM's buffers) end later. Idempotent. Any thread. After the call no worker and no device
 * reads or writes the memory for a peer. Puts and gets in progress stop, and end with VBN_ERR_STALE at the peer;
 * queued answers were copied before. So the caller may reuse the bytes at once. Only peers of this host that have
 * mapped memory of vbn_mem_alloc keep their mapping, until they release the key. The call waits for a copy or a
 * system call of a worker, never for a vbn_progress, and may be called inside callbacks. */
VBN_API vbn_status_t vbn_mem_revoke(vbn_mem_t *mem);
/* Revokes memory of vbn_mem_alloc as vbn_mem_revoke does, and gives its pages back to the system at once, although it
 * stays mapped until vbn_mem_free, here and by peers of this host. Later reads return zeros; a process that touches a
 * page allocates it, and dies of SIGBUS if the host has no memory left. No operation of this process may be pending
 * on it. VBN_ERR_INVALID: other memory. VBN_ERR_SYSTEM: the file system keeps the pages until vbn_mem_free; the
 * memory is revoked. Any thread. */
VBN_API vbn_status_t vbn_mem_discard(vbn_mem_t *mem);
/* Frees (or unmaps, or ends the registration of) memory: keys of it become stale at once, a named file is unlinked. Any
 * thread, but no operation that this process issued on the memory may be pending on any worker; operations of peers may
 * be. The guarantee is that of vbn_mem_revoke: registered memory may be unmapped as soon as the call has returned. */
VBN_API vbn_status_t vbn_mem_free(vbn_mem_t *mem);
VBN_API void *vbn_mem_address(const vbn_mem_t *mem);
VBN_API size_t vbn_mem_size(const vbn_mem_t *mem);

#define VBN_KEY_MAX 128
/* Writes a blob that lets peers reach [offset, offset+length) of mem with `access` rights. length_p as in
 * vbn_worker_address. Any thread. */
VBN_API vbn_status_t vbn_key_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access, void *blob,
                                    size_t *length_p);
/* Makes a received blob usable towards the peer that owns the memory. */
VBN_API vbn_status_t vbn_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p);
/* The same, with an operation that completes when the core has mapped the memory or decided not to (for windows that
 * programs reach by loads and stores). *key_p is valid as soon as the call has returned >= 0; operations on it may be
 * issued at once. The op's length is the number of bytes of the key's range if the memory is mapped (vbn_key_pointer
 * has its address). The length is 0 if packets or a device reach the memory: over the network, for user memory, or if
 * the host refused the mapping (the log has the reason). VBN_OK: decided already. Errors in completion: VBN_ERR_STALE
 * (the owner has freed or revoked the memory; for memory that is not mapped the first operation returns it), the
 * status of a lost peer, VBN_ERR_CLOSED (the key was released or the peer disconnected before). The caller must
 * release the key in all these cases, and not if the call itself fails. Worker's thread. */
VBN_API vbn_status_t vbn_key_import_op(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p,
                                       vbn_op_t *op);
VBN_API void vbn_key_release(vbn_key_t *key);
/* Local address of the key's range when it is mapped here (same host), else NULL. Plain loads (and stores, with
 * VBN_ACCESS_WRITE) on it are one-sided operations. Valid until vbn_key_release. */
VBN_API void *vbn_key_pointer(const vbn_key_t *key);
/* Copies between memory that other processes see (`seen`, which is `to` or `from`) and private memory of the caller,
 * as vbn_put, vbn_get and the OpenSHMEM library do. The ranges must not overlap. Up to VBN_WORDS_MAX bytes each byte
 * is loaded and stored once. Each aligned word of 1, 2, 4 or 8 bytes in `seen` takes one load and one store: no
 * process sees half a word, and a word that its owner resets does not come back. Longer copies promise neither. Any
 * thread. */
#define VBN_WORDS_MAX 64u

typedef uint64_t vbn_word8_t __attribute__((may_alias, aligned(1)));
typedef uint32_t vbn_word4_t __attribute__((may_alias, aligned(1)));
typedef uint16_t vbn_word2_t __attribute__((may_alias, aligned(1)));

static inline void vbn_copy_words(void *to, const void *from, size_t length, const void *seen)
{
    char *t = (char *)to; /* casts: for C++, too */
    const char *f = (const char *)from;
    uintptr_t at = (uintptr_t)seen;
    if (__builtin_expect(length > VBN_WORDS_MAX, 0)) {
        memcpy(to, from, length);
        return;
    }
    while (length > 0) {
        size_t width = 8;
        while (width > length || (at & (width - 1)) != 0)
            width /= 2;
        switch (width) { /* volatile: one load and one store, in the machine's code, too */
        case 8: *(volatile vbn_word8_t *)t = *(const volatile vbn_word8_t *)f; break;
        case 4: *(volatile vbn_word4_t *)t = *(const volatile vbn_word4_t *)f; break;
        case 2: *(volatile vbn_word2_t *)t = *(const volatile vbn_word2_t *)f; break;
        default: *(volatile char *)t = *(const volatile char *)f;
        }
        t += width;
        f += width;
        at += width;
        length -= width;
    }
}

/* Keeps the mapping of a key's range beyond the life of the key, its peer and its worker, for buffers with remaining
 * readers. Returns the mapping, to be ended by vbn_key_unmap before vbn_close; NULL when the memory is not mapped
 * here. Worker's thread. address_p, length_p: address and length in bytes of the range. */
VBN_API vbn_mapping_t *vbn_key_map(const vbn_key_t *key, void **address_p, size_t *length_p);
/* Any thread. NULL is allowed. */
VBN_API void vbn_key_unmap(vbn_mapping_t *mapping);

/* --------------------------------------------------------------------------------------- one-sided */

/* Reads sum(iov) bytes at `offset` of the key's range into iov; writes them for put. A put is complete when the
 * data is visible at the owner. iov entries and their memory stay untouched until completion. A piece of at most VBN_WORDS_MAX
 * bytes is copied as vbn_copy_words does where no device moves it (docs/core.md, "Memory model"). */
VBN_API vbn_status_t vbn_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);
VBN_API vbn_status_t vbn_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);

/* Equal blocks at equal distances, here and in the remote memory (a column of a matrix, every n-th element). */
typedef struct vbn_strided {
    void *base;             /* first block here; read by put, written by get */
    size_t block;           /* bytes of a block */
    size_t count;           /* blocks */
    ptrdiff_t local_stride; /* from the start of a block here to that of the next, bytes; may be negative */
    size_t remote_stride;   /* the same in the remote memory; at least block */
} vbn_strided_t;

/* As vbn_get and vbn_put, for blocks: block i is at base + i * local_stride here and at offset + i * remote_stride in
 * the key's range. blocks and its memory stay untouched until completion. Where the memory is mapped, the core copies
 * the blocks one by one, else it packs them into few packets. VBN_ERR_INVALID also when remote blocks would overlap. */
VBN_API vbn_status_t vbn_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);
VBN_API vbn_status_t vbn_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);

typedef enum vbn_atomic_kind {
    VBN_ATOMIC_ADD = 0,
    VBN_ATOMIC_AND = 1,
    VBN_ATOMIC_OR = 2,
    VBN_ATOMIC_XOR = 3,
    VBN_ATOMIC_SWAP = 4, /* the word becomes operand */
    VBN_ATOMIC_CAS = 5   /* the word becomes operand when it was equal to compare */
} vbn_atomic_kind_t;

/* Updates one word of remote memory, as one step that no other atomic sees half done.
 *   offset   of the word in the key's range, bytes; its address at the owner must be a multiple of width.
 *   width    4 or 8 bytes; the word is in the byte order of the owner's processor (little endian).
 *   operand, compare   must fit width; only VBN_ATOMIC_CAS uses compare.
 *   before   gets the old value, widened to 64 bits, before done is called. May be NULL. VBN_ATOMIC_CAS succeeded if
 *            *before == compare. Stays in place until completion. Needs VBN_ACCESS_READ, as CAS does; VBN_ACCESS_WRITE
 *            is needed always.
 * Complete when the update is visible at the owner. Where the memory is mapped, the caller's processor executes the
 * atomic, else the owner's worker does so in its vbn_progress. Both are coherent with each other and with the owner's
 * own C11 atomics on the word. They are not coherent with plain loads and stores of the owner, or with put or get of
 * the same bytes. Errors: VBN_ERR_INVALID (kind, width, operand, alignment), VBN_ERR_RANGE, VBN_ERR_ACCESS,
 * VBN_ERR_STALE, VBN_ERR_PEER_LOST (it may or may not have been executed). */
VBN_API vbn_status_t vbn_atomic(vbn_key_t *key, size_t offset, vbn_atomic_kind_t kind, unsigned width, uint64_t operand,
                                uint64_t compare, uint64_t *before, vbn_op_t *op);

/* A 64-bit word that tells the owner that data has arrived. */
typedef struct vbn_signal {
    vbn_key_t *key;         /* of the word's memory, same peer as the data's; may be the same key */
    size_t offset;          /* of the word in that key's range, aligned as for vbn_atomic */
    vbn_atomic_kind_t kind; /* VBN_ATOMIC_ADD or VBN_ATOMIC_SWAP */
    uint64_t value;
} vbn_signal_t;

/* A put, then an atomic update of the signal word. An acquire load that returns the new value of the word also makes
 * all of the data visible. In mapped memory the update wakes no worker: the owner polls the word. If the put is
 * refused, the word keeps its value. signal is copied; op as for vbn_put, complete when both are visible. Errors:
 * those of vbn_put and vbn_atomic. */
VBN_API vbn_status_t vbn_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                                    const vbn_signal_t *signal, vbn_op_t *op);

/* Orders operations without waiting. At each peer, vbn_put, vbn_put_signal and vbn_atomic of this worker before the
 * fence are visible before the effects of vbn_put, vbn_put_signal, vbn_atomic and vbn_get after the fence. Without a
 * fence or a completed op there is no order between them. It does not order messages, nor gets before it (wait for
 * their ops). Returns at once; costs later operations nothing when no operation is in flight. */
VBN_API vbn_status_t vbn_fence(vbn_worker_t *worker);

/* Completes when the peer has received everything sent to it before and all earlier puts and atomics are visible. */
VBN_API vbn_status_t vbn_flush(vbn_peer_t *peer, vbn_op_t *op);
/* vbn_flush of all peers of the worker. When peers are lost meanwhile, the flush still waits for the others, and the
 * op's status is that of the first loss. A peer that has received everything sent to it costs the flush nothing. */
VBN_API vbn_status_t vbn_flush_all(vbn_worker_t *worker, vbn_op_t *op);

/* ----------------------------------------------------------------------------------------- insight */

typedef struct vbn_counter {
    const char *name; /* e.g. "shm.tx.bytes"; static */
    uint64_t value;
} vbn_counter_t;
/* Fills up to capacity counters of the context's statistics page; returns how many there are. Any thread. */
VBN_API size_t vbn_counters(vbn_context_t *context, vbn_counter_t *counters, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
