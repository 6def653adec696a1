/* SPDX-License-Identifier: Apache-2.0
 * cache_harness.h - a registration cache with a registrar that counts and remembers, for C++ tests. */
#ifndef VBN_TEST_CACHE_HARNESS_H
#define VBN_TEST_CACHE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cache_rig cache_rig_t;

typedef struct cache_options {
    size_t max_regions;
    uint64_t max_bytes;
    bool watch;
    bool locks_memory;
    bool resident;             /* the core's own registrar instead of the counting one */
    bool handle_is_first_word; /* of the registered memory; else the number of the registration, from 1 */
} cache_options_t;

cache_rig_t *cache_rig_open(const cache_options_t *options);
void cache_rig_close(cache_rig_t *rig); /* aborts when registrations are left */
uint64_t cache_rig_adds(cache_rig_t *rig);
uint64_t cache_rig_registered_bytes(cache_rig_t *rig);
uint64_t cache_rig_registered_count(cache_rig_t *rig);
uint64_t cache_rig_last_start(cache_rig_t *rig);
uint64_t cache_rig_last_bytes(cache_rig_t *rig);
uint64_t cache_rig_counter(cache_rig_t *rig, const char *name);
const char *cache_rig_log(cache_rig_t *rig);
/* The registrar refuses with VBN_ERR_LIMIT what would take it beyond this. */
void cache_rig_limit(cache_rig_t *rig, uint64_t bytes);
/* Called by the registrar in the middle of the next add. */
void cache_rig_during_add(cache_rig_t *rig, void (*func)(void *arg), void *arg);
bool cache_rig_watches(cache_rig_t *rig);
uint64_t cache_rig_max_bytes(cache_rig_t *rig);

vbn_status_t cache_rig_get(cache_rig_t *rig, const void *address, size_t length, unsigned access, void **region_p);
void cache_rig_put(void *region);
bool cache_rig_alive(void *region);
uint64_t cache_rig_handle(void *region);
void cache_rig_invalidate(cache_rig_t *rig, const void *address, size_t length);
void cache_rig_reap(cache_rig_t *rig);

#ifdef __cplusplus
}
#endif
#endif
