/* SPDX-License-Identifier: Apache-2.0
 * key.c - keys, owner's side: export, resolve, descriptor. */
#include "mem/key_blob.h"
#include "mem/mem_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/os.h"

static uint64_t range_hash(uint64_t offset, uint64_t length, unsigned access)
{
    return mem_mix(mem_mix(offset, length), access);
}

static void end_key(mem_key_t *key)
{
    mem_consent_end(key);
    (void)handle_drop(&key->mem->registry->keys, key->handle);
    free(key);
}

void mem_drop_keys(vbn_mem_t *mem)
{
    list_link_t *link;
    while ((link = list_pop(&mem->keys)) != NULL) {
        end_key(container_of(link, mem_key_t, link));
    }
    map_free(&mem->key_by_range);
    map_init(&mem->key_by_range);
}

void mem_drop_keys_inside(vbn_mem_t *mem, uint64_t start, uint64_t end)
{
    for (list_link_t *link = mem->keys.next, *next; link != &mem->keys; link = next) {
        mem_key_t *key = container_of(link, mem_key_t, link);
        next = link->next;
        uint64_t hash = range_hash(key->offset, key->length, key->access);
        if (key->offset < start || key->length > end - start || key->offset - start > end - start - key->length)
            continue;
        if (map_get(&mem->key_by_range, hash) == key)
            (void)map_remove(&mem->key_by_range, hash);
        list_remove(link);
        end_key(key);
    }
}

vbn_status_t mem_check_access(unsigned access)
{
    if ((access & (VBN_ACCESS_READ | VBN_ACCESS_WRITE)) == 0 ||
        (access & ~(VBN_ACCESS_READ | VBN_ACCESS_WRITE | VBN_ACCESS_COPY)) != 0)
        return err_set(
            VBN_ERR_INVALID,
            "access 0x%x; use VBN_ACCESS_READ and VBN_ACCESS_WRITE, with VBN_ACCESS_COPY where peers of this host "
            "may copy by themselves",
            access);
    return VBN_OK;
}

static vbn_status_t check_export(const vbn_mem_t *mem, size_t offset, size_t length, unsigned access)
{
    vbn_status_t status = mem_check_access(access);
    if (status != VBN_OK)
        return status;
    if (offset > mem_size(mem) || length > mem_size(mem) - offset)
        return err_set(VBN_ERR_RANGE, "range %zu + %zu is beyond the memory of %zu byte%s", offset, length,
                       mem_size(mem), plural(mem_size(mem)));
    if ((access & ~mem->access) != 0)
        return err_set(VBN_ERR_ACCESS, "%s: a key cannot allow more than access 0x%x",
                       mem->region != NULL ? "registered memory"
                       : mem->path != NULL ? mem->path
                                           : "memory that peers map",
                       mem->access);
    return VBN_OK;
}

/* The key of exactly this range and these rights, made when there is none. Lock held. */
static vbn_status_t key_for(vbn_mem_t *mem, uint64_t offset, uint64_t length, unsigned access, mem_key_t **key_p)
{
    uint64_t hash = range_hash(offset, length, access);
    mem_key_t *key = map_get(&mem->key_by_range, hash);
    if (key != NULL && key->offset == offset && key->length == length && key->access == access) {
        *key_p = key;
        return VBN_OK;
    }
    key = calloc(1, sizeof(*key));
    if (key == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a key");
    key->mem = mem;
    key->offset = offset;
    key->length = length;
    key->access = access;
    vbn_status_t status = handle_new(&mem->registry->keys, key, &key->handle);
    if (status == VBN_OK) {
        status = map_put(&mem->key_by_range, hash, key);
        if (status != VBN_OK)
            (void)handle_drop(&mem->registry->keys, key->handle);
    }
    if (status != VBN_OK) {
        free(key);
        return status;
    }
    list_append(&mem->keys, &key->link);
    if ((access & VBN_ACCESS_COPY) != 0)
        mem_consent_give(key);
    *key_p = key;
    return VBN_OK;
}

vbn_status_t mem_key_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access, void *blob, size_t *length_p)
{
    if (mem == NULL || blob == NULL || length_p == NULL)
        return err_set(VBN_ERR_INVALID, "memory, blob and length are needed to export a key");
    if (*length_p < KEY_BLOB_BYTES)
        return err_set(VBN_ERR_LIMIT, "buffer of %zu bytes for a key of %d; give VBN_KEY_MAX", *length_p,
                       KEY_BLOB_BYTES);
    vbn_status_t status = mem_check_fork(mem->registry);
    if (status == VBN_OK)
        status = check_export(mem, offset, length, access);
    if (status != VBN_OK)
        return status;
    mem_key_t *key = NULL;
    mem_key_info_t info = {0};
    pthread_mutex_lock(&mem->registry->lock);
    if (mem->revoked)
        status = err_set(VBN_ERR_STALE, "the memory is revoked: no new keys");
    else
        status = key_for(mem, offset, length, access, &key);
    if (status == VBN_OK)
        info = (mem_key_info_t){.key_handle = key->handle,
                                .owner_id = mem->owner_id,
                                .mem_handle = mem->owner_handle,
                                .mem_bytes = mem_size(mem),
                                .offset = offset,
                                .length = length,
                                .access = access,
                                .by_packets = mem->region != NULL};
    pthread_mutex_unlock(&mem->registry->lock);
    if (status != VBN_OK)
        return status;
    key_blob_encode(&info, blob);
    *length_p = KEY_BLOB_BYTES;
    return VBN_OK;
}

vbn_status_t mem_key_find(mem_registry_t *registry, uint64_t handle, uint64_t offset, uint64_t length, unsigned access,
                          const mem_key_t **key_p)
{
    vbn_status_t status = VBN_OK;
    const mem_key_t *key = handle_get(&registry->keys, handle);
    if (key == NULL)
        status = err_set(VBN_ERR_STALE, "key 0x%llx is not valid: its memory was freed or revoked",
                         (unsigned long long)handle);
    else if ((access & ~key->access) != 0)
        status = err_set(VBN_ERR_ACCESS, "key 0x%llx allows access 0x%x, wanted 0x%x", (unsigned long long)handle,
                         key->access, access);
    else if (offset > key->length || length > key->length - offset)
        status = err_set(VBN_ERR_RANGE, "range %llu + %llu is beyond the key's %llu byte%s", (unsigned long long)offset,
                         (unsigned long long)length, (unsigned long long)key->length, plural(key->length));
    if (status == VBN_OK)
        *key_p = key;
    else
        counter_add(registry->counters, COUNTER_KEY_REFUSED, 1);
    return status;
}

vbn_status_t mem_key_rights(mem_registry_t *registry, uint64_t key_handle, mem_key_rights_t *rights_p)
{
    const mem_key_t *key = NULL;
    pthread_mutex_lock(&registry->lock);
    vbn_status_t status = mem_key_find(registry, key_handle, 0, 0, 0, &key);
    if (status == VBN_OK)
        *rights_p = (mem_key_rights_t){
            .mem = key->mem, .offset = key->offset, .length = key->length, .access = key->access};
    pthread_mutex_unlock(&registry->lock);
    return status;
}

bool mem_hold_range(mem_registry_t *registry, const void *address, size_t length, mem_key_info_t *info_p,
                    vbn_mem_t **mem_p)
{
    mem_key_t *key = NULL;
    pthread_mutex_lock(&registry->lock);
    vbn_mem_t *mem = mem_find_locked(registry, address, length);
    if (mem == NULL || key_for(mem, 0, mem_size(mem), VBN_ACCESS_READ, &key) != VBN_OK) {
        pthread_mutex_unlock(&registry->lock);
        return false;
    }
    mem->holds++;
    *mem_p = mem;
    *info_p = (mem_key_info_t){.key_handle = key->handle,
                               .owner_id = mem->owner_id,
                               .mem_handle = mem->owner_handle,
                               .mem_bytes = mem_size(mem),
                               .length = length,
                               .access = VBN_ACCESS_READ,
                               .offset = (uint64_t)((const uint8_t *)address - (const uint8_t *)mem_address(mem))};
    pthread_mutex_unlock(&registry->lock);
    return true;
}

#define KEYS_LOOKED_AT 16u /* of a memory; who exports more of them does not receive by put */

static const mem_key_t *writable_key(const vbn_mem_t *mem, uint64_t offset, uint64_t length)
{
    unsigned looked = 0;
    list_for_each(pos, &mem->keys) {
        const mem_key_t *key = container_of(pos, const mem_key_t, link);
        if ((key->access & VBN_ACCESS_WRITE) != 0 && key->offset <= offset && length <= key->length &&
            offset - key->offset <= key->length - length)
            return key;
        if (++looked == KEYS_LOOKED_AT)
            break;
    }
    return NULL;
}

bool mem_find_writable(mem_registry_t *registry, const void *address, size_t length, mem_key_info_t *info_p)
{
    const mem_key_t *key = NULL;
    pthread_mutex_lock(&registry->lock);
    const vbn_mem_t *mem = mem_find_locked(registry, address, length);
    if (mem != NULL) {
        uint64_t offset = (uint64_t)((const uint8_t *)address - (const uint8_t *)mem_address(mem));
        key = writable_key(mem, offset, length);
        if (key != NULL)
            *info_p = (mem_key_info_t){.key_handle = key->handle,
                                       .owner_id = mem->owner_id,
                                       .mem_handle = mem->owner_handle,
                                       .mem_bytes = mem_size(mem),
                                       .offset = offset,
                                       .length = length,
                                       .access = key->access};
    }
    pthread_mutex_unlock(&registry->lock);
    return key != NULL;
}

bool mem_hold(mem_registry_t *registry, const void *address, size_t length, bool users, vbn_mem_t **mem_p)
{
    pthread_mutex_lock(&registry->lock);
    vbn_mem_t *mem = mem_find_locked(registry, address, length);
    if (mem != NULL && mem->import != NULL) /* shared */
        mem = NULL;
    else if (mem == NULL && users)
        mem = mem_find_users_locked(registry, address, length);
    if (mem != NULL)
        mem->holds++;
    pthread_mutex_unlock(&registry->lock);
    if (mem != NULL && !mem_is_there(mem)) { /* asked without the lock: it may wait */
        mem_unhold(mem);
        mem = NULL;
    }
    *mem_p = mem;
    return mem != NULL;
}

bool mem_is_writable(const vbn_mem_t *mem)
{
    return (mem->access & VBN_ACCESS_WRITE) != 0;
}

bool mem_is_users(const vbn_mem_t *mem)
{
    return mem->region != NULL;
}

bool mem_is_there(const vbn_mem_t *mem)
{
    return mem->region == NULL || (!mem_is_freed(mem) && mem_region_alive(mem->region));
}

bool mem_is_freed(const vbn_mem_t *mem)
{
    return mem_is_shut(mem);
}

void mem_unhold(vbn_mem_t *mem)
{
    mem_registry_t *registry = mem->registry;
    pthread_mutex_lock(&registry->lock);
    mem->holds--;
    bool last = mem->freed && mem->holds == 0;
    pthread_mutex_unlock(&registry->lock);
    if (last)
        mem_destroy(mem);
}

vbn_status_t mem_key_descriptor(mem_registry_t *registry, uint64_t key_handle, int *fd_p)
{
    const mem_key_t *key = NULL;
    int fd = -1;
    /* The lock keeps the memory's descriptor open until it is duplicated. */
    pthread_mutex_lock(&registry->lock);
    vbn_status_t status = mem_key_find(registry, key_handle, 0, 0, 0, &key);
    if (status == VBN_OK && key->mem->region != NULL) {
        status = err_set(VBN_ERR_UNSUPPORTED, "registered user memory cannot be mapped by others");
    } else if (status == VBN_OK && (key->access & VBN_ACCESS_WRITE) != 0) {
        fd = fcntl(key->mem->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            status = err_sys(errno, "cannot duplicate the descriptor of a memory");
    } else if (status == VBN_OK) {
        status = os_reopen_readonly(key->mem->fd, &fd);
    }
    pthread_mutex_unlock(&registry->lock);
    if (status == VBN_OK)
        *fd_p = fd;
    return status;
}
