/* SPDX-License-Identifier: Apache-2.0
 * handle.c - memcached_st: made, copied, ended. */
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

#define VERSION "1.1.4" /* of the library that this one takes the place of: programs ask whether it is new enough */
#define POLL_TIMEOUT_MS 5000
#define CONNECT_TIMEOUT_MS 4000
#define FAILURE_LIMIT 5
#define RETRY_SECONDS 2

static void set_standards(memcached_st *ptr)
{
    ptr->flags.reply = true;
    ptr->server_failure_limit = FAILURE_LIMIT;
    ptr->query_id = 1;
    ptr->io_msg_watermark = 500;
    ptr->io_bytes_watermark = 65 * 1024;
    ptr->poll_timeout = POLL_TIMEOUT_MS;
    ptr->connect_timeout = CONNECT_TIMEOUT_MS;
    ptr->retry_timeout = RETRY_SECONDS;
    ptr->send_size = ptr->recv_size = -1;
    ptr->configure.initial_pool_size = ptr->configure.max_pool_size = 1;
    ptr->configure.version = -1;
    memory_default(&ptr->allocators);
    (void)hashkit_create(&ptr->hashkit);
}

memcached_st *memcached_create(memcached_st *ptr)
{
    bool given = ptr != NULL;
    handle_t *handle = calloc(1, sizeof(*handle));
    if (!given)
        ptr = malloc(sizeof(*ptr));
    if (handle == NULL || ptr == NULL) {
        free(handle);
        if (!given)
            free(ptr);
        return NULL;
    }
    memset(ptr, 0, sizeof(*ptr));
    list_init(&handle->pending);
    ptr->error_messages = handle;
    ptr->options.is_allocated = !given;
    set_standards(ptr);
    (void)memcached_result_create(ptr, &ptr->result);
    return ptr;
}

void memcached_free(memcached_st *ptr)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return;
    handle_t *handle = ptr->error_messages;
    connections_close(ptr);
    servers_free(ptr);
    memcached_result_free(&ptr->result);
    if (ptr->on_cleanup != NULL)
        (void)ptr->on_cleanup(ptr);
    place_free(ptr);
    free(ptr->_namespace);
    found_drop(ptr);
    free(handle->arena.bytes);
    free(handle);
    ptr->error_messages = NULL;
    ptr->_namespace = NULL;
    if (ptr->options.is_allocated)
        free(ptr);
}

/* ------------------------------------------------------------------------------------------- copies */

/* Not what libmemcached leaves out, too: a clone places keys with weights only where a server has one, and has no buckets. */
static void copy_settings(memcached_st *to, const memcached_st *from)
{
    to->flags = from->flags;
    to->distribution = from->distribution;
    (void)hashkit_clone(&to->hashkit, &from->hashkit);
    to->snd_timeout = from->snd_timeout;
    to->rcv_timeout = from->rcv_timeout;
    to->server_failure_limit = from->server_failure_limit;
    to->server_timeout_limit = from->server_timeout_limit;
    to->io_msg_watermark = from->io_msg_watermark;
    to->io_bytes_watermark = from->io_bytes_watermark;
    to->io_key_prefetch = from->io_key_prefetch;
    to->tcp_keepidle = from->tcp_keepidle;
    to->poll_timeout = from->poll_timeout;
    to->connect_timeout = from->connect_timeout;
    to->retry_timeout = from->retry_timeout;
    to->dead_timeout = from->dead_timeout;
    to->send_size = from->send_size;
    to->recv_size = from->recv_size;
    to->user_data = from->user_data;
    to->number_of_replicas = from->number_of_replicas;
    to->allocators = from->allocators;
    to->on_clone = from->on_clone;
    to->on_cleanup = from->on_cleanup;
    to->get_key_failure = from->get_key_failure;
    to->delete_trigger = from->delete_trigger;
    to->configure.version = from->configure.version;
}

static bool copy_parts(memcached_st *to, const memcached_st *from)
{
    if (from->number_of_hosts > 0 && memcached_push(to, from) != MEMCACHED_SUCCESS)
        return false;
    if (from->_namespace != NULL) {
        to->_namespace = malloc(sizeof(*to->_namespace));
        if (to->_namespace == NULL)
            return false;
        *to->_namespace = *from->_namespace;
    }
    if (from->on_clone != NULL)
        (void)from->on_clone(to, from);
    return true;
}

memcached_st *memcached_clone(memcached_st *clone, const memcached_st *source)
{
    memcached_st *to = memcached_create(clone);
    if (to == NULL || source == NULL)
        return to;
    copy_settings(to, source);
    if (copy_parts(to, source))
        return to;
    memcached_free(to);
    return NULL;
}

/* ------------------------------------------------------------------------------------------- others */

rc_t memcached_reset(memcached_st *ptr)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    bool is_allocated = ptr->options.is_allocated;
    uint64_t query_id = ptr->query_id;
    ptr->options.is_allocated = false; /* the structure itself stays */
    memcached_free(ptr);
    if (memcached_create(ptr) == NULL)
        return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    ptr->options.is_allocated = is_allocated;
    ptr->query_id = query_id;
    return MEMCACHED_SUCCESS;
}

void memcached_quit(memcached_st *ptr)
{
    if (call_begin(ptr) == MEMCACHED_SUCCESS)
        connections_close(ptr);
}

rc_t memcached_flush_buffers(memcached_st *ptr)
{
    if (ptr == NULL || ptr->error_messages == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    pending_finish(ptr);
    return MEMCACHED_SUCCESS;
}

void *memcached_get_user_data(const memcached_st *ptr)
{
    return ptr == NULL ? NULL : ptr->user_data;
}

void *memcached_set_user_data(memcached_st *ptr, void *data)
{
    if (ptr == NULL)
        return NULL;
    void *before = ptr->user_data;
    ptr->user_data = data;
    return before;
}

uint64_t memcached_query_id(const memcached_st *ptr)
{
    return ptr == NULL ? 0 : ptr->query_id;
}

const char *memcached_lib_version(void)
{
    return VERSION;
}
