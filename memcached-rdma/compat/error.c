/* SPDX-License-Identifier: Apache-2.0
 * error.c - texts of results; the last error of a handle and of its servers. */
#include <stdio.h>
#include <string.h>

#include "compat/compat.h"

const char *memcached_strerror(const memcached_st *ptr, rc_t rc)
{
    static const char *const texts[] = {
#define RETURN(name, text) text,
#include "compat/returns.def"
    };
    (void)ptr;
    return (unsigned)rc < MEMCACHED_MAXIMUM_RETURN ? texts[rc] : "INVALID memcached_return_t";
}

static void note(failure_t *failure, const void *owner, rc_t rc, int error, const char *detail)
{
    failure->rc = rc;
    failure->error = error;
    (void)snprintf(failure->text, sizeof(failure->text), "(%p) %s%s%s", owner, memcached_strerror(NULL, rc),
                   detail == NULL ? "" : ", ", detail == NULL ? "" : detail);
}

rc_t fail(memcached_st *ptr, rc_t rc, const char *detail)
{
    if (ptr->error_messages != NULL)
        note(&ptr->error_messages->failure, ptr, rc, 0, detail);
    return rc;
}

rc_t fail_server(memcached_instance_st *server, rc_t rc, int error, const char *detail)
{
    char text[ERROR_BYTES];
    if (server->port == 0)
        (void)snprintf(text, sizeof(text), "%.200s,  host: %.200s", detail, server->hostname);
    else
        (void)snprintf(text, sizeof(text), "%.200s,  host: %.200s:%d", detail, server->hostname, (int)server->port);
    server->root->error_messages->server_failed = true;
    note(&server->failure, server, rc, error, text);
    note(&server->root->error_messages->failure, server->root, rc, error, text);
    return rc;
}

void failure_clear(memcached_st *ptr)
{
    handle_t *handle = ptr->error_messages;
    bool servers = handle->server_failed;
    handle->failure.rc = MEMCACHED_SUCCESS;
    handle->server_failed = false;
    for (uint32_t i = 0; servers && i < ptr->number_of_hosts; i++) /* they lie far apart: not in every call */
        ptr->servers[i].failure.rc = MEMCACHED_SUCCESS;
}

static const failure_t *last(const memcached_st *ptr)
{
    const handle_t *handle = ptr == NULL ? NULL : ptr->error_messages;
    return handle == NULL || handle->failure.rc == MEMCACHED_SUCCESS ? NULL : &handle->failure;
}

const char *memcached_last_error_message(const memcached_st *ptr)
{
    if (ptr == NULL)
        return memcached_strerror(ptr, MEMCACHED_INVALID_ARGUMENTS);
    return last(ptr) == NULL ? memcached_strerror(ptr, MEMCACHED_SUCCESS) : last(ptr)->text;
}

const char *memcached_error(const memcached_st *ptr)
{
    return memcached_last_error_message(ptr);
}

void memcached_error_print(const memcached_st *ptr)
{
    if (last(ptr) != NULL)
        (void)fprintf(stderr, "%s\n", last(ptr)->text);
}

rc_t memcached_last_error(const memcached_st *ptr)
{
    if (ptr == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    return last(ptr) == NULL ? MEMCACHED_SUCCESS : last(ptr)->rc;
}

int memcached_last_error_errno(const memcached_st *ptr)
{
    return last(ptr) == NULL ? 0 : last(ptr)->error;
}
