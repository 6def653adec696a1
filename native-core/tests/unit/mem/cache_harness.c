/* SPDX-License-Identifier: Apache-2.0
 * cache_harness.c - see cache_harness.h. */
#include "cache_harness.h"

#include <stdlib.h>
#include <string.h>

#include "mem/cache.h"

struct cache_rig {
    mem_cache_t *cache;
    counters_t counters;
    log_sink_t log;
    char lines[2048];
    cache_options_t options;
    _Atomic uint64_t adds, bytes, count, last_start, last_bytes, limit;
    void (*during)(void *arg);
    void *during_arg;
};

static vbn_status_t add(void *arg, uintptr_t start, uintptr_t end, unsigned access, void **handle_p)
{
    cache_rig_t *rig = arg;
    (void)access;
    if (rig->bytes + (end - start) > rig->limit)
        return VBN_ERR_LIMIT;
    uint64_t number = ++rig->adds;
    rig->bytes += end - start;
    rig->count++;
    rig->last_start = start;
    rig->last_bytes = end - start;
    if (rig->options.handle_is_first_word)
        memcpy(&number, (const void *)start, sizeof(number));
    if (rig->during != NULL) {
        void (*func)(void *) = rig->during;
        rig->during = NULL;
        func(rig->during_arg);
    }
    *handle_p = (void *)(uintptr_t)number;
    return VBN_OK;
}

static void drop(void *arg, uintptr_t start, uintptr_t end, void *handle)
{
    cache_rig_t *rig = arg;
    (void)handle;
    rig->bytes -= end - start;
    rig->count--;
}

static void on_log(void *arg, const vbn_log_record_t *record)
{
    cache_rig_t *rig = arg;
    strncat(rig->lines, record->text, sizeof(rig->lines) - strlen(rig->lines) - 1);
}

cache_rig_t *cache_rig_open(const cache_options_t *options)
{
    cache_rig_t *rig = calloc(1, sizeof(*rig));
    if (rig == NULL)
        abort();
    rig->options = *options;
    rig->limit = UINT64_MAX;
    rig->log = (log_sink_t){.func = on_log, .arg = rig, .level = VBN_LOG_DEBUG};
    mem_registrar_t counting = {.add = add, .remove = drop, .arg = rig, .locks_memory = options->locks_memory};
    mem_cache_params_t params = {.registrar = options->resident ? &mem_registrar_resident : &counting,
                                 .log = &rig->log,
                                 .counters = &rig->counters,
                                 .max_regions = options->max_regions,
                                 .max_bytes = options->max_bytes,
                                 .watch = options->watch};
    if (mem_cache_open(&params, &rig->cache) != VBN_OK)
        abort();
    return rig;
}

void cache_rig_close(cache_rig_t *rig)
{
    mem_cache_close(rig->cache);
    if (rig->count != 0 || rig->bytes != 0)
        abort();
    free(rig);
}

uint64_t cache_rig_adds(cache_rig_t *rig)
{
    return rig->adds;
}

uint64_t cache_rig_registered_bytes(cache_rig_t *rig)
{
    return rig->bytes;
}

uint64_t cache_rig_registered_count(cache_rig_t *rig)
{
    return rig->count;
}

uint64_t cache_rig_last_start(cache_rig_t *rig)
{
    return rig->last_start;
}

uint64_t cache_rig_last_bytes(cache_rig_t *rig)
{
    return rig->last_bytes;
}

uint64_t cache_rig_counter(cache_rig_t *rig, const char *name)
{
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&rig->counters.values[i]);
    abort();
}

const char *cache_rig_log(cache_rig_t *rig)
{
    return rig->lines;
}

void cache_rig_limit(cache_rig_t *rig, uint64_t bytes)
{
    rig->limit = bytes;
}

void cache_rig_during_add(cache_rig_t *rig, void (*func)(void *arg), void *arg)
{
    rig->during = func;
    rig->during_arg = arg;
}

bool cache_rig_watches(cache_rig_t *rig)
{
    return mem_cache_watches(rig->cache);
}

uint64_t cache_rig_max_bytes(cache_rig_t *rig)
{
    return mem_cache_max_bytes(rig->cache);
}

vbn_status_t cache_rig_get(cache_rig_t *rig, const void *address, size_t length, unsigned access, void **region_p)
{
    mem_region_t *region = NULL;
    vbn_status_t status = mem_cache_get(rig->cache, address, length, access, &region);
    if (status == VBN_OK)
        *region_p = region;
    return status;
}

void cache_rig_put(void *region)
{
    mem_cache_put(region);
}

bool cache_rig_alive(void *region)
{
    return mem_region_alive(region);
}

uint64_t cache_rig_handle(void *region)
{
    return (uintptr_t)mem_region_handle(region);
}

void cache_rig_invalidate(cache_rig_t *rig, const void *address, size_t length)
{
    mem_cache_invalidate(rig->cache, address, length);
}

void cache_rig_reap(cache_rig_t *rig)
{
    mem_cache_reap(rig->cache);
}
