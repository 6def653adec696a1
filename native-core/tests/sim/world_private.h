/* SPDX-License-Identifier: Apache-2.0
 * world_private.h - what the parts of the world share: its nodes, conversations and running operations. */
#ifndef VBN_TESTS_SIM_WORLD_PRIVATE_H
#define VBN_TESTS_SIM_WORLD_PRIVATE_H

#include "link/link_private.h"
#include "proto/proto_private.h"
#include "sim.h"
#include "world.h"

#define NODES_MAX 4u
#define SLOT_BYTES 16384u
#define NS_PER_MS UINT64_C(1000000)
#define FIRST_UID 1000u

/* Masks: bit 0 is the net of "sim", bit 1 that of "sim2". */
typedef struct world_kind {
    const char *name;
    unsigned nets;        /* 2: both are used */
    unsigned datagram;    /* mask */
    unsigned kills, cuts; /* mask: nets whose connections break, that are cut */
    unsigned cut_ms;      /* at most; 0: short */
    unsigned rails;       /* link.rails: 2 up to this */
    unsigned promoted;    /* link.promoted_max, and the second net is costly */
    bool heavy, small;    /* faults; few buffers and small windows */
    bool crashes, prompt; /* workers die; silence is noticed soon */
    bool resumes;         /* link.resume_timeout */
    bool loses_peers;     /* W5 does not apply */
    bool disconnects;     /* half of the runs hang up now and then */
} world_kind_t;

extern const world_kind_t world_kinds[];

typedef struct world world_t;

typedef struct conversation {
    unsigned from, to;
    uint32_t said;  /* messages the link or protocol took */
    uint32_t heard; /* messages that have arrived */
    bool broken;    /* an operation failed, a peer was lost or closed: not all arrives */
} conversation_t;

typedef struct node {
    world_t *world;
    unsigned index;
    settings_t settings;
    log_sink_t log;
    counters_t counters;
    mem_registry_t *memory;
    vbn_mem_t *region; /* one slot for each node that may put there */
    proto_engine_t *proto;
    link_engine_t *link;
    vbn_peer_t *peers[NODES_MAX]; /* what link_connect gave; NULL: not connected */
    unsigned newest[NODES_MAX];   /* highest conversation heard from each node, + 1 */
    bool transfer[NODES_MAX];     /* a put and get is running */
    bool gone;
} node_t;

struct world {
    sim_net_t *net;
    uint64_t random;
    const world_kind_t *kind;
    unsigned count;
    bool clean; /* W5 applies */
    bool disconnects;
    node_t nodes[NODES_MAX];
    conversation_t *talks;
    size_t talk_count, talk_capacity;
    uint64_t outstanding, turns;
    world_totals_t *totals;
    char problem[400];
};

/* Below `below`, from the seed. */
uint64_t world_draw(world_t *world, uint64_t below);
/* The first one counts. */
__attribute__((format(printf, 2, 3))) void world_violated(world_t *world, const char *format, ...);
/* Conversations between the two are not whole any more. */
void world_break_talks(world_t *world, unsigned a, unsigned b);

/* world_links.c: W7. */
void world_check_links(world_t *world);

/* world_load.c: operations of the node through its peer to node `other`. */
void world_say(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length);
void world_flush(node_t *node, vbn_peer_t *peer, unsigned other);
void world_transfer(node_t *node, vbn_peer_t *peer, unsigned other, uint32_t length);
void world_on_message(void *arg, const vbn_am_message_t *message);
void world_on_error(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text);
void world_on_passive_lost(void *arg, vbn_peer_t *peer, vbn_status_t status, const char *text);

#endif
