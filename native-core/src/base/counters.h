/* SPDX-License-Identifier: Apache-2.0
 * counters.h - the statistics page of a context, in shared memory that vbn-top and others of the same user can read
 * (stats_format.h): 64-bit counters named from one table (counters.def), and the traffic, i.e. operations issued, their
 * bytes and times by transport, class and size. Bumping one is a relaxed load, add and store by the owning worker
 * thread; several workers of a context own separate rows that readers sum. */
#ifndef VBN_BASE_COUNTERS_H
#define VBN_BASE_COUNTERS_H

#include "base/atomics.h"
#include "base/status.h"

typedef enum counter_id {
#define COUNTER(id, name, help) COUNTER_##id,
#include "base/counters.def"
#undef COUNTER
    COUNTER_COUNT
} counter_id_t;

typedef enum traffic_way {
#define TRAFFIC_WAY(id, name) TRAFFIC_##id,
#include "base/traffic.def"
    TRAFFIC_WAYS
} traffic_way_t;

typedef enum traffic_class {
#define TRAFFIC_CLASS(id, name) TRAFFIC_##id,
#include "base/traffic.def"
    TRAFFIC_CLASSES
} traffic_class_t;

#define TRAFFIC_BUCKETS 10u /* up to 64, 256, 1024, ... bytes; the last one has no end */

typedef struct traffic_cell {
    _Atomic uint64_t operations; /* issued without an error */
    _Atomic uint64_t bytes;
    _Atomic uint64_t timed; /* one of about 256 operations, from the call to its completion */
    _Atomic uint64_t ns;    /* of the timed ones */
} traffic_cell_t;

/* One worker's row. */
typedef struct counters {
    _Atomic uint64_t values[COUNTER_COUNT];
    traffic_cell_t traffic[TRAFFIC_WAYS][TRAFFIC_CLASSES][TRAFFIC_BUCKETS];
} counters_t;

static inline void counter_add(counters_t *row, counter_id_t id, uint64_t n)
{
    atomic_set_relaxed(&row->values[id], atomic_get_relaxed(&row->values[id]) + n);
}

static inline unsigned traffic_bucket(uint64_t bytes)
{
    if (bytes <= 64)
        return 0;
    unsigned bucket = (unsigned)(64 - __builtin_clzll(bytes - 1) - 5) / 2;
    return bucket < TRAFFIC_BUCKETS ? bucket : TRAFFIC_BUCKETS - 1;
}

/* Where a way's cells begin, in bytes from the first one: what the short paths need instead of a multiplication. */
#define TRAFFIC_AT(way) ((uint32_t)((way) * sizeof(((counters_t *)0)->traffic[0])))

static inline traffic_cell_t *traffic_cell(counters_t *row, uint32_t at, traffic_class_t class, unsigned bucket)
{
    return (traffic_cell_t *)(void *)((char *)row->traffic + at) + (unsigned)class * TRAFFIC_BUCKETS + bucket;
}

/* Returns how many operations the cell has now. */
static inline uint64_t traffic_count(traffic_cell_t *cell, uint64_t bytes)
{
    uint64_t operations = atomic_get_relaxed(&cell->operations) + 1;
    atomic_set_relaxed(&cell->operations, operations);
    atomic_set_relaxed(&cell->bytes, atomic_get_relaxed(&cell->bytes) + bytes);
    return operations;
}

static inline void traffic_time(traffic_cell_t *cell, uint64_t ns)
{
    atomic_set_relaxed(&cell->timed, atomic_get_relaxed(&cell->timed) + 1);
    atomic_set_relaxed(&cell->ns, atomic_get_relaxed(&cell->ns) + ns);
}

#define STATS_ROWS 32 /* workers with a row of their own; later ones share the last */

typedef struct stats_page stats_page_t;
/* Falls back to private memory where memfd_create is refused. */
vbn_status_t stats_open(stats_page_t **page_p);
void stats_close(stats_page_t *page);
counters_t *
stats_row(stats_page_t *page); /* a free row; where there is no memory for one, a row that others use, too */
void stats_row_release(stats_page_t *page, counters_t *row); /* its values are kept in the sum */
uint64_t stats_sum(stats_page_t *page, counter_id_t id);
const char *counter_name(counter_id_t id);

#endif
