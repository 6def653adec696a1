/* SPDX-License-Identifier: Apache-2.0
 * hashes.c - hashes that take a key byte by byte. A byte is a `char`, as in libhashkit: where that is signed, bytes above 127 are
 * negative numbers, and this is part of where such a key lies. */
#include "compat/hashkit/hashes.h"

#include "base/endian.h"
#include "client/md5.h"

#define FNV32_START 0x811c9dc5u
#define FNV32_PRIME 0x01000193u
#define FNV64_START UINT64_C(0xcbf29ce484222325)
#define FNV64_PRIME UINT64_C(0x100000001b3)
#define CRC32_POLYNOMIAL 0xedb88320u

static uint32_t word_of(char byte)
{
    int32_t word = byte;
    return (uint32_t)word;
}

uint32_t hash_one_at_a_time(const char *key, size_t length, void *context)
{
    uint32_t hash = 0;
    (void)context;
    for (size_t i = 0; i < length; i++) {
        hash += word_of(key[i]);
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash + (hash << 15);
}

uint32_t hash_md5(const char *key, size_t length, void *context)
{
    uint8_t digest[16];
    (void)context;
    md5(key, length, digest);
    return le_get_u32(digest);
}

/* Bit by bit: keys are short. Clients use 15 bits of the sum. */
uint32_t hash_crc32(const char *key, size_t length, void *context)
{
    uint32_t crc = UINT32_MAX;
    (void)context;
    for (size_t i = 0; i < length; i++) {
        crc ^= (uint8_t)key[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? CRC32_POLYNOMIAL : 0);
    }
    return (~crc >> 16) & 0x7fff;
}

uint32_t hash_fnv1_64(const char *key, size_t length, void *context)
{
    uint64_t hash = FNV64_START;
    (void)context;
    for (size_t i = 0; i < length; i++)
        hash = (hash * FNV64_PRIME) ^ (uint64_t)key[i];
    return (uint32_t)hash;
}

/* libhashkit keeps only 32 bits between the steps. */
uint32_t hash_fnv1a_64(const char *key, size_t length, void *context)
{
    uint32_t hash = (uint32_t)FNV64_START;
    (void)context;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ word_of(key[i])) * (uint32_t)FNV64_PRIME;
    return hash;
}

uint32_t hash_fnv1_32(const char *key, size_t length, void *context)
{
    uint32_t hash = FNV32_START;
    (void)context;
    for (size_t i = 0; i < length; i++)
        hash = (hash * FNV32_PRIME) ^ word_of(key[i]);
    return hash;
}

uint32_t hash_fnv1a_32(const char *key, size_t length, void *context)
{
    uint32_t hash = FNV32_START;
    (void)context;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ word_of(key[i])) * FNV32_PRIME;
    return hash;
}
