/* SPDX-License-Identifier: Apache-2.0
 * proto.h - message semantics on top of links: active messages (whole or announced and pulled), put, get, atomics, fence,
 * flush.
 *
 *   small message   AM ------------------------------->            one packet
 *   large message   RTS -->  <-- PULL  DATA DATA DATA --> <-- STATUS
 *   tagged message         TAG or TAG_RTS as above, matched with a receive; TAG_CREDIT_BACK from time to time
 *   get             GET -->  <-- DATA DATA DATA                    or <-- STATUS with the error
 *   put             [PUT probe --> <-- STATUS] PUT PUT PUT(last) --> <-- STATUS     probe only before the link is ready
 *   put with signal        PUT PUT PUT_SIGNAL --> <-- STATUS       the last segment carries the signal
 *   atomic        ATOMIC --> <-- STATUS with the old value
 *   get, put, atomic of memory that is mapped here: a copy, no packet.
 *
 * An engine belongs to one worker and its thread. Invariants: P1 an op completes exactly once, and only when no packet
 * refers to its buffers any more. P2 every handle from the wire is looked up and must belong to the sending peer. P3
 * segments of a transfer arrive in order, so the only valid offset is "as much as has arrived". P4 memory touched on a
 * peer's behalf is entered (mem_reach) while it is touched, and leased while a segment of a get waits to be sent, so that
 * mem_free by another thread cannot pull it away: a stream whose memory is freed ends with VBN_ERR_STALE at its next
 * segment. P5 every operation that stays pending starts from op_prepare: nothing of the one that the vbn_op_t was used for
 * before is left. P6 a peer that is not in engine->unflushed has answered all puts and atomics and acknowledged all packets:
 * a flush of all need not look at it. */
#ifndef VBN_PROTO_PROTO_H
#define VBN_PROTO_PROTO_H

#include "link/link.h"
#include "proto/model.h"

typedef struct proto_engine proto_engine_t;

typedef struct proto_params {
    const settings_t *settings;
    const log_sink_t *log;
    counters_t *counters;
    mem_registry_t *memory;
    const model_host_t *host; /* copied; NULL: built-in costs */
    bool measures;            /* pairs of a host measure which way is faster; false: all follows from the costs */
    uint64_t short_max;       /* data that the fast lane takes; 0: there is none */
} proto_params_t;

vbn_status_t proto_engine_open(const proto_params_t *params, proto_engine_t **engine_p);
/* Fills upcalls and upper_bytes of the parameters for link_engine_open. */
void proto_link_upcalls(proto_engine_t *engine, link_params_t *params);
/* link_upcalls_t.rx; arg: the engine. */
void proto_rx(void *arg, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes, const void *payload,
              uint32_t payload_bytes);
/* The same, of what is no active message with a handler. */
void proto_rx_other(proto_engine_t *engine, vbn_peer_t *peer, const void *bytes, uint32_t header_bytes,
                    const void *payload, uint32_t payload_bytes);
void proto_attach(proto_engine_t *engine, link_engine_t *link);
/* After link_engine_close (which has ended all operations through peer_down). Messages still waiting to be pulled and
 * keys not released become invalid. */
void proto_engine_close(proto_engine_t *engine);
/* True when proto_progress has something to do: do not sleep. */
bool proto_busy(const proto_engine_t *engine);
/* Goes on with transfers that had to pause; returns how many. */
unsigned proto_progress(proto_engine_t *engine);

/* As the vbn_ functions of the same names. */
vbn_status_t proto_am_handler(proto_engine_t *engine, unsigned id, vbn_am_func_t func, void *arg);
vbn_status_t proto_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                           const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op);
vbn_status_t proto_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *op);
void proto_am_drop(vbn_am_remote_t *remote);
/* user_op may be NULL: nobody waits for the decision. */
vbn_status_t proto_key_import(vbn_peer_t *peer, const void *blob, size_t length, vbn_key_t **key_p, vbn_op_t *user_op);
void proto_key_release(vbn_key_t *key);
void *proto_key_pointer(const vbn_key_t *key);
/* The mapping that holds the key's range, with a reference taken; NULL, and nothing written, when it is not mapped here. */
vbn_status_t proto_key_join(const vbn_key_t *key, vbn_mem_t **mem_p); /* as vbn_mem_join */
mem_import_t *proto_key_map(const vbn_key_t *key, void **address_p, size_t *length_p);
vbn_status_t proto_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);
vbn_status_t proto_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);
vbn_status_t proto_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                              const vbn_signal_t *signal, vbn_op_t *op);
vbn_status_t proto_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);
vbn_status_t proto_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);
vbn_status_t proto_atomic(vbn_key_t *key, size_t offset, vbn_atomic_kind_t kind, unsigned width, uint64_t operand,
                          uint64_t compare, uint64_t *before, vbn_op_t *op);
vbn_status_t proto_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                            vbn_op_t *op);
vbn_status_t proto_tag_recv(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                            const struct iovec *iov, size_t count, vbn_tag_info_t *info, vbn_op_t *op);
vbn_status_t proto_tag_probe(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                             vbn_tag_info_t *info, vbn_tag_message_t **message_p);
vbn_status_t proto_tag_mrecv(vbn_tag_message_t *message, const struct iovec *iov, size_t count, vbn_tag_info_t *info,
                             vbn_op_t *op);
vbn_status_t proto_tag_cancel(vbn_op_t *op);
vbn_status_t proto_fence(proto_engine_t *engine);
vbn_status_t proto_flush(vbn_peer_t *peer, vbn_op_t *op);
uint64_t proto_queued(const vbn_peer_t *peer);
void proto_forget_low_mark(const vbn_peer_t *peer); /* of vbn_disconnect */
vbn_status_t proto_set_low_mark(vbn_peer_t *peer, uint64_t bytes, vbn_low_mark_func_t func, void *arg);
size_t proto_explain_call(const vbn_peer_t *peer, vbn_call_t call, size_t size, char *buffer, size_t capacity);
vbn_status_t proto_flush_all(proto_engine_t *engine, vbn_op_t *op);

/* Debug builds: notes that this thread is inside a call of the worker and ends the process with a line on stderr when
 * another one is. Returns what proto_unuse needs; NULL when the thread was inside already or engine is NULL. */
proto_engine_t *proto_use(proto_engine_t *engine);
void proto_unuse(proto_engine_t **used);
proto_engine_t *proto_engine_of_peer(const vbn_peer_t *peer); /* NULL gives NULL; so do the two below */
proto_engine_t *proto_engine_of_key(const vbn_key_t *key);
proto_engine_t *proto_engine_of_remote(const vbn_am_remote_t *remote);

#endif
