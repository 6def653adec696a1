/* SPDX-License-Identifier: Apache-2.0
 * shm_ring.h - one direction of a pair: a ring of slots, and one of data, single producer, single consumer.
 *
 * The memory is made by the consumer (its process is charged, and only it can be disturbed by the producer):
 *
 *   0     constants       written before the ring is handed over; the producer copies and checks them once
 *   128   tell            consumer: how it must be told of a packet (SHM_ASLEEP, SHM_COLD, SHM_FENCE); producer clears it and
 *                         then tells; otherwise untouched, so the producer's look at it after each packet hits its own cache
 *   132   shut            consumer: its memory is no longer written in place by the producer (tl/guard.h)
 *   256   consumed        consumer -> producer, published every quarter ring and before the consumer sleeps: when the
 *                         producer finds the ring full, enough is unread in it for the next publication to come
 *   264   grown           consumer: answer to GROW, see below
 *   384   waiting         producer sets it before it sleeps for room, consumer clears it and then wakes
 *   448   writing         producer: it writes into the consumer's memory just now (tl/guard.h)
 *   512   claims          words of transfers that both sides copy (tl/claim.h), handed out by the consumer
 *   640   slots           128 B each: 8-byte word, 120 B data; word and the first 56 B share a cache line
 *   ...   data            chunks * stride bytes, used in turn in lines of 64 bytes: what does not fit its slot. A packet lies
 *                         in one piece; the end of the area is skipped where it is too short
 *
 * Slot word: tag 16 bits (position + 1) | header bytes 12 | payload bytes 24 | kind 2 | zero 10. One 64-bit release
 * store publishes a packet, one acquire load takes all that the consumer must check; nothing is read twice. No index
 * comes from the other side except `consumed`, which is checked. Places in the data area follow from the lengths of the
 * packets so far, so both sides count them. kind SHM_CHUNK: the payload lies there, and a header that no slot takes.
 *
 * A ring may begin small (`small` of the constants): 8 slots and 102 lines in the first 8 KiB, and no memory behind them.
 * A producer that wants all of it writes a frame GROW and no more until it is consumed. The consumer, with everything
 * before consumed, brings the memory, lays the ring out anew, sets `grown` and publishes; without memory it only publishes,
 * and the ring stays as it was. In a small ring a packet that takes more than half of the data area comes in parts: frames
 * PART, whose bytes are collected, and LAST, whose header_bytes say how many of all of them are the packet's header.
 *
 * Invariants: R1 position - consumed <= slots. R2 data_position - data_consumed <= lines. R3 a slot's tag is never
 * `position + 1` before the packet of this lap is complete (a slot is reused after 16 laps of 16-bit tags at the
 * earliest, and by then it has been overwritten 15 times; what grows gets the tag of the frame GROW in all its slots).
 * R4 the layout changes only where nothing is in flight: GROW is the last frame before, `consumed` behind it the answer.
 *
 * Sleeping is Dekker's protocol: publish, then read the flag; set the flag, then re-check. The side that looks for packets
 * no more pays, where it can: with `light` the producer's path has no fence, because the consumer runs membarrier() after it
 * has set the flag. That interrupts every processor which runs a process of ours, so a consumer does it once and leaves
 * SHM_FENCE set (`fenced`): a producer that sees this bit fences and looks at the others again. Without
 * `light` both sides use seq_cst accesses. Publishing `consumed` is rare, and always seq_cst. */
#ifndef VBN_TL_SHM_RING_H
#define VBN_TL_SHM_RING_H

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#include "base/atomics.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "base/hot.h"
#include "base/status.h"

#define SHM_RING_MAGIC 0x474e5256u /* "VRNG" */
#define SHM_RING_VERSION 7u
#define SHM_RING_CONTROL 640u
#define SHM_RING_CLAIMS 16u
#define SHM_SLOT_DATA 120u
#define SHM_SLOT_FIRST_LINE 56u
#define SHM_LINE 64u
#define SHM_SLOTS_MIN 8u
#define SHM_SMALL_BYTES 8192u
#define SHM_SMALL_SLOTS SHM_SLOTS_MIN
#define SHM_SMALL_LINES ((SHM_SMALL_BYTES - SHM_RING_CONTROL - SHM_SMALL_SLOTS * 128u) / SHM_LINE)
#define SHM_SLOTS_MAX 4096u
#define SHM_QUARTER_MAX 64u
#define SHM_CHUNKS_MIN 4u
#define SHM_CHUNKS_MAX 4096u
#define SHM_HEADER_MAX 320u
#define SHM_STRIDE_MAX ((1u << 20) + 1024u)
#define SHM_RING_BYTES_MAX (64u << 20)

#define SHM_ASLEEP 1u /* by a wake-up */
#define SHM_COLD 2u   /* by the bell (shm_bell.h): this ring is not polled */
#define SHM_FENCE 4u  /* how to look at the two above; the producer never clears it */

enum {
    SHM_INLINE = 0,
    SHM_CHUNK = 1,
    SHM_KICK = 2, /* no packet: look at the socket */
    SHM_GROW = 3, /* no packet: the producer wants the whole ring */
    SHM_PART = 4, /* bytes of a packet that goes on, in the data area */
    SHM_LAST = 5  /* the last ones */
};

typedef struct shm_geometry {
    uint32_t slots;  /* power of two; of a ring that is small: those it has now */
    uint32_t chunks; /* the data area takes so many packets of the largest size, */
    uint32_t stride; /* which is this, a multiple of 64 */
} shm_geometry_t;

typedef struct shm_slot {
    _Atomic uint64_t word;
    uint8_t data[SHM_SLOT_DATA];
} shm_slot_t;

typedef struct shm_ring_control {
    uint32_t magic;
    uint32_t version;
    shm_geometry_t geometry; /* when grown */
    uint32_t small;          /* 1: begins small */
    uint8_t pad0[104];
    _Atomic uint32_t tell;
    _Atomic uint32_t shut;
    uint8_t pad1[120];
    _Atomic uint64_t consumed; /* slots in the low, lines of data in the high 32 bits; both count up and wrap */
    _Atomic uint32_t grown;    /* valid for who reads behind a `consumed` that answers GROW */
    uint8_t pad2[116];
    _Atomic uint32_t waiting;
    uint8_t pad3[60];
    _Atomic uint32_t writing;
    uint8_t pad4[60];
    _Atomic uint64_t claims[SHM_RING_CLAIMS];
} shm_ring_control_t;

_Static_assert(sizeof(shm_slot_t) == 128, "slot layout");
_Static_assert(sizeof(shm_ring_control_t) == SHM_RING_CONTROL, "control layout");
_Static_assert(SHM_SMALL_LINES == 102, "as docs/scaling.md says");

/* The producer's private side. Its thread only. */
typedef struct shm_tx {
    shm_ring_control_t *control; /* NULL = not attached */
    shm_slot_t *slots;
    uint8_t *data;
    uint32_t lines;   /* of the data area */
    uint32_t data_at; /* the line behind the last packet's */
    shm_geometry_t geometry;
    uint32_t mask; /* slots - 1 */
    uint32_t position;
    uint32_t limit;         /* of position, for src/fast; never behind it */
    uint32_t counted;       /* as position, without the short packets that the statistics do not know yet */
    uint64_t short_bytes;   /* header and data of those */
    uint32_t data_position; /* lines used so far, skipped ones too */
    uint32_t consumed;      /* last checked value of the consumer's */
    uint32_t data_consumed;
    uint32_t whole;      /* lines of the largest packet that goes in one piece */
    uint32_t full_slots; /* when grown */
    bool small;
    bool light;
} shm_tx_t;

/* The consumer's private side. Its thread only. */
typedef struct shm_rx {
    shm_ring_control_t *control;
    shm_slot_t *slots;
    uint8_t *data;
    uint32_t lines;   /* of the data area */
    uint32_t data_at; /* the line behind the last packet's */
    shm_geometry_t geometry;
    uint32_t position;
    uint32_t data_position;
    uint32_t published;
    uint32_t data_published;
    uint32_t mask;         /* slots - 1 */
    uint32_t quarter;      /* of the slots, at most SHM_QUARTER_MAX: publish when so many are owed */
    uint32_t due;          /* published + quarter */
    uint32_t data_quarter; /* of the lines; a small ring gives each packet's back at once */
    uint32_t whole;        /* as the producer's */
    uint32_t full_slots;
    bool small;
    bool light;
    bool fenced; /* light, and SHM_FENCE is set: the producer's fence comes first, no membarrier is needed */
} shm_rx_t;

/* What the consumer found: lengths are checked, bytes are still in the producer's reach. */
typedef struct shm_frame {
    unsigned kind;
    uint32_t header_bytes;
    uint32_t payload_bytes;
    uint32_t data_at; /* the line behind it */
    uint32_t lines;   /* of the data area, skipped ones too; 0 when it lies in its slot */
    const uint8_t *header;
    const uint8_t *payload;
} shm_frame_t;

/* Bytes of a ring's memory, a multiple of `page`. */
size_t shm_ring_bytes(const shm_geometry_t *geometry, size_t page);
/* Bytes of the data area that any packet of `packet_max` bytes of header and payload needs at most. */
uint32_t shm_ring_stride(uint32_t packet_max);
/* Consumer: formats zeroed memory and attaches to it. small: begins small; the ring must be larger than that. */
void shm_rx_create(shm_rx_t *rx, void *memory, const shm_geometry_t *geometry, bool small, bool light);
/* Consumer, at the frame GROW, which is the next to be consumed: lays the ring out in memory that is all there now. */
void shm_rx_grow(shm_rx_t *rx);
/* Producer, when GROW and all before it is consumed: takes the answer. True: the ring has grown. */
bool shm_tx_answer(shm_tx_t *tx);
/* Producer: checks the constants of memory of `bytes` bytes and attaches. VBN_ERR_PROTOCOL. */
vbn_status_t shm_tx_attach(shm_tx_t *tx, void *memory, size_t bytes, uint32_t stride_min, bool light);
/* Producer: takes over the consumer's index. VBN_ERR_PROTOCOL when it is impossible. */
vbn_status_t shm_tx_refresh(shm_tx_t *tx);

static inline uint32_t shm_align64(uint32_t bytes)
{
    return (bytes + 63u) & ~63u;
}

static inline bool shm_tx_slot_free(const shm_tx_t *tx)
{
    return tx->position - tx->consumed < tx->geometry.slots;
}

static inline uint32_t shm_tx_lines_free(const shm_tx_t *tx)
{
    return tx->lines - (tx->data_position - tx->data_consumed);
}

/* Any packet in one piece fits, also one that has to skip the end of the area. */
static inline bool shm_tx_data_free(const shm_tx_t *tx)
{
    return shm_tx_lines_free(tx) >= 2 * tx->whole;
}

static inline bool shm_header_in_slot(uint32_t header_bytes)
{
    return header_bytes <= SHM_SLOT_DATA;
}

static inline uint32_t shm_lines_of(uint32_t header_bytes, uint32_t payload_bytes)
{
    uint32_t header = shm_header_in_slot(header_bytes) ? 0 : shm_align64(header_bytes);
    return (header + shm_align64(payload_bytes)) / SHM_LINE;
}

/* Lines to skip before a packet of so many. */
static inline uint32_t shm_lines_to_skip(uint32_t area, uint32_t at, uint32_t lines)
{
    return lines > area - at ? area - at : 0;
}

/* A packet of so many lines at `at` ends within the area. */
static inline uint32_t shm_line_behind(uint32_t area, uint32_t at, uint32_t lines)
{
    return at + lines == area ? 0 : at + lines;
}

/* position: behind the packet. */
static inline uint64_t shm_slot_word(uint32_t position, uint32_t header_bytes, uint64_t payload_bytes, unsigned kind)
{
    return (uint64_t)(position & 0xffff) | (uint64_t)header_bytes << 16 | payload_bytes << 28 | (uint64_t)kind << 52;
}

static inline void shm_tx_publish(shm_tx_t *tx, uint32_t header_bytes, uint32_t payload_bytes, unsigned kind)
{
    shm_slot_t *slot = &tx->slots[tx->position & tx->mask];
    tx->limit += tx->limit == tx->position;
    tx->counted++;
    tx->position++;
    uint64_t word = shm_slot_word(tx->position, header_bytes, payload_bytes, kind);
    if (tx->light)
        atomic_set_release(&slot->word, word); /* pairs with the acquire in shm_rx_peek and src/fast */
    else
        atomic_set_seq(&slot->word, word); /* and with the seq_cst store of tell */
}

static inline void shm_gather(uint8_t *to, const struct iovec *iov, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (iov[i].iov_len != 0)
            bytes_copy(to, iov[i].iov_base, iov[i].iov_len);
        to += iov[i].iov_len;
    }
}

static inline void shm_tx_put_data(shm_tx_t *tx, uint32_t skip, uint32_t lines, const void *header,
                                   uint32_t header_bytes, const struct iovec *iov, uint32_t count)
{
    uint32_t at = skip > 0 ? 0 : tx->data_at;
    uint8_t *data = tx->data + (size_t)at * SHM_LINE;
    bool in_slot = shm_header_in_slot(header_bytes);
    bytes_copy(in_slot ? tx->slots[tx->position & tx->mask].data : data, header, header_bytes);
    shm_gather(data + (in_slot ? 0 : shm_align64(header_bytes)), iov, count);
    tx->data_at = shm_line_behind(tx->lines, at, lines);
    tx->data_position += skip + lines;
}

/* Writes one packet. VBN_BUSY: no room. The caller has checked the lengths: header_bytes <= SHM_HEADER_MAX, and both
 * together fit `whole` lines with both rounded up to lines; payload_bytes is the sum of iov. */
static inline vbn_status_t shm_tx_put(shm_tx_t *tx, const void *header, uint32_t header_bytes, const struct iovec *iov,
                                      uint32_t count, uint32_t payload_bytes)
{
    bool whole = header_bytes + payload_bytes <= SHM_SLOT_DATA;
    uint32_t lines = whole ? 0 : shm_lines_of(header_bytes, payload_bytes);
    uint32_t skip = shm_lines_to_skip(tx->lines, tx->data_at, lines);
    if (!shm_tx_slot_free(tx) || skip + lines > shm_tx_lines_free(tx)) {
        vbn_status_t status = shm_tx_refresh(tx);
        if (status != VBN_OK)
            return status;
        if (!shm_tx_slot_free(tx) || skip + lines > shm_tx_lines_free(tx))
            return VBN_BUSY;
    }
    if (whole) {
        uint8_t *data = tx->slots[tx->position & tx->mask].data;
        bytes_copy(data, header, header_bytes);
        shm_gather(data + header_bytes, iov, count);
        shm_tx_publish(tx, header_bytes, payload_bytes, SHM_INLINE);
        return VBN_OK;
    }
    shm_tx_put_data(tx, skip, lines, header, header_bytes, iov, count);
    shm_tx_publish(tx, header_bytes, payload_bytes, SHM_CHUNK);
    return VBN_OK;
}

/* After publishing: how must the consumer be told? Clears the flags, so that it is told once. Clearing comes before the
 * telling: a consumer that sets a flag again in between finds the wake-up in its socket, or the bit in its bell. */
static inline uint32_t shm_tx_must_tell(shm_tx_t *tx)
{
    uint32_t how;
    if (tx->light) {
        atomic_signal_fence(memory_order_seq_cst); /* compiler only; the consumer's membarrier does the rest, or: */
        how = atomic_get_relaxed(&tx->control->tell);
        if (__builtin_expect((how & SHM_FENCE) != 0, 0)) {
            atomic_full_fence(); /* pairs with the seq_cst store of tell: its flags, or the consumer sees the packet */
            how = atomic_get_relaxed(&tx->control->tell);
        }
    } else {
        how = atomic_get_seq(&tx->control->tell); /* pairs with the seq_cst store of the consumer */
    }
    how &= ~SHM_FENCE;
    if (__builtin_expect(how != 0, 0)) /* no plain store: SHM_FENCE may just be set */
        (void)atomic_fetch_and_explicit(&tx->control->tell, SHM_FENCE, memory_order_relaxed);
    return how;
}

/* The same, of a ring that is light, for who only wants to know whether: clears nothing. */
static inline bool shm_tx_asked(const shm_tx_t *tx)
{
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t how = atomic_get_relaxed(&tx->control->tell);
    if (__builtin_expect(how == 0, 1))
        return false;
    if ((how & SHM_FENCE) != 0) {
        atomic_full_fence(); /* as in shm_tx_must_tell */
        how = atomic_get_relaxed(&tx->control->tell);
    }
    return (how & ~SHM_FENCE) != 0;
}

/* Consumer: what tell is when these flags are set. */
static inline uint32_t shm_rx_tell(const shm_rx_t *rx, uint32_t flags)
{
    return rx->fenced ? flags | SHM_FENCE : flags;
}

/* Consumer, before it sets flags: from now on they come with SHM_FENCE. True: this one time a membarrier must follow. */
static inline bool shm_rx_fence(shm_rx_t *rx)
{
    bool first = rx->light && !rx->fenced;
    rx->fenced |= first;
    return first;
}

static inline bool shm_rx_empty(const shm_rx_t *rx)
{
    uint64_t word = atomic_get_seq(&rx->slots[rx->position & (rx->geometry.slots - 1)].word);
    return (uint16_t)word != (uint16_t)(rx->position + 1);
}

/* Where a packet of kind SHM_CHUNK lies. false: it is larger than any may be. */
static inline bool shm_rx_find(const shm_rx_t *rx, const shm_slot_t *slot, shm_frame_t *frame)
{
    if (frame->kind != SHM_CHUNK || frame->header_bytes > SHM_HEADER_MAX)
        return false;
    uint32_t lines = shm_lines_of(frame->header_bytes, frame->payload_bytes);
    if (lines > rx->whole)
        return false;
    uint32_t skip = shm_lines_to_skip(rx->lines, rx->data_at, lines), at = skip > 0 ? 0 : rx->data_at;
    bool in_slot = shm_header_in_slot(frame->header_bytes);
    frame->lines = skip + lines;
    frame->data_at = shm_line_behind(rx->lines, at, lines);
    frame->payload = rx->data + (size_t)at * SHM_LINE + (in_slot ? 0 : shm_align64(frame->header_bytes));
    frame->header = in_slot ? slot->data : rx->data + (size_t)at * SHM_LINE;
    return true;
}

/* Where the bytes of PART and LAST lie, which skip nothing. header_bytes stay what the frame says. */
bool shm_rx_find_part(const shm_rx_t *rx, shm_frame_t *frame);

/* 1: a frame; 0: empty; -1: the producer wrote nonsense. */
static inline int shm_rx_peek(const shm_rx_t *rx, shm_frame_t *frame)
{
    shm_slot_t *slot = &rx->slots[rx->position & (rx->geometry.slots - 1)];
    uint64_t word = atomic_get_acquire(&slot->word); /* pairs with shm_tx_publish */
    if ((uint16_t)word != (uint16_t)(rx->position + 1))
        return 0;
    frame->header_bytes = (uint32_t)(word >> 16) & 0xfff;
    frame->payload_bytes = (uint32_t)(word >> 28) & 0xffffff;
    frame->kind = (unsigned)(word >> 52);
    frame->data_at = rx->data_at;
    frame->lines = 0;
    frame->header = frame->payload = slot->data; /* a KICK has nothing there */
    if (__builtin_expect(frame->kind == SHM_INLINE, 1)) {
        if (frame->header_bytes + frame->payload_bytes > SHM_SLOT_DATA)
            return -1;
        frame->payload = slot->data + frame->header_bytes;
        return 1;
    }
    if (frame->kind == SHM_KICK || frame->kind == SHM_GROW)
        return frame->header_bytes == 0 && frame->payload_bytes == 0 ? 1 : -1;
    return shm_rx_find(rx, slot, frame) || shm_rx_find_part(rx, frame) ? 1 : -1;
}

static inline bool shm_rx_unpublished(const shm_rx_t *rx)
{
    return rx->position != rx->published;
}

/* Gives everything consumed back to the producer. True: the producer sleeps for room, wake it (flag is cleared). */
static inline bool shm_rx_publish(shm_rx_t *rx)
{
    rx->published = rx->position;
    rx->due = rx->position + rx->quarter;
    rx->data_published = rx->data_position;
    uint64_t value = (uint64_t)rx->data_position << 32 | rx->position;
    /* Pairs with the acquire in shm_tx_refresh, and with the seq_cst store of waiting. */
    atomic_set_seq(&rx->control->consumed, value);
    if (__builtin_expect(atomic_get_seq(&rx->control->waiting) == 0, 1))
        return false;
    atomic_set_relaxed(&rx->control->waiting, 0);
    return true;
}

/* Steps over the frame that peek gave. True: a quarter of the slots or of the data area is owed, publish. */
static inline bool shm_rx_consume(shm_rx_t *rx, const shm_frame_t *frame)
{
    rx->position++;
    rx->data_at = frame->data_at;
    rx->data_position += frame->lines;
    return rx->position - rx->published >= rx->quarter || rx->data_position - rx->data_published >= rx->data_quarter;
}

#endif
