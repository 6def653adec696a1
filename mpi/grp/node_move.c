/* SPDX-License-Identifier: Apache-2.0
 * node_move.c - barrier and broadcast over slots; much data in pieces of a buffer, of which the root fills several before it waits.
 */
#include <string.h>

#include "grp/node.h"

/* The lines of all others have come. */
static int meet(node_set_t *set, uint64_t phase)
{
    for (int i = 1; i < set->size; i++)
        if (node_data(set, phase, (set->rank + i) % set->size, 0) == NULL)
            return set->status;
    set->known = phase - 1;
    node_done(set, phase);
    return 0;
}

static int say(node_set_t *set, uint64_t phase)
{
    if (node_room(set, phase, 0) == NULL)
        return set->status;
    node_publish(set, phase, 0);
    return 0;
}

int node_arrive(node_set_t *set)
{
    node_is(set, NODE_ARRIVE, 0);
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    if (set->rank == 0)
        return meet(set, phase);
    if (say(set, phase) < 0)
        return set->status;
    node_done(set, phase);
    return 0;
}

int node_barrier(node_set_t *set)
{
    if (set->size > NODE_FLAT) {
        const int status = node_arrive(set);
        return status < 0 ? status : node_bcast(set, NULL, 0, 0);
    }
    const uint64_t phase = node_begin(set);
    node_is(set, NODE_BARRIER, 0);
    if (set->status < 0)
        return node_failed(set);
    return say(set, phase) < 0 ? set->status : meet(set, phase);
}

static int bcast(node_set_t *set, void *buffer, size_t length, int root)
{
    const uint64_t phase = node_begin(set);
    if (set->status < 0)
        return node_failed(set);
    if (set->rank == root) {
        void *room = node_room(set, phase, length);
        if (room == NULL)
            return set->status;
        memcpy(room, length > 0 ? buffer : "", length);
        node_publish(set, phase, length);
        node_done(set, phase);
        return 0;
    }
    const void *data = node_data(set, phase, root, length);
    if (data == NULL)
        return set->status;
    if (length > 0)
        memcpy(buffer, data, length);
    node_done(set, phase);
    node_tell(set, root);
    return 0;
}

int node_bcast(node_set_t *set, void *buffer, size_t length, int root)
{
    node_is(set, NODE_BROADCAST, length);
    size_t at = 0;
    do {
        const size_t piece = length - at < NODE_BYTES ? length - at : NODE_BYTES;
        const int status = bcast(set, at == 0 ? buffer : (unsigned char *)buffer + at, piece, root);
        if (status < 0)
            return status;
        at += piece;
    } while (at < length);
    return 0;
}
