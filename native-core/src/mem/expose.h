/* SPDX-License-Identifier: Apache-2.0
 * expose.h - memory of the core that a device serves to peers by itself: registered with the device when a peer that holds
 * a key asks for it, with the rights of that key, once per memory, device and rights; ended by mem_revoke and mem_free
 * before they return. Any thread.
 *
 * X1 nothing is exposed for which no key with these rights was made. X2 the device serves all of the memory, as a mapping
 * does: a key's range is no border; of shared memory (mem_reserve, mem_join) the key's range, as other pages may not
 * exist. X3 memory of the user's own is never exposed: the kernel's word that its pages went would come too late for a
 * device. X4 add and remove run under a lock of their own (before the registry's), in the thread of whoever exposes,
 * revokes or closes. */
#ifndef VBN_MEM_EXPOSE_H
#define VBN_MEM_EXPOSE_H

#include "base/list.h"
#include "mem/mem.h"

/* A device as one user of it sees it. Set up by its owner, zeroed but for the first three. */
typedef struct mem_device {
    /* Registers [address, address + bytes) for peers with these VBN_ACCESS_ rights. */
    vbn_status_t (*add)(void *arg, void *address, size_t bytes, unsigned access, void **handle_p, uint32_t *key_p);
    void (*remove)(void *arg, void *handle); /* from its return on the device serves nobody */
    void *arg;
    list_link_t exposures; /* lock of exposures */
} mem_device_t;

/* What a peer needs to reach a key's range through the device. */
typedef struct mem_exposed {
    uint64_t address; /* of the range's first byte */
    uint32_t key;     /* the device's */
} mem_exposed_t;

void mem_device_init(mem_device_t *device);
/* VBN_ERR_STALE: no such key; VBN_ERR_UNSUPPORTED: memory of the user's own; or what add said. */
vbn_status_t mem_expose(mem_registry_t *registry, mem_device_t *device, uint64_t key_handle, mem_exposed_t *exposed_p);
/* The device serves nothing any more. */
void mem_device_end(mem_registry_t *registry, mem_device_t *device);

#endif
