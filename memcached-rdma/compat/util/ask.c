/* SPDX-License-Identifier: Apache-2.0
 * ask.c - whether a server is there, its process, its version; emptying it. */
#include <string.h>

#include "compat/util/util.h"

/* A handle with one server. user: a login was asked for, which there is not. */
static rc_t open_one(memcached_st *ptr, const char *hostname, in_port_t port, const char *user, const char *password)
{
    if (memcached_create(ptr) == NULL)
        return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    rc_t rc = user == NULL ? MEMCACHED_SUCCESS : memcached_set_sasl_auth_data(ptr, user, password);
    if (rc == MEMCACHED_SUCCESS)
        rc = memcached_server_add(ptr, hostname, port);
    if (rc != MEMCACHED_SUCCESS)
        memcached_free(ptr);
    return rc;
}

/* The error of the server rather than that there were some. */
static rc_t reason(const memcached_st *ptr, rc_t rc)
{
    return rc == MEMCACHED_SOME_ERRORS ? memcached_last_error(ptr) : rc;
}

bool libmemcached_util_ping2(const char *hostname, in_port_t port, const char *username, const char *password,
                             rc_t *ret)
{
    memcached_st ptr;
    rc_t ignored;
    if (ret == NULL)
        ret = &ignored;
    *ret = open_one(&ptr, hostname, port, username, password);
    if (*ret != MEMCACHED_SUCCESS)
        return false;
    *ret = reason(&ptr, memcached_version(&ptr));
    memcached_free(&ptr);
    return *ret == MEMCACHED_SUCCESS;
}

bool libmemcached_util_ping(const char *hostname, in_port_t port, rc_t *ret)
{
    return libmemcached_util_ping2(hostname, port, NULL, NULL, ret);
}

bool libmemcached_util_flush(const char *hostname, in_port_t port, rc_t *ret)
{
    memcached_st ptr;
    rc_t ignored;
    if (ret == NULL)
        ret = &ignored;
    *ret = open_one(&ptr, hostname, port, NULL, NULL);
    if (*ret != MEMCACHED_SUCCESS)
        return false;
    *ret = reason(&ptr, memcached_flush(&ptr, 0));
    memcached_free(&ptr);
    return *ret == MEMCACHED_SUCCESS;
}

pid_t libmemcached_util_getpid2(const char *hostname, in_port_t port, const char *username, const char *password,
                                rc_t *ret)
{
    memcached_st ptr;
    rc_t ignored;
    pid_t pid = -1;
    if (ret == NULL)
        ret = &ignored;
    *ret = open_one(&ptr, hostname, port, username, password);
    if (*ret != MEMCACHED_SUCCESS)
        return pid;
    memcached_stat_st *stat = memcached_stat(&ptr, NULL, ret);
    *ret = reason(&ptr, *ret);
    if (stat != NULL && *ret == MEMCACHED_SUCCESS)
        pid = stat->pid;
    memcached_stat_free(&ptr, stat);
    memcached_free(&ptr);
    return pid;
}

pid_t libmemcached_util_getpid(const char *hostname, in_port_t port, rc_t *ret)
{
    return libmemcached_util_getpid2(hostname, port, NULL, NULL, ret);
}

/* Every server has at least this version. */
bool libmemcached_util_version_check(memcached_st *ptr, uint8_t major, uint8_t minor, uint8_t micro)
{
    if (ptr == NULL || memcached_version(ptr) != MEMCACHED_SUCCESS)
        return false;
    uint32_t least = (uint32_t)major << 16 | (uint32_t)minor << 8 | micro;
    for (uint32_t i = 0; i < memcached_server_count(ptr); i++) {
        const memcached_instance_st *server = memcached_server_instance_by_position(ptr, i);
        uint32_t version = (uint32_t)memcached_server_major_version(server) << 16 |
                           (uint32_t)memcached_server_minor_version(server) << 8 |
                           memcached_server_micro_version(server);
        if (version < least)
            return false;
    }
    return true;
}
