/* SPDX-License-Identifier: Apache-2.0
 * expose.c - see expose.h. */
#include "mem/expose.h"

#include <stdlib.h>

#include "mem/mem_private.h"

typedef struct mem_exposure {
    list_link_t of_mem, of_device;
    mem_device_t *device;
    vbn_mem_t *mem;
    void *handle;
    uint64_t offset; /* of what the device serves of it */
    uint64_t length;
    unsigned access;
    uint32_t key;
} mem_exposure_t;

void mem_device_init(mem_device_t *device)
{
    list_init(&device->exposures);
}

static void count_bytes(const vbn_mem_t *mem, uint64_t bytes)
{
    pthread_mutex_lock(&mem->registry->lock);
    counter_add(mem->registry->counters, COUNTER_MEM_EXPOSED_BYTES, bytes);
    pthread_mutex_unlock(&mem->registry->lock);
}

/* X2: of shared memory, most of whose pages may not exist, the key's range. Lock of exposures held. */
static mem_exposure_t *find(const mem_key_rights_t *rights, const mem_device_t *device)
{
    list_for_each(link, &rights->mem->exposures) {
        mem_exposure_t *exposure = container_of(link, mem_exposure_t, of_mem);
        if (exposure->device == device && exposure->access == rights->access && exposure->offset <= rights->offset &&
            rights->length <= exposure->length &&
            rights->offset - exposure->offset <= exposure->length - rights->length)
            return exposure;
    }
    return NULL;
}

/* Lock of exposures held. */
static vbn_status_t make(const mem_key_rights_t *rights, mem_device_t *device, mem_exposure_t **exposure_p)
{
    vbn_mem_t *mem = rights->mem;
    mem_exposure_t *exposure = calloc(1, sizeof(*exposure));
    if (exposure == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for an exposed memory");
    exposure->offset = mem->import != NULL ? rights->offset : 0;
    exposure->length = mem->import != NULL ? rights->length : mem_size(mem);
    vbn_status_t status = device->add(device->arg, (uint8_t *)mem_address(mem) + exposure->offset, exposure->length,
                                      rights->access, &exposure->handle, &exposure->key);
    if (status < 0) {
        free(exposure);
        return status;
    }
    exposure->mem = mem;
    exposure->device = device;
    exposure->access = rights->access;
    list_append(&mem->exposures, &exposure->of_mem);
    list_append(&device->exposures, &exposure->of_device);
    count_bytes(mem, exposure->length);
    *exposure_p = exposure;
    return VBN_OK;
}

/* Lock of exposures held. */
static void end(mem_exposure_t *exposure)
{
    exposure->device->remove(exposure->device->arg, exposure->handle);
    count_bytes(exposure->mem, 0 - exposure->length);
    list_remove(&exposure->of_mem);
    list_remove(&exposure->of_device);
    free(exposure);
}

vbn_status_t mem_expose(mem_registry_t *registry, mem_device_t *device, uint64_t key_handle, mem_exposed_t *exposed_p)
{
    mem_key_rights_t rights;
    mem_exposure_t *exposure = NULL;
    pthread_mutex_lock(&registry->exposing);
    vbn_status_t status = mem_key_rights(registry, key_handle, &rights);
    if (status == VBN_OK && rights.mem->region != NULL)
        status = err_set(VBN_ERR_UNSUPPORTED, "registered user memory is reached by packets only");
    else if (status == VBN_OK && rights.mem->adopted)
        status = err_set(VBN_ERR_UNSUPPORTED, "memory of vbn_mem_adopt is reached by packets and mappings only");
    else if (status == VBN_OK)
        exposure = find(&rights, device);
    if (status == VBN_OK && exposure == NULL)
        status = make(&rights, device, &exposure);
    if (status == VBN_OK)
        *exposed_p = (mem_exposed_t){.address = (uintptr_t)mem_address(rights.mem) + rights.offset,
                                     .key = exposure->key};
    pthread_mutex_unlock(&registry->exposing);
    return status;
}

void mem_device_end(mem_registry_t *registry, mem_device_t *device)
{
    pthread_mutex_lock(&registry->exposing);
    while (!list_empty(&device->exposures))
        end(container_of(device->exposures.next, mem_exposure_t, of_device));
    pthread_mutex_unlock(&registry->exposing);
}

void mem_unexpose_inside(vbn_mem_t *mem, uint64_t start, uint64_t stop)
{
    pthread_mutex_lock(&mem->registry->exposing);
    for (list_link_t *link = mem->exposures.next, *next; link != &mem->exposures; link = next) {
        mem_exposure_t *exposure = container_of(link, mem_exposure_t, of_mem);
        next = link->next;
        if (exposure->offset >= start && exposure->offset + exposure->length <= stop)
            end(exposure);
    }
    pthread_mutex_unlock(&mem->registry->exposing);
}

void mem_unexpose(vbn_mem_t *mem)
{
    pthread_mutex_lock(&mem->registry->exposing);
    while (!list_empty(&mem->exposures))
        end(container_of(mem->exposures.next, mem_exposure_t, of_mem));
    pthread_mutex_unlock(&mem->registry->exposing);
}
