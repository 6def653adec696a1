/* SPDX-License-Identifier: Apache-2.0
 * ring.c - which server a key belongs to: ketama, as libmemcached computes it with weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "client/mc.h"
#include "client/md5.h"

#define DEFAULT_PORT 11211
#define POINTS_PER_SERVER 160u
#define POINTS_PER_DIGEST 4u

static int compare(const void *a, const void *b)
{
    const ring_point_t *left = a, *right = b;
    return left->value < right->value ? -1 : left->value > right->value;
}

/* Digests that a server of this weight gets; its points are four times as many. The type float is part of the agreement. */
static unsigned digests_of(const vmc_t *mc, const mc_server_t *server, unsigned total)
{
    float share = (float)server->weight / (float)total;
    float points = share * (float)POINTS_PER_SERVER / (float)POINTS_PER_DIGEST * (float)mc->server_count;
    return (unsigned)floorf((float)((double)points + 0.0000000001));
}

static void add_points(vmc_t *mc, unsigned number, unsigned digests)
{
    const mc_server_t *server = &mc->servers[number];
    char name[512];
    uint8_t digest[16];
    for (unsigned i = 0; i < digests; i++) {
        int length = server->port == DEFAULT_PORT
                         ? snprintf(name, sizeof(name), "%s-%u", server->host, i)
                         : snprintf(name, sizeof(name), "%s:%d-%u", server->host, server->port, i);
        md5(name, (size_t)length, digest);
        for (unsigned j = 0; j < POINTS_PER_DIGEST; j++)
            mc->ring[mc->ring_count++] = (ring_point_t){.value = le_get_u32(digest + 4 * j), .server = number};
    }
}

bool ring_build(vmc_t *mc)
{
    unsigned total = 0;
    if (mc->server_count == 1)
        return true;
    for (unsigned i = 0; i < mc->server_count; i++)
        total += mc->servers[i].weight;
    size_t most = 0;
    for (unsigned i = 0; i < mc->server_count; i++)
        most += digests_of(mc, &mc->servers[i], total) * POINTS_PER_DIGEST;
    mc->ring = calloc(most + 1, sizeof(*mc->ring));
    if (mc->ring == NULL)
        return false;
    for (unsigned i = 0; i < mc->server_count; i++)
        add_points(mc, i, digests_of(mc, &mc->servers[i], total));
    qsort(mc->ring, mc->ring_count, sizeof(*mc->ring), compare);
    return true;
}

mc_server_t *ring_find(const vmc_t *mc, const char *key, size_t length)
{
    uint8_t digest[16];
    unsigned low = 0, high = mc->ring_count;
    if (mc->ring == NULL || mc->ring_count == 0)
        return &mc->servers[0];
    md5(key, length, digest);
    uint32_t value = le_get_u32(digest);
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (mc->ring[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return &mc->servers[mc->ring[low == mc->ring_count ? 0 : low].server];
}
