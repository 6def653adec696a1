/* SPDX-License-Identifier: Apache-2.0
 * cache.h - registration cache: ranges of the user's own memory that are ready for remote access stay so after their
 * last use, until they are the least recently used beyond a limit, or the memory under them changes.
 *
 *   get --> hit: a live region that holds the range and the rights            one lookup, one system call (race check)
 *       \-> miss: whole pages, merged with what they overlap --> watch --> registrar->add --> live
 *   put --> last reference: idle (LRU), or --> garbage when it may not be kept
 *   munmap, mremap, madvise ... --> dead: not found again; garbage when idle, else at its last put
 *   reap --> registrar->remove of the garbage
 *
 * Invariants: C1 a region given out by a hit covers memory that has not changed since it was registered. C2 only memory
 * that the kernel watches is found again; where it cannot (no userfaultfd, files on disk) each get registers anew, which
 * is always right. C3 registrar calls and heap calls happen without the lock (see monitor.h). C4 within the limits, or
 * no region is idle. Any thread. */
#ifndef VBN_MEM_CACHE_H
#define VBN_MEM_CACHE_H

#include <stdbool.h>

#include "base/counters.h"
#include "base/log.h"
#include "base/status.h"

typedef struct mem_cache mem_cache_t;
typedef struct mem_region mem_region_t;

/* What "ready for remote access" means: a transport's registration with its device, or today pages that exist. */
typedef struct mem_registrar {
    /* Makes whole pages [start, end) ready. On VBN_ERR_LIMIT or VBN_ERR_NO_MEMORY the cache gives up what is idle and
     * asks once more. */
    vbn_status_t (*add)(void *arg, uintptr_t start, uintptr_t end, unsigned access, void **handle_p);
    void (*remove)(void *arg, uintptr_t start, uintptr_t end, void *handle); /* the memory may be gone already */
    void *arg;
    bool locks_memory; /* what it registers counts towards RLIMIT_MEMLOCK */
} mem_registrar_t;

/* Pages brought in with the rights checked (mem_kind_ops_t.prepare): for transports without devices. */
extern const mem_registrar_t mem_registrar_resident;

typedef struct mem_cache_params {
    const mem_registrar_t *registrar; /* copied */
    const log_sink_t *log;
    counters_t *counters;
    size_t max_regions; /* 0: nothing is kept */
    uint64_t max_bytes; /* 0: by the host: half of RLIMIT_MEMLOCK when the registrar locks, RAM / processors / 2 */
    bool watch;         /* false: policy "none", nothing is kept */
} mem_cache_params_t;

/* Where the host cannot watch mappings the cache opens all the same with one log line, and keeps nothing. */
vbn_status_t mem_cache_open(const mem_cache_params_t *params, mem_cache_t **cache_p);
/* No region may be in use. */
void mem_cache_close(mem_cache_t *cache);
/* A region that holds [address, address + length), with these VBN_ACCESS_ rights, to be given back by mem_cache_put. */
vbn_status_t mem_cache_get(mem_cache_t *cache, const void *address, size_t length, unsigned access,
                           mem_region_t **region_p);
void mem_cache_put(mem_region_t *region);
/* False when memory of the region has changed since it was registered. One lock, one system call; may wait for a
 * second. */
bool mem_region_alive(mem_region_t *region);
/* The same without lock and system call, for memory whose owner has promised that it stays until its registration ends:
 * a change that another thread is in the middle of is not seen, one that is over is. */
bool mem_region_unchanged(mem_region_t *region);
/* It is known already that its memory has changed. */
bool mem_region_known_dead(const mem_region_t *region);
/* [start, end) overlaps its whole pages. Any thread: they never change. */
bool mem_region_touches(const mem_region_t *region, uintptr_t start, uintptr_t end);
void *mem_region_handle(const mem_region_t *region); /* the registrar's */
/* The caller says that [address, address + length) is going away. */
void mem_cache_invalidate(mem_cache_t *cache, const void *address, size_t length);
/* Deregisters what became garbage; one relaxed load when there is none. Not from a callback of the registrar. */
void mem_cache_reap(mem_cache_t *cache);
bool mem_cache_watches(const mem_cache_t *cache);
uint64_t mem_cache_max_bytes(const mem_cache_t *cache);

#endif
