/* SPDX-License-Identifier: Apache-2.0
 * reach.h - what a worker looks up for its peers: from the key of a packet to memory that may be touched. The last keys
 * are remembered, so that a packet takes neither a lock nor a system call: a key lives as long as its memory is not
 * shut, which mem_enter says. One thread; before the registry's end. */
#ifndef VBN_MEM_REACH_H
#define VBN_MEM_REACH_H

#include "mem/lease.h"

#define MEM_REACH_KEYS 16u

typedef struct mem_reached {
    uint64_t handle; /* of the key; 0: none */
    vbn_mem_t *mem;  /* referenced */
    uint64_t offset; /* of the key's range in the memory */
    uint64_t length;
    unsigned access;
} mem_reached_t;

typedef struct mem_reach {
    mem_registry_t *registry;
    mem_reached_t known[MEM_REACH_KEYS];
} mem_reach_t;

void mem_reach_open(mem_reach_t *reach, mem_registry_t *registry);
void mem_reach_close(mem_reach_t *reach);
/* Local address of [offset, offset+length) of the key's range for a peer that wants `access`; the caller is inside the
 * memory, mem_leave(*mem_p) follows. VBN_ERR_STALE, VBN_ERR_RANGE, VBN_ERR_ACCESS (counted in key.refused). */
vbn_status_t mem_reach(mem_reach_t *reach, uint64_t key_handle, uint64_t offset, uint64_t length, unsigned access,
                       void **address_p, vbn_mem_t **mem_p);

#endif
