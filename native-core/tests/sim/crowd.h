/* SPDX-License-Identifier: Apache-2.0
 * crowd.h - any number of link engines on a simulated net, number 0 being the one that is looked at. Messages carry a
 * number per sender; the receiver counts those in order and the others. Plain C types, for C++ tests. */
#ifndef VBN_TESTS_SIM_CROWD_H
#define VBN_TESTS_SIM_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crowd crowd_t;

typedef struct crowd_options {
    unsigned engines;
    uint64_t seed;
    bool connections; /* reliable fabric */
    uint32_t loss_ppm, duplicate_ppm, late_ppm, later_ppm;
    uint64_t later_ms; /* a send that is done later keeps its memory for up to so long */
    uint32_t packet_max;
    uint64_t keepalive_ms, peer_timeout_ms;      /* 0: default */
    uint64_t resume_ms;                          /* link.resume_timeout */
    bool two_nets;                               /* a second transport, over connections */
    bool datagrams2;                             /* it is over datagrams, too */
    bool costly;                                 /* the second one is: peers are promoted to it */
    unsigned rails, promote_after, promoted_max; /* 0: default */
} crowd_options_t;

crowd_t *crowd_open(const crowd_options_t *options);
void crowd_close(crowd_t *crowd);
/* from's peer is kept by the crowd. */
bool crowd_connect(crowd_t *crowd, unsigned from, unsigned to);
/* The status of link_send. */
int crowd_send(crowd_t *crowd, unsigned from, unsigned to, uint32_t bytes);
/* 1: waits for its done. */
int crowd_flush(crowd_t *crowd, unsigned from, unsigned to);
void crowd_disconnect(crowd_t *crowd, unsigned from, unsigned to, bool flush);
void crowd_cut(crowd_t *crowd, unsigned a, unsigned b, bool cut);
/* The upper layer of engine 0 still has something for the engines below `below`: a close with flush waits for it. */
void crowd_set_loud(crowd_t *crowd, unsigned below);
uint64_t crowd_quiet_asked(crowd_t *crowd); /* how often engine 0's upper layer was asked whether it has */
/* The next `count` packets that the engine sends as an ACK (only that, without data) are lost. */
void crowd_lose_acks(crowd_t *crowd, unsigned engine, unsigned count);
/* from's peer takes its session for another one, as a process does that lies. */
void crowd_mistake_session(crowd_t *crowd, unsigned from, unsigned to);
/* Breaks all connections (endpoints) of one engine on a net: 0, or 1 with two_nets. */
void crowd_break(crowd_t *crowd, unsigned engine, unsigned net);
/* The connection that carries the count-th packet of a net from now breaks with it. */
void crowd_break_after(crowd_t *crowd, unsigned net, uint64_t count);
unsigned crowd_lanes(crowd_t *crowd, unsigned from, unsigned to, int net);        /* ready ones; -1: of both nets */
uint64_t crowd_carried(crowd_t *crowd, unsigned from, unsigned to, unsigned net); /* DATA of the lanes that there are */
void crowd_promote(crowd_t *crowd, unsigned from, unsigned to);
void crowd_drop_lane(crowd_t *crowd, unsigned from, unsigned to, unsigned net);
/* Fills the memory of pending sends with another byte, as a caller does who reuses it too early. */
void crowd_scribble(crowd_t *crowd);
/* The engine's program calls nothing until told otherwise: no progress is made there, its process lives. */
void crowd_compute(crowd_t *crowd, unsigned engine, bool computes);
/* Lets virtual time pass. */
void crowd_run(crowd_t *crowd, uint64_t milliseconds);
/* One turn of every engine, no time. */
void crowd_turn(crowd_t *crowd);

size_t crowd_peers(crowd_t *crowd, unsigned engine);
size_t crowd_timers(crowd_t *crowd, unsigned engine);
uint64_t crowd_received(crowd_t *crowd, unsigned engine);
uint64_t crowd_wrong(crowd_t *crowd, unsigned engine); /* out of order, twice, or damaged */
uint64_t crowd_done(crowd_t *crowd, unsigned engine);
uint64_t crowd_failed(crowd_t *crowd, unsigned engine);
uint64_t crowd_pending(crowd_t *crowd, unsigned engine);
uint64_t crowd_lost(crowd_t *crowd, unsigned engine); /* peers whose end was told */
const char *crowd_lost_text(crowd_t *crowd, unsigned engine);
uint64_t crowd_counter(crowd_t *crowd, unsigned engine, const char *name);
uint64_t crowd_packets(crowd_t *crowd); /* launched on the net so far */

#ifdef __cplusplus
}
#endif
#endif
