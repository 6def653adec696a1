/* SPDX-License-Identifier: Apache-2.0
 * reach.c - see reach.h. */
#include "mem/reach.h"

#include "mem/mem_private.h"

void mem_reach_open(mem_reach_t *reach, mem_registry_t *registry)
{
    *reach = (mem_reach_t){.registry = registry};
}

static void forget(mem_reached_t *known)
{
    if (known->mem != NULL)
        mem_unreference(known->mem);
    *known = (mem_reached_t){0};
}

void mem_reach_close(mem_reach_t *reach)
{
    for (unsigned i = 0; i < MEM_REACH_KEYS; i++)
        forget(&reach->known[i]);
}

static bool allows(const mem_reached_t *known, uint64_t offset, uint64_t length, unsigned access)
{
    return (access & ~known->access) == 0 && offset <= known->length && length <= known->length - offset;
}

/* Into `known`, by the registry. */
static vbn_status_t look_up(mem_reach_t *reach, mem_reached_t *known, uint64_t handle, uint64_t offset, uint64_t length,
                            unsigned access)
{
    mem_registry_t *registry = reach->registry;
    const mem_key_t *key = NULL;
    forget(known);
    pthread_mutex_lock(&registry->lock);
    vbn_status_t status = mem_key_find(registry, handle, offset, length, access, &key);
    if (status == VBN_OK) {
        *known = (mem_reached_t){
            .handle = handle, .mem = key->mem, .offset = key->offset, .length = key->length, .access = key->access};
        mem_reference(key->mem);
    }
    pthread_mutex_unlock(&registry->lock);
    return status;
}

/* Its memory was shut, or its pages are gone. */
static vbn_status_t stale(mem_reach_t *reach, mem_reached_t *known)
{
    forget(known);
    pthread_mutex_lock(&reach->registry->lock);
    counter_add(reach->registry->counters, COUNTER_KEY_REFUSED, 1);
    pthread_mutex_unlock(&reach->registry->lock);
    return err_set(VBN_ERR_STALE, "the memory of a key was freed, or unmapped or discarded by its owner");
}

vbn_status_t mem_reach(mem_reach_t *reach, uint64_t key_handle, uint64_t offset, uint64_t length, unsigned access,
                       void **address_p, vbn_mem_t **mem_p)
{
    mem_reached_t *known = &reach->known[key_handle % MEM_REACH_KEYS];
    if (known->handle != key_handle || key_handle == 0 || !allows(known, offset, length, access)) {
        vbn_status_t status = look_up(reach, known, key_handle, offset, length, access);
        if (status != VBN_OK)
            return status;
    }
    if (!mem_enter(known->mem))
        return stale(reach, known);
    *address_p = (uint8_t *)mem_address(known->mem) + known->offset + offset;
    *mem_p = known->mem;
    return VBN_OK;
}
