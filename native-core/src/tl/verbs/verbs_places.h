/* SPDX-License-Identifier: Apache-2.0
 * verbs_places.h - memory of the core (vbn_mem_alloc) that a device works on in place: payloads to send, gets' targets.
 * Registered at its first use, held so that its addresses stay what they are, let go once its owner has freed it. One thread. */
#ifndef VBN_TL_VERBS_PLACES_H
#define VBN_TL_VERBS_PLACES_H

#include "mem/mem.h"
#include "tl/verbs/verbs_port.h"

#define VERBS_PLACES 64u

typedef struct verbs_place {
    vbn_mem_t *mem;
    uintptr_t start, end;
    struct ibv_mr *mr;
    bool writable;
} verbs_place_t;

typedef struct verbs_places {
    const verbs_port_t *port;
    mem_registry_t *registry;
    verbs_place_t array[VERBS_PLACES];
    unsigned count;
    unsigned latest;
    bool refused; /* a registration failed: no further ones are tried */
} verbs_places_t;

void verbs_places_open(verbs_places_t *places, const verbs_port_t *port, mem_registry_t *registry);
void verbs_places_close(verbs_places_t *places);
/* The local key of memory that holds all of the range, and that the device may write if it is to; false: it has to be
 * copied. */
bool verbs_places_key(verbs_places_t *places, const void *address, size_t length, bool write, uint32_t *key_p);
/* Lets go of what has been freed. No request with its key may be under way: its owner waited for that. */
void verbs_places_look(verbs_places_t *places);

#endif
