/* SPDX-License-Identifier: Apache-2.0
 * stats_view.c - reads another process's statistics page; trusts nothing that stands in it. */
#include "base/stats_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTERS_MAX 4096u
#define ROWS_MAX 4096u

/* The lengths of a header fit its file; 64-bit sums cannot wrap with these limits. */
static bool header_fits(const stats_header_t *header, uint64_t file_bytes)
{
    if (memcmp(header->magic, STATS_MAGIC, sizeof(header->magic)) != 0)
        return false;
    if (header->counters == 0 || header->counters > COUNTERS_MAX || header->rows == 0 || header->rows > ROWS_MAX ||
        header->row_bytes % sizeof(uint64_t) != 0 || header->names_bytes % sizeof(uint64_t) != 0 ||
        header->row_bytes < header->counters * sizeof(uint64_t))
        return false;
    return sizeof(*header) + (uint64_t)header->names_bytes + (uint64_t)header->rows * header->row_bytes <= file_bytes;
}

static vbn_status_t read_header(int fd, const char *path, stats_view_t *view)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return err_sys(errno, "fstat of %s", path);
    ssize_t got = pread(fd, &view->header, sizeof(view->header), 0);
    if (got < 0)
        return err_sys(errno, "reading %s", path);
    if ((size_t)got < sizeof(view->header) || info.st_size > (off_t)STATS_BYTES_MAX ||
        !header_fits(&view->header, (uint64_t)info.st_size))
        return err_set(VBN_ERR_CORRUPT, "%s is not a statistics page of this version", path);
    view->bytes = (size_t)info.st_size;
    view->inode = (uint64_t)info.st_ino;
    return VBN_OK;
}

vbn_status_t stats_view_open(const char *path, stats_view_t *view)
{
    memset(view, 0, sizeof(*view));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(errno, "cannot open %s", path);
    vbn_status_t status = read_header(fd, path, view);
    void *memory = MAP_FAILED;
    if (status == VBN_OK) {
        memory = mmap(NULL, view->bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            status = err_sys(errno, "cannot map %s", path);
    }
    close(fd);
    if (status == VBN_OK)
        view->memory = memory;
    return status;
}

void stats_view_close(stats_view_t *view)
{
    if (view->memory != NULL)
        munmap(view->memory, view->bytes);
    view->memory = NULL;
}

uint64_t stats_view_sum(const stats_view_t *view, uint32_t index)
{
    uint64_t sum = 0;
    if (index >= view->header.counters)
        return 0;
    const char *rows = view->memory + sizeof(stats_header_t) + view->header.names_bytes;
    for (uint32_t row = 0; row < view->header.rows; row++) {
        const void *value = rows + (size_t)row * view->header.row_bytes + index * sizeof(uint64_t);
        /* Relaxed: the owner counts on meanwhile, each value is right by itself. */
        sum += atomic_load_explicit((const _Atomic uint64_t *)value, memory_order_relaxed);
    }
    return sum;
}

const char *stats_view_name(const stats_view_t *view, uint32_t index)
{
    const char *at = view->memory + sizeof(stats_header_t);
    const char *end = at + view->header.names_bytes;
    if (index >= view->header.counters)
        return NULL;
    for (uint32_t i = 0; at < end; i++) {
        const char *stop = memchr(at, 0, (size_t)(end - at));
        if (stop == NULL)
            return NULL;
        if (i == index)
            return at;
        at = stop + 1;
    }
    return NULL;
}
