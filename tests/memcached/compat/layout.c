/* SPDX-License-Identifier: Apache-2.0
 * layout.c - prints what a program is compiled with: sizes, places of members, numbers. With -DOURS by the declarations that our
 * library is built of, else by Debian's headers. */
#ifdef OURS
#include "compat/util/util.h"
#else
#include <libmemcached/memcached.h>
#endif
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf(#type " %zu %zu\n", sizeof(type), _Alignof(type))
#define AT(type, member) printf(#type "." #member " %zu %zu\n", offsetof(type, member), sizeof(((type *)0)->member))
#define BIT(type, group, member)                                                                                       \
    do {                                                                                                               \
        type value;                                                                                                    \
        unsigned char *bytes = (unsigned char *)&value;                                                                \
        memset(&value, 0, sizeof(value));                                                                              \
        value.group.member = 1;                                                                                        \
        for (size_t i = 0; i < sizeof(value); i++)                                                                     \
            if (bytes[i] != 0)                                                                                         \
                printf(#type "." #group "." #member " byte %zu bits %02x\n", i, bytes[i]);                             \
    } while (0)
#define NUMBER(name) printf(#name " %lld\n", (long long)(name))

#include <string.h>

static void print_sizes(void)
{
    SIZE(memcached_st);
    SIZE(memcached_result_st);
    SIZE(memcached_server_st);
    SIZE(memcached_stat_st);
    SIZE(memcached_analysis_st);
    SIZE(memcached_string_st);
    SIZE(hashkit_st);
    SIZE(memcached_return_t);
    SIZE(memcached_behavior_t);
    SIZE(struct memcached_allocator_t);
}

static void print_handle(void)
{
#define MEMBER(name) AT(memcached_st, name);
#include "members.def"
    BIT(memcached_st, state, is_purging);
    BIT(memcached_st, state, is_parsing);
    BIT(memcached_st, flags, auto_eject_hosts);
    BIT(memcached_st, flags, binary_protocol);
    BIT(memcached_st, flags, buffer_requests);
    BIT(memcached_st, flags, hash_with_namespace);
    BIT(memcached_st, flags, no_block);
    BIT(memcached_st, flags, reply);
    BIT(memcached_st, flags, randomize_replica_read);
    BIT(memcached_st, flags, support_cas);
    BIT(memcached_st, flags, tcp_nodelay);
    BIT(memcached_st, flags, use_sort_hosts);
    BIT(memcached_st, flags, use_udp);
    BIT(memcached_st, flags, verify_key);
    BIT(memcached_st, flags, tcp_keepalive);
    BIT(memcached_st, flags, not_used);
    BIT(memcached_st, options, is_allocated);
}

static void print_result(void)
{
    AT(memcached_result_st, item_flags);
    AT(memcached_result_st, item_expiration);
    AT(memcached_result_st, key_length);
    AT(memcached_result_st, item_cas);
    AT(memcached_result_st, root);
    AT(memcached_result_st, value);
    AT(memcached_result_st, numeric_value);
    AT(memcached_result_st, count);
    AT(memcached_result_st, item_key);
    BIT(memcached_result_st, options, is_allocated);
    BIT(memcached_result_st, options, is_initialized);
    AT(memcached_string_st, end);
    AT(memcached_string_st, string);
    AT(memcached_string_st, current_size);
    AT(memcached_string_st, root);
    AT(hashkit_st, base_hash);
    AT(hashkit_st, distribution_hash);
    AT(hashkit_st, flags);
    AT(hashkit_st, options);
}

static void print_server(void)
{
    AT(memcached_server_st, options);
    AT(memcached_server_st, number_of_hosts);
    AT(memcached_server_st, port);
    AT(memcached_server_st, weight);
    AT(memcached_server_st, state);
    AT(memcached_server_st, major_version);
    AT(memcached_server_st, micro_version);
    AT(memcached_server_st, minor_version);
    AT(memcached_server_st, type);
    AT(memcached_server_st, next_retry);
    AT(memcached_server_st, limit_maxbytes);
    AT(memcached_server_st, hostname);
}

static void print_stats(void)
{
    AT(memcached_stat_st, connection_structures);
    AT(memcached_stat_st, pid);
    AT(memcached_stat_st, pointer_size);
    AT(memcached_stat_st, uptime);
    AT(memcached_stat_st, bytes);
    AT(memcached_stat_st, limit_maxbytes);
    AT(memcached_stat_st, version);
    AT(memcached_stat_st, root);
    AT(memcached_analysis_st, root);
    AT(memcached_analysis_st, pool_hit_ratio);
    AT(memcached_analysis_st, least_remaining_bytes);
}

static void print_numbers(void)
{
#define RETURN(name, text) NUMBER(MEMCACHED_##name);
#include "compat/returns.def"
#define BEHAVIOR(name) NUMBER(MEMCACHED_BEHAVIOR_##name);
#include "compat/behaviors.def"
    NUMBER(MEMCACHED_MAXIMUM_RETURN);
    NUMBER(MEMCACHED_BEHAVIOR_MAX);
    NUMBER(MEMCACHED_CALLBACK_PREFIX_KEY);
    NUMBER(MEMCACHED_CALLBACK_GET_FAILURE);
    NUMBER(MEMCACHED_CALLBACK_DELETE_TRIGGER);
    NUMBER(MEMCACHED_CALLBACK_MAX);
    NUMBER(MEMCACHED_CONNECTION_UNIX_SOCKET);
    NUMBER(MEMCACHED_HASH_FNV1_64);
    NUMBER(MEMCACHED_HASH_MURMUR3);
    NUMBER(MEMCACHED_HASH_MAX);
    NUMBER(MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY);
    NUMBER(MEMCACHED_DISTRIBUTION_CONSISTENT_MAX);
    NUMBER(HASHKIT_HASH_MAX);
    NUMBER(HASHKIT_MAXIMUM_RETURN);
    NUMBER(MEMCACHED_MAX_KEY);
    NUMBER(MEMCACHED_MAX_NAMESPACE);
    NUMBER(MEMCACHED_NI_MAXHOST);
    NUMBER(MEMCACHED_EXPIRATION_NOT_ADD);
}

int main(void)
{
    print_sizes();
    print_handle();
    print_result();
    print_server();
    print_stats();
    print_numbers();
    return 0;
}
