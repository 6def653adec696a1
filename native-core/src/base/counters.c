/* SPDX-License-Identifier: Apache-2.0
 * counters.c - the statistics page of this process (layout: stats_format.h).
 *
 * I1 a row's values only grow, also over several owners: a released row keeps its values, the next owner counts on.
 *    So the sum over all rows is right at any time.
 * I2 all rows but the last that may be used have one owner at a time; that one is shared by all workers beyond, whose counts
 *    may then be low. It is the last of all, or of those for which there was memory.
 * I3 the pages of a row are allocated before the row is given out, so that counting never fails for want of memory. */
#include "base/counters.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "base/stats_format.h"

#define ROW_BYTES ((sizeof(counters_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)

/* All names, one after the other with their 0 bytes. */
static const char counter_text[] =
#define COUNTER(id, name, help) name "\0"
#include "base/counters.def"
#undef COUNTER
#define TRAFFIC_WAY(id, name) name "\0"
#include "base/traffic.def"
#define TRAFFIC_CLASS(id, name) name "\0"
#include "base/traffic.def"
    ;

#define NAMES_BYTES ((sizeof(counter_text) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)
#define ROWS_OFFSET (sizeof(stats_header_t) + NAMES_BYTES)
#define PAGE_BYTES (ROWS_OFFSET + STATS_ROWS * ROW_BYTES)

static_assert(PAGE_BYTES <= STATS_BYTES_MAX, "readers map the whole page");

struct stats_page {
    char *memory;                /* mapped, PAGE_BYTES */
    pthread_mutex_t lock;        /* guards owners and used */
    uint32_t used;               /* rows given out so far, at most */
    uint32_t owners[STATS_ROWS]; /* of each row */
    int fd;                      /* kept open so that others find the page; -1 = private memory */
};

static const char *const counter_names[COUNTER_COUNT] = {
#define COUNTER(id, name, help) [COUNTER_##id] = name,
#include "base/counters.def"
#undef COUNTER
};

const char *counter_name(counter_id_t id)
{
    return (unsigned)id < COUNTER_COUNT ? counter_names[id] : NULL;
}

static counters_t *row_at(const stats_page_t *page, unsigned index)
{
    return (counters_t *)(void *)(page->memory + ROWS_OFFSET + index * ROW_BYTES);
}

static vbn_status_t map_private(stats_page_t *page)
{
    void *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_sys(errno, "cannot map %zu bytes for the statistics page", (size_t)PAGE_BYTES);
    page->memory = memory;
    return VBN_OK;
}

/* Without memfd_create (old kernel, seccomp) the counters work all the same, only nobody outside sees them. */
static vbn_status_t map_page(stats_page_t *page)
{
    void *memory = NULL;
    if (os_memfd_begun(STATS_MEMFD_NAME, PAGE_BYTES, ROWS_OFFSET, &page->fd) < 0) {
        page->fd = -1;
        return map_private(page);
    }
    vbn_status_t status = os_map(page->fd, PAGE_BYTES, true, &memory);
    if (status < 0)
        close(page->fd);
    page->memory = memory;
    return status;
}

/* The next row gets its pages. Lock held, or nobody else knows the page. */
static bool use_row(stats_page_t *page)
{
    size_t offset = ROWS_OFFSET + page->used * ROW_BYTES;
    if (page->fd >= 0 && os_allocate(page->fd, "a row of the statistics page", offset, ROW_BYTES) != VBN_OK)
        return false;
    page->used++;
    char *used = page->memory + offsetof(stats_header_t, used_rows);
    atomic_set_relaxed((_Atomic uint32_t *)(void *)used, page->used);
    return true;
}

vbn_status_t stats_open(stats_page_t **page_p)
{
    stats_page_t *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for the statistics page");
    vbn_status_t status = map_page(page);
    if (status < 0) {
        free(page);
        return status;
    }
    stats_header_t header = {.counters = COUNTER_COUNT,
                             .rows = STATS_ROWS,
                             .row_bytes = ROW_BYTES,
                             .names_bytes = NAMES_BYTES,
                             .traffic_offset = offsetof(counters_t, traffic),
                             .ways = TRAFFIC_WAYS,
                             .classes = TRAFFIC_CLASSES,
                             .buckets = TRAFFIC_BUCKETS,
                             .pid = (uint32_t)getpid(),
                             .host_id = os_host_id(),
                             .opened_ns = os_now_ns()};
    memcpy(header.magic, STATS_MAGIC, sizeof(header.magic));
    memcpy(page->memory, &header, sizeof(header));
    memcpy(page->memory + sizeof(header), counter_text, sizeof(counter_text));
    pthread_mutex_init(&page->lock, NULL);
    if (!use_row(page)) {
        status = err_add(VBN_ERR_NO_MEMORY, "for the statistics page");
        stats_close(page);
        return status;
    }
    *page_p = page;
    return VBN_OK;
}

void stats_close(stats_page_t *page)
{
    if (page == NULL)
        return;
    if (page->fd >= 0)
        close(page->fd);
    os_unmap(page->memory, PAGE_BYTES);
    pthread_mutex_destroy(&page->lock);
    free(page);
}

counters_t *stats_row(stats_page_t *page)
{
    unsigned index = 0;
    pthread_mutex_lock(&page->lock);
    while (index < page->used && page->owners[index] > 0)
        index++;
    if (index == page->used && (index == STATS_ROWS || !use_row(page)))
        index--;
    page->owners[index]++;
    pthread_mutex_unlock(&page->lock);
    return row_at(page, index);
}

void stats_row_release(stats_page_t *page, counters_t *row)
{
    if (row == NULL)
        return;
    size_t index = (size_t)((char *)row - (char *)row_at(page, 0)) / ROW_BYTES;
    assert(index < STATS_ROWS);
    pthread_mutex_lock(&page->lock);
    assert(page->owners[index] > 0);
    page->owners[index]--;
    pthread_mutex_unlock(&page->lock);
}

uint64_t stats_sum(stats_page_t *page, counter_id_t id)
{
    uint64_t sum = 0;
    if ((unsigned)id >= COUNTER_COUNT)
        return 0;
    const char *at = page->memory + offsetof(stats_header_t, used_rows);
    uint32_t used = atomic_get_relaxed((const _Atomic uint32_t *)(const void *)at);
    for (unsigned i = 0; i < used; i++)
        sum += atomic_get_relaxed(&row_at(page, i)->values[id]);
    return sum;
}
