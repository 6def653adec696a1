/* SPDX-License-Identifier: Apache-2.0
 * verbs_places.c - see verbs_places.h. */
#include "tl/verbs/verbs_places.h"

#include <string.h>

void verbs_places_open(verbs_places_t *places, const verbs_port_t *port, mem_registry_t *registry)
{
    memset(places, 0, sizeof(*places));
    places->port = port;
    places->registry = registry;
}

static void let_go(const verbs_places_t *places, const verbs_place_t *place)
{
    (void)places->port->api->deregister_memory(place->mr);
    mem_unhold(place->mem);
}

void verbs_places_close(verbs_places_t *places)
{
    for (unsigned i = 0; i < places->count; i++)
        let_go(places, &places->array[i]);
    places->count = 0;
}

void verbs_places_look(verbs_places_t *places)
{
    for (unsigned i = places->count; i > 0; i--) {
        verbs_place_t *place = &places->array[i - 1];
        if (!mem_is_freed(place->mem))
            continue;
        let_go(places, place);
        *place = places->array[--places->count];
    }
    places->latest = 0;
}

static bool add(verbs_places_t *places, const void *address, size_t length)
{
    verbs_place_t *place = &places->array[places->count];
    if (places->refused || places->registry == NULL || places->count == VERBS_PLACES ||
        !mem_hold(places->registry, address, length, &place->mem))
        return false;
    place->start = (uintptr_t)mem_address(place->mem);
    place->end = place->start + mem_size(place->mem);
    if (verbs_register(places->port, mem_address(place->mem), mem_size(place->mem), 0, &place->mr) < 0) {
        LOG_INFO(places->port->log, "data is copied on its way to the device: %s", err_text());
        places->refused = true;
        mem_unhold(place->mem);
        return false;
    }
    places->latest = places->count++;
    return true;
}

static bool holds(const verbs_place_t *place, const void *address, size_t length)
{
    uintptr_t start = (uintptr_t)address;
    return start >= place->start && start < place->end && length <= place->end - start;
}

bool verbs_places_key(verbs_places_t *places, const void *address, size_t length, uint32_t *key_p)
{
    bool found = places->latest < places->count && holds(&places->array[places->latest], address, length);
    for (unsigned i = 0; !found && i < places->count; i++) {
        found = holds(&places->array[i], address, length);
        places->latest = i;
    }
    if (!found && !add(places, address, length))
        return false;
    *key_p = places->array[places->latest].mr->lkey;
    return true;
}
