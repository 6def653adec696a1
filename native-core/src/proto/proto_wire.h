/* SPDX-License-Identifier: Apache-2.0
 * proto_wire.h - headers of the protocol layer. Pure functions, no state; any thread. Little endian.
 *
 *   offset 0  u8  type
 *          1  u8  code      AM, RTS, RTS_AT, RTS_DEVICE: id; TAG_RTS, TAG_RTS_AT, TAG_RTS_DEVICE: PROTO_TAG_STARVED or 0;
 *                           STATUS, HELPED: -vbn_status; PUT, PUT_BLOCKS: PROTO_PUT_* flags;
 *                           PUT_SIGNAL: vbn_atomic_kind_t; ATOMIC: vbn_atomic_kind_t and PROTO_ATOMIC_* flags;
 *                           DATA_STAGED: stage_form_t; else 0
 *          2  u16 user      of those: bytes of the user's header at the end; else 0
 *          4  u16 last      STATUS: 1 = last answer; else 0
 *          6  u16 stages    RTS, TAG_RTS: STAGE_* that the sender offers; PULL: those of them that are to be used; else 0
 *
 *   type     then                                                            meaning
 *   AM       user header; payload = the data                                 whole message
 *   RTS      op, length, user header                                         message announced; op = sender's handle
 *   PULL     op, target                                                      stream op's data to the receiver's target
 *   PULL_REST  op, target, offset                                            as PULL, without these first bytes and TAG_MORE
 *   DATA     op, offset; payload                                             one segment for the receiver's op
 *   STATUS   op, length                                                      answer to the receiver's op
 *   GET      op, key, offset, length                                         stream this range to the requester's op
 *   PUT      op, key, offset, length; payload = length bytes (PROBE: none)   write, answer with STATUS
 *   ATOMIC   op, key, offset, operand, compare                               update one word; STATUS.length = old value
 *   PUT_SIGNAL  as PUT, then signal_key, signal_offset, signal_value         last segment of a put, then update a word
 *   TAG      tag; payload = the data                                         whole tagged message
 *   TAG_RTS  op, length, tag; payload = the first bytes of the data or none  tagged message announced; op = sender's handle
 *   TAG_MORE  op, offset; payload                                            behind the payload of TAG_RTS: further bytes
 *   TAG_CREDIT_BACK  length                                                  this much more of TAG may be sent
 *   PUT_BLOCKS, GET_BLOCKS  as PUT, GET, then block, stride                  blocks at this distance from each other
 *   DATA_STAGED  op, offset, length, check; payload = the chunk's form       segment of `length` plain bytes; check: their
 *                                                                            CRC-32C when that is a stage, else 0
 *   RTS_AT, TAG_RTS_AT  as RTS, TAG_RTS, then address, key, offset, owner,   the data also lies at this address of the
 *              memory, memory_bytes                                         sender's process (0: unknown) and in this
 *                                                                           memory (key 0: not); same host only
 *   PULL_AT  op, target, address, claim                                     the receiver copies by itself; the sender
 *                                                                           may copy chunks of this claim to address
 *   HELPED   op, length                                                     the sender has; code: or why not
 *   PULL_PUT op, target, key, offset, owner, memory, memory_bytes           as PULL; the sender may put the data into this
 *                                                                           memory and answer STATUS, instead of DATA
 *   KEY_ASK  op, target, key                                                how does the device that serves connection `target`
 *                                                                           serve this key?
 *   KEY_TELL op, key, offset                                                so: with this key (32 bits), the range at this
 *                                                                           address. STATUS instead: not
 *   LANE_END op, target                                                     connection `target` is to end before the STATUS
 *   RTS_DEVICE, TAG_RTS_DEVICE  as RTS, TAG_RTS, then address, 4 devices    devices of the sender serve the data at this
 *                                                                           address: of each the number of a connection (the
 *                                                                           sender's, low 32 bits) and its key; 0: none. None
 *                                                                           at all: they could, over a connection
 *   TAG_SYNC op, tag; payload = the data                                     as TAG, and the sender's op waits for a STATUS when
 *                                                                           a receive has taken it
 *   TAG_WITHDRAW  op                                                        forget the message of the sender's op, unless a receive
 *                                                                           has taken it, and answer with STATUS(CLOSED)
 *
 * op, target, key are handles of 64 bits: index and generation, checked by whoever gave them out. */
#ifndef VBN_PROTO_PROTO_WIRE_H
#define VBN_PROTO_PROTO_WIRE_H

#include "base/bytes.h"
#include "base/endian.h"
#include "link/link.h"
#include "proto/stage.h"

typedef enum proto_type {
    PROTO_AM = 1,
    PROTO_RTS,
    PROTO_PULL,
    PROTO_DATA,
    PROTO_STATUS,
    PROTO_GET,
    PROTO_PUT,
    PROTO_ATOMIC,
    PROTO_PUT_SIGNAL,
    PROTO_TAG,
    PROTO_TAG_RTS,
    PROTO_TAG_CREDIT_BACK,
    PROTO_PUT_BLOCKS,
    PROTO_GET_BLOCKS,
    PROTO_DATA_STAGED,
    PROTO_RTS_AT,
    PROTO_TAG_RTS_AT,
    PROTO_PULL_AT,
    PROTO_HELPED,
    PROTO_PULL_PUT,
    PROTO_KEY_ASK,
    PROTO_KEY_TELL,
    PROTO_LANE_END,
    PROTO_RTS_DEVICE,
    PROTO_TAG_RTS_DEVICE,
    PROTO_TAG_SYNC,
    PROTO_TAG_WITHDRAW,
    PROTO_PULL_REST,
    PROTO_TAG_MORE,
    PROTO_TYPE_END
} proto_type_t;

#define PROTO_PUT_LAST 1u  /* answer with the last STATUS */
#define PROTO_PUT_PROBE 2u /* no data: only check the range, and answer with a STATUS that is not the last */

#define PROTO_ATOMIC_KIND 7u /* mask of the vbn_atomic_kind_t */
#define PROTO_ATOMIC_WIDE 8u /* 64 bits, else 32 */
#define PROTO_ATOMIC_FETCH 16u

/* Credit for whole tagged messages, in bytes: each costs its length and COST, which is about what keeping it takes besides. A
 * peer may send FIRST at once (a message of 4 KiB), then what TAG_CREDIT_BACK gives; see tag_credit.c. */
#define PROTO_TAG_COST 320u
#define PROTO_TAG_FIRST (4096u + PROTO_TAG_COST)
#define PROTO_TAG_MOST (1u << 20)       /* credit that a peer has at a time, at most */
#define PROTO_TAG_WHOLE_MAX (64u << 10) /* longest whole message */
#define PROTO_TAG_STARVED 1u            /* of an announcement: with more credit the message would have come whole */

#define PROTO_PREFIX_BYTES 8u
#define PROTO_HEADER_MAX 80u /* without the user's header */

#define PROTO_CLAIM_SLOT 0xffu /* of claim; the tag is above it */
#define PROTO_CLAIM_TAG 8

/* Where the data of an announced message lies. */
typedef struct proto_place {
    uint64_t address; /* in the sender's process, 0 = not said */
    uint64_t key;     /* the owner's handle of a key for the whole memory, 0 = in no memory that can be mapped */
    uint64_t offset;  /* in that memory */
    uint64_t owner;
    uint64_t memory;
    uint64_t memory_bytes;
    uint64_t devices[LINK_DEVICES]; /* [TAG_]RTS_DEVICE: key and connection of each; address is theirs, the rest is 0 */
    const void *head;               /* the first bytes of the data, which came along: not part of the wire's place */
    uint32_t head_bytes;
} proto_place_t;
#define PROTO_DEVICE(connection, key) ((uint64_t)(key) << 32 | (connection))

/* A decoded header. Fields a type does not have are 0. */
typedef struct proto_header {
    proto_type_t type;
    unsigned code;
    unsigned last; /* STATUS */
    unsigned stages;
    uint64_t op;
    union {
        uint64_t target;
        uint64_t operand;    /* ATOMIC */
        uint64_t signal_key; /* PUT_SIGNAL */
        uint64_t block;      /* PUT_BLOCKS, GET_BLOCKS */
        uint64_t check;      /* DATA_STAGED */
    };
    union {
        uint64_t compare;       /* ATOMIC */
        uint64_t signal_offset; /* PUT_SIGNAL */
        uint64_t tag;           /* TAG, TAG_RTS */
        uint64_t stride;        /* PUT_BLOCKS, GET_BLOCKS */
    };
    union {
        uint64_t signal_value;
        uint64_t claim; /* PULL_AT */
    };
    uint64_t key;
    uint64_t offset;
    uint64_t length;
    proto_place_t place; /* [TAG_]RTS_AT, [TAG_]RTS_DEVICE; PULL_AT: its address; PULL_PUT: all but that */
    const uint8_t *user; /* points into the decoded bytes; for encode: the bytes to copy */
    uint32_t user_bytes;
    uint32_t payload_bytes; /* received ones only, as payload */
    const void *payload;
} proto_header_t;

/* The prefix of PROTO_AM as a little-endian number, and that of PROTO_TAG, whose only other word is the tag. */
#define PROTO_AM_WORD(id, user_bytes) ((uint64_t)PROTO_AM | (uint64_t)(id) << 8 | (uint64_t)(user_bytes) << 16)
#define PROTO_TAG_WORD ((uint64_t)PROTO_TAG)
#define PROTO_TAG_BYTES (PROTO_PREFIX_BYTES + 8u)

/* Writes the header; buffer has room for LINK_UPPER_HEADER_MAX. Returns its bytes. header must fit (asserted). */
uint32_t proto_encode(const proto_header_t *header, uint8_t *buffer);
/* The same for PROTO_AM, for the fast path. */
static inline uint32_t proto_encode_am(unsigned id, const void *user, uint32_t user_bytes, uint8_t *buffer)
{
    le_put_u64(buffer, PROTO_AM_WORD(id, user_bytes));
    if (user_bytes > 0)
        bytes_copy(buffer + PROTO_PREFIX_BYTES, user, user_bytes);
    return PROTO_PREFIX_BYTES + user_bytes;
}
_Static_assert((VBN_AM_IDS & (VBN_AM_IDS - 1)) == 0, "ids are the low bits of a byte");
/* True for a header that proto_decode would take as PROTO_AM with this id: without what all of them have, and turned by a
 * byte, nothing but the id is left. */
static inline bool proto_is_am(const void *bytes, uint32_t count, unsigned *id_p)
{
    uint32_t user_bytes = count - PROTO_PREFIX_BYTES;
    if (user_bytes > VBN_AM_HEADER_MAX)
        return false;
    uint64_t rest = le_get_u64(bytes) ^ PROTO_AM_WORD(0, user_bytes);
    rest = rest >> 8 | rest << 56;
    *id_p = (unsigned)rest;
    return rest < VBN_AM_IDS;
}
/* True for a header that proto_decode would take as PROTO_TAG. */
static inline bool proto_is_tag(const void *bytes, uint32_t count, uint64_t *tag_p)
{
    if (count != PROTO_TAG_BYTES || le_get_u64(bytes) != PROTO_TAG_WORD)
        return false;
    *tag_p = le_get_u64((const uint8_t *)bytes + PROTO_PREFIX_BYTES);
    return true;
}
/* A segment of an announced message or of a get. */
typedef struct proto_data {
    uint64_t op; /* DATA: the receiver's; TAG_MORE: the sender's */
    uint64_t offset;
} proto_data_t;
#define PROTO_DATA_BYTES (PROTO_PREFIX_BYTES + 16u)
/* True for a header that proto_decode would take as this type: PROTO_DATA or PROTO_TAG_MORE. */
static inline bool proto_is_data(proto_type_t type, const void *bytes, uint32_t count, proto_data_t *data_p)
{
    if (count != PROTO_DATA_BYTES || le_get_u64(bytes) != (uint64_t)type)
        return false;
    data_p->op = le_get_u64((const uint8_t *)bytes + PROTO_PREFIX_BYTES);
    data_p->offset = le_get_u64((const uint8_t *)bytes + PROTO_PREFIX_BYTES + 8);
    return true;
}
/* Decodes bytes from outside. VBN_ERR_PROTOCOL unless every field, length and reserved bit is right;
 * payload_bytes is checked against type and length. */
vbn_status_t proto_decode(const void *bytes, uint32_t count, uint32_t payload_bytes, proto_header_t *header_p);

#endif
