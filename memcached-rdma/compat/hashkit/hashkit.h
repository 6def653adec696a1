/* SPDX-License-Identifier: Apache-2.0
 * hashkit.h - the interface of libhashkit.so.2: names, numbers and layout are those of libhashkit 1.1. */
#ifndef MC_COMPAT_HASHKIT_H
#define MC_COMPAT_HASHKIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPAT_API __attribute__((visibility("default")))

typedef enum {
    HASHKIT_SUCCESS,
    HASHKIT_FAILURE,
    HASHKIT_MEMORY_ALLOCATION_FAILURE,
    HASHKIT_INVALID_HASH,
    HASHKIT_INVALID_ARGUMENT,
    HASHKIT_MAXIMUM_RETURN
} hashkit_return_t;

typedef enum {
    HASHKIT_HASH_DEFAULT,
    HASHKIT_HASH_MD5,
    HASHKIT_HASH_CRC,
    HASHKIT_HASH_FNV1_64,
    HASHKIT_HASH_FNV1A_64,
    HASHKIT_HASH_FNV1_32,
    HASHKIT_HASH_FNV1A_32,
    HASHKIT_HASH_HSIEH,
    HASHKIT_HASH_MURMUR,
    HASHKIT_HASH_JENKINS,
    HASHKIT_HASH_MURMUR3,
    HASHKIT_HASH_CUSTOM,
    HASHKIT_HASH_MAX
} hashkit_hash_algorithm_t;

typedef uint32_t (*hashkit_hash_fn)(const char *key, size_t key_length, void *context);

struct hashkit_function_st {
    hashkit_hash_fn function;
    void *context;
};

typedef struct hashkit_st {
    struct hashkit_function_st base_hash, distribution_hash;
    struct {
        bool is_base_same_distributed : 1;
    } flags;
    struct {
        bool is_allocated : 1;
    } options;
    void *_key;
} hashkit_st;

typedef struct hashkit_string_st hashkit_string_st;

/* ---- kit.c */
COMPAT_API hashkit_st *hashkit_create(hashkit_st *hash);
COMPAT_API hashkit_st *hashkit_clone(hashkit_st *destination, const hashkit_st *source);
COMPAT_API bool hashkit_compare(const hashkit_st *first, const hashkit_st *second);
COMPAT_API void hashkit_free(hashkit_st *hash);
COMPAT_API uint32_t hashkit_digest(const hashkit_st *self, const char *key, size_t key_length);
COMPAT_API hashkit_return_t hashkit_set_function(hashkit_st *self, hashkit_hash_algorithm_t algorithm);
COMPAT_API hashkit_return_t hashkit_set_distribution_function(hashkit_st *self, hashkit_hash_algorithm_t algorithm);
COMPAT_API hashkit_return_t hashkit_set_custom_function(hashkit_st *self, hashkit_hash_fn function, void *context);
COMPAT_API hashkit_return_t hashkit_set_custom_distribution_function(hashkit_st *self, hashkit_hash_fn function,
                                                                     void *context);
COMPAT_API hashkit_hash_algorithm_t hashkit_get_function(const hashkit_st *self);
COMPAT_API hashkit_hash_algorithm_t hashkit_get_distribution_function(const hashkit_st *self);
COMPAT_API const char *hashkit_strerror(hashkit_st *unused, hashkit_return_t rc);
/* There is no encryption: no key is accepted, and nothing is encrypted. */
COMPAT_API bool hashkit_key(hashkit_st *self, const char *key, const size_t key_length);
COMPAT_API hashkit_string_st *hashkit_encrypt(hashkit_st *self, const char *source, size_t source_length);
COMPAT_API hashkit_string_st *hashkit_decrypt(hashkit_st *self, const char *source, size_t source_length);
COMPAT_API void hashkit_string_free(hashkit_string_st *string);
COMPAT_API size_t hashkit_string_length(const hashkit_string_st *string);
COMPAT_API const char *hashkit_string_c_str(const hashkit_string_st *string);

/* ---- digest.c: the hashes by number and by name */
COMPAT_API uint32_t libhashkit_digest(const char *key, size_t key_length, hashkit_hash_algorithm_t algorithm);
COMPAT_API bool libhashkit_has_algorithm(hashkit_hash_algorithm_t algorithm);
COMPAT_API const char *libhashkit_string_hash(hashkit_hash_algorithm_t algorithm);
COMPAT_API uint32_t libhashkit_one_at_a_time(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_fnv1_64(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_fnv1a_64(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_fnv1_32(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_fnv1a_32(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_crc32(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_hsieh(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_murmur(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_murmur3(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_jenkins(const char *key, size_t key_length);
COMPAT_API uint32_t libhashkit_md5(const char *key, size_t key_length);
COMPAT_API void libhashkit_md5_signature(const unsigned char *key, size_t length, unsigned char *result);

#endif
