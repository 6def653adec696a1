/* SPDX-License-Identifier: Apache-2.0
 * vmc_changed.c - a client for mcnative that keeps one value for each key, and changes it from the ROUND-th get on (vmc_open's
 * configuration is that number). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbena/mc.h"

#define KEYS 1000
#define MOST 256

struct vmc {
    char values[KEYS][MOST];
    unsigned long gets, round;
};

vmc_t *vmc_open(const char *config, const char **error_p)
{
    vmc_t *mc = calloc(1, sizeof(*mc));
    *error_p = "no memory";
    if (mc != NULL)
        mc->round = strtoul(config, NULL, 10);
    return mc;
}

void vmc_close(vmc_t *mc)
{
    free(mc);
}

static char *place(vmc_t *mc, const char *key)
{
    return mc->values[strtoul(strchr(key, ':') + 1, NULL, 10) % KEYS];
}

vmc_status_t vmc_set(vmc_t *mc, const char *key, size_t key_length, const void *value, size_t length, int32_t exptime,
                     uint32_t flags)
{
    (void)key_length, (void)exptime, (void)flags;
    memcpy(place(mc, key), value, length < MOST ? length : MOST);
    return VMC_OK;
}

vmc_status_t vmc_get(vmc_t *mc, const char *key, size_t key_length, void *buffer, size_t capacity, vmc_value_t *value)
{
    (void)key_length, (void)capacity;
    memcpy(buffer, place(mc, key), MOST);
    if (++mc->gets >= mc->round)
        ((char *)buffer)[99]++;
    value->length = 100;
    return VMC_OK;
}

size_t vmc_explain(vmc_t *mc, const char *key, size_t key_length, char *text, size_t capacity)
{
    (void)mc, (void)key, (void)key_length;
    return (size_t)snprintf(text, capacity, "in this process");
}

void vmc_get_counts(const vmc_t *mc, vmc_counts_t *counts)
{
    memset(counts, 0, sizeof(*counts));
    counts->messages = mc->gets;
}
