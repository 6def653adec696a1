/* SPDX-License-Identifier: Apache-2.0
 * harness.h - drives a transport from C++ tests, which cannot include headers with C atomics. A side is one interface
 * with its memory registry; a lane is one endpoint with what came over it. Packets carry a running number and a
 * pattern, and every received packet is checked against both. */
#ifndef VBN_TEST_TL_HARNESS_H
#define VBN_TEST_TL_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARNESS_LANES 160
#define HARNESS_HEADER 16u

typedef struct side side_t;

typedef struct lane {
    side_t *side;
    void *ep; /* tl_ep_t; NULL after disconnect or error */
    bool accepted;
    bool ready;
    unsigned readies;
    unsigned tx_readies;
    unsigned errors;
    vbn_status_t status; /* of ep_error */
    char text[256];
    uint32_t next_tx;
    uint32_t next_rx;
    unsigned wrong; /* packets out of order or with a wrong pattern */
    uint64_t rx_bytes;
    unsigned sunk; /* packets placed by sink */
    bool trust_at_once;
} lane_t;

/* transport: "shm" or "self"; settings: "key=value key=value", may be NULL. NULL on failure (vbn_error_text()). */
side_t *side_open(const char *transport, const char *settings, uint64_t uid);
void side_close(side_t *side);
unsigned side_progress(side_t *side);
vbn_status_t side_arm(side_t *side);
int side_fd(side_t *side);
size_t side_address(side_t *side, uint8_t address[256]);
vbn_status_t side_reachable(side_t *side, const uint8_t *address, size_t length, char reason[256]);
lane_t *side_lane(side_t *side, unsigned index); /* in the order of connect and accept */
unsigned side_lane_count(side_t *side);
void side_set_trust(side_t *side, bool trust_accepted); /* trust accepted endpoints at once; default true */
void side_set_sink(side_t *side, void *place);
uint64_t side_counter(side_t *side, const char *name);
uint32_t side_packet_max(side_t *side);
unsigned side_hot_rings(side_t *side); /* those polled at each turn */
bool lane_hot(const lane_t *lane);
bool lane_light(const lane_t *lane);                /* its consumer may use membarrier, */
bool lane_fenced(const lane_t *lane);               /* and need not, because the producer fences */
void side_write_bell(side_t *side, uint64_t value); /* into every word, as a hostile peer could */
struct mem_registry *side_memory(side_t *side);

lane_t *lane_connect(side_t *side, const uint8_t *address, size_t length, bool trust);
vbn_status_t lane_trust(lane_t *lane);
/* One packet of HARNESS_HEADER + payload_bytes, in `parts` parts. */
vbn_status_t lane_send(lane_t *lane, uint32_t payload_bytes, uint32_t parts);
void lane_disconnect(lane_t *lane);
int lane_socket(lane_t *lane);
size_t lane_memory(const lane_t *lane); /* bytes in memory of the ring that this side has made for the peer */
size_t lane_mapped(const lane_t *lane); /* of its mapping */
bool lane_small(const lane_t *lane);    /* what this side sends goes through a small ring */
bool lane_growing(const lane_t *lane);  /* and GROW is not answered */
/* Sends and drives both (b may be NULL) until what this side sends goes through a grown ring; false after 100 s. */
bool lane_grow(lane_t *lane, side_t *a, side_t *b);
void lane_ask_growth(lane_t *lane);         /* the next send asks for it, as after much traffic */
void side_let_grow(side_t *side, bool let); /* false: as if its rings took all the memory that they may */
/* A frame as a hostile producer could write it, whatever its bytes are. */
void lane_put_frame(lane_t *lane, unsigned kind, uint32_t header_bytes, uint32_t payload_bytes);
void lane_corrupt_tx_slot(lane_t *lane, uint64_t word);   /* the next slot that we would write */
void lane_corrupt_consumed(lane_t *lane, uint64_t value); /* what our peer reads as consumed */
void lane_corrupt_all_rings(lane_t *lane, uint32_t seed); /* random bytes over both rings */

typedef struct imported {
    unsigned calls;
    vbn_status_t status;
    void *address;
    void *handle; /* mem_import_t */
} imported_t;
vbn_status_t lane_import(lane_t *lane, const void *key, size_t length, imported_t *result);
void imported_release(imported_t *result);

/* Bulk data past the ring. */
bool lane_copies(lane_t *lane);
vbn_status_t lane_copy(lane_t *lane, bool write, void *local, const void *remote, size_t length);
bool lane_present(lane_t *lane);
void lane_claim_open(lane_t *lane, unsigned slot, uint32_t tag);                     /* one of ours, marked as used */
uint32_t lane_claim_back(lane_t *lane, unsigned slot, uint32_t tag, uint32_t total); /* one of the peer's */
void lane_claim_release(lane_t *lane, unsigned slot, uint32_t tag);
void lane_lend(lane_t *lane);
bool lane_enter(lane_t *lane); /* the guard of the peer's memory */
void lane_leave(lane_t *lane);
bool lane_settled(lane_t *lane);

/* Progresses both (b may be NULL) until *counter >= value; false after 100 s. */
bool drive_until(side_t *a, side_t *b, const unsigned *counter, unsigned value);
bool drive_rx(side_t *a, side_t *b, const lane_t *lane, uint32_t packets);
void drive(side_t *a, side_t *b, unsigned rounds);
/* Progresses until the side has this many lanes (idle sockets are looked at every 100 us only). */
bool drive_lanes(side_t *side, side_t *other, unsigned lanes);

/* Packets with that payload and a short header that a ring takes while nobody reads it. */
uint32_t ring_room(uint32_t slots, uint32_t chunks, uint32_t packet_max, uint32_t payload_bytes);
/* Two threads through one ring in plain memory, whose counters of data wrap around; returns the number of wrong packets, or -1
 * after two minutes in which none passed. */
long ring_two_threads(uint32_t slots, uint32_t chunks, uint32_t packets, uint32_t payload_max);
/* The same when the consumer looks at nothing but its bell while the ring is empty; light: with one membarrier, and fences of
 * the producer from then on; often: with a membarrier each time. -2: no such. */
long ring_two_threads_bell(uint32_t packets, bool light, bool often);
/* Offers `bytes` of the given constants to the producer's check. */
vbn_status_t ring_attach_constants(uint32_t magic, uint32_t slots, uint32_t chunks, uint32_t stride, size_t bytes);
/* Decodes an arbitrary slot word; -1, 0 or 1 as shm_rx_peek, and *inside: the frame lies in the ring's memory. */
int ring_peek_word(uint64_t word, bool *inside);
vbn_status_t ring_refresh_consumed(uint64_t sent, uint64_t consumed);

#ifdef __cplusplus
}
#endif
#endif
