/* SPDX-License-Identifier: Apache-2.0
 * stats_view.c - reads another process's statistics page; trusts nothing that stands in it. */
#include "base/stats_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

#define COUNTERS_MAX 4096u
#define ROWS_MAX 4096u
#define TRAFFIC_MAX 64u /* ways, classes, buckets */

/* The lengths of a header fit its file; 64-bit sums cannot wrap with these limits. */
static bool header_fits(const stats_header_t *header, uint64_t file_bytes)
{
    if (memcmp(header->magic, STATS_MAGIC, sizeof(header->magic)) != 0)
        return false;
    if (header->counters == 0 || header->counters > COUNTERS_MAX || header->rows == 0 || header->rows > ROWS_MAX ||
        header->row_bytes % sizeof(uint64_t) != 0 || header->names_bytes % sizeof(uint64_t) != 0 ||
        header->row_bytes < header->counters * sizeof(uint64_t))
        return false;
    if (header->ways > TRAFFIC_MAX || header->classes > TRAFFIC_MAX || header->buckets > TRAFFIC_MAX ||
        header->traffic_offset % sizeof(uint64_t) != 0)
        return false;
    uint64_t cells = (uint64_t)header->ways * header->classes * header->buckets;
    if (header->traffic_offset + cells * sizeof(stats_cell_t) > header->row_bytes)
        return false;
    return sizeof(*header) + (uint64_t)header->names_bytes + (uint64_t)header->rows * header->row_bytes <= file_bytes;
}

static vbn_status_t read_header(int fd, const char *path, stats_view_t *view)
{
    struct stat info;
    uint64_t bytes;
    if (fstat(fd, &info) < 0)
        return err_sys(errno, "fstat of %s", path);
    if (os_sealed_bytes(fd, &bytes) != VBN_OK)
        return err_set(VBN_ERR_STALE, "%s is not read: its process can shorten it", path);
    ssize_t got = pread(fd, &view->header, sizeof(view->header), 0);
    if (got < 0)
        return err_sys(errno, "reading %s", path);
    if ((size_t)got < sizeof(view->header) || bytes > STATS_BYTES_MAX || !header_fits(&view->header, bytes))
        return err_set(VBN_ERR_CORRUPT, "%s is not a statistics page of this version", path);
    view->bytes = (size_t)bytes;
    view->inode = (uint64_t)info.st_ino;
    view->device = (uint64_t)info.st_dev;
    return VBN_OK;
}

/* Names reach terminals and JSON: what would change these is replaced. */
static void make_plain(char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != '\0' && (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\'))
            text[i] = '?';
}

/* Every name ends within the copy, and is found without a search. */
static vbn_status_t copy_names(stats_view_t *view)
{
    const stats_header_t *h = &view->header;
    size_t count = (size_t)h->counters + h->ways + h->classes;
    view->names = malloc((size_t)h->names_bytes + 1);
    view->name = calloc(count, sizeof(*view->name));
    if (view->names == NULL || view->name == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for the names of a statistics page");
    memcpy(view->names, view->memory + sizeof(*h), h->names_bytes);
    view->names[h->names_bytes] = '\0';
    make_plain(view->names, h->names_bytes);
    const char *at = view->names, *end = at + h->names_bytes;
    for (size_t i = 0; i < count && at < end; at += strlen(at) + 1)
        view->name[i++] = at;
    return VBN_OK;
}

static vbn_status_t map_view(int fd, const char *path, stats_view_t *view)
{
    vbn_status_t status = read_header(fd, path, view);
    if (status != VBN_OK)
        return status;
    void *memory = mmap(NULL, view->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return err_sys(errno, "cannot map %s", path);
    view->memory = memory;
    return copy_names(view);
}

vbn_status_t stats_view_open(const char *path, stats_view_t *view)
{
    memset(view, 0, sizeof(*view));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(errno, "cannot open %s", path);
    vbn_status_t status = map_view(fd, path, view);
    close(fd);
    if (status != VBN_OK)
        stats_view_close(view);
    return status;
}

void stats_view_close(stats_view_t *view)
{
    if (view->memory != NULL)
        munmap(view->memory, view->bytes);
    free(view->names);
    free(view->name);
    view->memory = view->names = NULL;
    view->name = NULL;
}

/* Rows that may have something; the others have no pages, and reading them would allocate some. */
static uint32_t used_rows(const stats_view_t *view)
{
    const char *at = view->memory + offsetof(stats_header_t, used_rows);
    uint32_t used = atomic_load_explicit((const _Atomic uint32_t *)(const void *)at, memory_order_relaxed);
    return used == 0 || used > view->header.rows ? view->header.rows : used;
}

/* Sum over the rows of the value at this offset of each. */
static uint64_t sum_at(const stats_view_t *view, size_t offset)
{
    uint64_t sum = 0;
    const char *rows = view->memory + sizeof(stats_header_t) + view->header.names_bytes;
    for (uint32_t row = 0, used = used_rows(view); row < used; row++) {
        const void *value = rows + (size_t)row * view->header.row_bytes + offset;
        /* Relaxed: the owner counts on meanwhile, each value is right by itself. */
        sum += atomic_load_explicit((const _Atomic uint64_t *)value, memory_order_relaxed);
    }
    return sum;
}

uint64_t stats_view_sum(const stats_view_t *view, uint32_t index)
{
    return index < view->header.counters ? sum_at(view, index * sizeof(uint64_t)) : 0;
}

stats_cell_t stats_view_cell(const stats_view_t *view, uint32_t way, uint32_t class_index, uint32_t bucket)
{
    const stats_header_t *h = &view->header;
    if (way >= h->ways || class_index >= h->classes || bucket >= h->buckets)
        return (stats_cell_t){0};
    size_t cell = ((size_t)way * h->classes + class_index) * h->buckets + bucket;
    size_t at = h->traffic_offset + cell * sizeof(stats_cell_t);
    return (stats_cell_t){.operations = sum_at(view, at),
                          .bytes = sum_at(view, at + 8),
                          .timed = sum_at(view, at + 16),
                          .ns = sum_at(view, at + 24)};
}

uint64_t stats_view_bucket_bytes(const stats_view_t *view, uint32_t bucket)
{
    return bucket + 1 < view->header.buckets && bucket < 29 ? UINT64_C(64) << (2 * bucket) : UINT64_MAX;
}

const char *stats_view_name(const stats_view_t *view, uint32_t index)
{
    return index < view->header.counters ? view->name[index] : NULL;
}

const char *stats_view_way(const stats_view_t *view, uint32_t way)
{
    return way < view->header.ways ? view->name[view->header.counters + way] : NULL;
}

const char *stats_view_class(const stats_view_t *view, uint32_t class_index)
{
    return class_index < view->header.classes ? view->name[view->header.counters + view->header.ways + class_index]
                                              : NULL;
}
