/* SPDX-License-Identifier: Apache-2.0
 * registry.c - the set of memories, keys and imports of one context. */
#include "mem/lease.h"
#include "mem/mem_private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"

vbn_status_t mem_registry_open(const log_sink_t *log, counters_t *counters, mem_registry_t **registry_p)
{
    mem_registry_t *registry = calloc(1, sizeof(*registry));
    if (registry == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory registry of %zu bytes", sizeof(*registry));
    int error = pthread_mutex_init(&registry->lock, NULL);
    if (error == 0 && (error = pthread_mutex_init(&registry->exposing, NULL)) != 0)
        pthread_mutex_destroy(&registry->lock);
    if (error != 0) {
        free(registry);
        return err_sys(error, "cannot initialise the memory registry's lock");
    }
    registry->id = os_random_u64();
    registry->fork_generation = os_fork_generation();
    registry->huge_bytes = os_huge_page_bytes();
    registry->log = log;
    registry->counters = counters;
    registry->cache_params = (mem_cache_params_t){
        .registrar = &mem_registrar_resident, .log = log, .counters = counters, .max_regions = 1024, .watch = true};
    handle_table_init(&registry->memories, MEM_MAX_MEMORIES);
    handle_table_init(&registry->keys, MEM_MAX_KEYS);
    registry->keys.unguessable = true;
    itree_init(&registry->by_address);
    list_init(&registry->shared);
    map_init(&registry->imports);
    *registry_p = registry;
    return VBN_OK;
}

vbn_status_t mem_registry_close(mem_registry_t *registry)
{
    pthread_mutex_lock(&registry->lock);
    size_t memories = registry->by_address.count;
    size_t imports = registry->import_count;
    pthread_mutex_unlock(&registry->lock);
    if (memories != 0 || imports != 0)
        return err_set(
            VBN_ERR_INVALID,
            "the context still has %zu memor%s and %zu mapping%s of peers' memory: free the memories and release the "
            "keys first",
            memories, memories == 1 ? "y" : "ies", imports, plural(imports));
    if (registry->cache != NULL)
        mem_cache_close(registry->cache);
    map_free(&registry->imports);
    mem_consents_close(registry);
    handle_table_free(&registry->keys);
    handle_table_free(&registry->memories);
    pthread_mutex_destroy(&registry->exposing);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
    return VBN_OK;
}

void mem_registry_configure(mem_registry_t *registry, const settings_t *settings)
{
    registry->cache_params.max_regions = (size_t)settings->mem_cache_regions;
    registry->cache_params.max_bytes = settings->mem_cache_bytes;
    registry->cache_params.watch = settings->mem_watch;
    if (!settings->mem_huge_pages)
        registry->huge_bytes = 0;
}

vbn_status_t mem_check_fork(const mem_registry_t *registry)
{
    if (os_fork_generation() != registry->fork_generation)
        return err_set(VBN_ERR_FORKED, "this memory belongs to the parent process; open a context of your own");
    return VBN_OK;
}

/* A gauge: subtracting wraps back. Lock held. */
static void count_bytes(const vbn_mem_t *mem, uint64_t sign)
{
    uint64_t bytes = sign * (mem->import != NULL ? mem->committed : mem_size(mem));
    if (mem->region != NULL)
        counter_add(mem->registry->counters, COUNTER_MEM_REGISTERED_BYTES, bytes);
    else if (!mem->opened)
        counter_add(mem->registry->counters, COUNTER_MEM_BYTES, bytes);
}

vbn_status_t mem_publish(vbn_mem_t *mem)
{
    mem_registry_t *registry = mem->registry;
    pthread_mutex_lock(&registry->lock);
    vbn_status_t status = handle_new(&registry->memories, mem, &mem->handle);
    if (status == VBN_OK) {
        uintptr_t start = (uintptr_t)mem_address(mem);
        itree_insert(&registry->by_address, &mem->node, start, start + mem_size(mem));
        if (mem->owner_id == 0) {
            mem->owner_id = registry->id;
            mem->owner_handle = mem->handle;
        }
        if (mem->import != NULL)
            list_append(&registry->shared, &mem->shared);
        count_bytes(mem, 1);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

bool mem_unpublish(vbn_mem_t *mem)
{
    mem_registry_t *registry = mem->registry;
    pthread_mutex_lock(&registry->lock);
    (void)handle_drop(&registry->memories, mem->handle);
    itree_remove(&registry->by_address, &mem->node);
    list_remove(&mem->shared);
    if (!mem->discarded)
        count_bytes(mem, UINT64_MAX);
    mem->freed = true;
    bool last = mem->holds == 0;
    pthread_mutex_unlock(&registry->lock);
    return last;
}

void mem_destroy(vbn_mem_t *mem)
{
    if (mem->region != NULL)
        mem_cache_put(mem->region);
    else if (mem->unmap != NULL)
        mem->unmap(mem);
    else if (mem->map != NULL)
        os_unmap(mem->map, mem->map_bytes);
    if (mem->fd >= 0)
        close(mem->fd);
    map_free(&mem->key_by_range);
    mem_ranges_clear(&mem->here);
    free(mem->path);
    mem_unreference(mem);
}

void mem_count_discarded(vbn_mem_t *mem)
{
    pthread_mutex_lock(&mem->registry->lock);
    if (!mem->discarded)
        count_bytes(mem, UINT64_MAX);
    mem->discarded = true;
    pthread_mutex_unlock(&mem->registry->lock);
}

static vbn_mem_t *find(mem_registry_t *registry, const void *address, size_t length, bool users)
{
    uintptr_t start = (uintptr_t)address;
    itree_node_t *node = NULL;
    if (length == 0 || length > UINTPTR_MAX - start)
        return NULL;
    while ((node = itree_overlap(&registry->by_address, start, start + length, node)) != NULL) {
        vbn_mem_t *mem = container_of(node, vbn_mem_t, node);
        if (node->start <= start && node->end >= start + length && !mem->revoked && (mem->region != NULL) == users &&
            (!users || !mem_region_known_dead(mem->region)))
            return mem;
    }
    return NULL;
}

vbn_mem_t *mem_find_locked(mem_registry_t *registry, const void *address, size_t length)
{
    return find(registry, address, length, false);
}

vbn_mem_t *mem_find_users_locked(mem_registry_t *registry, const void *address, size_t length)
{
    return find(registry, address, length, true);
}

vbn_mem_t *mem_find(mem_registry_t *registry, const void *address, size_t length)
{
    pthread_mutex_lock(&registry->lock);
    vbn_mem_t *found = mem_find_locked(registry, address, length);
    pthread_mutex_unlock(&registry->lock);
    return found;
}

void *mem_address(const vbn_mem_t *mem)
{
    return mem->map + mem->header_bytes;
}

size_t mem_size(const vbn_mem_t *mem)
{
    return mem->map_bytes - mem->header_bytes;
}
