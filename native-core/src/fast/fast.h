/* SPDX-License-Identifier: Apache-2.0
 * fast.h - the fast lane: what a short message over shared memory passes, both ways. See README.md. */
#ifndef VBN_FAST_FAST_H
#define VBN_FAST_FAST_H

#include "link/link.h"
#include "proto/proto.h"
#include "tl/shm/shm_ring.h"

#define FAST_HEADER_BYTES 24u /* three words: two are the link's header, one is the active message's */
#define FAST_DATA_MAX (SHM_SLOT_DATA - FAST_HEADER_BYTES) /* proto_params_t.short_max */
#define FAST_TAG_BYTES 8u                                 /* a fourth word, of a tagged message: less data fits */

/* As vbn_am_send. */
vbn_status_t fast_am_send(vbn_peer_t *peer, unsigned id, const void *header, size_t header_length,
                          const struct iovec *iov, size_t count, unsigned flags, vbn_op_t *op);
/* As vbn_tag_send. */
vbn_status_t fast_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                           vbn_op_t *op);
/* For link_upcalls_t.fast of an engine whose layer above is the protocol engine. */
extern const link_fast_t fast_lane;

#endif
