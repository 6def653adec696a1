/* SPDX-License-Identifier: Apache-2.0
 * statics.c - static data of the program is symmetric, too. While the program has one thread, its pages are copied into this
 * PE's part of the symmetric memory, and that is mapped in their place: from then on they behave as the heap does, wherever
 * the loader has put them. shmem_finalize, and a child after fork(), get private pages again.
 */
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shmem/src/shm.h"

static int is_mapped;

static void add(uintptr_t start, uintptr_t end)
{
    if (start >= end || shm.static_count == SHM_STATICS)
        return;
    shm_static_t *one = &shm.statics[shm.static_count++];
    one->start = start;
    one->length = end - start;
    one->offset = shm.statics_length;
    shm.statics_length += one->length;
}

/* Whole pages of writable segments, but not those that the loader has made read-only after relocation. */
static int add_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t read_only = 0;
    uintptr_t read_only_end = 0;
    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            read_only = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            read_only_end = (read_only + info->dlpi_phdr[i].p_memsz + page - 1) & ~(page - 1);
        }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *one = &info->dlpi_phdr[i];
        if (one->p_type != PT_LOAD || (one->p_flags & PF_W) == 0)
            continue;
        uintptr_t start = (info->dlpi_addr + one->p_vaddr) & ~(page - 1);
        const uintptr_t end = (info->dlpi_addr + one->p_vaddr + one->p_memsz + page - 1) & ~(page - 1);
        if (read_only_end > start && read_only < end)
            start = read_only_end;
        add(start, end);
    }
    return 1; /* the first object is the program */
}

void shm_statics_find(void)
{
    shm.static_count = 0;
    shm.statics_length = 0;
    (void)dl_iterate_phdr(add_program, NULL);
}

uint64_t shm_statics_mark(void)
{
    uint64_t mark = 0xcbf29ce484222325u;
    for (int i = 0; i < shm.static_count; i++) {
        const uint64_t words[2] = {shm.statics[i].length, shm.statics[i].start - shm.statics[0].start};
        for (int w = 0; w < 2; w++)
            mark = (mark ^ words[w]) * 0x100000001b3u;
    }
    return mark;
}

static uintptr_t place_of(const shm_static_t *one)
{
    return shm.part + shm.statics_at + one->offset;
}

static int make_private(const shm_static_t *one)
{
    void *copy = mmap(NULL, one->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    memcpy(copy, (const void *)one->start, one->length);
    return mremap(copy, one->length, one->length, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)one->start) == MAP_FAILED ? -1 : 0;
}

/* A child that kept the pages would write into its parent's. */
static void after_fork(void)
{
    for (int i = 0; is_mapped && i < shm.static_count; i++)
        if (make_private(&shm.statics[i]) != 0)
            _exit(127);
    is_mapped = 0;
}

/* mremap() of 0 bytes of a shared mapping maps its pages once more. */
int shm_statics_map(void)
{
    static int registered;
    if (!registered && pthread_atfork(NULL, NULL, after_fork) != 0)
        return rt_fail("static data: no memory left");
    registered = 1;
    if (shm_commit(shm.statics_at, shm.statics_length) != 0)
        return -1;
    for (int i = 0; i < shm.static_count; i++) {
        const shm_static_t *one = &shm.statics[i];
        memcpy((void *)place_of(one), (const void *)one->start, one->length);
        if (mremap((void *)place_of(one), 0, one->length, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)one->start) == MAP_FAILED)
            return rt_fail("static data cannot be mapped once more: %m");
    }
    is_mapped = 1;
    return 0;
}

void shm_statics_unmap(void)
{
    for (int i = 0; is_mapped && i < shm.static_count; i++)
        if (make_private(&shm.statics[i]) != 0)
            shm_fatal("shmem_finalize", "static data: no memory left for private pages");
    is_mapped = 0;
    shm.static_count = 0;
}
