/* SPDX-License-Identifier: Apache-2.0
 * hashes.h - the hash functions, as hashkit_hash_fn. Part of the agreement of all clients of a server. */
#ifndef MC_COMPAT_HASHES_H
#define MC_COMPAT_HASHES_H

#include <stddef.h>
#include <stdint.h>

uint32_t hash_one_at_a_time(const char *key, size_t length, void *context);
uint32_t hash_md5(const char *key, size_t length, void *context);
uint32_t hash_crc32(const char *key, size_t length, void *context);
uint32_t hash_fnv1_64(const char *key, size_t length, void *context);
uint32_t hash_fnv1a_64(const char *key, size_t length, void *context);
uint32_t hash_fnv1_32(const char *key, size_t length, void *context);
uint32_t hash_fnv1a_32(const char *key, size_t length, void *context);
uint32_t hash_murmur(const char *key, size_t length, void *context);
uint32_t hash_murmur3(const char *key, size_t length, void *context);
uint32_t hash_jenkins(const char *key, size_t length, void *context);

#endif
