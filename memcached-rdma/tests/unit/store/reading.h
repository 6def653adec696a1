/* SPDX-License-Identifier: Apache-2.0
 * reading.h - a reader for tests in C++, which cannot include the store's atomics. */
#ifndef MC_TESTS_READING_H
#define MC_TESTS_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READING_HIT, READING_ASK, READING_TRUNCATED, READING_DEAD };

typedef struct reading reading_t;
typedef const char *(*reading_map_t)(void *arg, uint32_t memory, const uint8_t *key, size_t key_bytes, size_t *bytes_p);

/* NULL: the page was refused. */
reading_t *reading_open(const void *page, size_t bytes, reading_map_t map, void *arg);
int reading_get(reading_t *reading, const char *key, size_t length, void *buffer, size_t capacity, size_t *bytes_p,
                uint32_t *flags_p, uint64_t *cas_p);
/* Whether the last item that was read is one whose reading the server is to be told of. */
bool reading_uncounted(const reading_t *reading);
void reading_close(reading_t *reading);

#endif
