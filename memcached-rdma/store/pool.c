/* SPDX-License-Identifier: Apache-2.0
 * pool.c - memories, and extents of neighbouring grains in them: taken by best fit, joined with their neighbours when released. */
#include "store/pool.h"

#include <stdlib.h>
#include <string.h>

#include "store/item.h"

#define FIT_LOOKS 64u /* free extents of a class that are compared */
#define SLAB_RECORDS 64u

typedef struct slab {
    struct slab *next;
    extent_t records[SLAB_RECORDS];
} slab_t;

/* ------------------------------------------------------------------------------------------ records */

static bool add_records(pool_t *pool)
{
    slab_t *slab = calloc(1, sizeof(*slab));
    if (slab == NULL)
        return false;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (unsigned i = 0; i < SLAB_RECORDS; i++)
        list_append(&pool->records, &slab->records[i].link);
    return true;
}

/* NULL: no memory. */
static extent_t *new_record(pool_t *pool, uint32_t grain, uint32_t grains)
{
    if (list_empty(&pool->records) && !add_records(pool))
        return NULL;
    extent_t *extent = container_of(list_pop(&pool->records), extent_t, link);
    const pool_memory_t *memory = pool_memory_of(pool, grain);
    uint32_t first = pool_grain_in_memory(pool, grain);
    *extent = (extent_t){.base = memory->address + ((size_t)first << GRAIN_SHIFT),
                         .words = (_Atomic uint32_t *)(void *)memory->address + first,
                         .grain = grain,
                         .grains = grains,
                         .kind = EXTENT_FREE};
    list_init(&extent->link);
    list_init(&extent->mine);
    list_init(&extent->sparse);
    return extent;
}

static void drop_record(pool_t *pool, extent_t *extent)
{
    list_remove(&extent->link);
    list_append(&pool->records, &extent->link);
}

/* ------------------------------------------------------------------------------------- free extents */

static unsigned class_of(uint32_t grains)
{
    unsigned class = 0;
    while (grains >>= 1)
        class++;
    return class;
}

static void mark_ends(pool_t *pool, extent_t *extent)
{
    extent_t **at = pool_memory_of(pool, extent->grain)->at + pool_grain_in_memory(pool, extent->grain);
    at[0] = at[extent->grains - 1] = extent;
}

static void mark_all(pool_t *pool, extent_t *extent)
{
    extent_t **at = pool_memory_of(pool, extent->grain)->at + pool_grain_in_memory(pool, extent->grain);
    for (uint32_t i = 0; i < extent->grains; i++)
        at[i] = extent;
}

static void insert_free(pool_t *pool, extent_t *extent)
{
    extent->kind = EXTENT_FREE;
    mark_ends(pool, extent);
    list_remove(&extent->link);
    list_prepend(&pool->free[class_of(extent->grains)], &extent->link);
}

/* Its free neighbours become part of it. */
static void join_neighbours(pool_t *pool, extent_t *extent)
{
    const pool_memory_t *memory = pool_memory_of(pool, extent->grain);
    uint32_t first = pool_grain_in_memory(pool, extent->grain);
    extent_t *left = memory->at[first - 1]; /* there is one: the table comes first */
    extent_t *right = first + extent->grains < memory->grains ? memory->at[first + extent->grains] : NULL;
    if (left->kind == EXTENT_FREE) {
        extent->grain = left->grain;
        extent->grains += left->grains;
        extent->base = left->base;
        extent->words = left->words;
        drop_record(pool, left);
    }
    if (right != NULL && right->kind == EXTENT_FREE) {
        extent->grains += right->grains;
        drop_record(pool, right);
    }
}

extent_t *pool_free_held(pool_t *pool, extent_t *extent)
{
    pool->used -= extent->grains;
    extent->claimed = false;
    join_neighbours(pool, extent);
    insert_free(pool, extent);
    return extent;
}

void pool_hold(pool_t *pool, extent_t *extent)
{
    list_remove(&extent->link);
    extent->kind = EXTENT_HELD;
    mark_all(pool, extent);
    pool->used += extent->grains;
}

extent_t *pool_take_from(pool_t *pool, extent_t *from, struct shard *shard, extent_kind_t kind, uint32_t grains)
{
    if (pool->used + grains > pool->limit)
        return NULL;
    bool high = pool_stays(kind);
    uint32_t rest = from->grains - grains;
    list_remove(&from->link);
    extent_t *other = rest == 0 ? NULL : new_record(pool, from->grain + (high ? rest : grains), high ? grains : rest);
    if (other != NULL) {
        from->grains = high ? rest : grains;
        insert_free(pool, high ? from : other);
    }
    extent_t *taken = high && other != NULL ? other : from;
    taken->kind = (uint8_t)kind;
    taken->shard = shard;
    taken->claimed = false;
    taken->used = taken->live = taken->tail = 0;
    taken->items = taken->drop = 0;
    atomic_set_relaxed(&taken->pins, 0);
    mark_all(pool, taken);
    pool->used += taken->grains;
    if (pool->page != NULL && pool->used > pool->limit / 2)
        atomic_set_relaxed(&pool->page->scarce, 1);
    if (kind == EXTENT_INDEX)
        pool_memory_of(pool, taken->grain)->index_grains += taken->grains;
    return taken;
}

/* ----------------------------------------------------------------------------------------- memories */

static bool add_memory(pool_t *pool, uint32_t grains)
{
    pool_memory_t *memory = &pool->memories[pool->memory_count];
    uint32_t first = pool->memory_count << (pool->shift - GRAIN_SHIFT);
    uint32_t table = pool_grains((size_t)grains * sizeof(uint32_t));
    *memory = (pool_memory_t){.grains = grains, .at = calloc(grains, sizeof(*memory->at))};
    if (memory->at == NULL)
        return false;
    memory->address = pool->source.get(pool->source.arg, (size_t)grains << GRAIN_SHIFT, &memory->handle);
    extent_t *words = memory->address == NULL ? NULL : new_record(pool, first, table);
    extent_t *rest = words == NULL ? NULL : new_record(pool, first + table, grains - table);
    if (rest == NULL) {
        if (words != NULL)
            drop_record(pool, words);
        if (memory->address != NULL)
            pool->source.put(pool->source.arg, memory->handle);
        free(memory->at);
        return false;
    }
    for (uint32_t i = 0; i < grains; i++)
        atomic_set_relaxed(&words->words[i], 1);
    words->kind = EXTENT_TABLE;
    mark_all(pool, words);
    insert_free(pool, rest);
    pool->memory_count++;
    pool->capacity += grains;
    pool->used += table;
    published_add_memory(pool->page, &pool->source, memory->handle);
    return true;
}

/* One more memory, when the limit allows it. False: not allowed, or the source has none. */
static bool grow(pool_t *pool)
{
    uint32_t most = 1u << (pool->shift - GRAIN_SHIFT);
    uint32_t left = pool->limit > pool->capacity ? pool->limit - pool->capacity : 0;
    if (pool->memory_count == pool->memory_limit || left < 2 * pool->segment_grains)
        return false;
    return add_memory(pool, left < most ? left : most);
}

store_status_t pool_open(pool_t *pool, const store_config_t *config, published_t *page, size_t share)
{
    *pool = (pool_t){.source = config->source, .page = page};
    pthread_mutex_init(&pool->lock, NULL);
    list_init(&pool->aged);
    list_init(&pool->records);
    for (unsigned i = 0; i < FREE_CLASSES; i++)
        list_init(&pool->free[i]);
    pool->segment_bytes = pool_segment_bytes(share);
    pool->segment_grains = pool_grains(pool->segment_bytes);
    pool->index_grains = pool_grains(pool_index_bytes(share));
    pool->large_bytes = GRAIN_BYTES; /* what an extent of grains wastes is then as much as the end of a segment does */
    while (pool->large_bytes * pool->large_bytes * 4 <= pool->segment_bytes * GRAIN_BYTES)
        pool->large_bytes *= 2;
    pool->shift = pool_memory_shift(config->item_max);
    pool->memory_limit = (uint32_t)(((POSITION_MASK + 1) * ITEM_UNIT) >> pool->shift);
    if (!pool_limit(pool, config->bytes))
        return STORE_TOO_LARGE;
    pool->memories = calloc(pool->memory_limit, sizeof(*pool->memories));
    return pool->memories != NULL && grow(pool) ? STORE_OK : STORE_NO_MEMORY;
}

void pool_close(pool_t *pool)
{
    for (uint32_t i = 0; i < pool->memory_count; i++) {
        free(pool->memories[i].at);
        pool->source.put(pool->source.arg, pool->memories[i].handle);
    }
    free(pool->memories);
    for (slab_t *slab = pool->slabs; slab != NULL;) {
        slab_t *next = slab->next;
        free(slab);
        slab = next;
    }
    pthread_mutex_destroy(&pool->lock);
}

bool pool_limit(pool_t *pool, size_t bytes)
{
    size_t grains = bytes >> GRAIN_SHIFT;
    if (grains > (POSITION_MASK + 1) / (GRAIN_BYTES / ITEM_UNIT) - 1)
        return false;
    pthread_mutex_lock(&pool->lock);
    pool->target = (uint32_t)grains;
    pool->limit = pool->target > pool->used ? pool->target : pool->used;
    pthread_mutex_unlock(&pool->lock);
    return true;
}

bool pool_lower(pool_t *pool, uint32_t grains)
{
    pthread_mutex_lock(&pool->lock);
    bool lower = pool->limit > pool->target;
    if (lower)
        pool->limit = pool->limit - pool->target > grains ? pool->limit - grains : pool->target;
    pthread_mutex_unlock(&pool->lock);
    return lower;
}

bool pool_is_over(pool_t *pool, uint32_t grains)
{
    pthread_mutex_lock(&pool->lock);
    bool over = pool->used + grains > pool->limit;
    pthread_mutex_unlock(&pool->lock);
    return over;
}

/* --------------------------------------------------------------------------------- take and release */

/* The smallest that is large enough, of the first in the list; among equals the lowest. */
static extent_t *best_of(list_link_t *list, uint32_t grains)
{
    extent_t *best = NULL;
    unsigned looks = 0;
    list_for_each(link, list) {
        extent_t *extent = container_of(link, extent_t, link);
        bool better = best == NULL || extent->grains < best->grains ||
                      (extent->grains == best->grains && extent->grain < best->grain);
        if (extent->grains >= grains && better)
            best = extent;
        if (++looks == FIT_LOOKS)
            break;
    }
    return best;
}

static extent_t *best_fit(pool_t *pool, uint32_t grains)
{
    extent_t *best = NULL;
    for (unsigned class = class_of(grains); class < FREE_CLASSES && best == NULL; class++)
        best = best_of(&pool->free[class], grains);
    return best;
}

/* Where an index or a pinned item is out of everybody's way: near the end of a memory that has little of it. */
static extent_t *highest(pool_t *pool, uint32_t grains)
{
    extent_t *best = NULL;
    for (unsigned class = class_of(grains); class < FREE_CLASSES; class++) {
        unsigned looks = 0;
        list_for_each(link, &pool->free[class]) {
            extent_t *extent = container_of(link, extent_t, link);
            uint32_t has = pool_memory_of(pool, extent->grain)->index_grains;
            uint32_t least = best == NULL ? UINT32_MAX : pool_memory_of(pool, best->grain)->index_grains;
            if (extent->grains >= grains && (has < least || (has == least && extent->grain > best->grain)))
                best = extent;
            if (++looks == FIT_LOOKS)
                break;
        }
    }
    return best;
}

extent_t *pool_take(pool_t *pool, struct shard *shard, extent_kind_t kind, uint32_t grains)
{
    extent_t *from, *taken = NULL;
    pthread_mutex_lock(&pool->lock);
    do {
        from = pool_stays(kind) ? highest(pool, grains) : best_fit(pool, grains);
        if (from != NULL)
            taken = pool_take_from(pool, from, shard, kind, grains);
    } while (from == NULL && grow(pool));
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

/* Nobody reads what is written there next for what was there (I3). */
static void next_generations(extent_t *extent)
{
    for (uint32_t i = 0; i < extent->grains; i++) {
        uint32_t next = atomic_get_relaxed(&extent->words[i]) + 1;
        if ((next & GENERATION_MASK) == 0)
            next++;
        /* Pairs with the acquire load of a reader that compares the word after its copy: it sees this before any byte that is
         * written later. */
        atomic_set_release(&extent->words[i], next);
    }
    atomic_full_fence();
}

void pool_release(pool_t *pool, extent_t *extent)
{
    next_generations(extent);
    pthread_mutex_lock(&pool->lock);
    list_remove(&extent->link);
    if (extent->claimed)
        extent->kind = EXTENT_HELD;
    else
        (void)pool_free_held(pool, extent);
    pthread_mutex_unlock(&pool->lock);
}

void pool_make_spare(pool_t *pool, extent_t *extent)
{
    next_generations(extent);
    pthread_mutex_lock(&pool->lock);
    list_remove(&extent->link);
    extent->kind = EXTENT_SPARE;
    extent->used = extent->tail = 0;
    extent->drop = 0;
    pthread_mutex_unlock(&pool->lock);
}

void pool_renew(pool_t *pool, extent_t *extent)
{
    pool->entered += extent->grains;
    extent->stamp = pool->entered;
    list_remove(&extent->link);
    list_append(&pool->aged, &extent->link);
}

void pool_set_kind(pool_t *pool, extent_t *extent, extent_kind_t kind)
{
    pthread_mutex_lock(&pool->lock);
    extent->kind = (uint8_t)kind;
    if (kind == EXTENT_SEALED || kind == EXTENT_LARGE)
        pool_renew(pool, extent);
    pthread_mutex_unlock(&pool->lock);
}

/* -------------------------------------------------------------------------------------------- check */

typedef struct sums {
    uint32_t used, aged, freed;
} sums_t;

static const char *check_extent(const pool_t *pool, const pool_memory_t *memory, const extent_t *extent, sums_t *sums)
{
    uint32_t first = pool_grain_in_memory(pool, extent->grain);
    if (extent->grains == 0 || first + extent->grains > memory->grains || extent->claimed ||
        extent->kind == EXTENT_HELD)
        return "an extent does not end where it should, or is held by nobody";
    for (uint32_t i = 0; i < extent->grains; i++) {
        if (memory->at[first + i] != extent && (extent->kind != EXTENT_FREE || i == 0 || i + 1 == extent->grains))
            return "a grain leads to another extent than its own";
        if ((atomic_get_relaxed(&extent->words[i]) & GENERATION_MASK) == 0)
            return "a generation word is one that no entry can have";
    }
    sums->freed += extent->kind == EXTENT_FREE;
    sums->used += extent->kind == EXTENT_FREE ? 0 : extent->grains;
    sums->aged += extent->kind == EXTENT_SEALED || extent->kind == EXTENT_LARGE;
    return NULL;
}

static const char *check_memory(const pool_t *pool, uint32_t number, sums_t *sums)
{
    const pool_memory_t *memory = &pool->memories[number];
    const char *wrong = NULL;
    bool after_free = false;
    for (uint32_t at = 0; at < memory->grains && wrong == NULL;) {
        const extent_t *extent = memory->at[at];
        if (extent == NULL || pool_grain_in_memory(pool, extent->grain) != at)
            return "a grain is lost";
        if (extent->kind == EXTENT_FREE && after_free)
            return "two free extents are neighbours";
        after_free = extent->kind == EXTENT_FREE;
        wrong = check_extent(pool, memory, extent, sums);
        at += extent->grains;
    }
    return wrong;
}

static const char *check_lists(const pool_t *pool, const sums_t *sums)
{
    uint32_t aged = 0, freed = 0;
    uint64_t stamp = 0;
    list_for_each(link, &pool->aged) {
        const extent_t *extent = container_of(link, extent_t, link);
        if (extent->stamp <= stamp)
            return "the list by age is out of order";
        stamp = extent->stamp;
        aged++;
    }
    for (unsigned i = 0; i < FREE_CLASSES; i++)
        list_for_each(link, &pool->free[i])
            freed++;
    if (aged != sums->aged)
        return "the list by age is not complete";
    return freed == sums->freed && sums->used == pool->used ? NULL : "free extents are counted wrong";
}

const char *pool_check(pool_t *pool)
{
    sums_t sums = {0};
    const char *wrong = NULL;
    pthread_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < pool->memory_count && wrong == NULL; i++)
        wrong = check_memory(pool, i, &sums);
    if (wrong == NULL)
        wrong = check_lists(pool, &sums);
    pthread_mutex_unlock(&pool->lock);
    return wrong;
}
