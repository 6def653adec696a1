/* SPDX-License-Identifier: Apache-2.0
 * types.h - numbers and layouts of libmemcached.so.11, which programs are compiled with: those of libmemcached 1.1.
 * tests/memcached/test_compat_abi.py compares them with the headers of Debian's libmemcached-dev. */
#ifndef MC_COMPAT_TYPES_H
#define MC_COMPAT_TYPES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "compat/hashkit/hashkit.h"

#define MEMCACHED_MAX_KEY 251 /* with its end */
#define MEMCACHED_MAX_NAMESPACE 128
#define MEMCACHED_VERSION_STRING_LENGTH 24
#define MEMCACHED_NI_MAXHOST 1025
#define MEMCACHED_EXPIRATION_NOT_ADD 0xffffffffU

typedef enum memcached_return_t {
#define RETURN(name, text) MEMCACHED_##name,
#include "compat/returns.def"
    MEMCACHED_MAXIMUM_RETURN
} memcached_return_t;

typedef enum memcached_behavior_t {
#define BEHAVIOR(name) MEMCACHED_BEHAVIOR_##name,
#include "compat/behaviors.def"
    MEMCACHED_BEHAVIOR_MAX
} memcached_behavior_t;

typedef enum memcached_callback_t {
    MEMCACHED_CALLBACK_PREFIX_KEY = 0,
    MEMCACHED_CALLBACK_USER_DATA = 1,
    MEMCACHED_CALLBACK_CLEANUP_FUNCTION = 2,
    MEMCACHED_CALLBACK_CLONE_FUNCTION = 3,
    MEMCACHED_CALLBACK_GET_FAILURE = 7,
    MEMCACHED_CALLBACK_DELETE_TRIGGER = 8,
    MEMCACHED_CALLBACK_MAX
} memcached_callback_t;

typedef enum memcached_connection_t {
    MEMCACHED_CONNECTION_TCP,
    MEMCACHED_CONNECTION_UDP,
    MEMCACHED_CONNECTION_UNIX_SOCKET
} memcached_connection_t;

typedef enum memcached_hash_t {
    MEMCACHED_HASH_DEFAULT,
    MEMCACHED_HASH_MD5,
    MEMCACHED_HASH_CRC,
    MEMCACHED_HASH_FNV1_64,
    MEMCACHED_HASH_FNV1A_64,
    MEMCACHED_HASH_FNV1_32,
    MEMCACHED_HASH_FNV1A_32,
    MEMCACHED_HASH_HSIEH,
    MEMCACHED_HASH_MURMUR,
    MEMCACHED_HASH_JENKINS,
    MEMCACHED_HASH_MURMUR3,
    MEMCACHED_HASH_CUSTOM,
    MEMCACHED_HASH_MAX
} memcached_hash_t;

typedef enum memcached_server_distribution_t {
    MEMCACHED_DISTRIBUTION_MODULA,
    MEMCACHED_DISTRIBUTION_CONSISTENT,
    MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA,
    MEMCACHED_DISTRIBUTION_RANDOM,
    MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY,
    MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED,
    MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET,
    MEMCACHED_DISTRIBUTION_CONSISTENT_MAX
} memcached_server_distribution_t;

enum memcached_server_state_t {
    MEMCACHED_SERVER_STATE_NEW,
    MEMCACHED_SERVER_STATE_ADDRINFO,
    MEMCACHED_SERVER_STATE_IN_PROGRESS,
    MEMCACHED_SERVER_STATE_CONNECTED,
    MEMCACHED_SERVER_STATE_IN_TIMEOUT,
    MEMCACHED_SERVER_STATE_DISABLED
};

typedef struct memcached_st memcached_st;
typedef struct memcached_result_st memcached_result_st;
typedef struct memcached_server_st memcached_server_st, *memcached_server_list_st;
typedef struct memcached_instance_st memcached_instance_st; /* compat.h: no program knows its layout */
typedef struct handle handle_t;                             /* likewise */

/* ------------------------------------------------------------------------------------------ functions of programs */

typedef void (*memcached_free_fn)(const memcached_st *ptr, void *mem, void *context);
typedef void *(*memcached_malloc_fn)(const memcached_st *ptr, const size_t size, void *context);
typedef void *(*memcached_realloc_fn)(const memcached_st *ptr, void *mem, const size_t size, void *context);
typedef void *(*memcached_calloc_fn)(const memcached_st *ptr, size_t nelem, const size_t elsize, void *context);

typedef memcached_return_t (*memcached_execute_fn)(const memcached_st *ptr, memcached_result_st *result, void *context);
typedef memcached_return_t (*memcached_server_fn)(const memcached_st *ptr, const memcached_instance_st *server,
                                                  void *context);
typedef memcached_return_t (*memcached_stat_fn)(const memcached_instance_st *server, const char *key, size_t key_length,
                                                const char *value, size_t value_length, void *context);
typedef memcached_return_t (*memcached_clone_fn)(memcached_st *destination, const memcached_st *source);
typedef memcached_return_t (*memcached_cleanup_fn)(const memcached_st *ptr);
typedef memcached_return_t (*memcached_trigger_key_fn)(const memcached_st *ptr, const char *key, size_t key_length,
                                                       memcached_result_st *result);
typedef memcached_return_t (*memcached_trigger_delete_key_fn)(const memcached_st *ptr, const char *key,
                                                              size_t key_length);
typedef memcached_return_t (*memcached_dump_fn)(const memcached_st *ptr, const char *key, size_t key_length,
                                                void *context);

/* ------------------------------------------------------------------------------------------------- layouts */

typedef struct memcached_string_st {
    char *end; /* behind the last byte */
    char *string;
    size_t current_size; /* allocated */
    memcached_st *root;
    struct {
        bool is_allocated : 1;
        bool is_initialized : 1;
    } options;
} memcached_string_st;

struct memcached_result_st {
    uint32_t item_flags;
    time_t item_expiration;
    size_t key_length;
    uint64_t item_cas;
    memcached_st *root;
    memcached_string_st value;
    uint64_t numeric_value;
    uint64_t count;
    char item_key[MEMCACHED_MAX_KEY];
    struct {
        bool is_allocated : 1;
        bool is_initialized : 1;
    } options;
};

struct memcached_allocator_t {
    memcached_calloc_fn calloc;
    memcached_free_fn free;
    memcached_malloc_fn malloc;
    memcached_realloc_fn realloc;
    void *context;
};

struct memcached_sasl_st {
    void *callbacks;
    bool is_allocated;
};

struct memcached_st {
    struct {
        bool is_purging : 1;
        bool is_processing_input : 1;
        bool is_time_for_rebuild : 1;
        bool is_parsing : 1;
    } state;
    struct {
        bool auto_eject_hosts : 1;
        bool binary_protocol : 1;
        bool buffer_requests : 1;
        bool hash_with_namespace : 1;
        bool no_block : 1;
        bool reply : 1;
        bool randomize_replica_read : 1;
        bool support_cas : 1;
        bool tcp_nodelay : 1;
        bool use_sort_hosts : 1;
        bool use_udp : 1;
        bool verify_key : 1;
        bool tcp_keepalive : 1;
        bool is_aes : 1;
        bool is_fetching_version : 1;
        bool not_used : 1;
    } flags;
    memcached_server_distribution_t distribution;
    hashkit_st hashkit;
    struct {
        unsigned int version;
    } server_info;
    uint32_t number_of_hosts;
    memcached_instance_st *servers;
    memcached_instance_st *last_disconnected_server;
    int32_t snd_timeout;
    int32_t rcv_timeout;
    uint32_t server_failure_limit;
    uint32_t server_timeout_limit;
    uint32_t io_msg_watermark;
    uint32_t io_bytes_watermark;
    uint32_t io_key_prefetch;
    uint32_t tcp_keepidle;
    int32_t poll_timeout;
    int32_t connect_timeout;
    int32_t retry_timeout;
    int32_t dead_timeout;
    int send_size;
    int recv_size;
    void *user_data;
    uint64_t query_id;
    uint32_t number_of_replicas;
    memcached_result_st result;
    struct {
        bool weighted_;
        uint32_t continuum_count;
        uint32_t continuum_points_counter;
        time_t next_distribution_rebuild;
        struct point *continuum; /* place.c */
    } ketama;
    struct buckets *virtual_bucket; /* place.c */
    struct memcached_allocator_t allocators;
    memcached_clone_fn on_clone;
    memcached_cleanup_fn on_cleanup;
    memcached_trigger_key_fn get_key_failure;
    memcached_trigger_delete_key_fn delete_trigger;
    void *callbacks;
    struct memcached_sasl_st sasl;
    handle_t *error_messages; /* our own state behind the one pointer that no program reads */
    struct prefix *_namespace;
    struct {
        uint32_t initial_pool_size;
        uint32_t max_pool_size;
        int32_t version;
        void *filename;
    } configure;
    struct {
        bool is_allocated : 1;
    } options;
};

/* An entry of a list of servers that a program builds. */
struct memcached_server_st {
    struct {
        bool is_allocated : 1;
        bool is_initialized : 1;
        bool is_shutting_down : 1;
        bool is_dead : 1;
    } options;
    uint32_t number_of_hosts; /* of the list, in its first entry */
    uint32_t cursor_active;
    in_port_t port;
    uint32_t io_bytes_sent;
    uint32_t request_id;
    uint32_t server_failure_counter;
    uint64_t server_failure_counter_query_id;
    uint32_t server_timeout_counter;
    uint64_t server_timeout_counter_query_id;
    uint32_t weight;
    uint32_t version;
    enum memcached_server_state_t state;
    struct {
        uint32_t read;
        uint32_t write;
        uint32_t timeouts;
        size_t _bytes_read;
    } io_wait_count;
    uint8_t major_version;
    uint8_t micro_version;
    uint8_t minor_version;
    memcached_connection_t type;
    time_t next_retry;
    memcached_st *root;
    uint64_t limit_maxbytes;
    void *error_messages;
    char hostname[MEMCACHED_NI_MAXHOST];
};

typedef struct memcached_stat_st {
    unsigned long connection_structures;
    unsigned long curr_connections;
    unsigned long curr_items;
    pid_t pid;
    unsigned long pointer_size;
    unsigned long rusage_system_microseconds;
    unsigned long rusage_system_seconds;
    unsigned long rusage_user_microseconds;
    unsigned long rusage_user_seconds;
    unsigned long threads;
    unsigned long time;
    unsigned long total_connections;
    unsigned long total_items;
    unsigned long uptime;
    unsigned long long bytes;
    unsigned long long bytes_read;
    unsigned long long bytes_written;
    unsigned long long cmd_get;
    unsigned long long cmd_set;
    unsigned long long evictions;
    unsigned long long get_hits;
    unsigned long long get_misses;
    unsigned long long limit_maxbytes;
    char version[MEMCACHED_VERSION_STRING_LENGTH];
    void *__future;
    memcached_st *root;
} memcached_stat_st;

typedef struct memcached_analysis_st {
    memcached_st *root;
    uint32_t average_item_size;
    uint32_t longest_uptime;
    uint32_t least_free_server;
    uint32_t most_consumed_server;
    uint32_t oldest_server;
    double pool_hit_ratio;
    uint64_t most_used_bytes;
    uint64_t least_remaining_bytes;
} memcached_analysis_st;

/* Sizes that programs have on their stack. */
_Static_assert(sizeof(void *) != 8 || sizeof(memcached_st) == 696, "memcached_st");
_Static_assert(sizeof(void *) != 8 || sizeof(memcached_result_st) == 352, "memcached_result_st");
_Static_assert(sizeof(void *) != 8 || sizeof(memcached_server_st) == 1168, "memcached_server_st");
_Static_assert(sizeof(void *) != 8 || sizeof(memcached_stat_st) == 224, "memcached_stat_st");
_Static_assert(sizeof(void *) != 8 || sizeof(memcached_analysis_st) == 56, "memcached_analysis_st");

#endif
