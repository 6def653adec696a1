/* SPDX-License-Identifier: Apache-2.0
 * rig.h - link engines over the loop transport, seen from C++ tests (the core's own headers need C11 atomics). */
#ifndef LINK_RIG_H
#define LINK_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rig rig_t;

typedef struct rig_options {
    uint8_t key;        /* all bytes of the job key; 0: security.auth=none */
    int64_t window;     /* 0: default */
    uint64_t wireup_ns; /* 0: default */
} rig_options_t;

/* One engine. Messages are numbered; the rig checks that they come without gap. */
rig_t *rig_open(const rig_options_t *options);
/* With settings in front of the options: key, value, key, value, NULL. */
rig_t *rig_open_with(const rig_options_t *options, const char *const *pairs);
void rig_close(rig_t *rig);
unsigned rig_progress(rig_t *rig);
vbn_status_t rig_arm(rig_t *rig);
int rig_fd(rig_t *rig);
void rig_wake(rig_t *rig);
uint64_t rig_uid(rig_t *rig);
size_t rig_peers(rig_t *rig);
vbn_status_t rig_connect(rig_t *from, rig_t *to, vbn_peer_t **peer_p);
vbn_status_t rig_connect_blob(rig_t *from, const void *blob, size_t length);
size_t rig_address(rig_t *rig, uint8_t blob[VBN_ADDRESS_MAX]);
/* Sends the next number, with `bytes` of payload. */
vbn_status_t rig_send(rig_t *rig, vbn_peer_t *peer, uint32_t bytes);
vbn_status_t rig_flush(rig_t *rig, vbn_peer_t *peer);
void rig_disconnect(vbn_peer_t *peer, vbn_close_mode_t mode);
void rig_send_from_errors(rig_t *rig, bool on); /* the error callback tries to send */
uint64_t rig_counter(rig_t *rig, const char *name);
vbn_peer_t *rig_last_sender(rig_t *rig);
bool rig_ready(vbn_peer_t *peer);
uint32_t rig_unacked(vbn_peer_t *peer);
uint64_t rig_peer_uid(vbn_peer_t *peer);
void rig_fail_peer(vbn_peer_t *peer);
uint32_t rig_payload_max(vbn_peer_t *peer); /* of a packet to it, as its capabilities say now */
void rig_explain(const vbn_peer_t *peer, char *text, size_t capacity);

typedef struct rig_totals {
    uint64_t received; /* in order */
    uint64_t misordered;
    uint64_t pending; /* sends and flushes whose done has not run */
    uint64_t twice;   /* done ran more than once */
    uint64_t done_ok, done_failed, flushed;
    int32_t last_done;
    uint64_t errors, downs, passive_lost;
    int32_t error_status;
    char error_text[512];
} rig_totals_t;
const rig_totals_t *rig_result(rig_t *rig);

/* Control of the loop transport. */
void rig_seed(uint64_t seed, unsigned busy_1_of, unsigned later_1_of);
/* Whether a peer's process copies into memory here; rig_waits: connections that were closed meanwhile. */
void rig_unsettled(bool on);
unsigned rig_waits(void);
/* Connections over this transport (NULL: none) die with their first packet. */
void rig_dies(const char *transport);
/* The packet number `index` (from 0; -1: each) of wire type `type` (-1: any): flip the bits of byte `at` with `mask`, or cut the
 * packet to `at` bytes (mask 0), or kill the connection (at < 0). */
void rig_tamper(int type, int index, int at, uint8_t mask);
void rig_tamper_off(void);
uint32_t rig_packet_bytes(int type); /* length of the last packet of that type */

/* An attacker on the transport who sends back each packet, with the type changed from -> to (0: unchanged). */
typedef struct rig_echo rig_echo_t;
rig_echo_t *rig_echo_open(uint8_t from, uint8_t to);
size_t rig_echo_address(rig_echo_t *echo, uint8_t blob[VBN_ADDRESS_MAX]);
unsigned rig_echo_progress(rig_echo_t *echo);
void rig_echo_close(rig_echo_t *echo);

/* Pure parts. */
vbn_status_t rig_decode_address(const void *blob, size_t length, unsigned *sections_p);
int rig_select(const char *const *names, const bool *offered, const int *status, unsigned count, char *text,
               size_t capacity);
size_t rig_idle_peer_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
