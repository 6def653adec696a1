/* SPDX-License-Identifier: Apache-2.0
 * pool.c - handles that threads share: each takes one, uses it, and gives it back. The lock is a leaf. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "compat/util/util.h"

struct memcached_pool_st {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    memcached_st *master; /* what handles are copies of */
    bool owns_master;
    memcached_st **idle; /* a stack with space for `max` */
    uint32_t idle_count, made, max;
};

/* Makes one more handle. The caller has the lock. */
static bool make(memcached_pool_st *pool)
{
    memcached_st *copy = memcached_clone(NULL, pool->master);
    if (copy == NULL)
        return false;
    copy->configure.version = pool->master->configure.version;
    pool->idle[pool->idle_count++] = copy;
    pool->made++;
    return true;
}

static void pool_free(memcached_pool_st *pool)
{
    while (pool->idle_count > 0)
        memcached_free(pool->idle[--pool->idle_count]);
    (void)pthread_cond_destroy(&pool->given_back);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool->idle);
    free(pool);
}

static void init_lock(memcached_pool_st *pool)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->given_back, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

memcached_pool_st *memcached_pool_create(memcached_st *master, uint32_t initial, uint32_t max)
{
    if (master == NULL || initial == 0 || max == 0 || initial > max)
        return NULL;
    memcached_pool_st *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return NULL;
    init_lock(pool);
    pool->master = master;
    pool->max = max;
    pool->idle = calloc(max, sizeof(memcached_st *));
    bool made = pool->idle != NULL;
    for (uint32_t i = 0; made && i < initial; i++)
        made = make(pool);
    if (made)
        return pool;
    pool_free(pool);
    return NULL;
}

memcached_pool_st *memcached_pool(const char *option_string, size_t option_string_length)
{
    memcached_st *master = memcached(option_string, option_string_length);
    if (master == NULL)
        return NULL;
    memcached_pool_st *pool = memcached_pool_create(master, master->configure.initial_pool_size,
                                                    master->configure.max_pool_size);
    if (pool == NULL)
        memcached_free(master);
    else
        pool->owns_master = true;
    return pool;
}

memcached_st *memcached_pool_destroy(memcached_pool_st *pool)
{
    if (pool == NULL)
        return NULL;
    memcached_st *master = pool->master;
    bool owned = pool->owns_master;
    pool_free(pool);
    if (!owned)
        return master;
    memcached_free(master);
    return NULL;
}

/* ------------------------------------------------------------------------------------------- take, give back */

/* Until a handle is idle. The caller has the lock. end: NULL: not at all. */
static rc_t wait_idle(memcached_pool_st *pool, const struct timespec *end)
{
    while (pool->idle_count == 0) {
        if (pool->made < pool->max)
            return make(pool) ? MEMCACHED_SUCCESS : MEMCACHED_MEMORY_ALLOCATION_FAILURE;
        if (end == NULL)
            return MEMCACHED_NOTFOUND;
        int error = pthread_cond_timedwait(&pool->given_back, &pool->lock, end);
        if (error == ETIMEDOUT && pool->idle_count == 0)
            return MEMCACHED_TIMEOUT;
    }
    return MEMCACHED_SUCCESS;
}

static memcached_st *take(memcached_pool_st *pool, const struct timespec *end, rc_t *rc)
{
    memcached_st *handle = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    *rc = wait_idle(pool, end);
    if (*rc == MEMCACHED_SUCCESS)
        handle = pool->idle[--pool->idle_count];
    (void)pthread_mutex_unlock(&pool->lock);
    return handle;
}

memcached_st *memcached_pool_fetch(memcached_pool_st *pool, struct timespec *relative_time, rc_t *rc)
{
    rc_t ignored;
    struct timespec end;
    if (rc == NULL)
        rc = &ignored;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (pool == NULL)
        return NULL;
    if (relative_time == NULL)
        return take(pool, NULL, rc);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += relative_time->tv_sec + (end.tv_nsec + relative_time->tv_nsec) / 1000000000;
    end.tv_nsec = (end.tv_nsec + relative_time->tv_nsec) % 1000000000;
    return take(pool, &end, rc);
}

/* A blocking call waits as long as libmemcached's does: ten seconds at most. */
memcached_st *memcached_pool_pop(memcached_pool_st *pool, bool block, rc_t *rc)
{
    struct timespec longest = {.tv_sec = 10};
    return memcached_pool_fetch(pool, block ? &longest : NULL, rc);
}

/* The master has other behaviors since the handle was taken: a new copy takes its place. */
static memcached_st *renew(memcached_pool_st *pool, memcached_st *handle)
{
    if (handle->configure.version == pool->master->configure.version)
        return handle;
    memcached_st *copy = memcached_clone(NULL, pool->master);
    if (copy == NULL)
        return handle;
    copy->configure.version = pool->master->configure.version;
    memcached_free(handle);
    return copy;
}

rc_t memcached_pool_release(memcached_pool_st *pool, memcached_st *released)
{
    rc_t rc = MEMCACHED_INVALID_ARGUMENTS;
    if (pool == NULL || released == NULL)
        return rc;
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->idle_count < pool->made) {
        pool->idle[pool->idle_count++] = renew(pool, released);
        (void)pthread_cond_signal(&pool->given_back);
        rc = MEMCACHED_SUCCESS;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return rc;
}

rc_t memcached_pool_push(memcached_pool_st *pool, memcached_st *released)
{
    return memcached_pool_release(pool, released);
}

/* ------------------------------------------------------------------------------------------------ behaviors */

rc_t memcached_pool_behavior_set(memcached_pool_st *pool, memcached_behavior_t flag, uint64_t data)
{
    if (pool == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    (void)pthread_mutex_lock(&pool->lock);
    rc_t rc = memcached_behavior_set(pool->master, flag, data);
    if (rc == MEMCACHED_SUCCESS) {
        pool->master->configure.version++;
        for (uint32_t i = 0; i < pool->idle_count; i++)
            pool->idle[i] = renew(pool, pool->idle[i]);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return rc;
}

rc_t memcached_pool_behavior_get(memcached_pool_st *pool, memcached_behavior_t flag, uint64_t *value)
{
    if (pool == NULL || value == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    (void)pthread_mutex_lock(&pool->lock);
    *value = memcached_behavior_get(pool->master, flag);
    (void)pthread_mutex_unlock(&pool->lock);
    return MEMCACHED_SUCCESS;
}
