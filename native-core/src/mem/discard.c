/* SPDX-License-Identifier: Apache-2.0
 * discard.c - gives the pages of our own memory back while it is still mapped. */
#include "mem/mem_private.h"

#include "base/os.h"

vbn_status_t mem_discard(vbn_mem_t *mem)
{
    if (mem->region != NULL || mem->opened || mem_is_shared(mem))
        return err_set(VBN_ERR_INVALID,
                       "only memory of vbn_mem_alloc, as its owner, can be discarded: others may use the pages");
    vbn_status_t status = mem_revoke(mem);
    if (status == VBN_OK)
        status = os_discard(mem_address(mem), mem_size(mem));
    if (status == VBN_OK)
        mem_count_discarded(mem);
    return status;
}
