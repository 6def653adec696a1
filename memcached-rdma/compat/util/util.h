/* SPDX-License-Identifier: Apache-2.0
 * util.h - the functions of libmemcachedutil.so.2. It stands on the exported functions of libmemcached.so.11. */
#ifndef MC_COMPAT_UTIL_H
#define MC_COMPAT_UTIL_H

#include "compat/api.h"

typedef struct memcached_pool_st memcached_pool_st;

/* ---- pool.c */
COMPAT_API memcached_pool_st *memcached_pool_create(memcached_st *master, uint32_t initial, uint32_t max);
COMPAT_API memcached_pool_st *memcached_pool(const char *option_string, size_t option_string_length);
COMPAT_API memcached_st *memcached_pool_destroy(memcached_pool_st *pool);
COMPAT_API memcached_st *memcached_pool_pop(memcached_pool_st *pool, bool block, rc_t *rc);
COMPAT_API memcached_st *memcached_pool_fetch(memcached_pool_st *pool, struct timespec *relative_time, rc_t *rc);
COMPAT_API rc_t memcached_pool_push(memcached_pool_st *pool, memcached_st *released);
COMPAT_API rc_t memcached_pool_release(memcached_pool_st *pool, memcached_st *released);
COMPAT_API rc_t memcached_pool_behavior_set(memcached_pool_st *pool, memcached_behavior_t flag, uint64_t data);
COMPAT_API rc_t memcached_pool_behavior_get(memcached_pool_st *pool, memcached_behavior_t flag, uint64_t *value);
/* ---- ask.c */
COMPAT_API bool libmemcached_util_ping(const char *hostname, in_port_t port, rc_t *ret);
COMPAT_API bool libmemcached_util_ping2(const char *hostname, in_port_t port, const char *username,
                                        const char *password, rc_t *ret);
COMPAT_API bool libmemcached_util_flush(const char *hostname, in_port_t port, rc_t *ret);
COMPAT_API pid_t libmemcached_util_getpid(const char *hostname, in_port_t port, rc_t *ret);
COMPAT_API pid_t libmemcached_util_getpid2(const char *hostname, in_port_t port, const char *username,
                                           const char *password, rc_t *ret);
COMPAT_API bool libmemcached_util_version_check(memcached_st *ptr, uint8_t major, uint8_t minor, uint8_t micro);

#endif
