/* SPDX-License-Identifier: Apache-2.0
 * consent.h - ranges of the user's own memory that peers of this host may copy by the kernel, without this process's help: keys
 * with VBN_ACCESS_COPY. The table lies in this process's private memory. A peer learns its address when it connects, and reads
 * it by the kernel (process_vm_readv) as it reads the ranges. So a key contains no address, and nobody but the owner can say
 * where its bytes lie.
 *
 *     transport, at wire-up --> mem_consents_cell --> table[index of the key's handle] = {handle, address, length, access}
 *
 * N1 a record names the key's handle while the key is valid, and 0 otherwise: who copies looks before a write and after a read.
 * N2 its other members are written before the handle. N3 the table stays where it is until the registry ends. A copy that has
 * begun when the consent ends is not waited for. */
#ifndef VBN_MEM_CONSENT_H
#define VBN_MEM_CONSENT_H

#include "base/atomics.h"
#include "mem/mem.h"

#define MEM_CONSENTS 65536u /* keys with an index beyond have none: peers reach their memory by packets */

typedef struct mem_consent {
    _Atomic uint64_t handle; /* of the key; 0: no consent */
    uint64_t address;        /* of the range's first byte, in this process */
    uint64_t length;
    uint64_t access; /* VBN_ACCESS_ bits */
} mem_consent_t;

_Static_assert(sizeof(mem_consent_t) == 32, "peers of other builds read it");

/* Where the address of the table stands, 8 bytes; these are 0 before the first consent. */
const uint64_t *mem_consents_cell(const mem_registry_t *registry);
/* Its address in the table that begins at `table`, in the owner's process; 0: the key has no place there. */
static inline uint64_t mem_consent_at(uint64_t table, uint64_t key_handle)
{
    uint64_t index = (uint32_t)key_handle;
    return table == 0 || index >= MEM_CONSENTS ? 0 : table + index * sizeof(mem_consent_t);
}

#endif
