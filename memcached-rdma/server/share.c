/* SPDX-License-Identifier: Apache-2.0
 * share.c - read buffers and bounds of memory, which the clients of a thread share. */
#include <stdlib.h>
#include <string.h>

#include "server/conn.h"

char *buffer_get(worker_t *worker)
{
    char *buffer = worker->buffers;
    if (buffer == NULL)
        return malloc(CONN_BUFFER);
    memcpy(&worker->buffers, buffer, sizeof(char *));
    return buffer;
}

void buffer_put(worker_t *worker, char *buffer)
{
    memcpy(buffer, &worker->buffers, sizeof(char *));
    worker->buffers = buffer;
}

uint64_t worker_share(const worker_t *worker)
{
    const server_t *server = worker->server;
    uint64_t share = atomic_get_relaxed(&server->memory_limit) / HELD_SHARE / server->settings.threads;
    uint64_t least = 2 * (uint64_t)server->settings.item_max;
    return share > least ? share : least;
}
