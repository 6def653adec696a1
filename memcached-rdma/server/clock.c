/* SPDX-License-Identifier: Apache-2.0
 * clock.c - the store's clock: seconds since a little before the start, monotonic. Only a moment in Unix time that a client
 * gives is compared with the wall clock, at the time when it is given. */
#include <time.h>

#include "server/server.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static uint64_t coarse_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

void clock_start(server_t *server)
{
    server->started_ns = coarse_ns();
    server->started_unix = (int64_t)time(NULL) - STORE_CLOCK_START;
}

uint32_t clock_now(void *arg)
{
    const server_t *server = arg;
    return (uint32_t)((coarse_ns() - server->started_ns) / NS_PER_SECOND) + STORE_CLOCK_START;
}

uint32_t clock_uptime(const server_t *server)
{
    return (uint32_t)((coarse_ns() - server->started_ns) / NS_PER_SECOND);
}

uint32_t clock_expiry(const server_t *server, int32_t exptime)
{
    uint32_t now = store_now(server->store);
    if (exptime == 0)
        return 0;
    if (exptime < 0)
        return STORE_EXPIRED;
    if (exptime <= EXPTIME_RELATIVE_MAX)
        return now + (uint32_t)exptime;
    int64_t left = (int64_t)exptime - (int64_t)time(NULL);
    return left <= 0 ? STORE_EXPIRED : now + (uint32_t)left;
}

int64_t clock_unix(uint32_t second, uint32_t now)
{
    return (int64_t)time(NULL) + (int64_t)second - (int64_t)now;
}
