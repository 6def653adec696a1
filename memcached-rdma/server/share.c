/* SPDX-License-Identifier: Apache-2.0
 * share.c - read buffers and bounds of memory, which the clients of a thread share; its waking for events. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "server/conn.h"

static uint64_t read_limit(const worker_t *worker)
{
    const settings_t *settings = &worker->server->settings;
    return ((uint64_t)settings->read_buffers_mb << 20) / settings->threads;
}

/* A buffer more, or one less. */
static void count_buffers(worker_t *worker, uint64_t number, uint64_t bytes)
{
    count(&worker->read_count, number);
    count(&worker->read_bytes, bytes);
}

/* One buffer is always allowed: a turn of any connection needs it. */
static bool is_allowed(worker_t *worker, size_t bytes)
{
    uint64_t limit = read_limit(worker), all = atomic_get_relaxed(&worker->read_bytes);
    if (limit == 0 || all == 0 || all + bytes <= limit)
        return true;
    count(&worker->counters.read_buf_oom, 1);
    return false;
}

char *buffer_get(worker_t *worker, size_t bytes)
{
    char *buffer = bytes == CONN_BUFFER ? worker->buffers : NULL;
    if (buffer != NULL) {
        memcpy(&worker->buffers, buffer, sizeof(char *));
        count(&worker->read_spare, (uint64_t)0 - CONN_BUFFER);
        return buffer;
    }
    buffer = is_allowed(worker, bytes) ? malloc(bytes) : NULL;
    if (buffer != NULL)
        count_buffers(worker, 1, bytes);
    return buffer;
}

void buffer_put(worker_t *worker, char *buffer, size_t bytes)
{
    if (bytes != CONN_BUFFER) {
        count_buffers(worker, (uint64_t)-1, (uint64_t)0 - bytes);
        free(buffer);
        return;
    }
    memcpy(buffer, &worker->buffers, sizeof(char *));
    worker->buffers = buffer;
    count(&worker->read_spare, CONN_BUFFER);
}

void buffers_trim(worker_t *worker, unsigned kept)
{
    while (atomic_get_relaxed(&worker->read_spare) > kept * CONN_BUFFER) {
        char *buffer = buffer_get(worker, CONN_BUFFER);
        count_buffers(worker, (uint64_t)-1, (uint64_t)0 - CONN_BUFFER);
        free(buffer);
    }
}

uint64_t worker_share(const worker_t *worker)
{
    const server_t *server = worker->server;
    uint64_t share = atomic_get_relaxed(&server->memory_limit) / HELD_SHARE / server->settings.threads;
    uint64_t least = 2 * (uint64_t)server->settings.item_max;
    return share > least ? share : least;
}

void worker_tell(worker_t *worker)
{
    if (!atomic_exchange_explicit(&worker->events, true, memory_order_acq_rel)) /* pairs with tell_watchers */
        (void)eventfd_write(worker->wake, 1);
}
