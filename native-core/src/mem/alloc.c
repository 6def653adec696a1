/* SPDX-License-Identifier: Apache-2.0
 * alloc.c - makes shareable memory: an anonymous sealed file, or a named file in a private directory. */
#include "mem/lease.h"
#include "mem/mem_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os.h"

static uint64_t free_bytes_at(const char *path)
{
    struct statvfs fs;
    char directory[4096];
    snprintf(directory, sizeof(directory), "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory ? 1 : 0] = '\0';
    if (statvfs(slash != NULL ? directory : ".", &fs) != 0)
        return 0;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static vbn_status_t no_room(const char *path, size_t wanted)
{
    return err_set(VBN_ERR_NO_MEMORY,
                   "%s: wanted %zu bytes, %llu are free on its file system; remove old files there, enlarge it "
                   "(mount -o remount,size=... for a tmpfs) or use another directory",
                   path, wanted, (unsigned long long)free_bytes_at(path));
}

static void log_pages(mem_registry_t *registry, size_t bytes, os_pages_t pages)
{
    if (atomic_exchange(&registry->huge_logged, true))
        return;
    if (pages == OS_PAGES_NORMAL)
        LOG_INFO(registry->log,
                 "memory of %zu bytes is in normal pages, this host has no huge ones for it: set vm.nr_hugepages, or "
                 "write advise to /sys/kernel/mm/transparent_hugepage/shmem_enabled",
                 bytes);
    else
        LOG_INFO(registry->log, "memory of %zu bytes is in %s huge pages of %zu bytes", bytes,
                 pages == OS_PAGES_RESERVED ? "reserved" : "transparent", registry->huge_bytes);
}

/* The kernel's anonymous shared memory has no limit of its own: asking for more than there is ends in the OOM killer
 * instead of an error, so we ask first. Reserved huge pages are not part of what is available. */
static vbn_status_t make_memfd(mem_registry_t *registry, size_t bytes, int *fd_p)
{
    bool huge = registry->huge_bytes > 0 && bytes >= registry->huge_bytes;
    if (huge && bytes % registry->huge_bytes == 0 &&
        os_memfd_pages("vbn-mem", bytes, OS_PAGES_RESERVED, fd_p) == VBN_OK) {
        log_pages(registry, bytes, OS_PAGES_RESERVED);
        return VBN_OK;
    }
    int turn;
    vbn_status_t status = mem_room_enter(bytes, &turn);
    if (status != VBN_OK)
        return status;
    os_pages_t pages = huge && os_transparent_shared() ? OS_PAGES_TRANSPARENT : OS_PAGES_NORMAL;
    status = os_memfd_pages("vbn-mem", bytes, pages, fd_p);
    mem_room_leave(turn);
    if (status != VBN_OK)
        return mem_room_explain(status);
    if (huge)
        log_pages(registry, bytes, pages);
    return VBN_OK;
}

static vbn_status_t make_file(const char *path, size_t bytes, int *fd_p)
{
    vbn_status_t status = mem_file_check_directory(path);
    if (status != VBN_OK)
        return status;
    struct stat existing;
    if (lstat(path, &existing) != 0 && bytes > free_bytes_at(path))
        return no_room(path, bytes);
    status = os_create_file(path, bytes, fd_p);
    return status == VBN_ERR_NO_MEMORY ? no_room(path, bytes) : status;
}

static vbn_status_t check_request(size_t size, vbn_backing_t backing, const char *path)
{
    if (size == 0 || size > SIZE_MAX / 4)
        return err_set(VBN_ERR_INVALID, "memory of %zu bytes; give a size from 1 to %zu", size, SIZE_MAX / 4);
    if (backing != VBN_BACKING_MEMFD && backing != VBN_BACKING_FILE)
        return err_set(VBN_ERR_INVALID, "unknown backing %d", (int)backing);
    if (backing == VBN_BACKING_FILE && (path == NULL || path[0] == '\0' || strlen(path) >= 4096))
        return err_set(VBN_ERR_INVALID, "VBN_BACKING_FILE needs the path of the file to create");
    if (backing == VBN_BACKING_MEMFD && path != NULL)
        return err_set(VBN_ERR_INVALID, "path %s given, but VBN_BACKING_MEMFD has no name", path);
    return VBN_OK;
}

vbn_mem_t *mem_new(mem_registry_t *registry, const char *path, size_t user_bytes, size_t header_bytes)
{
    vbn_mem_t *mem = calloc(1, sizeof(*mem));
    if (mem == NULL)
        return NULL;
    mem->registry = registry;
    mem->fd = -1;
    mem->access = VBN_ACCESS_READ | VBN_ACCESS_WRITE;
    mem->header_bytes = header_bytes;
    mem->map_bytes = user_bytes + header_bytes;
    atomic_set_relaxed(&mem->references, 1);
    pthread_mutex_init(&mem->lease_lock, NULL);
    list_init(&mem->leases);
    list_init(&mem->keys);
    list_init(&mem->exposures);
    list_init(&mem->shared);
    map_init(&mem->key_by_range);
    mem->path = path != NULL ? strdup(path) : NULL;
    if (path != NULL && mem->path == NULL) {
        mem_unreference(mem);
        return NULL;
    }
    return mem;
}

vbn_status_t mem_alloc(mem_registry_t *registry, size_t size, vbn_backing_t backing, const char *path,
                       vbn_mem_t **mem_p)
{
    vbn_status_t status = mem_check_fork(registry);
    if (status == VBN_OK)
        status = check_request(size, backing, path);
    if (status != VBN_OK)
        return status;
    size_t page = os_page_bytes();
    vbn_mem_t *mem = mem_new(registry, path, (size + page - 1) / page * page, backing == VBN_BACKING_FILE ? page : 0);
    if (mem == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    if (backing == VBN_BACKING_FILE)
        status = make_file(path, mem->map_bytes, &mem->fd);
    else
        status = make_memfd(registry, mem->map_bytes, &mem->fd);
    if (status != VBN_OK)
        goto fail;
    void *map;
    status = os_map(mem->fd, mem->map_bytes, true, &map);
    if (status != VBN_OK)
        goto fail_file;
    mem->map = map;
    if (backing == VBN_BACKING_FILE)
        mem_file_write_header(mem);
    status = mem_publish(mem);
    if (status != VBN_OK)
        goto fail_file;
    *mem_p = mem;
    return VBN_OK;
fail_file:
    if (backing == VBN_BACKING_FILE)
        mem_file_revoke(mem);
fail:
    mem_destroy(mem);
    return status;
}

/* Opens and checks a memory file. */
static vbn_status_t open_file(const char *path, mem_file_header_t *header_p, int *fd_p)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return err_set(VBN_ERR_STALE, "%s does not exist: its owner has freed it, or never made it", path);
    if (fd < 0)
        return err_sys(errno, "cannot open memory file %s", path);
    vbn_status_t status = mem_file_check(fd, path, header_p);
    if (status == VBN_OK)
        *fd_p = fd;
    else
        close(fd);
    return status;
}

/* Maps the file whose header was checked, for reading. */
static vbn_status_t map_file(vbn_mem_t *mem, const char *path, const mem_file_header_t *checked)
{
    void *map;
    vbn_status_t status = os_map(mem->fd, mem->map_bytes, false, &map);
    if (status != VBN_OK)
        return status;
    mem->map = map;
    const mem_file_header_t *header = map;
    /* Acquire pairs with the release in mem_file_revoke: the file may have been revoked since the check. */
    if (atomic_get_acquire(&header->state) != MEM_FILE_LIVE || header->generation != checked->generation)
        return err_set(VBN_ERR_STALE, "%s was freed by its owner while it was being opened", path);
    return VBN_OK;
}

vbn_status_t mem_open(mem_registry_t *registry, const char *path, vbn_mem_t **mem_p)
{
    if (path == NULL || path[0] == '\0' || strlen(path) >= 4096)
        return err_set(VBN_ERR_INVALID, "mem_open needs the path of a memory file");
    mem_file_header_t header = {0};
    int fd = -1;
    vbn_status_t status = mem_check_fork(registry);
    if (status == VBN_OK)
        status = mem_file_check_directory(path);
    if (status == VBN_OK)
        status = open_file(path, &header, &fd);
    if (status != VBN_OK)
        return status;
    vbn_mem_t *mem = mem_new(registry, path, (size_t)header.user_bytes, os_page_bytes());
    if (mem == NULL) {
        close(fd);
        return err_set(VBN_ERR_NO_MEMORY, "no heap for a memory object");
    }
    mem->fd = fd;
    mem->opened = true;
    mem->access = VBN_ACCESS_READ;
    status = map_file(mem, path, &header);
    if (status == VBN_OK)
        status = mem_publish(mem);
    if (status != VBN_OK) {
        mem_destroy(mem);
        return status;
    }
    *mem_p = mem;
    return VBN_OK;
}
