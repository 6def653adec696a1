/* SPDX-License-Identifier: Apache-2.0
 * behavior.c - the settings of a handle. Those of sockets are kept and have no effect: the client library sets its sockets. */
#include "compat/compat.h"

static const char *const BEHAVIORS[] = {
#define BEHAVIOR(name) "MEMCACHED_BEHAVIOR_" #name,
#include "compat/behaviors.def"
};

const char *libmemcached_string_behavior(const memcached_behavior_t flag)
{
    return (unsigned)flag < MEMCACHED_BEHAVIOR_MAX ? BEHAVIORS[flag] : "INVALID memcached_behavior_t";
}

const char *libmemcached_string_distribution(const memcached_server_distribution_t type)
{
    static const char *const names[] = {
        "MEMCACHED_DISTRIBUTION_MODULA",
        "MEMCACHED_DISTRIBUTION_CONSISTENT",
        "MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA",
        "MEMCACHED_DISTRIBUTION_RANDOM",
        "MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY",
        "MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED",
        "MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET",
    };
    return (unsigned)type < MEMCACHED_DISTRIBUTION_CONSISTENT_MAX ? names[type]
                                                                  : "INVALID memcached_server_distribution_t";
}

const char *libmemcached_string_hash(memcached_hash_t type)
{
    return libhashkit_string_hash((hashkit_hash_algorithm_t)type);
}

/* --------------------------------------------------------------------------------------- distribution, hash */

rc_t memcached_behavior_set_distribution(memcached_st *ptr, memcached_server_distribution_t type)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    if ((unsigned)type >= MEMCACHED_DISTRIBUTION_CONSISTENT_MAX)
        return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid memcached_server_distribution_t");
    if (type == MEMCACHED_DISTRIBUTION_CONSISTENT || type == MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA)
        ptr->ketama.weighted_ = false;
    else if (type == MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED)
        ptr->ketama.weighted_ = true;
    ptr->distribution = type;
    return place_servers(ptr);
}

memcached_server_distribution_t memcached_behavior_get_distribution(memcached_st *ptr)
{
    return ptr == NULL ? MEMCACHED_DISTRIBUTION_CONSISTENT_MAX : ptr->distribution;
}

rc_t memcached_bucket_set(memcached_st *ptr, const uint32_t *host_map, const uint32_t *forward_map,
                          const uint32_t buckets, const uint32_t replicas)
{
    (void)forward_map; /* libmemcached keeps both and looks at neither */
    (void)replicas;
    if (ptr == NULL || host_map == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    memcached_server_distribution_t before = ptr->distribution;
    rc_t rc = memcached_behavior_set_distribution(ptr, MEMCACHED_DISTRIBUTION_VIRTUAL_BUCKET);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    rc = place_buckets(ptr, host_map, buckets);
    if (rc != MEMCACHED_SUCCESS)
        (void)memcached_behavior_set_distribution(ptr, before);
    return rc;
}

static rc_t hash_result(memcached_st *ptr, hashkit_return_t result)
{
    return result == HASHKIT_SUCCESS ? MEMCACHED_SUCCESS
                                     : fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid memcached_hash_t()");
}

/* The points stay where they are until servers are placed again, as in libmemcached. */
rc_t memcached_behavior_set_key_hash(memcached_st *ptr, memcached_hash_t type)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    return hash_result(ptr, hashkit_set_function(&ptr->hashkit, (hashkit_hash_algorithm_t)type));
}

memcached_hash_t memcached_behavior_get_key_hash(memcached_st *ptr)
{
    return ptr == NULL ? MEMCACHED_HASH_MAX : (memcached_hash_t)hashkit_get_function(&ptr->hashkit);
}

rc_t memcached_behavior_set_distribution_hash(memcached_st *ptr, memcached_hash_t type)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    return hash_result(ptr, hashkit_set_distribution_function(&ptr->hashkit, (hashkit_hash_algorithm_t)type));
}

/* libmemcached answers with the hash of keys here. */
memcached_hash_t memcached_behavior_get_distribution_hash(memcached_st *ptr)
{
    return memcached_behavior_get_key_hash(ptr);
}

static rc_t set_weighted(memcached_st *ptr, bool on)
{
    if (!on)
        return memcached_behavior_set_distribution(ptr, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA);
    (void)memcached_behavior_set_key_hash(ptr, MEMCACHED_HASH_MD5);
    (void)memcached_behavior_set_distribution_hash(ptr, MEMCACHED_HASH_MD5);
    return memcached_behavior_set_distribution(ptr, MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED);
}

/* --------------------------------------------------------------------------------------------------- set */

static rc_t invalid(memcached_st *ptr, const char *text)
{
    return fail(ptr, MEMCACHED_INVALID_ARGUMENTS, text);
}

static rc_t set_flag(memcached_st *ptr, memcached_behavior_t flag, bool on)
{
    switch (flag) {
    case MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS:
    case MEMCACHED_BEHAVIOR_AUTO_EJECT_HOSTS: ptr->flags.auto_eject_hosts = on; break;
    case MEMCACHED_BEHAVIOR_BINARY_PROTOCOL:
        ptr->flags.binary_protocol = on;
        if (on)
            ptr->flags.verify_key = false;
        break;
    case MEMCACHED_BEHAVIOR_SUPPORT_CAS: ptr->flags.support_cas = on; break;
    case MEMCACHED_BEHAVIOR_NO_BLOCK: ptr->flags.no_block = on; break;
    case MEMCACHED_BEHAVIOR_BUFFER_REQUESTS:
        pending_finish(ptr);
        ptr->flags.buffer_requests = on;
        break;
    case MEMCACHED_BEHAVIOR_TCP_NODELAY: ptr->flags.tcp_nodelay = on; break;
    case MEMCACHED_BEHAVIOR_TCP_KEEPALIVE: ptr->flags.tcp_keepalive = on; break;
    case MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY: ptr->flags.hash_with_namespace = on; break;
    case MEMCACHED_BEHAVIOR_NOREPLY: ptr->flags.reply = !on; break;
    case MEMCACHED_BEHAVIOR_RANDOMIZE_REPLICA_READ: ptr->flags.randomize_replica_read = on; break;
    case MEMCACHED_BEHAVIOR_USE_UDP:
        return on ? fail(ptr, MEMCACHED_NOT_SUPPORTED, "there is no UDP: use TCP") : MEMCACHED_SUCCESS;
    case MEMCACHED_BEHAVIOR_VERIFY_KEY:
        if (ptr->flags.binary_protocol)
            return invalid(ptr, "MEMCACHED_BEHAVIOR_VERIFY_KEY if the binary protocol has been enabled.");
        ptr->flags.verify_key = on;
        break;
    case MEMCACHED_BEHAVIOR_SORT_HOSTS: ptr->flags.use_sort_hosts = on; return place_servers(ptr);
    default: return invalid(ptr, "Invalid behavior passed to memcached_behavior_set()");
    }
    return MEMCACHED_SUCCESS;
}

static rc_t set_number(memcached_st *ptr, memcached_behavior_t flag, uint64_t data)
{
    switch (flag) {
    case MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS: ptr->number_of_replicas = (uint32_t)data; break;
    case MEMCACHED_BEHAVIOR_IO_MSG_WATERMARK: ptr->io_msg_watermark = (uint32_t)data; break;
    case MEMCACHED_BEHAVIOR_IO_BYTES_WATERMARK: ptr->io_bytes_watermark = (uint32_t)data; break;
    case MEMCACHED_BEHAVIOR_IO_KEY_PREFETCH: ptr->io_key_prefetch = (uint32_t)data; break;
    case MEMCACHED_BEHAVIOR_SND_TIMEOUT: ptr->snd_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_RCV_TIMEOUT: ptr->rcv_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_POLL_TIMEOUT: ptr->poll_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT: ptr->connect_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_RETRY_TIMEOUT: ptr->retry_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_DEAD_TIMEOUT: ptr->dead_timeout = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_SERVER_TIMEOUT_LIMIT: ptr->server_timeout_limit = (uint32_t)data; break;
    case MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE: ptr->send_size = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE: ptr->recv_size = (int32_t)data; break;
    case MEMCACHED_BEHAVIOR_TCP_KEEPIDLE: ptr->tcp_keepidle = (uint32_t)data; break;
    default: return set_flag(ptr, flag, data != 0);
    }
    return MEMCACHED_SUCCESS;
}

rc_t memcached_behavior_set(memcached_st *ptr, const memcached_behavior_t flag, uint64_t data)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    switch (flag) {
    case MEMCACHED_BEHAVIOR_DISTRIBUTION:
        return memcached_behavior_set_distribution(ptr, (memcached_server_distribution_t)data);
    case MEMCACHED_BEHAVIOR_KETAMA:
        return memcached_behavior_set_distribution(ptr, data != 0 ? MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA
                                                                  : MEMCACHED_DISTRIBUTION_MODULA);
    case MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED: return set_weighted(ptr, data != 0);
    case MEMCACHED_BEHAVIOR_HASH: return memcached_behavior_set_key_hash(ptr, (memcached_hash_t)data);
    case MEMCACHED_BEHAVIOR_KETAMA_HASH: return memcached_behavior_set_distribution_hash(ptr, (memcached_hash_t)data);
    case MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT:
        if (data == 0)
            return invalid(ptr, "MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT requires a value greater then zero.");
        ptr->server_failure_limit = (uint32_t)data;
        return MEMCACHED_SUCCESS;
    case MEMCACHED_BEHAVIOR_CACHE_LOOKUPS:
        return fail(ptr, MEMCACHED_DEPRECATED, "MEMCACHED_BEHAVIOR_CACHE_LOOKUPS has been deprecated.");
    case MEMCACHED_BEHAVIOR_USER_DATA:
        return fail(ptr, MEMCACHED_DEPRECATED, "MEMCACHED_BEHAVIOR_USER_DATA deprecated.");
    case MEMCACHED_BEHAVIOR_CORK:
        return fail(ptr, MEMCACHED_DEPRECATED,
                    "MEMCACHED_BEHAVIOR_CORK is now incorporated into the driver by default.");
    case MEMCACHED_BEHAVIOR_LOAD_FROM_FILE:
        return invalid(ptr, "MEMCACHED_BEHAVIOR_LOAD_FROM_FILE can not be set with memcached_behavior_set()");
    default: return set_number(ptr, flag, data);
    }
}

/* --------------------------------------------------------------------------------------------------- get */

static uint64_t get_flag(const memcached_st *ptr, memcached_behavior_t flag)
{
    switch (flag) {
    case MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS:
    case MEMCACHED_BEHAVIOR_AUTO_EJECT_HOSTS: return ptr->flags.auto_eject_hosts;
    case MEMCACHED_BEHAVIOR_BINARY_PROTOCOL: return ptr->flags.binary_protocol;
    case MEMCACHED_BEHAVIOR_SUPPORT_CAS: return ptr->flags.support_cas;
    case MEMCACHED_BEHAVIOR_CACHE_LOOKUPS:
    case MEMCACHED_BEHAVIOR_CORK: return true;
    case MEMCACHED_BEHAVIOR_NO_BLOCK: return ptr->flags.no_block;
    case MEMCACHED_BEHAVIOR_BUFFER_REQUESTS: return ptr->flags.buffer_requests;
    case MEMCACHED_BEHAVIOR_USE_UDP: return ptr->flags.use_udp;
    case MEMCACHED_BEHAVIOR_TCP_NODELAY: return ptr->flags.tcp_nodelay;
    case MEMCACHED_BEHAVIOR_TCP_KEEPALIVE: return ptr->flags.tcp_keepalive;
    case MEMCACHED_BEHAVIOR_VERIFY_KEY: return ptr->flags.verify_key;
    case MEMCACHED_BEHAVIOR_SORT_HOSTS: return ptr->flags.use_sort_hosts;
    case MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY: return ptr->flags.hash_with_namespace;
    case MEMCACHED_BEHAVIOR_NOREPLY: return !ptr->flags.reply;
    case MEMCACHED_BEHAVIOR_RANDOMIZE_REPLICA_READ: return ptr->flags.randomize_replica_read;
    case MEMCACHED_BEHAVIOR_KETAMA: return place_is_consistent(ptr);
    case MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED: return place_is_consistent(ptr) && ptr->ketama.weighted_;
    default: return 0;
    }
}

uint64_t memcached_behavior_get(memcached_st *ptr, const memcached_behavior_t flag)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    switch (flag) {
    case MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS: return ptr->number_of_replicas;
    case MEMCACHED_BEHAVIOR_IO_MSG_WATERMARK: return ptr->io_msg_watermark;
    case MEMCACHED_BEHAVIOR_IO_BYTES_WATERMARK: return ptr->io_bytes_watermark;
    case MEMCACHED_BEHAVIOR_IO_KEY_PREFETCH: return ptr->io_key_prefetch;
    case MEMCACHED_BEHAVIOR_DISTRIBUTION: return ptr->distribution;
    case MEMCACHED_BEHAVIOR_HASH: return hashkit_get_function(&ptr->hashkit);
    case MEMCACHED_BEHAVIOR_KETAMA_HASH: return hashkit_get_distribution_function(&ptr->hashkit);
    case MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT: return ptr->server_failure_limit;
    case MEMCACHED_BEHAVIOR_SERVER_TIMEOUT_LIMIT: return ptr->server_timeout_limit;
    case MEMCACHED_BEHAVIOR_POLL_TIMEOUT: return (uint64_t)ptr->poll_timeout;
    case MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT: return (uint64_t)ptr->connect_timeout;
    case MEMCACHED_BEHAVIOR_RETRY_TIMEOUT: return (uint64_t)ptr->retry_timeout;
    case MEMCACHED_BEHAVIOR_DEAD_TIMEOUT: return (uint64_t)ptr->dead_timeout;
    case MEMCACHED_BEHAVIOR_SND_TIMEOUT: return (uint64_t)ptr->snd_timeout;
    case MEMCACHED_BEHAVIOR_RCV_TIMEOUT: return (uint64_t)ptr->rcv_timeout;
    case MEMCACHED_BEHAVIOR_TCP_KEEPIDLE: return ptr->tcp_keepidle;
    case MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE: return ptr->send_size < 0 ? 0 : (uint64_t)ptr->send_size;
    case MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE: return ptr->recv_size < 0 ? 0 : (uint64_t)ptr->recv_size;
    default: return get_flag(ptr, flag);
    }
}
