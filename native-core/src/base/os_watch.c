/* SPDX-License-Identifier: Apache-2.0
 * os_watch.c - Linux implementation of os_watch.h. */
#include "base/os_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os_own.h"

/* Newer than some kernel headers we build with. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define NEEDED                                                                                                         \
    ((uint64_t)(UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP |                      \
                UFFD_FEATURE_PAGEFAULT_FLAG_WP))

void os_watch_close(int fd)
{
    os_own_close(fd);
}

static int open_fd(void)
{
    long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0 && errno == EINVAL) /* Linux before 5.11: needs vm.unprivileged_userfaultfd=1 or a capability */
        fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    return (int)fd;
}

static vbn_status_t refused(int error)
{
    const char *cure = "";
    if (error == EPERM || error == EACCES)
        cure =
            " (allow this system call in the seccomp profile of the container, or set vm.unprivileged_userfaultfd=1 on a "
            "kernel before 5.11)";
    else if (error == ENOSYS || error == EINVAL)
        cure =
            " (it needs Linux 5.7 with CONFIG_USERFAULTFD, without privileges 5.11, and a seccomp profile that allows it)";
    (void)err_sys(error, "userfaultfd is refused%s", cure);
    return VBN_ERR_UNSUPPORTED;
}

/* A descriptor takes features once only, so what the kernel has is asked with another one. */
static uint64_t known_features(void)
{
    int fd = open_fd();
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0)
        return 0;
    if (ioctl(fd, UFFDIO_API, &api) < 0)
        api.features = 0;
    close(fd);
    return api.features;
}

vbn_status_t os_watch_open(int *fd_p)
{
    int fd = open_fd();
    if (fd < 0)
        return refused(errno);
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = NEEDED | (known_features() & UFFD_FEATURE_WP_HUGETLBFS_SHMEM),
    };
    if (ioctl(fd, UFFDIO_API, &api) < 0) {
        int error = errno;
        close(fd);
        return refused(error);
    }
    if (!os_own_keep(fd)) {
        close(fd);
        return err_set(VBN_ERR_NO_MEMORY, "no memory to watch the mappings of this process");
    }
    *fd_p = fd;
    return VBN_OK;
}

bool os_watch_range(int fd, uintptr_t start, uintptr_t end)
{
    struct uffdio_register range = {
        .range = {.start = start, .len = end - start},
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    return ioctl(fd, UFFDIO_REGISTER, &range) == 0;
}

bool os_watch_read(int fd, uintptr_t *start_p, uintptr_t *end_p)
{
    struct uffd_msg message;
    for (;;) {
        ssize_t got = read(fd, &message, sizeof(message));
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof(message))
            return false;
        if (message.event == UFFD_EVENT_REMAP) {
            *start_p = (uintptr_t)message.arg.remap.from;
            *end_p = *start_p + (uintptr_t)message.arg.remap.len;
            return true;
        }
        if (message.event == UFFD_EVENT_UNMAP || message.event == UFFD_EVENT_REMOVE) {
            *start_p = (uintptr_t)message.arg.remove.start;
            *end_p = (uintptr_t)message.arg.remove.end;
            return true;
        }
    }
}

/* The kernel answers EAGAIN before it looks at the range when a mapping is changing, and EINVAL for the empty range
 * when none is: asking costs one system call and does nothing. */
bool os_watch_in_flight(int fd)
{
    struct uffdio_zeropage nothing = {.mode = 0};
    return ioctl(fd, UFFDIO_ZEROPAGE, &nothing) < 0 && errno == EAGAIN;
}

vbn_status_t os_mapping_at(uintptr_t address, os_mapping_t *mapping_p)
{
    FILE *file = fopen("/proc/self/maps", "re");
    if (file == NULL)
        return err_sys(errno, "cannot look at the mappings of this process%s",
                       errno == ENOENT ? " (is /proc mounted?)" : "");
    char line[512]; /* a longer one (a path) comes in pieces, whose rest has no range in front */
    unsigned long start, end;
    char rights[5];
    bool found = false;
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && start <= address && address < end;
    fclose(file);
    if (!found)
        return err_set(VBN_ERR_RANGE, "nothing is mapped at 0x%llx", (unsigned long long)address);
    *mapping_p = (os_mapping_t){.start = start, .end = end, .readable = rights[0] == 'r', .writable = rights[1] == 'w'};
    return VBN_OK;
}

/* For kernels that cannot populate: the rights only; pages come with the first touch. */
static vbn_status_t check_rights(uintptr_t start, uintptr_t end, bool writable)
{
    while (start < end) {
        os_mapping_t mapping;
        vbn_status_t status = os_mapping_at(start, &mapping);
        if (status != VBN_OK && status != VBN_ERR_RANGE)
            return status; /* nobody knows */
        if (status != VBN_OK || !mapping.readable || (writable && !mapping.writable))
            return err_set(VBN_ERR_ACCESS, "memory at 0x%llx is not mapped, or not for %s", (unsigned long long)start,
                           writable ? "writing" : "reading");
        start = mapping.end;
    }
    return VBN_OK;
}

bool os_can_populate(void)
{
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
}

vbn_status_t os_populate(uintptr_t start, uintptr_t end, bool writable)
{
    int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (madvise((void *)start, 0, advice) != 0) /* Linux before 5.14 does not know it */
        return check_rights(start, end, writable);
    int result;
    do
        result = madvise((void *)start, end - start, advice);
    while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result == 0)
        return VBN_OK;
    int error = errno;
    vbn_status_t status = check_rights(start, end, writable);
    return status != VBN_OK
               ? status
               : err_sys(error == EFAULT ? ENOMEM : error, "cannot bring %zu bytes into memory", (size_t)(end - start));
}
