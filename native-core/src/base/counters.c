/* SPDX-License-Identifier: Apache-2.0
 * counters.c - the statistics page.
 *
 *   page:  header (64 bytes) | row 0 | row 1 | ... | row 63      a row: COUNTER_COUNT values, padded to cache lines
 *
 * I1 a row's values only grow, also over several owners: a released row keeps its values, the next owner counts on.
 *    So the sum over all rows is right at any time.
 * I2 rows 0..62 have one owner at a time; row 63 is shared by all workers beyond, whose counts may then be low. */
#include "base/counters.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"

#define STATS_MAGIC "VBNSTAT1"
#define STATS_PATH_BYTES 512

typedef struct stats_header {
    char magic[8];
    uint32_t counters; /* values of a row */
    uint32_t rows;
    uint32_t row_bytes;
    uint32_t pid;
    uint64_t host_id;
    uint64_t opened_ns; /* os_now_ns */
    uint8_t reserved[24];
} stats_header_t;

static_assert(sizeof(stats_header_t) == CACHE_LINE, "the header is one cache line");

#define ROW_BYTES ((sizeof(counters_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)
#define PAGE_BYTES (sizeof(stats_header_t) + STATS_ROWS * ROW_BYTES)

struct stats_page {
    char *memory;                /* mapped, PAGE_BYTES */
    pthread_mutex_t lock;        /* guards owners */
    uint32_t owners[STATS_ROWS]; /* of each row */
    char path[STATS_PATH_BYTES]; /* "" = private */
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
    return (counters_t *)(void *)(page->memory + sizeof(stats_header_t) + index * ROW_BYTES);
}

static vbn_status_t map_private(stats_page_t *page)
{
    void *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_sys(errno, "no memory for the statistics page");
    page->memory = memory;
    return VBN_OK;
}

static vbn_status_t map_file(stats_page_t *page, const char *dir)
{
    void *memory = NULL;
    int fd = -1;
    int length = snprintf(page->path, sizeof(page->path), "%s/stats-%016" PRIx64, dir, os_random_u64());
    if (length < 0 || (size_t)length >= sizeof(page->path))
        return err_set(VBN_ERR_SETTING, "stats.dir is longer than %d bytes", STATS_PATH_BYTES - 32);
    vbn_status_t status = os_create_file(page->path, PAGE_BYTES, &fd);
    if (status < 0)
        return err_add(status, "statistics page; set stats.dir to a directory on tmpfs, or to nothing");
    status = os_map(fd, PAGE_BYTES, true, &memory);
    close(fd);
    if (status < 0)
        unlink(page->path);
    page->memory = memory;
    return status;
}

vbn_status_t stats_open(const char *dir, stats_page_t **page_p)
{
    stats_page_t *page = calloc(1, sizeof(*page));
    if (page == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for the statistics page");
    vbn_status_t status = dir == NULL || dir[0] == '\0' ? map_private(page) : map_file(page, dir);
    if (status < 0) {
        free(page);
        return status;
    }
    stats_header_t header = {.counters = COUNTER_COUNT,
                             .rows = STATS_ROWS,
                             .row_bytes = ROW_BYTES,
                             .pid = (uint32_t)getpid(),
                             .host_id = os_host_id(),
                             .opened_ns = os_now_ns()};
    memcpy(header.magic, STATS_MAGIC, sizeof(header.magic));
    memcpy(page->memory, &header, sizeof(header));
    pthread_mutex_init(&page->lock, NULL);
    *page_p = page;
    return VBN_OK;
}

void stats_close(stats_page_t *page)
{
    if (page == NULL)
        return;
    if (page->path[0] != '\0')
        unlink(page->path);
    os_unmap(page->memory, PAGE_BYTES);
    pthread_mutex_destroy(&page->lock);
    free(page);
}

counters_t *stats_row(stats_page_t *page)
{
    unsigned index = 0;
    pthread_mutex_lock(&page->lock);
    while (index < STATS_ROWS - 1 && page->owners[index] > 0)
        index++;
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
    for (unsigned i = 0; i < STATS_ROWS; i++)
        sum += atomic_get_relaxed(&row_at(page, i)->values[id]);
    return sum;
}
