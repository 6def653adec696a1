/* SPDX-License-Identifier: Apache-2.0
 * os_watch.h - the kernel's news of changed mappings (userfaultfd in write-protect mode), and looking at mappings.
 *
 * A watched range is registered for write protection, but nothing is ever protected: no page fault is delivered, to
 * user code or to the kernel. Yet the kernel reports munmap, mremap, MAP_FIXED over the range, madvise(DONTNEED and
 * REMOVE) and a shrinking heap. The call that changes the mapping blocks until its news is read; for munmap the
 * addresses can be taken by another thread before that. Any thread; the caller sees to it that one thread reads. */
#ifndef VBN_BASE_OS_WATCH_H
#define VBN_BASE_OS_WATCH_H

#include <stdbool.h>

#include "base/status.h"

/* A non-blocking descriptor, readable when there is news. VBN_ERR_UNSUPPORTED with cause and cure when the kernel or a
 * seccomp filter refuses. */
vbn_status_t os_watch_open(int *fd_p);
/* Nobody waits for its news any more. A child after fork() loses the descriptor at once: if it kept it, the parent's
 * watches would outlive os_watch_close, and its munmap would wait for a reader for ever. */
void os_watch_close(int fd);
/* Watches [start, end), whole pages; watching twice is harmless and cheap. False when the kernel cannot watch these
 * mappings (files on disk, devices) or part of the range is not mapped. */
bool os_watch_range(int fd, uintptr_t start, uintptr_t end);
/* Reads one piece of news: the bytes of [*start_p, *end_p) are not what they were. False when there is none. */
bool os_watch_read(int fd, uintptr_t *start_p, uintptr_t *end_p);
/* True while some thread is between changing a watched mapping and having its news read. */
bool os_watch_in_flight(int fd);

typedef struct os_mapping {
    uintptr_t start;
    uintptr_t end;
    bool readable;
    bool writable;
} os_mapping_t;

/* The mapping (as /proc/self/maps shows it) that holds the address; VBN_ERR_RANGE when there is none. */
vbn_status_t os_mapping_at(uintptr_t address, os_mapping_t *mapping_p);
/* Brings all pages of [start, end), whole pages, into memory, written ones as their own copies. VBN_ERR_ACCESS when a
 * part is not mapped or lacks the right, VBN_ERR_NO_MEMORY when the host has no pages. */
vbn_status_t os_populate(uintptr_t start, uintptr_t end, bool writable);
/* False before Linux 5.14: os_populate() checks rights there, and pages come with the first touch. */
bool os_can_populate(void);

#endif
