/* SPDX-License-Identifier: Apache-2.0
 * rig.h - two protocol engines joined by a deterministic link: packets move only when the test says so, `done` may be
 * delayed until delivery, peers can be killed, raw packets injected. Real memory registries. Plain C types only, so
 * that C++ tests can include it. */
#ifndef VBN_TESTS_PROTO_RIG_H
#define VBN_TESTS_PROTO_RIG_H

#include <stdbool.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "proto/model.h"

typedef struct rig rig_t;

typedef struct rig_options {
    uint32_t packet_max;
    uint32_t eager_best;
    uint32_t stream_chunk;
    uint64_t am_small_max;
    int64_t stream_depth;
    int64_t max_incoming;
    int64_t owner_incoming; /* the same of side 1; 0: no other */
    int64_t tag_unexpected; /* 0: the default */
    model_host_t host;      /* for the cost model, and */
    uint32_t latency_ns;
    unsigned compress; /* STAGE_LZ4, STAGE_ZSTD or 0, by the settings */
    bool compress_auto;
    uint32_t mbytes_per_s; /* of the network; 0: as fast as memory */
    bool checksum;
    bool late_done;    /* link_send says VBN_INPROGRESS and reads the payload at delivery only */
    bool use_sink;     /* offer payloads to sink() */
    bool not_ready;    /* link_ready() is false until the first delivery */
    bool direct;       /* link_direct() works, */
    bool copies;       /* with copies between the two "processes" */
    bool devices;      /* that serve memory to the other side */
    bool import_fails; /* link says that it can map; the answer comes from rig_imports_answer or rig_imports_map */
} rig_options_t;

rig_options_t rig_defaults(void);
rig_t *rig_open(const rig_options_t *options);
/* One more worker at side 0, whose peer is side 1 of `first`. Side 0's counters and memory are first's. Close it before. */
rig_t *rig_join(rig_t *first);
void rig_close(rig_t *rig);                 /* kills both sides first */
vbn_peer_t *rig_peer(rig_t *rig, int side); /* side's peer: the other side */
bool rig_deliver(rig_t *rig, int to);       /* one packet; false when there was none */
/* Takes the next packet to `to` off the link instead, as if it had arrived; its header's bytes, 0 when there is none.
 * header holds any header, payload packet_max bytes. */
uint32_t rig_take(rig_t *rig, int to, uint8_t *header, uint8_t *payload, uint32_t *payload_bytes_p);
void rig_run(rig_t *rig); /* until nothing moves */
void rig_kill(rig_t *rig, int side, vbn_status_t status);
void rig_inject(rig_t *rig, int to, const void *header, uint32_t header_bytes, const void *payload,
                uint32_t payload_bytes);
vbn_status_t rig_failure(rig_t *rig, int side); /* what link_fail was called with */
uint64_t rig_counter(rig_t *rig, int side, const char *name);
/* Operations of a class ("am", "tag", ...) issued by a side whose size is in the bucket of `size`; what: 0 operations,
 * 1 bytes, 2 timed, 3 ns. */
uint64_t rig_traffic(rig_t *rig, int side, unsigned class_index, uint64_t size, unsigned what);
/* How often a peer of a worker that rig_join was given was looked at for a flush. */
unsigned rig_flush_looks(rig_t *rig);
vbn_status_t rig_handler(rig_t *rig, int side, unsigned id, vbn_am_func_t func, void *arg);
vbn_mem_t *rig_mem(rig_t *rig, int side, size_t size);
void *rig_mem_address(vbn_mem_t *mem);
void rig_mem_free(vbn_mem_t *mem);
bool rig_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access);
vbn_key_t *rig_import(rig_t *rig, int side, vbn_mem_t *mem, size_t offset, size_t length, unsigned access);
void rig_imports_answer(rig_t *rig);            /* import_fails: answers what is pending */
void rig_imports_map(rig_t *rig);               /* answers it by really mapping the memory */
void rig_hide_devices(rig_t *rig, bool hidden); /* there is no connection between them now */
unsigned rig_promoted(rig_t *rig, int side);    /* how often link_promote was called */
bool rig_devices_turn(rig_t *rig);              /* the devices carry out one transfer; false when there was none */
void rig_break_devices(rig_t *rig);             /* their connection breaks; another one is there at once */
void rig_fail_copies(rig_t *rig, int side, int after); /* this side's link_copy fails after so many; -1: never */
bool rig_progress(rig_t *rig, int side);               /* one proto_progress; true when something happened */
bool rig_busy(rig_t *rig, int side);
void rig_set_present(rig_t *rig, bool present);
void rig_sleep(rig_t *rig, unsigned ms); /* time passes in which no timer is looked at, as while none runs */
void rig_tick(rig_t *rig, unsigned ms);  /* moves the timers of both sides on */
/* The claim functions in plain types: word is 64 bits; what as named in claim.h. */
uint32_t rig_claim(uint64_t *word, const char *what, uint32_t tag, uint32_t total);
void rig_scribble_claims(rig_t *rig, uint64_t value); /* as a hostile peer could */
void rig_shut(rig_t *rig, int side);     /* lets nobody write into this side's memory any more, as its transport does */
bool rig_op_pending(const vbn_op_t *op); /* an engine still has it */
uint64_t rig_key_handle(const vbn_key_t *key); /* as a lying peer could guess it */
typedef struct proto_engine proto_engine_t;
proto_engine_t *rig_engine(rig_t *rig, int side);
unsigned rig_tags_delivered(rig_t *rig, int to); /* packets that bring or announce a tagged message */
/* Whole tagged messages that a side keeps: their bytes, and what keeping them takes besides. */
uint64_t rig_tags_kept(rig_t *rig, int side);
/* T1 and T2 of tag_credit.c hold, when nothing is under way: NULL, else what does not. */
const char *rig_tag_credit_problem(rig_t *rig);

/* From proto.h, which C++ cannot include. */
vbn_status_t proto_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                           const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op);
vbn_status_t proto_am_pull(vbn_am_remote_t *remote, const struct iovec *iov, size_t count, vbn_op_t *op);
void proto_am_drop(vbn_am_remote_t *remote);
void proto_key_release(vbn_key_t *key);
vbn_status_t proto_get(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);
vbn_status_t proto_put(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count, vbn_op_t *op);
vbn_status_t proto_put_signal(vbn_key_t *key, size_t offset, const struct iovec *iov, size_t count,
                              const vbn_signal_t *signal, vbn_op_t *op);
vbn_status_t proto_atomic(vbn_key_t *key, size_t offset, vbn_atomic_kind_t kind, unsigned width, uint64_t operand,
                          uint64_t compare, uint64_t *before, vbn_op_t *op);
vbn_status_t proto_put_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);
vbn_status_t proto_get_strided(vbn_key_t *key, size_t offset, const vbn_strided_t *blocks, vbn_op_t *op);
size_t proto_explain_call(const vbn_peer_t *peer, vbn_call_t call, size_t size, char *buffer, size_t capacity);
vbn_status_t proto_flush(vbn_peer_t *peer, vbn_op_t *op);
vbn_status_t proto_flush_all(proto_engine_t *engine, vbn_op_t *op);
vbn_status_t proto_fence(proto_engine_t *engine);
vbn_status_t proto_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                            vbn_op_t *op);
vbn_status_t proto_tag_recv(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                            const struct iovec *iov, size_t count, vbn_tag_info_t *info, vbn_op_t *op);
vbn_status_t proto_tag_probe(proto_engine_t *engine, vbn_peer_t *from, uint64_t tag, uint64_t mask,
                             vbn_tag_info_t *info, vbn_tag_message_t **message_p);
vbn_status_t proto_tag_mrecv(vbn_tag_message_t *message, const struct iovec *iov, size_t count, vbn_tag_info_t *info,
                             vbn_op_t *op);
vbn_status_t proto_tag_cancel(vbn_op_t *op);

/* One header as bytes, for injecting: type, code, last and the words as proto_wire.h names them (target is operand and
 * signal_key, check too; compare is signal_offset and tag too). Bits of code above the lowest 8 are the stages. */
typedef struct rig_header {
    unsigned type, code, last;
    uint64_t op, target, key, offset, length, compare, value;
} rig_header_t;
uint32_t rig_encode(const rig_header_t *header, uint8_t *buffer);
/* The same for [TAG_]RTS_AT, PULL_AT, whose claim is value, [TAG_]RTS_DEVICE, whose connection is value: key and offset are
 * and key belong to its first device: key and offset are of the place. */
typedef struct rig_place {
    uint64_t address, owner, memory, memory_bytes;
} rig_place_t;
uint32_t rig_encode_at(const rig_header_t *header, const rig_place_t *place, uint8_t *buffer);
/* Decodes bytes; the status only. */
vbn_status_t rig_decode(const void *bytes, uint32_t count, uint32_t payload_bytes);

#ifdef __cplusplus
}
#endif
#endif
