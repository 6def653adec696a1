/* SPDX-License-Identifier: Apache-2.0
 * missing.c - what there is not: logins by SASL, and values encrypted by the client. */
#include "compat/compat.h"

#define NO_SASL                                                                                                        \
    "there is no SASL: the server's -S asks for the binary protocol, and this library sends messages and text"
#define NO_KEY "there is no encryption of values"

void memcached_set_sasl_callbacks(memcached_st *ptr, const void *callbacks)
{
    if (ptr != NULL && callbacks != NULL)
        (void)fail(ptr, MEMCACHED_NOT_SUPPORTED, NO_SASL);
}

void *memcached_get_sasl_callbacks(memcached_st *ptr)
{
    (void)ptr;
    return NULL;
}

rc_t memcached_set_sasl_auth_data(memcached_st *ptr, const char *username, const char *password)
{
    if (ptr == NULL || username == NULL || password == NULL)
        return MEMCACHED_INVALID_ARGUMENTS;
    return fail(ptr, MEMCACHED_NOT_SUPPORTED, NO_SASL);
}

rc_t memcached_destroy_sasl_auth_data(memcached_st *ptr)
{
    return ptr == NULL ? MEMCACHED_INVALID_ARGUMENTS : MEMCACHED_SUCCESS;
}

rc_t memcached_set_encoding_key(memcached_st *ptr, const char *key, size_t length)
{
    if (ptr == NULL || key == NULL || length == 0)
        return MEMCACHED_INVALID_ARGUMENTS;
    return fail(ptr, MEMCACHED_NOT_SUPPORTED, NO_KEY);
}
