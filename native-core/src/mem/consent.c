/* SPDX-License-Identifier: Apache-2.0
 * consent.c - see consent.h. Lock of the registry held, but for mem_consents_cell and mem_consents_close. */
#include "mem/consent.h"

#include <stdlib.h>

#include "mem/mem_private.h"

const uint64_t *mem_consents_cell(const mem_registry_t *registry)
{
    return &registry->consents;
}

static mem_consent_t *record_of(const mem_key_t *key)
{
    return (mem_consent_t *)(uintptr_t)mem_consent_at(key->mem->registry->consents, key->handle);
}

void mem_consent_give(const mem_key_t *key)
{
    mem_registry_t *registry = key->mem->registry;
    if (registry->consents == 0) /* pages that nobody has written take no memory */
        registry->consents = (uintptr_t)calloc(MEM_CONSENTS, sizeof(mem_consent_t));
    mem_consent_t *record = record_of(key);
    if (record == NULL || mem_is_shut(key->mem))
        return;
    record->address = (uintptr_t)key->mem->map + key->offset;
    record->length = key->length;
    record->access = key->access;
    atomic_set_release(&record->handle, key->handle); /* N2; pairs with the kernel's copy for a peer */
}

void mem_consent_end(const mem_key_t *key)
{
    mem_consent_t *record = (key->access & VBN_ACCESS_COPY) != 0 ? record_of(key) : NULL;
    if (record != NULL)
        atomic_set_seq(&record->handle, 0); /* whoever looks from here on sees it */
}

void mem_consents_close(mem_registry_t *registry)
{
    free((void *)(uintptr_t)registry->consents);
    registry->consents = 0;
}
