/* SPDX-License-Identifier: Apache-2.0
 * result.c - memcached_result_st: an item that a fetch hands to the program. */
#include <string.h>

#include "compat/compat.h"

/* ----------------------------------------------------------------------------------------------- strings */

static void string_init(memcached_string_st *string, memcached_st *root)
{
    *string = (memcached_string_st){.root = root};
    string->options.is_initialized = true;
}

static void string_free(memcached_string_st *string)
{
    memory_give(string->root, string->string);
    string->string = string->end = NULL;
    string->current_size = 0;
}

/* Its memory is kept. A 0 follows the bytes, for programs that take them as text. */
rc_t string_assign(memcached_string_st *string, const char *bytes, size_t length)
{
    if (length + 1 > string->current_size) {
        char *memory = memory_take(string->root, length + 1);
        if (memory == NULL)
            return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
        string_free(string);
        string->string = memory;
        string->current_size = length + 1;
    }
    if (length > 0)
        memcpy(string->string, bytes, length);
    string->end = string->string + length;
    *string->end = '\0';
    return MEMCACHED_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------- results */

/* The const is libmemcached's. */
memcached_result_st *memcached_result_create(const memcached_st *ptr, memcached_result_st *result)
{
    memcached_st *root = (memcached_st *)(uintptr_t)ptr;
    bool given = result != NULL;
    if (!given)
        result = memory_take(ptr, sizeof(*result));
    if (result == NULL)
        return NULL;
    memset(result, 0, sizeof(*result));
    result->root = root;
    result->options.is_allocated = !given;
    result->options.is_initialized = true;
    string_init(&result->value, root);
    return result;
}

void memcached_result_free(memcached_result_st *result)
{
    if (result == NULL)
        return;
    string_free(&result->value);
    if (result->options.is_allocated)
        memory_give(result->root, result);
    else
        result->options.is_initialized = false;
}

void memcached_result_reset(memcached_result_st *result)
{
    result->key_length = 0;
    result->item_flags = 0;
    result->item_cas = 0;
    result->item_expiration = 0;
    result->value.end = result->value.string;
}

const char *memcached_result_key_value(const memcached_result_st *self)
{
    return self != NULL && self->key_length > 0 ? self->item_key : NULL;
}

size_t memcached_result_key_length(const memcached_result_st *self)
{
    return self == NULL ? 0 : self->key_length;
}

const char *memcached_result_value(const memcached_result_st *self)
{
    return self == NULL ? NULL : self->value.string;
}

char *memcached_result_take_value(memcached_result_st *self)
{
    if (self == NULL || self->value.end == self->value.string)
        return NULL;
    char *value = self->value.string;
    string_init(&self->value, self->value.root);
    return value;
}

size_t memcached_result_length(const memcached_result_st *self)
{
    return self == NULL ? 0 : (size_t)(self->value.end - self->value.string);
}

uint32_t memcached_result_flags(const memcached_result_st *self)
{
    return self == NULL ? 0 : self->item_flags;
}

uint64_t memcached_result_cas(const memcached_result_st *self)
{
    return self == NULL ? 0 : self->item_cas;
}

rc_t memcached_result_set_value(memcached_result_st *self, const char *value, size_t length)
{
    return self == NULL ? MEMCACHED_INVALID_ARGUMENTS : string_assign(&self->value, value, length);
}

void memcached_result_set_flags(memcached_result_st *self, uint32_t flags)
{
    if (self != NULL)
        self->item_flags = flags;
}

void memcached_result_set_expiration(memcached_result_st *self, time_t expiration)
{
    if (self != NULL)
        self->item_expiration = expiration;
}
