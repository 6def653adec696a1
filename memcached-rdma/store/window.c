/* SPDX-License-Identifier: Apache-2.0
 * window.c - the choice by age, and claims. */
#include "store/window.h"

#include "store/shard.h"

#define OLDEST_COMPARED 16u /* windows around so many of the oldest are compared */
#define LOOKS_MOST 4096u    /* links of the list by age that one choice looks at */
#define RENEWED_MOST 4u     /* large items that one choice gives another round */
#define AGE_ONE 1024u       /* how recent the youngest is */
#define AGE_FLOOR 128u      /* and the oldest: what goes costs something, however old it is */

static bool is_usable(const extent_t *extent, uint64_t avoid)
{
    switch (extent->kind) {
    case EXTENT_FREE: return true;
    case EXTENT_SPARE:
    case EXTENT_OPEN:
    case EXTENT_SEALED:
    case EXTENT_LARGE:
        return !extent->claimed && atomic_get_relaxed(&extent->pins) == 0 && (avoid >> extent->shard->number & 1) == 0;
    default: return false;
    }
}

/* It was read since it was looked at last. What is in the list by age has been written before. */
static bool was_read(const extent_t *extent)
{
    return extent->kind == EXTENT_LARGE && item_reads((const item_t *)(const void *)extent->base) > 0;
}

/* 0 of the oldest to AGE_ONE of the youngest. */
static uint64_t recency(const pool_t *pool, const extent_t *extent)
{
    if (extent->kind == EXTENT_OPEN || extent->kind == EXTENT_SPARE || was_read(extent))
        return AGE_ONE;
    uint64_t oldest = container_of(pool->aged.next, extent_t, link)->stamp;
    return (extent->stamp - oldest) * AGE_ONE / (pool->entered - oldest + 1);
}

static uint64_t cost_of(const pool_t *pool, const extent_t *extent)
{
    return extent->kind == EXTENT_FREE ? 0 : extent->grains * (recency(pool, extent) + AGE_FLOOR);
}

/* The neighbour that a window takes in next: free, or the older one. NULL: both sides are bounded. */
static extent_t *next_neighbour(const pool_t *pool, const window_t *window, uint64_t avoid)
{
    const pool_memory_t *memory = pool_memory_of(pool, window->from);
    uint32_t from = pool_grain_in_memory(pool, window->from), to = from + (window->to - window->from);
    extent_t *left = memory->at[from - 1]; /* the table comes first */
    extent_t *right = to < memory->grains ? memory->at[to] : NULL;
    if (!is_usable(left, avoid))
        return right != NULL && is_usable(right, avoid) ? right : NULL;
    if (right == NULL || !is_usable(right, avoid))
        return left;
    return cost_of(pool, left) * right->grains <= cost_of(pool, right) * left->grains ? left : right;
}

/* The window around an extent, and what emptying it costs. False: it is bounded before it is large enough. */
static bool surround(const pool_t *pool, const extent_t *oldest, uint32_t grains, uint64_t avoid, window_t *window,
                     uint64_t *cost_p)
{
    *window = (window_t){.from = oldest->grain, .to = oldest->grain + oldest->grains};
    *cost_p = cost_of(pool, oldest);
    while (window->to - window->from < grains) {
        const extent_t *more = next_neighbour(pool, window, avoid);
        if (more == NULL)
            return false;
        *cost_p += cost_of(pool, more);
        if (more->grain < window->from)
            window->from = more->grain;
        else
            window->to = more->grain + more->grains;
    }
    return true;
}

/* A large item that was read goes once around the list before it is looked at again. */
static bool second_chance(pool_t *pool, extent_t *extent, unsigned *renewed)
{
    if (!was_read(extent) || *renewed == RENEWED_MOST)
        return false;
    item_set_reads((item_t *)(void *)extent->base, 0);
    pool_renew(pool, extent);
    (*renewed)++;
    return true;
}

static bool choose(pool_t *pool, uint32_t grains, uint64_t avoid, window_t *best)
{
    uint64_t least = UINT64_MAX, cost;
    unsigned compared = 0, looks = 0, renewed = 0;
    for (list_link_t *link = pool->aged.next, *next; link != &pool->aged && looks < LOOKS_MOST; link = next, looks++) {
        extent_t *extent = container_of(link, extent_t, link);
        window_t window;
        next = link->next;
        if (!is_usable(extent, avoid) || second_chance(pool, extent, &renewed))
            continue;
        if (surround(pool, extent, grains, avoid, &window, &cost) && cost < least) {
            least = cost;
            *best = window;
        }
        if (++compared >= OLDEST_COMPARED && least < UINT64_MAX)
            break;
    }
    return least < UINT64_MAX;
}

/* ------------------------------------------------------------------------------------------- an index */

/* Below the index at the end of a memory, so that it does not cut up the space; where something is pinned, below that. Also below
 * spares, without which what is kept of the next extents would have no place, and below open segments: each would be emptied into a
 * spare beside it, and become the next spare. */
static bool choose_high(const pool_t *pool, const pool_memory_t *memory, uint32_t grains, uint64_t avoid,
                        window_t *window)
{
    uint32_t end = memory->grains, at = end, first = (uint32_t)(memory - pool->memories) << (pool->shift - GRAIN_SHIFT);
    while (at > 0 && end - at < grains) {
        const extent_t *extent = memory->at[at - 1];
        at = pool_grain_in_memory(pool, extent->grain);
        bool stays = extent->kind == EXTENT_SPARE || extent->kind == EXTENT_OPEN;
        if (stays || !is_usable(extent, avoid))
            end = at;
    }
    *window = (window_t){.from = first + at, .to = first + end};
    return end - at >= grains;
}

static bool choose_for_index(const pool_t *pool, uint32_t grains, uint64_t avoid, window_t *best)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < pool->memory_count; i++) {
        window_t window;
        const pool_memory_t *memory = &pool->memories[i];
        if (memory->index_grains < least && choose_high(pool, memory, grains, avoid, &window)) {
            least = memory->index_grains;
            *best = window;
        }
    }
    return least < UINT32_MAX;
}

/* ---------------------------------------------------------------------------------------------- claims */

static void claim(pool_t *pool, const window_t *window)
{
    for (uint32_t at = window->from; at < window->to;) {
        extent_t *extent = pool_extent(pool, at);
        at += extent->grains;
        if (extent->kind == EXTENT_FREE)
            pool_hold(pool, extent);
        else
            extent->claimed = true;
    }
}

bool window_claim(pool_t *pool, extent_kind_t kind, uint32_t grains, uint64_t avoid, window_t *window)
{
    pthread_mutex_lock(&pool->lock);
    bool found = pool_stays(kind) && choose_for_index(pool, grains, avoid, window);
    if (!found)
        found = choose(pool, grains, avoid, window);
    if (found)
        claim(pool, window);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

extent_t *window_next(pool_t *pool, const window_t *window, uint32_t *at)
{
    extent_t *next = NULL;
    pthread_mutex_lock(&pool->lock);
    while (*at < window->to && next == NULL) {
        extent_t *extent = pool_extent(pool, *at);
        *at += extent->grains;
        if (extent->kind != EXTENT_HELD)
            next = extent;
    }
    pthread_mutex_unlock(&pool->lock);
    return next;
}

extent_t *window_take(pool_t *pool, const window_t *window, struct shard *shard, extent_kind_t kind, uint32_t grains)
{
    extent_t *whole = NULL, *taken = NULL;
    bool all = true;
    pthread_mutex_lock(&pool->lock);
    for (uint32_t at = window->from; at < window->to;) {
        extent_t *extent = pool_extent(pool, at);
        at = extent->grain + extent->grains;
        if (extent->kind == EXTENT_HELD) {
            whole = pool_free_held(pool, extent);
        } else {
            extent->claimed = false;
            all = false;
        }
    }
    if (all && grains > 0)
        taken = pool_take_from(pool, whole, shard, kind, grains);
    pthread_mutex_unlock(&pool->lock);
    return taken;
}
