/* SPDX-License-Identifier: Apache-2.0
 * placement.c - usage: placement KEYS. Prints the server of so many keys for each way to place them, and hashes of keys. Run with
 * each of two libraries it has to print the same. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 250u
#define FULL_KEYS 1000u

typedef struct way {
    memcached_server_distribution_t distribution;
    memcached_hash_t hash;
    unsigned servers; /* which list */
    bool weighted_by_behavior, sorted, prefix, hash_prefix, servers_first, ejected;
} way_t;

static unsigned key_count;

/* Short and long ones, some with bytes above 127. */
static size_t make_key(unsigned number, char *key)
{
    size_t length = (size_t)snprintf(key, KEY_BYTES, "key:%u:%u", number * 2654435761u, number);
    if (number % 5 == 1) {
        key[0] = (char)(0x80 + number % 0x7f);
        key[length - 1] = '\xff';
    }
    while (number % 7 == 2 && length < KEY_BYTES - 8 - number % 50)
        key[length] = (char)('a' + length % 26), length++;
    return length;
}

static void add_servers(memcached_st *ptr, unsigned which)
{
    switch (which) {
    case 0: /* the usual port and others */
        memcached_server_add(ptr, "10.0.0.1", 11211);
        memcached_server_add(ptr, "10.0.0.2", 11211);
        memcached_server_add(ptr, "cache-3.example.org", 11212);
        memcached_server_add(ptr, "10.0.0.1", 0);
        break;
    case 1: /* weights */
        memcached_server_add_with_weight(ptr, "b", 11211, 0);
        memcached_server_add_with_weight(ptr, "a", 11300, 1);
        memcached_server_add_with_weight(ptr, "c", 11211, 5);
        memcached_server_add_with_weight(ptr, "10.0.0.9", 65535, 3);
        break;
    case 2: { /* a list, as a program reads it from its settings */
        memcached_server_list_st list = memcached_servers_parse("z.example.org:11211:2, y.example.org, x:11213");
        memcached_server_push(ptr, list);
        memcached_server_list_free(list);
        memcached_server_add_unix_socket(ptr, "/run/memcached.sock");
        break;
    }
    default: memcached_server_add(ptr, "alone", 11211); break;
    }
}

static void set_way(memcached_st *ptr, const way_t *way)
{
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_SORT_HOSTS, way->sorted);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_DISTRIBUTION, way->distribution);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_HASH, way->hash);
    if (way->weighted_by_behavior)
        memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    if (way->prefix)
        memcached_callback_set(ptr, MEMCACHED_CALLBACK_PREFIX_KEY, "prefix.");
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY, way->hash_prefix);
}

static void eject_first(memcached_st *ptr)
{
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 1);
    memcached_instance_next_retry(memcached_server_instance_by_position(ptr, 0), 4000000000);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_SORT_HOSTS,
                           memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_SORT_HOSTS));
}

static void print_way(const way_t *way)
{
    static const uint32_t buckets[8] = {0, 1, 2, 0, 1, 2, 1, 0};
    memcached_st ptr;
    char key[KEY_BYTES];
    memcached_create(&ptr);
    if (way->servers_first)
        add_servers(&ptr, way->servers);
    set_way(&ptr, way);
    if (!way->servers_first)
        add_servers(&ptr, way->servers);
    if (way->distribution == MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET && way->servers < 3)
        memcached_bucket_set(&ptr, buckets, NULL, 8, 0);
    if (way->ejected)
        eject_first(&ptr);
    printf("%s %s servers %u%s%s%s%s%s%s: ", libmemcached_string_distribution(way->distribution),
           libmemcached_string_hash(way->hash), way->servers, way->weighted_by_behavior ? " weighted" : "",
           way->sorted ? " sorted" : "", way->prefix ? " prefix" : "", way->hash_prefix ? " hashed" : "",
           way->servers_first ? " servers-first" : "", way->ejected ? " ejected" : "");
    for (unsigned i = 0; i < key_count; i++) {
        memcached_return_t rc;
        size_t length = make_key(i, key);
        const memcached_instance_st *server = memcached_server_by_key(&ptr, key, length, &rc);
        uint32_t index = memcached_generate_hash(&ptr, key, length);
        printf("%s%c", server == memcached_server_instance_by_position(&ptr, index) ? "" : "!", (int)('0' + index));
    }
    memcached_st *clone = memcached_clone(NULL, &ptr);
    for (unsigned i = 0; i < key_count; i += 4)
        printf("%c", (int)('0' + memcached_generate_hash(clone, key, make_key(i, key))));
    memcached_free(clone);
    printf(" %s\n", memcached_server_name(memcached_server_instance_by_position(&ptr, 0)));
    memcached_free(&ptr);
}

/* Points, which servers that are left out have not, are those of circles. A weighted circle has the same points for every hash: few
 * of them do where few keys are asked for. */
static void print_ways(way_t way)
{
    bool circle = way.distribution != MEMCACHED_DISTRIBUTION_MODULA &&
                  way.distribution != MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET;
    for (unsigned flags = 0; flags < (circle ? 64 : 16); flags++) {
        if ((flags & 33) != 0 && way.hash > MEMCACHED_HASH_CRC && key_count < FULL_KEYS)
            continue;
        way.weighted_by_behavior = flags & 1;
        way.sorted = flags & 2;
        way.prefix = flags & 4;
        way.hash_prefix = (flags & 12) == 12;
        way.servers_first = flags & 16;
        way.ejected = flags & 32;
        if ((flags & 12) != 8) /* a prefix is hashed only where there is one */
            print_way(&way);
    }
}

static void print_hashes(void)
{
    char key[KEY_BYTES];
    for (unsigned i = 0; i < KEY_BYTES; i++)
        key[i] = (char)(i * 37 + 11);
    for (unsigned hash = 0; hash <= MEMCACHED_HASH_MAX; hash++)
        for (unsigned length = 0; length <= KEY_BYTES; length++)
            printf("%u %u %08x\n", hash, length, memcached_generate_hash_value(key, length, (memcached_hash_t)hash));
}

int main(int argc, char **argv)
{
    key_count = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    for (unsigned distribution = 0; distribution < MEMCACHED_DISTRIBUTION_CONSISTENT_MAX; distribution++)
        for (unsigned hash = 0; hash < MEMCACHED_HASH_CUSTOM; hash++)
            for (unsigned servers = 0; servers < 4; servers++)
                if (distribution != MEMCACHED_DISTRIBUTION_RANDOM)
                    print_ways((way_t){.distribution = (memcached_server_distribution_t)distribution,
                                       .hash = (memcached_hash_t)hash,
                                       .servers = servers});
    print_hashes();
    return 0;
}
