/* SPDX-License-Identifier: Apache-2.0
 * revoke.c - the end of a memory: its keys, the threads inside it, devices, its name; then its pages. */
#include "mem/mem_private.h"

vbn_status_t mem_revoke(vbn_mem_t *mem)
{
    if (mem == NULL)
        return err_set(VBN_ERR_INVALID, "no memory given");
    vbn_status_t status = mem_check_fork(mem->registry);
    if (status != VBN_OK)
        return status;
    pthread_mutex_lock(&mem->registry->lock);
    bool first = !mem->revoked;
    mem->revoked = true;
    if (first)
        mem_drop_keys(mem);
    pthread_mutex_unlock(&mem->registry->lock);
    mem_shut(mem);
    mem_unexpose(mem); /* always: a revoke by another thread may not be that far yet */
    if (first && mem->path != NULL && !mem->opened)
        mem_file_revoke(mem);
    return VBN_OK;
}

vbn_status_t mem_free(vbn_mem_t *mem)
{
    if (mem == NULL)
        return err_set(VBN_ERR_INVALID, "no memory given");
    vbn_status_t status = mem_revoke(mem);
    if (status != VBN_OK)
        return status;
    if (mem_unpublish(mem))
        mem_destroy(mem);
    return VBN_OK;
}
