/* SPDX-License-Identifier: Apache-2.0
 * hold.c - the list of those who hold memory. */
#include "server/hold.h"

void holds_init(holds_t *holds)
{
    atomic_set_relaxed(&holds->bytes, 0);
    atomic_set_relaxed(&holds->most, 0);
    list_init(&holds->list);
}

void hold_set(holds_t *holds, hold_t *hold, uint64_t bytes)
{
    if (hold->bytes == 0 && bytes > 0)
        list_append(&holds->list, &hold->link);
    else if (hold->bytes > 0 && bytes == 0)
        list_remove(&hold->link);
    uint64_t all = holds_bytes(holds) + bytes - hold->bytes;
    atomic_set_relaxed(&holds->bytes, all);
    if (all > atomic_get_relaxed(&holds->most))
        atomic_set_relaxed(&holds->most, all);
    hold->bytes = bytes;
}

hold_t *hold_oldest(const holds_t *holds)
{
    return list_empty(&holds->list) ? NULL : container_of(holds->list.next, hold_t, link);
}
