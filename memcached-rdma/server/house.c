/* SPDX-License-Identifier: Apache-2.0
 * house.c - the thread that keeps the store in order: what has expired or was flushed goes, and what a lower limit leaves no place
 * for. Nobody waits for it; it holds a lock for a step, and pauses between two. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/server.h"

#define TICK_MS 1000 /* when there is nothing to do */
#define PAUSE_MS 1   /* between steps: who waits for a shard's lock gets it */

static void tick(server_t *server)
{
    store_tick(server->store);
    bool look = server->settings.idle_s > 0 || server->settings.tls;
    for (unsigned i = 0; look && i < server->worker_count; i++)
        worker_look(&server->workers[i]);
}

static void *main_of(void *arg)
{
    server_t *server = arg;
    struct pollfd stop = {.fd = server->house_stop, .events = POLLIN};
    uint32_t ticked = store_now(server->store);
    bool more = false;
    while (poll(&stop, 1, more ? PAUSE_MS : TICK_MS) <= 0) {
        uint32_t now = store_now(server->store);
        if (now != ticked)
            tick(server);
        ticked = now;
        more = store_step(server->store);
    }
    return NULL;
}

bool house_start(server_t *server)
{
    server->house_stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = server->house_stop < 0 ? errno : pthread_create(&server->house, NULL, main_of, server);
    if (error != 0)
        log_line(server, 0, "the thread that drops expired items cannot be started: %s; see ulimit -u",
                 strerror(error));
    else
        (void)pthread_setname_np(server->house, "mc-house"); /* as top -H shows it */
    return error == 0;
}

void house_stop(server_t *server)
{
    (void)eventfd_write(server->house_stop, 1);
    (void)pthread_join(server->house, NULL);
    (void)close(server->house_stop);
}
