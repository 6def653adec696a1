/* SPDX-License-Identifier: Apache-2.0
 * verbs_places.h - memory that a device works on in place: payloads to send, gets' targets. One thread.
 *
 * Memory of the core (vbn_mem_alloc) and of the user's own (vbn_mem_register) is registered at its first use. The core's is
 * held, so that its addresses stay what they are; the user's is looked at before each use. Once its owner has freed it, it is
 * not used any more, and let go when no request that may name it is under way:
 *
 * L1 requests are counted by the parity of `time` when they were made; time goes on only when none of the time before is
 * left. So what was left at time t is named by nothing any more when time is t + 1 and t's count is 0, or later. */
#ifndef VBN_TL_VERBS_PLACES_H
#define VBN_TL_VERBS_PLACES_H

#include "mem/mem.h"
#include "tl/verbs/verbs_send.h"

#define VERBS_PLACES 64u
#define VERBS_USERS_LEAST 4096u /* bytes of the user's own memory that are worth the look at it */

typedef struct verbs_place {
    vbn_mem_t *mem;
    uintptr_t start, end;
    struct ibv_mr *mr; /* NULL: the device did not take it */
    uint64_t left;     /* the time when it was, if `leaving` */
    bool writable, leaving, users;
} verbs_place_t;

typedef struct verbs_places {
    const verbs_port_t *port;
    mem_registry_t *registry;
    verbs_slots_t *slots;
    uint64_t time;
    verbs_place_t array[VERBS_PLACES];
    unsigned count;
    unsigned latest;
    bool refused; /* a registration of the core's memory failed: no further ones are tried */
} verbs_places_t;

void verbs_places_open(verbs_places_t *places, const verbs_port_t *port, mem_registry_t *registry,
                       verbs_slots_t *slots);
void verbs_places_close(verbs_places_t *places);
/* The local key of memory that holds all of the range, and that the device may write if it is to; false: it has to be
 * copied. */
bool verbs_places_key(verbs_places_t *places, const void *address, size_t length, bool write, uint32_t *key_p);
/* The request names memory whose key was just told. */
static inline void verbs_places_name(const verbs_places_t *places, verbs_slot_t *slot)
{
    slot->placed = (uint8_t)(1 + places->time % 2);
    places->slots->placed[places->time % 2]++;
}
/* Lets go of what has been freed and is not in use. */
void verbs_places_look(verbs_places_t *places);

#endif
