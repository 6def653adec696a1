/* SPDX-License-Identifier: Apache-2.0
 * rig_private.h - what the rig is made of: rig.c is what the tests steer, rig_link.c what the protocol layer calls. */
#ifndef VBN_TESTS_PROTO_RIG_PRIVATE_H
#define VBN_TESTS_PROTO_RIG_PRIVATE_H

#include "rig.h"

#include "proto/rma.h"
#include "proto/tag.h"
#include "rig_devices.h"
#include "tl/claim.h"

#define RIG_SOURCE 7u /* either side imports from one peer only */

typedef struct packet {
    list_link_t link;
    link_packet_t sent; /* late done */
    uint8_t header[LINK_UPPER_HEADER_MAX];
    uint32_t header_bytes;
    uint32_t payload_bytes;
    uint8_t *payload; /* copied, unless late */
    bool late;
} packet_t;

typedef struct flush {
    list_link_t link;
    link_done_func_t done;
    void *arg;
} flush_t;

typedef struct import_request {
    list_link_t link;
    tl_import_func_t func;
    void *arg;
    int owner;
    mem_key_info_t info;
} import_request_t;

struct vbn_peer {
    union {
        struct {
            link_peer_head_t head;
            rig_t *rig;
            int side;
            vbn_status_t down;
            vbn_status_t failure;
            list_link_t inbox; /* packets that this side has sent */
            list_link_t flushes;
        };
        uint8_t link_part[LINK_PEER_BYTES];
    };
    proto_peer_t upper; /* link_peer_upper() */
};

struct link_engine {
    rig_t *rig;
    wheel_t wheel;
};

struct rig {
    rig_t *first;    /* of a joined one, else NULL */
    unsigned number; /* of those joined to first, from 1 */
    unsigned joined;
    unsigned flush_looks;
    rig_options_t options;
    tl_caps_t caps;
    settings_t settings;
    log_sink_t log;
    counters_t counters[2];
    mem_registry_t *memory[2];
    proto_engine_t *proto[2];
    link_engine_t link[2];
    link_params_t params[2];
    struct vbn_peer peer[2];
    list_link_t imports;
    bool ready;
    _Atomic uint64_t claims[2][TL_CLAIMS];
    uint32_t claims_used[2];
    _Atomic uint32_t writing[2], shut[2]; /* guards of each side's memory */
    bool lent[2];
    int copies_left[2];
    bool absent;
    bool hidden;
    rig_devices_t *devices; /* NULL: none */
    uint64_t now_ms;
    unsigned tags_delivered[2];
    unsigned promoted[2];
};

/* The payload in one piece; to free(). */
uint8_t *rig_flatten(const link_packet_t *packet);

#endif
