/* SPDX-License-Identifier: Apache-2.0
 * place.c - which server a key belongs to. All clients of the same servers have to agree, so points, hashes, types of numbers and
 * special cases are those of libmemcached 1.1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "client/md5.h"
#include "compat/compat.h"

#define POINTS 100u          /* of a server without weights: one of each hash */
#define POINTS_WEIGHTED 160u /* of a server on average: four of each digest */
#define POINTS_PER_DIGEST 4u
#define NAME_BYTES (MEMCACHED_NI_MAXHOST + 64u)

/* Of a server on the circle of hashes. */
typedef struct point {
    uint32_t index, value;
} point_t;

/* The servers of buckets, which the program has set. */
typedef struct buckets {
    uint32_t count;
    uint32_t master[];
} buckets_t;

bool place_is_consistent(const memcached_st *ptr)
{
    return ptr->distribution == MEMCACHED_DISTRIBUTION_CONSISTENT ||
           ptr->distribution == MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA ||
           ptr->distribution == MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY ||
           ptr->distribution == MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED;
}

/* ----------------------------------------------------------------------------------------------- points */

static int compare_points(const void *a, const void *b)
{
    const point_t *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static bool is_left_out(const memcached_st *ptr, const memcached_instance_st *server, time_t now)
{
    return ptr->flags.auto_eject_hosts && server->next_retry > now;
}

/* The name of a point, which is hashed. Only libmemcached's own form leaves out the usual port. */
static size_t point_name(const memcached_st *ptr, const memcached_instance_st *server, unsigned number, char *name)
{
    int length;
    if (ptr->distribution == MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY)
        length = snprintf(name, NAME_BYTES, "/%s:%u-%u", server->hostname, server->port, number);
    else if (server->port == DEFAULT_PORT)
        length = snprintf(name, NAME_BYTES, "%s-%u", server->hostname, number);
    else
        length = snprintf(name, NAME_BYTES, "%s:%u-%u", server->hostname, server->port, number);
    return (size_t)length;
}

/* How many names the server gets. The type float is part of the agreement. */
static unsigned names_of(const memcached_st *ptr, const memcached_instance_st *server, uint64_t weights, unsigned live)
{
    if (!ptr->ketama.weighted_)
        return POINTS;
    float share = (float)server->weight / (float)weights;
    float names = share * (float)POINTS_WEIGHTED / (float)POINTS_PER_DIGEST * (float)live + 0.0000000001F;
    return (unsigned)floorf(names);
}

static void add_points(memcached_st *ptr, uint32_t index, unsigned names)
{
    char name[NAME_BYTES];
    uint8_t digest[16];
    for (unsigned i = 0; i < names; i++) {
        size_t length = point_name(ptr, &ptr->servers[index], i, name);
        if (!ptr->ketama.weighted_) {
            uint32_t value = hashkit_digest(&ptr->hashkit, name, length);
            ptr->ketama.continuum[ptr->ketama.continuum_points_counter++] = (point_t){index, value};
            continue;
        }
        md5(name, length, digest);
        for (unsigned j = 0; j < POINTS_PER_DIGEST; j++)
            ptr->ketama.continuum[ptr->ketama.continuum_points_counter++] = (point_t){index,
                                                                                      le_get_u32(digest + 4 * j)};
    }
}

static bool reserve_points(memcached_st *ptr, unsigned live)
{
    uint32_t needed = live * POINTS_WEIGHTED;
    if (needed <= ptr->ketama.continuum_count)
        return true;
    point_t *grown = realloc(ptr->ketama.continuum, needed * sizeof(*grown));
    if (grown == NULL)
        return false;
    ptr->ketama.continuum = grown;
    ptr->ketama.continuum_count = needed;
    return true;
}

/* Counts the servers that are not left out, and their weights. */
static unsigned count_live(memcached_st *ptr, time_t now, uint64_t *weights_p)
{
    unsigned live = 0;
    *weights_p = 0;
    ptr->ketama.next_distribution_rebuild = 0;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++) {
        time_t retry = ptr->servers[i].next_retry, *next = &ptr->ketama.next_distribution_rebuild;
        if (!is_left_out(ptr, &ptr->servers[i], now)) {
            live++;
            *weights_p += ptr->servers[i].weight;
        } else if (*next == 0 || retry < *next) {
            *next = retry;
        }
    }
    return live;
}

static rc_t place_points(memcached_st *ptr)
{
    time_t now = time(NULL);
    uint64_t weights;
    unsigned live = count_live(ptr, now, &weights);
    if (live == 0)
        return MEMCACHED_SUCCESS; /* the points stay */
    if (!reserve_points(ptr, live))
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    ptr->ketama.continuum_points_counter = 0;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        if (!is_left_out(ptr, &ptr->servers[i], now))
            add_points(ptr, i, names_of(ptr, &ptr->servers[i], weights, live));
    qsort(ptr->ketama.continuum, ptr->ketama.continuum_points_counter, sizeof(point_t), compare_points);
    return MEMCACHED_SUCCESS;
}

static int compare_servers(const void *a, const void *b)
{
    const memcached_instance_st *left = a, *right = b;
    int order = strcmp(left->hostname, right->hostname);
    return order != 0 ? order : (int)left->port - (int)right->port;
}

rc_t place_servers(memcached_st *ptr)
{
    if (ptr->flags.use_sort_hosts && ptr->number_of_hosts > 1) {
        connections_close(ptr); /* they are in the order of the servers (P1) */
        qsort(ptr->servers, ptr->number_of_hosts, sizeof(*ptr->servers), compare_servers);
    }
    return place_is_consistent(ptr) ? place_points(ptr) : MEMCACHED_SUCCESS;
}

/* ------------------------------------------------------------------------------------------------- keys */

static uint32_t on_circle(const memcached_st *ptr, uint32_t hash)
{
    const point_t *points = ptr->ketama.continuum;
    uint32_t low = 0, high = ptr->ketama.continuum_points_counter;
    if (high == 0)
        return 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (points[middle].value < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return points[low == ptr->ketama.continuum_points_counter ? 0 : low].index;
}

static uint32_t in_bucket(const memcached_st *ptr, uint32_t hash)
{
    const buckets_t *buckets = ptr->virtual_bucket;
    uint32_t index = buckets == NULL ? hash & (ptr->number_of_hosts - 1) : buckets->master[hash & (buckets->count - 1)];
    return index < ptr->number_of_hosts ? index : 0;
}

static uint32_t hash_key(const memcached_st *ptr, KEY)
{
    char bytes[KEY_MAX];
    if (!ptr->flags.hash_with_namespace || ptr->_namespace == NULL)
        return hashkit_digest(&ptr->hashkit, key, key_length);
    size_t length = key_join(ptr, key, key_length, bytes);
    return length == 0 ? 0 : hashkit_digest(&ptr->hashkit, bytes, length);
}

static uint32_t index_of(const memcached_st *ptr, KEY)
{
    uint32_t hash = ptr->number_of_hosts == 1 ? 0 : hash_key(ptr, key, key_length);
    if (place_is_consistent(ptr))
        return on_circle(ptr, hash);
    if (ptr->distribution == MEMCACHED_DISTRIBUTION_RANDOM)
        return (uint32_t)random() % ptr->number_of_hosts;
    if (ptr->distribution == MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET)
        return in_bucket(ptr, hash);
    return hash % ptr->number_of_hosts;
}

memcached_instance_st *place_of(memcached_st *ptr, KEY)
{
    if (ptr->ketama.next_distribution_rebuild != 0)
        memcached_autoeject(ptr);
    return &ptr->servers[index_of(ptr, key, key_length)];
}

uint32_t memcached_generate_hash(const memcached_st *ptr, KEY)
{
    return ptr == NULL || ptr->number_of_hosts == 0 ? UINT32_MAX : index_of(ptr, key, key_length);
}

uint32_t memcached_generate_hash_value(KEY, memcached_hash_t algorithm)
{
    return libhashkit_digest(key, key_length, (hashkit_hash_algorithm_t)algorithm);
}

/* A server that was left out may come back. */
void memcached_autoeject(memcached_st *ptr)
{
    if (ptr != NULL && ptr->flags.auto_eject_hosts && ptr->ketama.next_distribution_rebuild != 0 &&
        time(NULL) > ptr->ketama.next_distribution_rebuild)
        (void)place_servers(ptr);
}

/* ---------------------------------------------------------------------------------------------- settings */

const hashkit_st *memcached_get_hashkit(const memcached_st *ptr)
{
    return ptr == NULL ? NULL : &ptr->hashkit;
}

rc_t memcached_set_hashkit(memcached_st *ptr, hashkit_st *hashkit)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    (void)hashkit_clone(&ptr->hashkit, hashkit);
    return MEMCACHED_SUCCESS;
}

rc_t place_buckets(memcached_st *ptr, const uint32_t *host_map, uint32_t count)
{
    if (count == 0)
        return MEMCACHED_INVALID_ARGUMENTS;
    buckets_t *buckets = malloc(sizeof(*buckets) + count * sizeof(buckets->master[0]));
    if (buckets == NULL)
        return fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
    buckets->count = count;
    memcpy(buckets->master, host_map, count * sizeof(buckets->master[0]));
    free(ptr->virtual_bucket);
    ptr->virtual_bucket = buckets;
    return MEMCACHED_SUCCESS;
}

void place_free(memcached_st *ptr)
{
    free(ptr->ketama.continuum);
    free(ptr->virtual_bucket);
    ptr->ketama.continuum = NULL;
    ptr->virtual_bucket = NULL;
    hashkit_free(&ptr->hashkit);
}
