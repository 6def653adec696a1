/* SPDX-License-Identifier: Apache-2.0
 * os.c - Linux implementation of os.h. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/os_watch.h"

#define ALLOCATE_STEP (UINT64_C(64) << 20) /* bytes per fallocate, so that a signal undoes little of it */

uint64_t os_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* For kernels or seccomp filters without getrandom. Going on without randomness would break the authentication of
 * peers, hence abort() as the last resort. */
static void random_from_device(char *buffer, size_t length)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < length) {
        ssize_t n = read(fd, buffer + done, length - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (done < length)
        abort();
    close(fd);
}

void os_random(void *buffer, size_t length)
{
    char *at = buffer;
    while (length > 0) {
        ssize_t n = getrandom(at, length, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            random_from_device(at, length);
            return;
        }
        at += n;
        length -= (size_t)n;
    }
}

uint64_t os_random_u64(void)
{
    uint64_t value = 0;
    while (value == 0)
        os_random(&value, sizeof(value));
    return value;
}

size_t os_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---------------------------------------------------------------------------------------------- files */

static vbn_status_t check_size(const char *what, size_t size)
{
    if (size == 0 || size > (size_t)INT64_MAX)
        return err_set(VBN_ERR_INVALID, "%s: a size of %zu bytes is not possible", what, size);
    return VBN_OK;
}

/* What cannot fit is not tried: it would take all that others have left until it fails. A memfd has no limit of its own. */
static bool fits(int fd, size_t size)
{
    struct statvfs fs;
    return fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0 || size / fs.f_frsize <= fs.f_bavail;
}

/* What helps when pages of a file cannot be allocated. */
static const char *allocation_cure(int error)
{
    switch (error) {
    case ENOSPC:
    case ENOMEM: return " (free or enlarge that memory or tmpfs)";
    case EFBIG: return " (raise ulimit -f)";
    case EOPNOTSUPP:
    case ENODEV: return " (that file system cannot allocate ahead; use a tmpfs)";
    default: return "";
    }
}

static vbn_status_t not_allocated(int error, const char *what, size_t size)
{
    return err_sys(error, "cannot allocate %zu bytes for %s%s", size, what, allocation_cure(error));
}

vbn_status_t os_allocate(int fd, const char *what, size_t offset, size_t size)
{
    if (!fits(fd, size))
        return not_allocated(ENOSPC, what, size);
    for (uint64_t at = offset, end = offset + size; at < end;) {
        uint64_t step = end - at < ALLOCATE_STEP ? end - at : ALLOCATE_STEP;
        int error = posix_fallocate(fd, (off_t)at, (off_t)step);
        if (error == EINTR)
            continue;
        if (error != 0)
            return not_allocated(error, what, size);
        at += step;
    }
    return VBN_OK;
}

size_t os_huge_page_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long kib = 0;
    while (file != NULL && kib == 0 && fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "Hugepagesize: %lu kB", &kib);
    if (file != NULL)
        fclose(file);
    return (size_t)kib * 1024;
}

bool os_transparent_shared(void)
{
    char line[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
    if (file != NULL && fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    return strchr(line, '[') != NULL && strstr(line, "[never]") == NULL && strstr(line, "[deny]") == NULL;
}

/* Pages of a file are huge only when they come by a mapping that asked for it. What this does not bring in, the
 * allocation that follows does. */
static void allocate_transparent(int fd, size_t size)
{
    void *map = ftruncate(fd, (off_t)size) == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                                : MAP_FAILED;
    if (map == MAP_FAILED)
        return;
    if (madvise(map, size, MADV_HUGEPAGE) == 0)
        (void)os_populate((uintptr_t)map, (uintptr_t)map + size, true);
    munmap(map, size);
}

/* Containers refuse system calls with EPERM, newer ones those that they do not know with ENOSYS. */
static vbn_status_t no_memfd(int error, const char *name)
{
    vbn_status_t status = err_sys(error, "memfd_create %s", name);
    if (error == EPERM || error == EACCES)
        return err_add(status, "shared memory needs it: allow it in the container's seccomp profile");
    if (error == ENOSYS)
        return err_add(
            status, "shared memory needs it: it takes Linux 3.17 or later, and a seccomp profile of the container that "
                    "allows it");
    return status;
}

/* With `allocated` bytes of its `size`. */
static vbn_status_t make_memfd(const char *name, size_t size, size_t allocated, os_pages_t pages, int *fd_p)
{
    vbn_status_t status = check_size(name, size);
    if (status < 0)
        return status;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | (pages == OS_PAGES_RESERVED ? MFD_HUGETLB : 0u));
    if (fd < 0)
        return no_memfd(errno, name);
    if (pages == OS_PAGES_TRANSPARENT)
        allocate_transparent(fd, size);
    if (allocated < size && ftruncate(fd, (off_t)size) != 0)
        status = err_sys(errno, "cannot make %s %zu bytes long", name, size);
    if (status == VBN_OK)
        status = os_allocate(fd, name, 0, allocated);
    if (status < 0)
        goto fail;
    /* The default mode would let other users reopen a read-only descriptor for writing. */
    if (fchmod(fd, 0600) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        status = err_sys(errno, "cannot seal memfd %s", name);
        goto fail;
    }
    *fd_p = fd;
    return VBN_OK;
fail:
    close(fd);
    return status;
}

vbn_status_t os_memfd(const char *name, size_t size, int *fd_p)
{
    return make_memfd(name, size, size, OS_PAGES_NORMAL, fd_p);
}

vbn_status_t os_memfd_begun(const char *name, size_t size, size_t allocated, int *fd_p)
{
    return make_memfd(name, size, allocated < size ? allocated : size, OS_PAGES_NORMAL, fd_p);
}

vbn_status_t os_memfd_pages(const char *name, size_t size, os_pages_t pages, int *fd_p)
{
    return make_memfd(name, size, size, pages, fd_p);
}

vbn_status_t os_create_file(const char *path, size_t size, int *fd_p)
{
    vbn_status_t status = check_size(path, size);
    if (status < 0)
        return status;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(errno, "cannot create %s", path);
    if (fchmod(fd, 0600) < 0) /* whatever the umask is */
        status = err_sys(errno, "cannot set the mode of %s", path);
    else
        status = os_allocate(fd, path, 0, size);
    if (status < 0) {
        unlink(path);
        close(fd);
        return status;
    }
    *fd_p = fd;
    return VBN_OK;
}

vbn_status_t os_reopen_readonly(int fd, int *fd_p)
{
    char path[64] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int readonly = open(path, O_RDONLY | O_CLOEXEC);
    if (readonly < 0)
        return err_sys(errno, "cannot reopen descriptor %d read-only%s", fd,
                       errno == ENOENT ? " (is /proc mounted?)" : "");
    *fd_p = readonly;
    return VBN_OK;
}

vbn_status_t os_sealed_bytes(int fd, uint64_t *bytes_p)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS); /* before the size: its owner may shorten it and seal it then */
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return err_set(VBN_ERR_ACCESS, "descriptor %d is not sealed against shrinking", fd);
    if (fstat(fd, &st) != 0)
        return err_sys(errno, "cannot look at descriptor %d", fd);
    *bytes_p = (uint64_t)st.st_size;
    return VBN_OK;
}

vbn_status_t os_map(int fd, size_t size, bool writable, void **address_p)
{
    vbn_status_t status = check_size("mapping", size);
    if (status < 0)
        return status;
    void *address = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return err_sys(errno, "cannot map %zu bytes of descriptor %d", size, fd);
    *address_p = address;
    return VBN_OK;
}

void os_unmap(void *address, size_t size)
{
    if (address != NULL)
        munmap(address, size);
}

void os_leave_out_of_cores(void *address, size_t size)
{
    (void)madvise(address, size, MADV_DONTDUMP);
}

vbn_status_t os_discard(void *address, size_t size)
{
    if (madvise(address, size, MADV_REMOVE) != 0)
        return err_sys(errno, "cannot give back the pages of a file of %zu bytes%s", size,
                       errno == EOPNOTSUPP ? " (its file system cannot free a part of a file; use a tmpfs)" : "");
    return VBN_OK;
}

void os_empty(void *address, size_t size)
{
    uintptr_t page = os_page_bytes();
    uintptr_t begin = ((uintptr_t)address + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)address + size) / page * page;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED); /* fails for locked pages */
}

/* -------------------------------------------------------------------------------------------- identity */

/* Constants of the process, found on first use. */
static pthread_once_t identity_once = PTHREAD_ONCE_INIT;
static uint64_t identity_host;
static uint64_t identity_unknown; /* stands for what cannot be read: equal to nobody else's, so nothing is shared */

static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void find_identity(void)
{
    char boot_id[64];
    ssize_t length = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, boot_id, sizeof(boot_id));
        close(fd);
    }
    identity_unknown = os_random_u64();
    identity_host = length >= 36 ? hash_text(boot_id, 36) : identity_unknown;
}

uint64_t os_host_id(void)
{
    pthread_once(&identity_once, find_identity);
    return identity_host;
}

uint64_t os_netns_id(void)
{
    struct stat info;
    pthread_once(&identity_once, find_identity);
    if (stat("/proc/self/ns/net", &info) < 0)
        return identity_unknown;
    return (uint64_t)info.st_ino;
}

unsigned os_cpu_count(void)
{
    for (size_t cpus = 1024; cpus <= 1024 * 64; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL)
            break;
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int result = sched_getaffinity(0, bytes, set);
        int count = result == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    return 1;
}

/* ------------------------------------------------------------------------------------------------ fork */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
_Atomic uint64_t os_fork_count;

/* Runs in the child, which has one thread; relaxed is enough. */
static void count_fork(void)
{
    atomic_set_relaxed(&os_fork_count, atomic_get_relaxed(&os_fork_count) + 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

uint64_t os_fork_generation(void)
{
    pthread_once(&fork_once, watch_forks);
    return os_fork_generation_now();
}
