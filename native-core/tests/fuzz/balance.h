/* SPDX-License-Identifier: Apache-2.0
 * balance.h - what a run of a target may not keep: descriptors, mappings of files and memfds, memory of the heap. Caches
 * and tables may grow now and then, so an input after which the process holds more is run again: only what grows each
 * time is a leak. */
#ifndef VBN_FUZZ_BALANCE_H
#define VBN_FUZZ_BALANCE_H

#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FUZZ_ASAN)
size_t __sanitizer_get_current_allocated_bytes(void); /* gcc has no header that declares it */
#define fuzz_heap_bytes() __sanitizer_get_current_allocated_bytes()
#else
#define fuzz_heap_bytes() ((size_t)0) /* glibc counts what it keeps for a thread as in use */
#endif

#define FUZZ_LEAKS 4u /* so many runs of one input that all kept something */

typedef struct fuzz_held {
    size_t heap_bytes;
    unsigned descriptors;
    unsigned mappings;
} fuzz_held_t;

static inline unsigned fuzz_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    require(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

/* Of files and memfds: those of the allocators come and go. */
static inline unsigned fuzz_mappings(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    require(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL)
        count += strchr(line, '/') != NULL;
    fclose(maps);
    return count;
}

static inline fuzz_held_t fuzz_hold(bool kernel)
{
    fuzz_held_t held = {.heap_bytes = fuzz_heap_bytes()};
    if (kernel) {
        held.descriptors = fuzz_descriptors();
        held.mappings = fuzz_mappings();
    }
    return held;
}

static inline bool fuzz_more(const fuzz_held_t *after, const fuzz_held_t *before)
{
    return after->heap_bytes > before->heap_bytes || after->descriptors > before->descriptors ||
           after->mappings > before->mappings;
}

typedef void fuzz_run_t(const uint8_t *data, size_t size);

static inline bool fuzz_keeps(fuzz_run_t *run, const uint8_t *data, size_t size, bool kernel)
{
    fuzz_held_t before = fuzz_hold(kernel);
    run(data, size);
    fuzz_held_t after = fuzz_hold(kernel);
    return fuzz_more(&after, &before);
}

/* Runs the target once, or more often when it seems to keep something; ends the process when it does each time. kernel:
 * descriptors and mappings are looked at, too; that takes longer than a run of a decoder that makes no system call. */
static inline int fuzz_balanced(fuzz_run_t *run, const uint8_t *data, size_t size, bool kernel)
{
    unsigned kept = 0;
    while (kept < FUZZ_LEAKS && fuzz_keeps(run, data, size, kernel))
        kept++;
    require(kept < FUZZ_LEAKS); /* else this input leaks */
    return 0;
}

#endif
