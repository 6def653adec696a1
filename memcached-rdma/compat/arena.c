/* SPDX-License-Identifier: Apache-2.0
 * arena.c - memory for the items of a call; it is kept for the next one. */
#include <stdlib.h>

#include "compat/compat.h"

#define FIRST_BYTES (128u << 10)
#define KEPT_BYTES (4u << 20)

char *arena_reserve(arena_t *arena, size_t bytes)
{
    size_t needed = arena->used + bytes, capacity = arena->capacity == 0 ? FIRST_BYTES : arena->capacity;
    if (needed < bytes)
        return NULL;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    if (capacity > arena->capacity) {
        char *grown = realloc(arena->bytes, capacity);
        if (grown == NULL)
            return NULL;
        arena->bytes = grown;
        arena->capacity = capacity;
    }
    return arena->bytes + arena->used;
}

void arena_reset(arena_t *arena)
{
    arena->used = 0;
    if (arena->capacity <= KEPT_BYTES)
        return;
    free(arena->bytes);
    arena->bytes = NULL;
    arena->capacity = 0;
}
