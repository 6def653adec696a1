/* SPDX-License-Identifier: Apache-2.0
 * cache.c - see cache.h. */
#include "mem/cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/hot.h"
#include "base/itree.h"
#include "base/list.h"
#include "base/os.h"
#include "mem/kind.h"
#include "mem/monitor.h"

#define ATTEMPTS 3 /* registrations of a range whose memory changes meanwhile */

struct mem_region {
    itree_node_t node; /* in the tree until it is garbage */
    list_link_t link;  /* in idle or garbage */
    mem_cache_t *cache;
    void *handle; /* the registrar's */
    unsigned access;
    size_t references;  /* lock */
    _Atomic bool alive; /* nothing changed under it; written under the lock */
    bool shareable;     /* lock: get may find it */
};

struct mem_cache {
    pthread_mutex_t lock; /* a leaf; see the rule in monitor.h */
    mem_registrar_t registrar;
    mem_monitor_t *monitor; /* NULL: policy "none" */
    counters_t *counters;   /* ours are written under the lock */
    size_t max_regions;
    uint64_t max_bytes;
    itree_t tree;     /* mem_region_t.node; regions may overlap */
    list_link_t idle; /* shareable and without reference, least recently used first */
    list_link_t garbage;
    uint64_t bytes;           /* of the regions in the tree */
    _Atomic bool has_garbage; /* a hint, so that looking costs no lock */
};

typedef struct range {
    uintptr_t start;
    uintptr_t end;
    unsigned access;
} range_t;

static mem_region_t *region_of(itree_node_t *node)
{
    return container_of(node, mem_region_t, node);
}

/* ------------------------------------------------------------------------------------ with the lock held */

static void enter(mem_cache_t *cache, mem_region_t *region, const range_t *range)
{
    *region = (mem_region_t){.cache = cache, .access = range->access, .references = 1};
    atomic_set_relaxed(&region->alive, true);
    list_init(&region->link);
    itree_insert(&cache->tree, &region->node, range->start, range->end);
    cache->bytes += range->end - range->start;
}

static void leave(mem_cache_t *cache, mem_region_t *region)
{
    itree_remove(&cache->tree, &region->node);
    list_remove(&region->link);
    cache->bytes -= region->node.end - region->node.start;
}

static void discard(mem_cache_t *cache, mem_region_t *region)
{
    leave(cache, region);
    list_append(&cache->garbage, &region->link);
    atomic_set_relaxed(&cache->has_garbage, true);
}

/* From the monitor, or from somebody who says so: what overlaps [start, end) is not what was registered. */
static void gone(void *arg, uintptr_t start, uintptr_t end)
{
    mem_cache_t *cache = arg;
    itree_node_t *next;
    for (itree_node_t *node = itree_overlap(&cache->tree, start, end, NULL); node != NULL; node = next) {
        next = itree_overlap(&cache->tree, start, end, node);
        mem_region_t *region = region_of(node);
        if (atomic_get_relaxed(&region->alive))
            counter_add(cache->counters, COUNTER_MEM_CACHE_DEAD, 1);
        atomic_set_release(&region->alive, false); /* pairs with mem_region_unchanged */
        region->shareable = false;
        if (region->references == 0)
            discard(cache, region);
    }
}

static bool settle(mem_cache_t *cache)
{
    return cache->monitor == NULL || monitor_settle(cache->monitor);
}

static bool covers(const mem_region_t *region, const range_t *range)
{
    return region->node.start <= range->start && region->node.end >= range->end &&
           (range->access & ~region->access) == 0;
}

static mem_region_t *find(mem_cache_t *cache, const range_t *range)
{
    itree_node_t *node = NULL;
    while ((node = itree_overlap(&cache->tree, range->start, range->end, node)) != NULL) {
        mem_region_t *region = region_of(node);
        if (!region->shareable || !covers(region, range))
            continue;
        if (region->references++ == 0)
            list_remove(&region->link);
        return region;
    }
    return NULL;
}

/* The range, and the rights, together with all live regions that overlap it and that overlap what it has grown to. */
static void widen(mem_cache_t *cache, range_t *range)
{
    itree_node_t *node = NULL;
    while ((node = itree_overlap(&cache->tree, range->start, range->end, node)) != NULL) {
        const mem_region_t *region = region_of(node);
        range_t old = *range;
        if (!region->shareable)
            continue;
        range->start = node->start < range->start ? node->start : range->start;
        range->end = node->end > range->end ? node->end : range->end;
        range->access |= region->access;
        if (range->start < old.start)
            node = NULL; /* more may overlap to the left: look again */
    }
}

static void make_room(mem_cache_t *cache)
{
    while ((cache->tree.count > cache->max_regions || cache->bytes > cache->max_bytes) && !list_empty(&cache->idle)) {
        counter_add(cache->counters, COUNTER_MEM_CACHE_EVICTED, 1);
        discard(cache, container_of(cache->idle.next, mem_region_t, link));
    }
}

/* region is found from now on; those that it makes superfluous are not. */
static void share(mem_cache_t *cache, mem_region_t *region)
{
    itree_node_t *next;
    itree_node_t *node = itree_overlap(&cache->tree, region->node.start, region->node.end, NULL);
    for (; node != NULL; node = next) {
        next = itree_overlap(&cache->tree, region->node.start, region->node.end, node);
        mem_region_t *other = region_of(node);
        if (!other->shareable || !covers(region, &(range_t){node->start, node->end, other->access}))
            continue;
        other->shareable = false;
        if (other->references == 0)
            discard(cache, other);
    }
    region->shareable = true;
    make_room(cache);
}

/* --------------------------------------------------------------------------------------- without the lock */

void mem_cache_reap(mem_cache_t *cache)
{
    if (!atomic_get_relaxed(&cache->has_garbage))
        return;
    list_link_t todo;
    list_init(&todo);
    pthread_mutex_lock(&cache->lock);
    atomic_set_relaxed(&cache->has_garbage, false);
    list_link_t *link;
    while ((link = list_pop(&cache->garbage)) != NULL)
        list_append(&todo, link);
    pthread_mutex_unlock(&cache->lock);
    while ((link = list_pop(&todo)) != NULL) {
        mem_region_t *region = container_of(link, mem_region_t, link);
        cache->registrar.remove(cache->registrar.arg, region->node.start, region->node.end, region->handle);
        free(region);
    }
}

static void drop_idle(mem_cache_t *cache)
{
    pthread_mutex_lock(&cache->lock);
    while (!list_empty(&cache->idle))
        discard(cache, container_of(cache->idle.next, mem_region_t, link));
    pthread_mutex_unlock(&cache->lock);
    mem_cache_reap(cache);
}

static vbn_status_t registrar_add(mem_cache_t *cache, const range_t *range, void **handle_p)
{
    const mem_registrar_t *registrar = &cache->registrar;
    vbn_status_t status = registrar->add(registrar->arg, range->start, range->end, range->access, handle_p);
    if (status != VBN_ERR_LIMIT && status != VBN_ERR_NO_MEMORY)
        return status;
    drop_idle(cache);
    return registrar->add(registrar->arg, range->start, range->end, range->access, handle_p);
}

/* Whole mappings are watched: once each, however many regions they hold, and they are not split. */
static bool watch(mem_cache_t *cache, const mem_kind_info_t *info, const range_t *range)
{
    if (cache->monitor == NULL)
        return false;
    if (info->start <= range->start && info->end >= range->end && monitor_watch(cache->monitor, info->start, info->end))
        return true;
    return monitor_watch(cache->monitor, range->start, range->end);
}

/* The region is in the tree while its memory is being registered, so that a change meanwhile is seen. */
static vbn_status_t make_region(mem_cache_t *cache, const range_t *range, mem_region_t **region_p)
{
    mem_kind_info_t info;
    vbn_status_t status = mem_kind_detect(range->start, &info);
    if (status == VBN_OK && info.kind != MEM_KIND_HOST)
        status = err_set(VBN_ERR_UNSUPPORTED, "memory of this kind cannot be registered");
    mem_region_t *region = status == VBN_OK ? malloc(sizeof(*region)) : NULL;
    if (region == NULL)
        return status != VBN_OK ? status : err_set(VBN_ERR_NO_MEMORY, "no heap for a registration");
    bool watched = watch(cache, &info, range);
    pthread_mutex_lock(&cache->lock);
    enter(cache, region, range);
    pthread_mutex_unlock(&cache->lock);
    void *handle = NULL;
    bool added = (status = registrar_add(cache, range, &handle)) == VBN_OK;
    pthread_mutex_lock(&cache->lock);
    region->handle = handle;
    bool settled = settle(cache);
    bool changed = !atomic_get_relaxed(&region->alive);
    if (!added || changed)
        leave(cache, region);
    else if (watched && settled)
        share(cache, region);
    pthread_mutex_unlock(&cache->lock);
    if (added && !changed) {
        *region_p = region;
        return VBN_OK;
    }
    if (added) {
        cache->registrar.remove(cache->registrar.arg, range->start, range->end, handle);
        status = err_set(VBN_ERR_STALE, "the memory was unmapped or discarded while it was being registered");
    }
    free(region);
    return status;
}

static vbn_status_t whole_pages(const void *address, size_t length, unsigned access, range_t *range_p)
{
    uintptr_t mask = os_page_bytes() - 1;
    uintptr_t start = (uintptr_t)address;
    if (length == 0 || start == 0 || length > UINTPTR_MAX - start - mask)
        return err_set(VBN_ERR_INVALID, "cannot register %zu byte%s at address 0x%llx", length, plural(length),
                       (unsigned long long)start);
    *range_p = (range_t){start & ~mask, (start + length + mask) & ~mask, access};
    return VBN_OK;
}

vbn_status_t mem_cache_get(mem_cache_t *cache, const void *address, size_t length, unsigned access,
                           mem_region_t **region_p)
{
    range_t wanted;
    vbn_status_t status = whole_pages(address, length, access, &wanted);
    if (status != VBN_OK)
        return status;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        range_t range = wanted;
        pthread_mutex_lock(&cache->lock);
        mem_region_t *region = settle(cache) ? find(cache, &range) : NULL;
        if (region == NULL && attempt == 0)
            widen(cache, &range);
        if (region != NULL || attempt == 0)
            counter_add(cache->counters, region != NULL ? COUNTER_MEM_CACHE_HITS : COUNTER_MEM_CACHE_MISSES, 1);
        pthread_mutex_unlock(&cache->lock);
        if (region != NULL) {
            *region_p = region;
            return VBN_OK;
        }
        status = make_region(cache, &range, region_p);
        bool widened = range.start != wanted.start || range.end != wanted.end || range.access != wanted.access;
        if (status == VBN_OK || (status != VBN_ERR_STALE && !widened))
            break;
    }
    mem_cache_reap(cache);
    return status;
}

void mem_cache_put(mem_region_t *region)
{
    mem_cache_t *cache = region->cache;
    pthread_mutex_lock(&cache->lock);
    if (--region->references == 0) {
        if (region->shareable) {
            list_append(&cache->idle, &region->link);
            make_room(cache);
        } else {
            discard(cache, region);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    mem_cache_reap(cache);
}

bool mem_region_alive(mem_region_t *region)
{
    mem_cache_t *cache = region->cache;
    pthread_mutex_lock(&cache->lock);
    bool alive = settle(cache) && atomic_get_relaxed(&region->alive);
    pthread_mutex_unlock(&cache->lock);
    return alive;
}

bool mem_region_unchanged(mem_region_t *region)
{
    mem_cache_t *cache = region->cache;
    if (LIKELY(cache->monitor == NULL || !monitor_reading(cache->monitor)))
        return atomic_get_acquire(&region->alive);
    pthread_mutex_lock(&cache->lock); /* until what is being read has been told */
    bool alive = atomic_get_relaxed(&region->alive);
    pthread_mutex_unlock(&cache->lock);
    return alive;
}

bool mem_region_known_dead(const mem_region_t *region)
{
    return !atomic_get_acquire(&region->alive);
}

bool mem_region_touches(const mem_region_t *region, uintptr_t start, uintptr_t end)
{
    return region->node.start < end && start < region->node.end;
}

void *mem_region_handle(const mem_region_t *region)
{
    return region->handle;
}

void mem_cache_invalidate(mem_cache_t *cache, const void *address, size_t length)
{
    uintptr_t start = (uintptr_t)address;
    uintptr_t end = length > UINTPTR_MAX - start ? UINTPTR_MAX : start + length;
    pthread_mutex_lock(&cache->lock);
    gone(cache, start, end);
    pthread_mutex_unlock(&cache->lock);
    mem_cache_reap(cache);
}

/* -------------------------------------------------------------------------------------------- open, close */

static uint64_t default_bytes(bool locks_memory)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * os_page_bytes() / os_cpu_count() / 2;
    struct rlimit limit;
    if (locks_memory && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur / 2 < bytes)
        bytes = limit.rlim_cur / 2;
    return bytes;
}

vbn_status_t mem_cache_open(const mem_cache_params_t *params, mem_cache_t **cache_p)
{
    mem_cache_t *cache = calloc(1, sizeof(*cache));
    if (cache == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a registration cache");
    cache->registrar = *params->registrar;
    cache->counters = params->counters;
    cache->max_regions = params->max_regions;
    cache->max_bytes = params->max_bytes != 0 ? params->max_bytes : default_bytes(params->registrar->locks_memory);
    itree_init(&cache->tree);
    list_init(&cache->idle);
    list_init(&cache->garbage);
    pthread_mutex_init(&cache->lock, NULL);
    if (params->watch && monitor_open(&cache->lock, gone, cache, &cache->monitor) != VBN_OK)
        LOG_INFO(params->log, "registrations of user memory are not cached, each one is made anew: %s", err_text());
    *cache_p = cache;
    return VBN_OK;
}

void mem_cache_close(mem_cache_t *cache)
{
    drop_idle(cache);
    if (cache->monitor != NULL)
        monitor_close(cache->monitor);
    mem_cache_reap(cache);
    assert(cache->tree.count == 0);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

bool mem_cache_watches(const mem_cache_t *cache)
{
    return cache->monitor != NULL;
}

uint64_t mem_cache_max_bytes(const mem_cache_t *cache)
{
    return cache->max_bytes;
}
