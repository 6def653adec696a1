/* SPDX-License-Identifier: Apache-2.0
 * digest.c - the hashes by number and by name. libhashkit of Debian is built without hsieh, whose licence is another one: it
 * answers 1 by number, and 0 by name. */
#include "client/md5.h"
#include "compat/hashkit/hashes.h"
#include "compat/hashkit/hashkit.h"
#include "compat/hashkit/table.h"

const hash_row_t HASHES[HASHKIT_HASH_MAX] = {
    [HASHKIT_HASH_DEFAULT] = {"DEFAULT", hash_one_at_a_time},
    [HASHKIT_HASH_MD5] = {"MD5", hash_md5},
    [HASHKIT_HASH_CRC] = {"CRC", hash_crc32},
    [HASHKIT_HASH_FNV1_64] = {"FNV1_64", hash_fnv1_64},
    [HASHKIT_HASH_FNV1A_64] = {"FNV1A_64", hash_fnv1a_64},
    [HASHKIT_HASH_FNV1_32] = {"FNV1_32", hash_fnv1_32},
    [HASHKIT_HASH_FNV1A_32] = {"FNV1A_32", hash_fnv1a_32},
    [HASHKIT_HASH_HSIEH] = {"HSIEH", NULL},
    [HASHKIT_HASH_MURMUR] = {"MURMUR", hash_murmur},
    [HASHKIT_HASH_JENKINS] = {"JENKINS", hash_jenkins},
    [HASHKIT_HASH_MURMUR3] = {"MURMUR3", hash_murmur3},
    [HASHKIT_HASH_CUSTOM] = {"CUSTOM", NULL},
};

uint32_t libhashkit_digest(const char *key, size_t key_length, hashkit_hash_algorithm_t algorithm)
{
    if ((unsigned)algorithm >= HASHKIT_HASH_MAX || HASHES[algorithm].function == NULL)
        return 1;
    return HASHES[algorithm].function(key, key_length, NULL);
}

bool libhashkit_has_algorithm(hashkit_hash_algorithm_t algorithm)
{
    return (unsigned)algorithm < HASHKIT_HASH_MAX && algorithm != HASHKIT_HASH_HSIEH;
}

const char *libhashkit_string_hash(hashkit_hash_algorithm_t algorithm)
{
    return (unsigned)algorithm < HASHKIT_HASH_MAX ? HASHES[algorithm].name : "INVALID";
}

uint32_t libhashkit_one_at_a_time(const char *key, size_t key_length)
{
    return hash_one_at_a_time(key, key_length, NULL);
}

uint32_t libhashkit_fnv1_64(const char *key, size_t key_length)
{
    return hash_fnv1_64(key, key_length, NULL);
}

uint32_t libhashkit_fnv1a_64(const char *key, size_t key_length)
{
    return hash_fnv1a_64(key, key_length, NULL);
}

uint32_t libhashkit_fnv1_32(const char *key, size_t key_length)
{
    return hash_fnv1_32(key, key_length, NULL);
}

uint32_t libhashkit_fnv1a_32(const char *key, size_t key_length)
{
    return hash_fnv1a_32(key, key_length, NULL);
}

uint32_t libhashkit_crc32(const char *key, size_t key_length)
{
    return hash_crc32(key, key_length, NULL);
}

uint32_t libhashkit_hsieh(const char *key, size_t key_length)
{
    (void)key;
    (void)key_length;
    return 0;
}

uint32_t libhashkit_murmur(const char *key, size_t key_length)
{
    return hash_murmur(key, key_length, NULL);
}

uint32_t libhashkit_murmur3(const char *key, size_t key_length)
{
    return hash_murmur3(key, key_length, NULL);
}

uint32_t libhashkit_jenkins(const char *key, size_t key_length)
{
    return hash_jenkins(key, key_length, NULL);
}

uint32_t libhashkit_md5(const char *key, size_t key_length)
{
    return hash_md5(key, key_length, NULL);
}

void libhashkit_md5_signature(const unsigned char *key, size_t length, unsigned char *result)
{
    md5(key, length, result);
}
