/* SPDX-License-Identifier: Apache-2.0
 * singleton.c - a process that nobody launched: a job of one rank.
 */
#include "pmi/pmi.h"

#include <stdio.h>

static int put(pmi_t *pmi, const char *key, const char *value)
{
    (void)pmi, (void)key, (void)value;
    return 0;
}

static int get(pmi_t *pmi, const char *key, char *value, size_t capacity)
{
    (void)value, (void)capacity;
    snprintf(pmi->error, sizeof(pmi->error), "get %s: a job of one process has no launcher to ask", key);
    return -1;
}

static int has(pmi_t *pmi, const char *key)
{
    (void)pmi, (void)key;
    return 0;
}

static int fence_start(pmi_t *pmi)
{
    (void)pmi;
    return 0;
}

static int fence_test(pmi_t *pmi)
{
    (void)pmi;
    return 1;
}

static void end(pmi_t *pmi, int code)
{
    (void)pmi, (void)code;
}

static const pmi_ops_t ops = {put, get, has, fence_start, fence_test, end, fence_start};

int pmi_singleton_open(pmi_t *pmi)
{
    pmi->ops = &ops;
    pmi->size = 1;
    pmi->local_size = 1;
    pmi->universe = 1;
    pmi->value_max = 1024;
    snprintf(pmi->job, sizeof(pmi->job), "singleton");
    return 0;
}
