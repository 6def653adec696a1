/* SPDX-License-Identifier: Apache-2.0
 * memory.c - the memfd behind the heap: making it, giving pages back, its copy in a child of fork().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heap/heap.h"

#define SIZE_LEAST ((uint64_t)64 << 20)
#define FD_LEAST 500 /* programs number their own descriptors from 3 on, and may do so without a look: H6 */
#define PART 4096u   /* of bytes that are copied without the file: the smallest page */

void heap_say(const char *what, const char *cause)
{
    char line[256];
    const int length = snprintf(line, sizeof(line), "verbena: mpi.heap=node: process %d: %s: %s\n", (int)getpid(), what,
                                cause);
    if (length > 0 && write(2, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1) < 0)
        return; /* nobody reads it */
}

/* Bytes of addresses that a process may have, of files: UINT64_MAX without a limit. */
static uint64_t limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

/* Twice as large as the host's memory, so that scattered free blocks do not matter; less where a limit is near. */
static uint64_t wanted_bytes(void)
{
    const uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t addresses = limit_of(RLIMIT_AS) / 4, files = limit_of(RLIMIT_FSIZE);
    const uint64_t most = addresses < files ? addresses : files;
    uint64_t size = SIZE_LEAST;
    while (size < 2 * host && 2 * size <= most)
        size *= 2;
    return size <= most ? size : 0;
}

/* A kernel that counts reserved memory (vm.overcommit_memory=2) refuses a page when it is touched, by SIGBUS. */
static int counts_reservations(void)
{
    char mode = '0';
    const int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, &mode, 1) != 1)
        mode = '0';
    if (fd >= 0)
        (void)close(fd);
    return mode == '2';
}

static int make_file(void)
{
    const int fd = memfd_create("verbena-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
    if (high < 0) /* ulimit -n is low: it stays where it is */
        return fd;
    (void)close(fd);
    return high;
}

static const char *why_no_file(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM ? "no descriptor or no memory is left"
                                                                 : "memfd_create is refused";
}

int heap_has_file(const heap_memory_t *memory)
{
    struct stat found;
    return fstat(memory->fd, &found) == 0 && found.st_dev == memory->device && found.st_ino == memory->file;
}

const char *heap_map(heap_memory_t *memory)
{
    struct stat file;
    const uint64_t size = wanted_bytes();
    if (size == 0)
        return "ulimit -v or ulimit -f is too low; raise it";
    if (counts_reservations())
        return "the kernel refuses memory that is reserved (vm.overcommit_memory=2)";
    const int fd = make_file();
    if (fd < 0)
        return why_no_file(errno);
    void *base = MAP_FAILED;
    if (fstat(fd, &file) == 0 && ftruncate(fd, (off_t)size) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) {
        (void)close(fd);
        return "its addresses cannot be reserved; raise ulimit -v";
    }
    (void)madvise(base, size, MADV_DONTDUMP); /* a core file would make the kernel allocate all pages */
    (void)madvise(base, size, MADV_HUGEPAGE); /* where the host allows that for shared memory */
    *memory = (heap_memory_t){.base = base, .size = size, .fd = fd, .device = file.st_dev, .file = file.st_ino};
    return NULL;
}

void heap_empty(const heap_memory_t *memory, size_t offset, size_t length)
{
    if (length > 0 && madvise(memory->base + offset, length, memory->fd >= 0 ? MADV_REMOVE : MADV_DONTNEED) != 0)
        memset(memory->base + offset, 0, length); /* locked pages */
}

static void end_child(void)
{
    heap_say("a child of fork() cannot have a copy of the heap, and ends", strerror(errno));
    _exit(127);
}

/* What has pages. */
static void copy_by_file(const heap_memory_t *memory, unsigned char *copy)
{
    off_t end = 0;
    for (off_t start; (start = lseek(memory->fd, end, SEEK_DATA)) >= 0;) {
        end = lseek(memory->fd, start, SEEK_HOLE);
        if (end <= start)
            end_child();
        memcpy(copy + start, memory->base + start, (size_t)(end - start));
    }
}

/* Zeros are there already. */
static void copy_block(const unsigned char *from, unsigned char *to, size_t size)
{
    for (size_t at = 0; at < size; at += PART) {
        const size_t part = size - at < PART ? size - at : PART;
        if (from[at] != 0 || memcmp(from + at, from + at + 1, part - 1) != 0)
            memcpy(to + at, from + at, part);
    }
}

/* Without the file nothing says which bytes have pages, and to read one makes its page: blocks that are used are read. */
static void copy_by_blocks(const heap_memory_t *memory, const rt_block_t *block, unsigned char *copy)
{
    for (; block != NULL; block = block->after)
        if (block->used)
            copy_block(memory->base + block->offset, copy + block->offset, block->size);
}

void heap_copy(heap_memory_t *memory, const rt_block_t *blocks)
{
    const int has_file = heap_has_file(memory);
    unsigned char *copy = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                               -1, 0);
    if (copy == MAP_FAILED)
        end_child();
    if (has_file)
        copy_by_file(memory, copy);
    else
        copy_by_blocks(memory, blocks, copy);
    if (mremap(copy, memory->size, memory->size, MREMAP_MAYMOVE | MREMAP_FIXED, memory->base) == MAP_FAILED)
        end_child();
    if (has_file)
        (void)close(memory->fd);
    memory->fd = -1;
}
