/* SPDX-License-Identifier: Apache-2.0
 * statics.c - static data is symmetric, too: that of the program and of the libraries that it has loaded when shmem_init is called,
 * but not of the system's and of this one's own. While the program has one thread, its pages are copied into this PE's part of
 * the symmetric memory, and that is mapped in their place: from then on they behave as the heap does, wherever the loader has
 * put them. shmem_finalize, and a child after fork(), get private pages again.
 */
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shmem/src/shm.h"

static int is_mapped;

static uint64_t mark; /* of what was found: equal at PEs that run the same program and libraries */

static void note(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        mark = (mark ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void add(uintptr_t start, uintptr_t end, uintptr_t base)
{
    if (start >= end || shm.static_count == SHM_STATICS)
        return;
    shm_static_t *one = &shm.statics[shm.static_count++];
    one->start = start;
    one->length = end - start;
    one->offset = shm.statics_length;
    shm.statics_length += one->length;
    note(&one->length, sizeof(one->length));
    note(&(uintptr_t){start - base}, sizeof(base));
}

/* Whole pages of writable segments, but not those that the loader has made read-only after relocation. */
static void add_object(const struct dl_phdr_info *info)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t read_only = 0;
    uintptr_t read_only_end = 0;
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
        add(start, end, info->dlpi_addr);
    }
}

/* Libraries of the system and ours, which programs only know by their functions. */
static int is_left_out(const char *path)
{
    static const char *const folders[] = {"/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/"};
    static const char *const names[] = {"liboshmem.so", "libmpi_abi.so", "libc.so",  "libm.so",
                                        "libpthread",   "ld-linux",      "libgcc_s", "libstdc++"};
    const char *slash = strrchr(path, '/');
    if (slash == NULL) /* the kernel's */
        return 1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(slash + 1, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

static int add_one(struct dl_phdr_info *info, size_t size, void *is_first)
{
    (void)size;
    if (!*(int *)is_first && is_left_out(info->dlpi_name))
        return 0;
    *(int *)is_first = 0; /* the program */
    add_object(info);
    return 0;
}

void shm_statics_find(void)
{
    int is_first = 1;
    shm.static_count = 0;
    shm.statics_length = 0;
    mark = 0xcbf29ce484222325u;
    (void)dl_iterate_phdr(add_one, &is_first);
}

uint64_t shm_statics_mark(void)
{
    return mark;
}

static uintptr_t place_of(const shm_static_t *one)
{
    return shm.part + shm.statics_at + one->offset;
}

/* Whole pages. In a program that is built with the address sanitizer they have gaps between its variables, which memcpy() may not
 * touch there, also when this library is built without. */
__attribute__((no_sanitize("address", "undefined"))) static void copy_pages(void *to, uintptr_t from, size_t length)
{
    volatile uint64_t *target = to; /* or the compiler would make a memcpy() of it */
    const volatile uint64_t *source = (const volatile uint64_t *)from;
    for (size_t i = 0; i < length / sizeof(*target); i++)
        target[i] = source[i];
}

static int make_private(const shm_static_t *one)
{
    void *copy = mmap(NULL, one->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return -1;
    copy_pages(copy, one->start, one->length);
    return mremap(copy, one->length, one->length, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)one->start) == MAP_FAILED ? -1
                                                                                                                   : 0;
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
        copy_pages((void *)place_of(one), one->start, one->length);
        if (mremap((void *)place_of(one), 0, one->length, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)one->start) ==
            MAP_FAILED)
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
