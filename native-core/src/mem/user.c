/* SPDX-License-Identifier: Apache-2.0
 * user.c - memory of the user's own as a vbn_mem_t: a region of the registration cache keeps it ready, peers reach it by
 * packets, and by the kernel's copies where the user allows that (consent.h). */
#include "mem/mem_private.h"

static vbn_status_t cache_of(mem_registry_t *registry, mem_cache_t **cache_p)
{
    vbn_status_t status = VBN_OK;
    pthread_mutex_lock(&registry->lock);
    if (registry->cache == NULL)
        status = mem_cache_open(&registry->cache_params, &registry->cache);
    *cache_p = registry->cache;
    pthread_mutex_unlock(&registry->lock);
    return status;
}

vbn_status_t mem_register(mem_registry_t *registry, void *address, size_t length, unsigned access, vbn_mem_t **mem_p)
{
    mem_cache_t *cache;
    vbn_status_t status = mem_check_access(access);
    if (status == VBN_OK)
        status = mem_check_fork(registry);
    if (status == VBN_OK)
        status = cache_of(registry, &cache);
    if (status != VBN_OK)
        return status;
    vbn_mem_t *mem = mem_new(registry, NULL, length, 0);
    if (mem == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    mem->access = access;
    status = mem_cache_get(cache, address, length, access & ~VBN_ACCESS_COPY, &mem->region);
    if (status == VBN_OK) {
        mem->map = address;
        status = mem_publish(mem);
    }
    if (status != VBN_OK) {
        mem_destroy(mem);
        return status;
    }
    *mem_p = mem;
    return VBN_OK;
}

/* A registration that ends with [start, end): its whole pages overlap them. Peers' own copies end first. */
static vbn_mem_t *hold_touched(mem_registry_t *registry, uintptr_t start, uintptr_t end)
{
    vbn_mem_t *found = NULL;
    itree_node_t *node = NULL;
    pthread_mutex_lock(&registry->lock);
    while (found == NULL && (node = itree_overlap(&registry->by_address, 0, UINTPTR_MAX, node)) != NULL) {
        vbn_mem_t *mem = container_of(node, vbn_mem_t, node);
        if (mem->region != NULL && !mem_is_shut(mem) && mem_region_touches(mem->region, start, end))
            found = mem;
    }
    if (found != NULL) {
        found->holds++;
        list_for_each(link, &found->keys)
            mem_consent_end(container_of(link, mem_key_t, link));
    }
    pthread_mutex_unlock(&registry->lock);
    return found;
}

vbn_status_t mem_invalidate(mem_registry_t *registry, const void *address, size_t length)
{
    vbn_status_t status = mem_check_fork(registry);
    if (status != VBN_OK)
        return status;
    pthread_mutex_lock(&registry->lock);
    mem_cache_t *cache = registry->cache;
    pthread_mutex_unlock(&registry->lock);
    if (cache == NULL || length == 0)
        return VBN_OK;
    uintptr_t start = (uintptr_t)address;
    uintptr_t end = length > UINTPTR_MAX - start ? UINTPTR_MAX : start + length;
    for (vbn_mem_t *mem; (mem = hold_touched(registry, start, end)) != NULL; mem_unhold(mem))
        mem_shut(mem); /* while its pages are there */
    mem_cache_invalidate(cache, address, length);
    return VBN_OK;
}
