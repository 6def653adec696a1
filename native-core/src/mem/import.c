/* SPDX-License-Identifier: Apache-2.0
 * import.c - keys, importer's side: mappings of peers' memory, shared and counted. */
#include "mem/mem_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

uint64_t mem_new_source(mem_registry_t *registry)
{
    pthread_mutex_lock(&registry->lock);
    uint64_t source = ++registry->last_source;
    pthread_mutex_unlock(&registry->lock);
    return source;
}

static uint64_t import_hash(uint64_t source, const mem_key_info_t *info)
{
    return mem_mix(mem_mix(source, info->mem_handle), info->access & VBN_ACCESS_WRITE);
}

/* Takes a reference. Lock held. */
static mem_import_t *find(mem_registry_t *registry, uint64_t source, const mem_key_info_t *info)
{
    bool writable = (info->access & VBN_ACCESS_WRITE) != 0;
    mem_import_t *import = map_get(&registry->imports, import_hash(source, info));
    for (; import != NULL; import = import->next_same_hash) {
        if (import->source == source && import->owner_id == info->owner_id && import->mem_handle == info->mem_handle &&
            import->mem_bytes == info->mem_bytes && import->writable == writable) {
            import->references++;
            return import;
        }
    }
    return NULL;
}

/* Lock held. */
static mem_import_t *take(vbn_mem_t *mem)
{
    if (mem->import->references++ == 0)
        mem->holds++; /* it lends: until the last one gives back */
    return mem->import;
}

/* The shared memory that a key names by its first owner's ids. Lock held. */
static mem_import_t *find_shared(mem_registry_t *registry, const mem_key_info_t *info)
{
    list_for_each(link, &registry->shared) {
        vbn_mem_t *mem = container_of(link, vbn_mem_t, shared);
        if (mem->owner_id == info->owner_id && mem->owner_handle == info->mem_handle && !mem->revoked &&
            mem->map_bytes == info->mem_bytes)
            return take(mem);
    }
    return NULL;
}

/* Of shared memory for reading our own mapping is taken at the peer's word: it spoils nothing but what he sends. Who wants
 * to write asks for the descriptor first (mem_import_map), as a liar would have others' memory written. */
mem_import_t *mem_import_find(mem_registry_t *registry, uint64_t source, const mem_key_info_t *info)
{
    pthread_mutex_lock(&registry->lock);
    mem_import_t *import = find(registry, source, info);
    if (import == NULL && (info->access & VBN_ACCESS_WRITE) == 0)
        import = find_shared(registry, info);
    pthread_mutex_unlock(&registry->lock);
    return import;
}

void mem_import_hold(mem_import_t *import)
{
    pthread_mutex_lock(&import->registry->lock);
    import->references++;
    pthread_mutex_unlock(&import->registry->lock);
}

/* A descriptor from outside must not be able to shrink under us (SIGBUS): either it is a memfd whose size is sealed,
 * or a private file of our own user. header_p: bytes in front of the user data. */
static vbn_status_t check_descriptor(int fd, const mem_key_info_t *info, size_t *header_p)
{
    struct stat st;
    uint64_t bytes;
    if (fstat(fd, &st) != 0)
        return err_sys(errno, "cannot look at the descriptor of a peer's memory");
    if (!S_ISREG(st.st_mode))
        return err_set(VBN_ERR_PROTOCOL, "peer sent a descriptor that is not memory");
    if (os_sealed_bytes(fd, &bytes) == VBN_OK) {
        *header_p = 0;
        if (bytes != info->mem_bytes)
            return err_set(VBN_ERR_PROTOCOL, "peer's memory has %llu bytes, its key says %llu",
                           (unsigned long long)bytes, (unsigned long long)info->mem_bytes);
        return VBN_OK;
    }
    mem_file_header_t header;
    vbn_status_t status = mem_file_check(fd, "a peer's memory (not sealed)", &header);
    if (status != VBN_OK)
        return status;
    if (header.user_bytes != info->mem_bytes || header.owner_id != info->owner_id)
        return err_set(VBN_ERR_PROTOCOL, "peer's memory file has %llu bytes, its key says %llu, or the owners differ",
                       (unsigned long long)header.user_bytes, (unsigned long long)info->mem_bytes);
    *header_p = os_page_bytes();
    return VBN_OK;
}

/* Takes over fd when it is kept. */
static vbn_status_t map_import(mem_import_t *import, const mem_key_info_t *info, int fd)
{
    import->map_bytes = (size_t)info->mem_bytes + import->header_bytes;
    void *map;
    vbn_status_t status = os_map(fd, import->map_bytes, import->writable, &map);
    if (status != VBN_OK)
        return status;
    os_leave_out_of_cores(map, import->map_bytes); /* it may be large, and have few pages */
    import->map = map;
    if (import->writable && import->header_bytes == 0)
        import->fd = fd;
    else
        close(fd);
    return VBN_OK;
}

/* Our own mapping, when the descriptor leads to memory that is shared here. */
static mem_import_t *find_file(mem_registry_t *registry, int fd)
{
    struct stat file;
    mem_import_t *import = NULL;
    if (fstat(fd, &file) != 0)
        return NULL;
    pthread_mutex_lock(&registry->lock);
    list_for_each(link, &registry->shared) {
        vbn_mem_t *mem = container_of(link, vbn_mem_t, shared);
        if (import == NULL && mem->device == file.st_dev && mem->inode == file.st_ino && !mem->revoked)
            import = take(mem);
    }
    pthread_mutex_unlock(&registry->lock);
    return import;
}

static void drop(mem_import_t *import)
{
    os_unmap(import->map, import->map_bytes);
    if (import->fd >= 0)
        close(import->fd);
    free(import);
}

/* Inserts import, or gives up for an equal one that another thread made meanwhile. */
static vbn_status_t publish(mem_registry_t *registry, const mem_key_info_t *info, mem_import_t **import_p)
{
    mem_import_t *import = *import_p;
    vbn_status_t status = VBN_OK;
    pthread_mutex_lock(&registry->lock);
    mem_import_t *other = find(registry, import->source, info);
    if (other == NULL) {
        import->next_same_hash = map_get(&registry->imports, import->hash);
        status = map_put(&registry->imports, import->hash, import);
        if (status == VBN_OK) {
            registry->import_count++;
            counter_add(registry->counters, COUNTER_MEM_IMPORTED_BYTES, import->mem_bytes);
        }
    }
    pthread_mutex_unlock(&registry->lock);
    if (other != NULL || status != VBN_OK) {
        drop(import);
        *import_p = other;
    }
    return status;
}

vbn_status_t mem_import_map(mem_registry_t *registry, uint64_t source, const mem_key_info_t *info, int fd,
                            mem_import_t **import_p)
{
    size_t header_bytes = 0;
    vbn_status_t status = check_descriptor(fd, info, &header_bytes);
    mem_import_t *import = status == VBN_OK ? find_file(registry, fd) : NULL;
    if (status != VBN_OK || import != NULL) {
        close(fd);
        *import_p = import;
        return status;
    }
    import = calloc(1, sizeof(*import));
    if (import == NULL) {
        close(fd);
        return err_set(VBN_ERR_NO_MEMORY, "no heap for an import");
    }
    *import = (mem_import_t){.registry = registry,
                             .hash = import_hash(source, info),
                             .source = source,
                             .owner_id = info->owner_id,
                             .mem_handle = info->mem_handle,
                             .mem_bytes = info->mem_bytes,
                             .writable = (info->access & VBN_ACCESS_WRITE) != 0,
                             .references = 1,
                             .header_bytes = header_bytes,
                             .fd = -1};
    status = map_import(import, info, fd);
    if (status != VBN_OK) {
        close(fd);
        free(import);
        return status;
    }
    status = publish(registry, info, &import);
    if (status == VBN_OK)
        *import_p = import;
    return status;
}

void *mem_import_address(const mem_import_t *import)
{
    return import->map + import->header_bytes;
}

/* Lock held. */
static void unlink_import(mem_import_t *import)
{
    mem_registry_t *registry = import->registry;
    mem_import_t *head = map_get(&registry->imports, import->hash);
    if (head != import) {
        while (head->next_same_hash != import)
            head = head->next_same_hash;
        head->next_same_hash = import->next_same_hash;
    } else if (import->next_same_hash == NULL) {
        (void)map_remove(&registry->imports, import->hash);
    } else {
        (void)map_put(&registry->imports, import->hash, import->next_same_hash); /* replaces: cannot fail */
    }
    registry->import_count--;
    counter_add(registry->counters, COUNTER_MEM_IMPORTED_BYTES, 0 - import->mem_bytes);
}

void mem_import_release(mem_import_t *import)
{
    mem_registry_t *registry = import->registry;
    pthread_mutex_lock(&registry->lock);
    bool last = --import->references == 0;
    if (last && import->lender == NULL)
        unlink_import(import);
    pthread_mutex_unlock(&registry->lock);
    if (last && import->lender != NULL)
        import->last(import);
    else if (last)
        drop(import);
}
