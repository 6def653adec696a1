/* SPDX-License-Identifier: Apache-2.0
 * slab.c - see slab.h. */
#include "mem/slab.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/os.h"
#include "base/os_watch.h"
#include "mem/mem_private.h"

/* Huge pages are worth it when at most an eighth of one is wasted. */
static bool fits_huge(const mem_registry_t *registry, size_t bytes)
{
    size_t huge = registry->huge_bytes;
    return huge > 0 && bytes >= huge - huge / 8;
}

static size_t slab_bytes(const mem_registry_t *registry, size_t bytes)
{
    size_t page = fits_huge(registry, bytes) ? registry->huge_bytes : os_page_bytes();
    return (bytes + page - 1) / page * page;
}

static void *map_pages(size_t bytes, int flags)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return address == MAP_FAILED ? NULL : address;
}

/* Transparent huge pages need addresses that are multiples of them. */
static void *map_aligned(size_t bytes, size_t align)
{
    char *address = map_pages(bytes + align, 0);
    if (address == NULL)
        return NULL;
    size_t before = (align - (uintptr_t)address % align) % align;
    if (before > 0)
        (void)munmap(address, before);
    if (before < align)
        (void)munmap(address + before + bytes, align - before);
    return address + before;
}

static void lock_pages(mem_registry_t *registry, void *address, size_t bytes)
{
    if (mlock(address, bytes) == 0 || atomic_exchange(&registry->lock_logged, true))
        return;
    int error = errno;
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM || error == EPERM)
        LOG_INFO(
            registry->log,
            "pools of buffers have grown to the limit of locked memory (RLIMIT_MEMLOCK) of %llu KiB and "
            "continue unlocked; raise it with ulimit -l, LimitMEMLOCK= of a systemd unit or --ulimit memlock= of a "
            "container",
            (unsigned long long)(limit.rlim_cur >> 10));
    else
        LOG_INFO(registry->log, "buffers of pools are not locked in memory: %s",
                 (err_sys(error, "mlock of %zu bytes", bytes), err_text()));
}

/* The row is that of all threads of the context. */
static void count_bytes(mem_registry_t *registry, size_t change)
{
    pthread_mutex_lock(&registry->lock);
    counter_add(registry->counters, COUNTER_MEM_POOL_BYTES, change);
    pthread_mutex_unlock(&registry->lock);
}

static void *make_slab(mem_registry_t *registry, size_t wanted)
{
    size_t bytes = slab_bytes(registry, wanted);
    bool huge = fits_huge(registry, wanted);
    void *address = huge ? map_pages(bytes, MAP_HUGETLB) : NULL;
    if (address != NULL && os_populate((uintptr_t)address, (uintptr_t)address + bytes, true) == VBN_OK)
        return address; /* never swapped */
    if (address != NULL)
        (void)munmap(address, bytes);
    address = huge ? map_aligned(bytes, registry->huge_bytes) : map_pages(bytes, 0);
    if (address == NULL) {
        (void)err_sys(errno, "cannot map %zu bytes for a pool of buffers", bytes);
        return NULL;
    }
    if (huge)
        (void)madvise(address, bytes, MADV_HUGEPAGE);
    if (os_populate((uintptr_t)address, (uintptr_t)address + bytes, true) != VBN_OK) {
        (void)munmap(address, bytes);
        return NULL;
    }
    lock_pages(registry, address, bytes);
    return address;
}

static void *slab_get(void *arg, size_t wanted)
{
    void *block = make_slab(arg, wanted);
    if (block != NULL)
        count_bytes(arg, slab_bytes(arg, wanted));
    return block;
}

static void slab_put(void *arg, void *block, size_t wanted)
{
    size_t bytes = slab_bytes(arg, wanted);
    (void)munmap(block, bytes); /* unlocks, too */
    count_bytes(arg, 0 - bytes);
}

mpool_source_t mem_slab_source(mem_registry_t *registry)
{
    return (mpool_source_t){.get = slab_get, .put = slab_put, .arg = registry};
}
