/* SPDX-License-Identifier: Apache-2.0
 * os.h - what we need of the kernel, with our errors. The only place for #ifdefs on the platform. */
#ifndef VBN_BASE_OS_H
#define VBN_BASE_OS_H

#include <stdbool.h>

#include "base/status.h"

uint64_t os_now_ns(void); /* CLOCK_MONOTONIC */
/* A source of time that an owner hands down to what it opens, in place of os_now_ns (tests: a virtual clock). */
typedef struct os_clock {
    uint64_t (*now_ns)(void *arg);
    void *arg;
} os_clock_t;
static inline uint64_t os_clock_ns(const os_clock_t *clock) /* NULL: CLOCK_MONOTONIC */
{
    return clock == NULL ? os_now_ns() : clock->now_ns(clock->arg);
}
void os_random(void *buffer, size_t length); /* getrandom, never fails */
uint64_t os_random_u64(void);                /* not 0 */
size_t os_page_bytes(void);
vbn_status_t os_memfd(const char *name, size_t size, int *fd_p); /* allocated, sealed against shrink and grow */
/* As os_memfd, but only the first `allocated` bytes; who uses more calls os_populate first, where os_can_populate(). */
vbn_status_t os_memfd_begun(const char *name, size_t size, size_t allocated, int *fd_p);
/* Allocates the pages of [offset, offset + size) of a file now: touching one later must not fail with SIGBUS. */
vbn_status_t os_allocate(int fd, const char *what, size_t offset, size_t size);
typedef enum os_pages {
    OS_PAGES_NORMAL,
    OS_PAGES_TRANSPARENT, /* huge ones where the kernel finds some, else normal ones */
    OS_PAGES_RESERVED     /* huge ones set aside by the administrator; size: a multiple of os_huge_page_bytes() */
} os_pages_t;
vbn_status_t os_memfd_pages(const char *name, size_t size, os_pages_t pages, int *fd_p); /* as os_memfd */
size_t os_huge_page_bytes(void);  /* size of a standard huge page, 0 when there are none */
bool os_transparent_shared(void); /* may shared memory have transparent huge pages? */
vbn_status_t os_create_file(const char *path, size_t size, int *fd_p); /* O_EXCL, 0600, allocated in full */
vbn_status_t os_reopen_readonly(int fd, int *fd_p);                    /* a read-only descriptor of the same file */
/* Size of memory of another process that nobody can shorten any more, so that touching a mapping of it gives no SIGBUS.
 * VBN_ERR_ACCESS: somebody can, or it is no memfd. */
vbn_status_t os_sealed_bytes(int fd, uint64_t *bytes_p);
vbn_status_t os_map(int fd, size_t size, bool writable, void **address_p);
void os_unmap(void *address, size_t size);
/* Core files leave the mapping out: the kernel would allocate all its pages to write them. */
void os_leave_out_of_cores(void *address, size_t size);
/* Frees the pages of a file behind a mapping, which stays and reads as zeros; whole pages. */
vbn_status_t os_discard(void *address, size_t size);
/* Gives the pages that lie in private memory as a whole back to the system; they read as zeros. Locked pages stay. */
void os_empty(void *address, size_t size);
/* 64-bit identity of the running kernel instance (boot id), equal for all processes and containers of a host. */
uint64_t os_host_id(void);
/* Identity of the network namespace (inode of /proc/self/ns/net): abstract Unix sockets reach within it only. */
uint64_t os_netns_id(void);
unsigned os_cpu_count(void); /* in this thread's affinity mask */
/* Number of forks between this process and the first caller of this function in an ancestor (0 in that one). Note it
 * when an object is opened and compare later: a difference means a child after fork(). Any thread. */
uint64_t os_fork_generation(void);

static inline void os_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
