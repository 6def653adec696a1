/* SPDX-License-Identifier: Apache-2.0
 * counters.h - the statistics page: one fixed array of 64-bit counters per context, in shared memory that vbn_top and
 * others of the same user can read (stats_format.h), named from one table (counters.def). Bumping one is a relaxed load, add and store by the
 * owning worker thread; several workers of a context own separate rows that readers sum. */
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

/* One worker's row. */
typedef struct counters {
    _Atomic uint64_t values[COUNTER_COUNT];
} counters_t;

static inline void counter_add(counters_t *row, counter_id_t id, uint64_t n)
{
    atomic_set_relaxed(&row->values[id], atomic_get_relaxed(&row->values[id]) + n);
}

#define STATS_ROWS 64 /* workers with a row of their own; later ones share the last */

typedef struct stats_page stats_page_t;
/* Falls back to private memory where memfd_create is refused. */
vbn_status_t stats_open(stats_page_t **page_p);
void stats_close(stats_page_t *page);
counters_t *stats_row(stats_page_t *page); /* a free row */
void stats_row_release(stats_page_t *page, counters_t *row); /* its values are kept in the sum */
uint64_t stats_sum(stats_page_t *page, counter_id_t id);
const char *counter_name(counter_id_t id);

#endif
