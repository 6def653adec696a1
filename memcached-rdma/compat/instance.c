/* SPDX-License-Identifier: Apache-2.0
 * instance.c - what a program may ask about one server. */
#include "compat/compat.h"

const memcached_instance_st *memcached_server_instance_by_position(const memcached_st *ptr, uint32_t server_key)
{
    return ptr == NULL || server_key >= ptr->number_of_hosts ? NULL : &ptr->servers[server_key];
}

const char *memcached_server_name(const memcached_instance_st *self)
{
    return self == NULL ? NULL : self->hostname;
}

in_port_t memcached_server_port(const memcached_instance_st *self)
{
    return self == NULL ? 0 : self->port;
}

/* Of the own end of the socket: messages have none. */
in_port_t memcached_server_srcport(const memcached_instance_st *self)
{
    (void)self;
    return 0;
}

const char *memcached_server_type(const memcached_instance_st *self)
{
    static const char *const names[] = {"TCP", "UDP", "SOCKET"};
    return self == NULL ? "UNKNOWN" : names[self->type];
}

/* No answer is outstanding after a call, except those that nobody waits for. */
uint32_t memcached_server_response_count(const memcached_instance_st *self)
{
    (void)self;
    return 0;
}

/* The const is libmemcached's. */
void memcached_instance_next_retry(const memcached_instance_st *self, const time_t absolute_time)
{
    memcached_instance_st *server = (memcached_instance_st *)(uintptr_t)self;
    if (server != NULL)
        server->next_retry = absolute_time;
}

uint8_t memcached_server_major_version(const memcached_instance_st *self)
{
    return self == NULL ? VERSION_UNKNOWN : self->major_version;
}

uint8_t memcached_server_minor_version(const memcached_instance_st *self)
{
    return self == NULL ? VERSION_UNKNOWN : self->minor_version;
}

uint8_t memcached_server_micro_version(const memcached_instance_st *self)
{
    return self == NULL ? VERSION_UNKNOWN : self->micro_version;
}

const char *memcached_server_error(const memcached_instance_st *self)
{
    return self == NULL || self->failure.rc == MEMCACHED_SUCCESS ? NULL : self->failure.text;
}

rc_t memcached_server_error_return(const memcached_instance_st *self)
{
    return self == NULL ? MEMCACHED_INVALID_ARGUMENTS : self->failure.rc;
}
