/* SPDX-License-Identifier: Apache-2.0
 * ranges.h - which bytes of a memory have been committed: sorted ranges that do not touch. Its owner locks. */
#ifndef VBN_MEM_RANGES_H
#define VBN_MEM_RANGES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mem_range {
    size_t start, end;
} mem_range_t;

typedef struct mem_ranges {
    mem_range_t *all; /* NULL: none */
    size_t count, capacity;
} mem_ranges_t;

/* Bytes of [start, end) that no range covers. */
size_t mem_ranges_missing(const mem_ranges_t *ranges, size_t start, size_t end);
/* Without memory for one more range nothing is added: what is asked about later is then too much, never too little. */
void mem_ranges_add(mem_ranges_t *ranges, size_t start, size_t end);
/* Without memory for one more range what lies behind `end` is taken out, too. */
void mem_ranges_remove(mem_ranges_t *ranges, size_t start, size_t end);
void mem_ranges_clear(mem_ranges_t *ranges);

#endif
