/* SPDX-License-Identifier: Apache-2.0
 * verbs_places.c - see verbs_places.h. */
#include "tl/verbs/verbs_places.h"

#include <string.h>

void verbs_places_open(verbs_places_t *places, const verbs_port_t *port, mem_registry_t *registry, verbs_slots_t *slots)
{
    memset(places, 0, sizeof(*places));
    places->port = port;
    places->registry = registry;
    places->slots = slots;
}

static void let_go(const verbs_places_t *places, const verbs_place_t *place)
{
    if (place->mr != NULL)
        (void)places->port->api->deregister_memory(place->mr);
    mem_unhold(place->mem);
}

void verbs_places_close(verbs_places_t *places)
{
    for (unsigned i = 0; i < places->count; i++)
        let_go(places, &places->array[i]);
    places->count = 0;
}

/* No request under way names it (L1). */
static bool is_unused(const verbs_places_t *places, const verbs_place_t *place)
{
    return places->time > place->left + 1 ||
           (places->time > place->left && places->slots->placed[place->left % 2] == 0);
}

void verbs_places_look(verbs_places_t *places)
{
    bool waits = false;
    for (unsigned i = 0; i < places->count; i++) {
        verbs_place_t *place = &places->array[i];
        if (!place->leaving && mem_is_freed(place->mem)) {
            place->leaving = true;
            place->left = places->time;
        }
        waits = waits || (place->leaving && place->left == places->time);
    }
    if (waits && places->slots->placed[(places->time + 1) % 2] == 0)
        places->time++;
    for (unsigned i = places->count; i > 0; i--) {
        verbs_place_t *place = &places->array[i - 1];
        if (!place->leaving || !is_unused(places, place))
            continue;
        let_go(places, place);
        *place = places->array[--places->count];
    }
    places->latest = 0;
}

/* Kernels refuse to let devices write files on disks, but not to read them. */
static bool enter(const verbs_places_t *places, verbs_place_t *place)
{
    void *address = mem_address(place->mem);
    size_t bytes = mem_size(place->mem);
    place->writable = mem_is_writable(place->mem) &&
                      verbs_register(places->port, address, bytes, IBV_ACCESS_LOCAL_WRITE, &place->mr) == VBN_OK;
    return place->writable || verbs_register(places->port, address, bytes, 0, &place->mr) == VBN_OK;
}

static bool add(verbs_places_t *places, const void *address, size_t length)
{
    verbs_place_t *place = &places->array[places->count];
    if (places->refused || places->registry == NULL || places->count == VERBS_PLACES ||
        !mem_hold(places->registry, address, length, length >= VERBS_USERS_LEAST, &place->mem))
        return false;
    place->start = (uintptr_t)mem_address(place->mem);
    place->end = place->start + mem_size(place->mem);
    place->users = mem_is_users(place->mem);
    place->leaving = false;
    place->mr = NULL;
    if (!enter(places, place) && !place->users) {
        LOG_INFO(places->port->log, "payload is copied through bounce buffers to the device: %s", err_text());
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
    return start >= place->start && start < place->end && length <= place->end - start && !place->leaving &&
           (!place->users || (length >= VERBS_USERS_LEAST && mem_is_there(place->mem)));
}

bool verbs_places_key(verbs_places_t *places, const void *address, size_t length, bool write, uint32_t *key_p)
{
    bool found = places->latest < places->count && holds(&places->array[places->latest], address, length);
    for (unsigned i = 0; !found && i < places->count; i++) {
        found = holds(&places->array[i], address, length);
        places->latest = i;
    }
    if (!found && !add(places, address, length))
        return false;
    const verbs_place_t *place = &places->array[places->latest];
    if (place->mr == NULL)
        return false;
    *key_p = place->mr->lkey;
    return !write || place->writable;
}
