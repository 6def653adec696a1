/* SPDX-License-Identifier: Apache-2.0
 * shared.c - memory that several contexts of a host own together: reserved by one, or the caller's own, joined by others.
 *
 * Each of them has a descriptor and one mapping of all of it, and may commit pages. Keys and announcements name it by the
 * registry and handle of its first owner, so whoever has joined it finds its own mapping. That mapping is an import with
 * a reference of the memory's (joined), or an import that lends the memory's own mapping (reserved). */
#include "mem/mem_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"

bool mem_is_shared(const vbn_mem_t *mem)
{
    return mem->import != NULL;
}

/* Nobody uses what was lent any more. */
static void given_back(mem_import_t *import)
{
    mem_unhold(import->lender);
}

static void unmap_reserved(vbn_mem_t *mem)
{
    free(mem->import);
    os_unmap(mem->map, mem->map_bytes);
}

static void unmap_adopted(vbn_mem_t *mem)
{
    free(mem->import); /* the mapping is the caller's */
}

static void unmap_joined(vbn_mem_t *mem)
{
    mem_import_release(mem->import);
}

/* The object that keys of peers lead to: our own mapping. */
static vbn_status_t lend(vbn_mem_t *mem)
{
    mem->import = calloc(1, sizeof(*mem->import));
    if (mem->import == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    *mem->import = (mem_import_t){.registry = mem->registry,
                                  .writable = true,
                                  .map = mem->map,
                                  .map_bytes = mem->map_bytes,
                                  .mem_bytes = mem->map_bytes,
                                  .fd = -1,
                                  .lender = mem,
                                  .last = given_back};
    return VBN_OK;
}

static vbn_status_t note_file(vbn_mem_t *mem)
{
    struct stat file;
    if (fstat(mem->fd, &file) != 0)
        return err_sys(errno, "cannot look at the file of a memory");
    mem->device = file.st_dev;
    mem->inode = file.st_ino;
    return VBN_OK;
}

static vbn_status_t map_reserved(vbn_mem_t *mem)
{
    void *map;
    vbn_status_t status = os_memfd_begun("vbn-mem", mem->map_bytes, 0, &mem->fd);
    if (status == VBN_OK)
        status = os_map(mem->fd, mem->map_bytes, true, &map);
    if (status != VBN_OK)
        return status;
    mem->map = map;
    mem->unmap = unmap_reserved;
    status = note_file(mem);
    return status == VBN_OK ? lend(mem) : status;
}

static vbn_status_t take_adopted(vbn_mem_t *mem, int fd, void *address)
{
    uint64_t bytes;
    mem->map = address;
    mem->unmap = unmap_adopted;
    mem->adopted = true;
    vbn_status_t status = os_sealed_bytes(fd, &bytes);
    if (status == VBN_OK && bytes != mem->map_bytes)
        status = err_set(VBN_ERR_RANGE, "the memfd has %llu bytes, and the mapping %zu; adopt all of it",
                         (unsigned long long)bytes, mem->map_bytes);
    if (status != VBN_OK)
        return status;
    mem->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    status = mem->fd >= 0 ? note_file(mem) : err_sys(errno, "cannot duplicate the descriptor of a memory");
    return status == VBN_OK ? lend(mem) : status;
}

static vbn_status_t check_size(mem_registry_t *registry, size_t size)
{
    vbn_status_t status = mem_check_fork(registry);
    if (status == VBN_OK && (size == 0 || size > SIZE_MAX / 4))
        status = err_set(VBN_ERR_INVALID, "memory of %zu bytes; give a size from 1 to %zu", size, SIZE_MAX / 4);
    return status;
}

/* What could not be made goes. */
static vbn_status_t publish(vbn_mem_t *mem, vbn_status_t status, vbn_mem_t **mem_p)
{
    if (status == VBN_OK)
        status = mem_publish(mem);
    if (status == VBN_OK)
        *mem_p = mem;
    else
        mem_destroy(mem);
    return status;
}

vbn_status_t mem_reserve(mem_registry_t *registry, size_t size, vbn_mem_t **mem_p)
{
    size_t page = os_page_bytes();
    vbn_status_t status = check_size(registry, size);
    if (status != VBN_OK)
        return status;
    vbn_mem_t *mem = mem_new(registry, NULL, (size + page - 1) / page * page, 0);
    if (mem == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    return publish(mem, map_reserved(mem), mem_p);
}

vbn_status_t mem_adopt(mem_registry_t *registry, int fd, void *address, size_t size, vbn_mem_t **mem_p)
{
    vbn_status_t status = check_size(registry, size);
    if (status != VBN_OK)
        return status;
    vbn_mem_t *mem = mem_new(registry, NULL, size, 0);
    if (mem == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    return publish(mem, take_adopted(mem, fd, address), mem_p);
}

static uint64_t allocated_bytes(const vbn_mem_t *mem)
{
    struct stat file;
    return fstat(mem->fd, &file) == 0 ? (uint64_t)file.st_blocks * 512 : 0;
}

static size_t missing_bytes(vbn_mem_t *mem, size_t start, size_t end)
{
    pthread_mutex_lock(&mem->registry->lock);
    size_t missing = mem_ranges_missing(&mem->here, start, end);
    pthread_mutex_unlock(&mem->registry->lock);
    return missing;
}

/* What others allocate at the same moment may be counted here. done: all of it is there. */
static void count_committed(vbn_mem_t *mem, uint64_t before, size_t start, size_t end, bool done)
{
    size_t length = end - start;
    uint64_t after = allocated_bytes(mem);
    uint64_t more = after > before ? after - before : 0;
    size_t bytes = more < length ? (size_t)more : length;
    pthread_mutex_lock(&mem->registry->lock);
    mem->committed += bytes;
    if (done)
        mem_ranges_add(&mem->here, start, end);
    counter_add(mem->registry->counters, COUNTER_MEM_BYTES, bytes);
    pthread_mutex_unlock(&mem->registry->lock);
}

static vbn_status_t check_shared(const vbn_mem_t *mem, size_t offset, size_t length)
{
    vbn_status_t status = mem_check_fork(mem->registry);
    if (status != VBN_OK)
        return status;
    if (!mem_is_shared(mem))
        return err_set(VBN_ERR_INVALID,
                       "only memory of vbn_mem_reserve or vbn_mem_join is committed; all pages of other memory exist");
    if (offset > mem_size(mem) || length > mem_size(mem) - offset)
        return err_set(VBN_ERR_RANGE, "range %zu + %zu is beyond the memory of %zu bytes", offset, length,
                       mem_size(mem));
    return VBN_OK;
}

vbn_status_t mem_commit(vbn_mem_t *mem, size_t offset, size_t length)
{
    vbn_status_t status = check_shared(mem, offset, length);
    if (status != VBN_OK)
        return status;
    size_t page = os_page_bytes();
    size_t start = offset / page * page, end = (offset + length + page - 1) / page * page;
    if (length == 0)
        return VBN_OK;
    size_t missing = missing_bytes(mem, start, end);
    int turn = -1;
    if (missing == 0)
        return VBN_OK;
    status = mem_room_enter(missing, &turn);
    if (status != VBN_OK)
        return status;
    uint64_t before = allocated_bytes(mem);
    status = os_allocate(mem->fd, "shared memory", start, end - start);
    mem_room_leave(turn);
    count_committed(mem, before, start, end, status == VBN_OK);
    return status;
}

/* What others allocated or gave back at the same moment may be counted here. */
static void count_uncommitted(vbn_mem_t *mem, uint64_t before, size_t start, size_t end)
{
    uint64_t after = allocated_bytes(mem);
    uint64_t less = before > after ? before - after : 0;
    pthread_mutex_lock(&mem->registry->lock);
    size_t bytes = less < end - start ? (size_t)less : end - start;
    bytes = bytes < mem->committed ? bytes : mem->committed;
    mem->committed -= bytes;
    counter_add(mem->registry->counters, COUNTER_MEM_BYTES, UINT64_MAX * bytes); /* a gauge: wraps back */
    pthread_mutex_unlock(&mem->registry->lock);
}

/* Who exports a key of the range later gets a new one, and a device registers the new pages. */
static void end_keys(vbn_mem_t *mem, size_t start, size_t end)
{
    pthread_mutex_lock(&mem->registry->lock);
    mem_drop_keys_inside(mem, start, end);
    pthread_mutex_unlock(&mem->registry->lock);
    mem_unexpose_inside(mem, start, end);
}

vbn_status_t mem_uncommit(vbn_mem_t *mem, size_t offset, size_t length)
{
    vbn_status_t status = check_shared(mem, offset, length);
    if (status != VBN_OK)
        return status;
    end_keys(mem, offset, offset + length);
    size_t page = os_page_bytes();
    size_t start = (offset + page - 1) / page * page, end = (offset + length) / page * page;
    if (start >= end)
        return VBN_OK;
    pthread_mutex_lock(&mem->registry->lock); /* first: a commit meanwhile finds them missing */
    mem_ranges_remove(&mem->here, start, end);
    pthread_mutex_unlock(&mem->registry->lock);
    uint64_t before = allocated_bytes(mem);
    status = os_discard(mem->map + start, end - start);
    if (status == VBN_OK)
        count_uncommitted(mem, before, start, end);
    return status;
}

/* Lock held. */
static vbn_status_t check_new(mem_registry_t *registry, const mem_import_t *import)
{
    list_for_each(link, &registry->shared) {
        if (container_of(link, vbn_mem_t, shared)->import == import)
            return err_set(VBN_ERR_INVALID,
                           "this context shares the memory already: use the memory of vbn_mem_reserve or of "
                           "the first vbn_mem_join");
    }
    return VBN_OK;
}

static vbn_status_t check_join(const mem_key_info_t *info, const mem_import_t *import)
{
    if (info->access != (VBN_ACCESS_READ | VBN_ACCESS_WRITE))
        return err_set(
            VBN_ERR_ACCESS,
            "the key allows access 0x%x; memory is joined by a key that allows VBN_ACCESS_READ and VBN_ACCESS_WRITE",
            info->access);
    if (import->fd < 0 && import->lender == NULL)
        return err_set(VBN_ERR_UNSUPPORTED,
                       "the key is one of a named file, which cannot be joined: use VBN_BACKING_MEMFD");
    return VBN_OK;
}

/* Takes a reference of the import over. */
static vbn_status_t make_joined(mem_registry_t *registry, const mem_key_info_t *info, mem_import_t *import,
                                vbn_mem_t **mem_p)
{
    vbn_mem_t *mem = mem_new(registry, NULL, import->map_bytes, 0);
    if (mem == NULL) {
        mem_import_release(import);
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    }
    mem->import = import;
    mem->unmap = unmap_joined;
    mem->map = import->map;
    mem->owner_id = info->owner_id;
    mem->owner_handle = info->mem_handle;
    mem->fd = fcntl(import->fd, F_DUPFD_CLOEXEC, 0);
    vbn_status_t status = mem->fd >= 0 ? note_file(mem) : err_sys(errno, "cannot duplicate the descriptor of a memory");
    return publish(mem, status, mem_p);
}

vbn_status_t mem_join(mem_registry_t *registry, const mem_key_info_t *info, mem_import_t *import, vbn_mem_t **mem_p)
{
    vbn_status_t status = mem_check_fork(registry);
    if (status == VBN_OK)
        status = check_join(info, import);
    if (status != VBN_OK)
        return status;
    pthread_mutex_lock(&registry->lock);
    status = check_new(registry, import);
    if (status == VBN_OK)
        import->references++;
    pthread_mutex_unlock(&registry->lock);
    return status == VBN_OK ? make_joined(registry, info, import, mem_p) : status;
}
