/* SPDX-License-Identifier: Apache-2.0
 * stats_format.h - layout of the statistics page, and reading the page of another process.
 *
 *   header (64 bytes) | names, each ended by a 0 byte, padded to 64 | row 0 | row 1 | ...
 *
 * Names: of the counters, the ways (transports), the classes. A row: the counters, then from traffic_offset one cell of
 * four values (stats_cell_t) for each way, class and bucket of sizes, the bucket running fastest. Bucket i holds
 * operations of up to 64 * 4^i bytes, the last one all larger ones.
 *
 * The page is a memfd with the name below, kept open by its process: whoever may look into /proc/<pid>/fd (the same
 * user, or root) finds and maps it, and nothing stays behind when the process dies. The names travel with the values,
 * so that a reader of another version understands them. Native byte order: writer and reader share a host. */
#ifndef VBN_BASE_STATS_FORMAT_H
#define VBN_BASE_STATS_FORMAT_H

#include "base/status.h"

#define STATS_MEMFD_NAME "vbn-stats"
#define STATS_MAGIC "VBNSTAT3"
#define STATS_BYTES_MAX ((size_t)1 << 20) /* a reader maps no more than this */

typedef struct stats_header {
    char magic[8];
    uint32_t counters; /* values of a row */
    uint32_t rows;
    uint32_t row_bytes;
    uint32_t names_bytes; /* padded */
    uint64_t host_id;
    uint64_t opened_ns;      /* os_now_ns */
    uint32_t pid;            /* in its own namespace */
    uint32_t traffic_offset; /* in a row */
    uint16_t ways;
    uint16_t classes;
    uint16_t buckets;
    uint16_t reserved;
    uint32_t
        used_rows; /* given out so far, those behind are all 0 and have no pages; grows. 0 = the writer does not say */
    uint32_t reserved_end;
} stats_header_t;

typedef struct stats_cell {
    uint64_t operations;
    uint64_t bytes;
    uint64_t timed; /* operations that were timed, from the call to completion */
    uint64_t ns;    /* of the timed ones */
} stats_cell_t;

#ifndef __cplusplus
_Static_assert(sizeof(stats_header_t) == 64, "the header is one cache line");
#endif

typedef struct stats_view {
    stats_header_t header; /* checked copy */
    char *memory;          /* read-only mapping, header included */
    size_t bytes;
    char *names;       /* a copy: the process may write what it likes */
    const char **name; /* of the counters, the ways, the classes; NULL = the page ends before */
    uint64_t device;
    uint64_t inode; /* equal for a process and the children that inherited its page */
} stats_view_t;

/* Maps the page behind a path (/proc/<pid>/fd/<n>) after checking every length in it. VBN_ERR_CORRUPT when it is not
 * a statistics page, VBN_ERR_STALE when its process can shorten it, VBN_ERR_SYSTEM or VBN_ERR_ACCESS when it cannot be opened,
 * VBN_ERR_NO_MEMORY. Any thread. */
vbn_status_t stats_view_open(const char *path, stats_view_t *view);
void stats_view_close(stats_view_t *view);
/* Sum over the rows; 0 for an index beyond the header's. */
uint64_t stats_view_sum(const stats_view_t *view, uint32_t index);
/* Sum over the rows of one cell; all 0 for an index beyond the header's. */
stats_cell_t stats_view_cell(const stats_view_t *view, uint32_t way, uint32_t class_index, uint32_t bucket);
const char *stats_view_way(const stats_view_t *view, uint32_t way); /* as stats_view_name */
const char *stats_view_class(const stats_view_t *view, uint32_t class_index);
/* Most bytes of an operation in the bucket; UINT64_MAX for the last one. */
uint64_t stats_view_bucket_bytes(const stats_view_t *view, uint32_t bucket);
/* Name of a counter, printable ASCII without quotation marks and backslashes; NULL beyond the last. Valid until close. */
const char *stats_view_name(const stats_view_t *view, uint32_t index);

#endif
