/* SPDX-License-Identifier: Apache-2.0
 * kit.c - a choice of two hashes: of keys, and of the points of servers. */
#include <stdlib.h>

#include "compat/hashkit/hashes.h"
#include "compat/hashkit/hashkit.h"
#include "compat/hashkit/table.h"

static hashkit_st *place(hashkit_st *self)
{
    bool given = self != NULL;
    if (!given)
        self = calloc(1, sizeof(*self));
    if (self != NULL)
        self->options.is_allocated = !given;
    return self;
}

hashkit_st *hashkit_create(hashkit_st *hash)
{
    hashkit_st *self = place(hash);
    if (self == NULL)
        return NULL;
    self->base_hash = self->distribution_hash = (struct hashkit_function_st){.function = hash_one_at_a_time};
    self->flags.is_base_same_distributed = true;
    self->_key = NULL;
    return self;
}

hashkit_st *hashkit_clone(hashkit_st *destination, const hashkit_st *source)
{
    if (source == NULL)
        return hashkit_create(destination);
    hashkit_st *self = place(destination);
    if (self == NULL)
        return NULL;
    self->base_hash = source->base_hash;
    self->distribution_hash = source->distribution_hash;
    self->flags = source->flags;
    self->_key = NULL;
    return self;
}

static bool same_function(const struct hashkit_function_st *a, const struct hashkit_function_st *b)
{
    return a->function == b->function && a->context == b->context;
}

bool hashkit_compare(const hashkit_st *first, const hashkit_st *second)
{
    return first != NULL && second != NULL && same_function(&first->base_hash, &second->base_hash) &&
           same_function(&first->distribution_hash, &second->distribution_hash) &&
           first->flags.is_base_same_distributed == second->flags.is_base_same_distributed;
}

void hashkit_free(hashkit_st *hash)
{
    if (hash != NULL && hash->options.is_allocated)
        free(hash);
}

uint32_t hashkit_digest(const hashkit_st *self, const char *key, size_t key_length)
{
    return self->base_hash.function(key, key_length, self->base_hash.context);
}

/* --------------------------------------------------------------------------------------- functions */

static hashkit_return_t choose(struct hashkit_function_st *to, hashkit_hash_algorithm_t algorithm)
{
    if (algorithm == HASHKIT_HASH_MAX) {
        to->function = hash_one_at_a_time;
        return HASHKIT_INVALID_HASH;
    }
    if ((unsigned)algorithm > HASHKIT_HASH_MAX)
        return HASHKIT_SUCCESS; /* libhashkit changes nothing, and says so */
    if (HASHES[algorithm].function == NULL)
        return HASHKIT_INVALID_ARGUMENT;
    *to = (struct hashkit_function_st){.function = HASHES[algorithm].function};
    return HASHKIT_SUCCESS;
}

static hashkit_return_t choose_custom(struct hashkit_function_st *to, hashkit_hash_fn function, void *context)
{
    if (function == NULL)
        return HASHKIT_FAILURE;
    *to = (struct hashkit_function_st){.function = function, .context = context};
    return HASHKIT_SUCCESS;
}

static hashkit_hash_algorithm_t chosen(hashkit_hash_fn function)
{
    for (unsigned i = 0; i < HASHKIT_HASH_MAX; i++)
        if (HASHES[i].function == function)
            return (hashkit_hash_algorithm_t)i;
    return HASHKIT_HASH_CUSTOM;
}

hashkit_return_t hashkit_set_function(hashkit_st *self, hashkit_hash_algorithm_t algorithm)
{
    return self == NULL ? HASHKIT_INVALID_ARGUMENT : choose(&self->base_hash, algorithm);
}

hashkit_return_t hashkit_set_distribution_function(hashkit_st *self, hashkit_hash_algorithm_t algorithm)
{
    return self == NULL ? HASHKIT_INVALID_ARGUMENT : choose(&self->distribution_hash, algorithm);
}

hashkit_return_t hashkit_set_custom_function(hashkit_st *self, hashkit_hash_fn function, void *context)
{
    return self == NULL ? HASHKIT_INVALID_ARGUMENT : choose_custom(&self->base_hash, function, context);
}

hashkit_return_t hashkit_set_custom_distribution_function(hashkit_st *self, hashkit_hash_fn function, void *context)
{
    return self == NULL ? HASHKIT_INVALID_ARGUMENT : choose_custom(&self->distribution_hash, function, context);
}

hashkit_hash_algorithm_t hashkit_get_function(const hashkit_st *self)
{
    return self == NULL ? HASHKIT_HASH_DEFAULT : chosen(self->base_hash.function);
}

hashkit_hash_algorithm_t hashkit_get_distribution_function(const hashkit_st *self)
{
    return self == NULL ? HASHKIT_HASH_DEFAULT : chosen(self->distribution_hash.function);
}

const char *hashkit_strerror(hashkit_st *unused, hashkit_return_t rc)
{
    static const char *const texts[HASHKIT_MAXIMUM_RETURN] = {"SUCCESS", "FAILURE", "MEMORY ALLOCATION FAILURE",
                                                              "INVALID hashkit_hash_algorithm_t", "INVALID ARGUMENT"};
    (void)unused;
    return (unsigned)rc < HASHKIT_MAXIMUM_RETURN ? texts[rc] : "INVALID hashkit_return_t";
}

/* --------------------------------------------------------------------------- encryption: there is none */

bool hashkit_key(hashkit_st *self, const char *key, const size_t key_length)
{
    (void)self;
    (void)key;
    (void)key_length;
    return false;
}

hashkit_string_st *hashkit_encrypt(hashkit_st *self, const char *source, size_t source_length)
{
    (void)self;
    (void)source;
    (void)source_length;
    return NULL;
}

hashkit_string_st *hashkit_decrypt(hashkit_st *self, const char *source, size_t source_length)
{
    return hashkit_encrypt(self, source, source_length);
}

void hashkit_string_free(hashkit_string_st *string)
{
    (void)string; /* always NULL: only encryption makes one */
}

size_t hashkit_string_length(const hashkit_string_st *string)
{
    (void)string;
    return 0;
}

const char *hashkit_string_c_str(const hashkit_string_st *string)
{
    (void)string;
    return NULL;
}
