/* SPDX-License-Identifier: Apache-2.0
 * memory.c - public memory calls. */
#include "api/api_private.h"

vbn_status_t vbn_mem_alloc(vbn_context_t *context, size_t size, vbn_backing_t backing, const char *path,
                           vbn_mem_t **mem_p)
{
    if (context == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "memory needs a context and a place for the handle");
    return mem_alloc(context->memory, size, backing, path, mem_p);
}

vbn_status_t vbn_mem_reserve(vbn_context_t *context, size_t size, vbn_mem_t **mem_p)
{
    if (context == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "reserving memory needs a context and a place for the handle");
    return mem_reserve(context->memory, size, mem_p);
}

vbn_status_t vbn_mem_adopt(vbn_context_t *context, int fd, void *address, size_t size, vbn_mem_t **mem_p)
{
    if (context == NULL || address == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "adopting memory needs a context, an address and a place for the handle");
    return mem_adopt(context->memory, fd, address, size, mem_p);
}

vbn_status_t vbn_mem_commit(vbn_mem_t *mem, size_t offset, size_t length)
{
    if (mem == NULL)
        return err_set(VBN_ERR_INVALID, "no memory given to commit");
    return mem_commit(mem, offset, length);
}

uint64_t vbn_mem_room(void)
{
    return mem_room();
}

vbn_status_t vbn_mem_uncommit(vbn_mem_t *mem, size_t offset, size_t length)
{
    if (mem == NULL)
        return err_set(VBN_ERR_INVALID, "no memory given to uncommit");
    return mem_uncommit(mem, offset, length);
}

vbn_status_t vbn_mem_join(vbn_key_t *key, vbn_mem_t **mem_p)
{
    if (key == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "joining memory needs a key and a place for the handle");
    return proto_key_join(key, mem_p);
}

vbn_status_t vbn_mem_open(vbn_context_t *context, const char *path, vbn_mem_t **mem_p)
{
    if (context == NULL || path == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "opening memory needs a context, a path and a place for the handle");
    return mem_open(context->memory, path, mem_p);
}

vbn_status_t vbn_mem_register(vbn_context_t *context, void *address, size_t length, unsigned access, vbn_mem_t **mem_p)
{
    if (context == NULL || mem_p == NULL)
        return err_set(VBN_ERR_INVALID, "registering memory needs a context and a place for the handle");
    return mem_register(context->memory, address, length, access, mem_p);
}

vbn_status_t vbn_mem_invalidate(vbn_context_t *context, const void *address, size_t length)
{
    if (context == NULL)
        return err_set(VBN_ERR_INVALID, "invalidating memory needs a context");
    return mem_invalidate(context->memory, address, length);
}

vbn_status_t vbn_mem_revoke(vbn_mem_t *mem)
{
    return mem == NULL ? VBN_OK : mem_revoke(mem);
}

vbn_status_t vbn_mem_discard(vbn_mem_t *mem)
{
    if (mem == NULL)
        return err_set(VBN_ERR_INVALID, "no memory given to discard");
    return mem_discard(mem);
}

vbn_status_t vbn_mem_free(vbn_mem_t *mem)
{
    return mem == NULL ? VBN_OK : mem_free(mem);
}

void *vbn_mem_address(const vbn_mem_t *mem)
{
    return mem == NULL ? NULL : mem_address(mem);
}

size_t vbn_mem_size(const vbn_mem_t *mem)
{
    return mem == NULL ? 0 : mem_size(mem);
}

vbn_status_t vbn_key_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access, void *blob, size_t *length_p)
{
    if (mem == NULL || blob == NULL || length_p == NULL)
        return err_set(VBN_ERR_INVALID, "a key needs memory and a buffer of VBN_KEY_MAX bytes");
    return mem_key_export(mem, offset, length, access, blob, length_p);
}
