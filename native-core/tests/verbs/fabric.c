/* SPDX-License-Identifier: Apache-2.0
 * fabric.c - the scripted libibverbs: put in place, taken out again, made to fail. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_private.h"
#include "tl/verbs/verbs_cm.h"

fabric_script_t fabric_script;
fabric_counts_t fabric_counts;
map_t fabric_qps, fabric_mrs;

static verbs_api_t api;
static bool dead[FABRIC_DEVICES];
static uint32_t last_number = 16;
static uint64_t random_state;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int fabric_enter(void)
{
    return pthread_mutex_lock(&lock);
}

void fabric_leave(const int *entered)
{
    (void)entered;
    (void)pthread_mutex_unlock(&lock);
}

static uint64_t fabric_random(void)
{
    uint64_t x = (random_state += UINT64_C(0x9e3779b97f4a7c15)) + fabric_script.seed;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

bool fabric_lucky(unsigned ppm)
{
    return ppm > 0 && fabric_random() % 1000000 < ppm;
}

void *fabric_make(size_t bytes, uint64_t *count)
{
    void *object = calloc(1, bytes);
    if (object == NULL)
        abort();
    (*count)++;
    return object;
}

uint32_t fabric_next_number(void)
{
    return ++last_number;
}

bool fabric_is_dead(unsigned device)
{
    return dead[device];
}

static void tell(unsigned device, enum ibv_event_type type)
{
    FABRIC_GUARD;
    for (unsigned i = 0; i < FABRIC_CONTEXTS; i++)
        if (fabric_contexts[i] != NULL && fabric_contexts[i]->device == device)
            fabric_add_event(fabric_contexts[i], (struct ibv_async_event){.event_type = type});
}

static void fail_qps(unsigned device, bool connections_only, enum ibv_wc_status status)
{
    for (unsigned i = 0; i < FABRIC_CONTEXTS; i++) {
        const fabric_context_t *context = fabric_contexts[i];
        if (context == NULL || context->device != device)
            continue;
        list_for_each(link, &context->qps) {
            fabric_qp_t *qp = container_of(link, fabric_qp_t, link);
            if (!connections_only || qp->qp.qp_base.qp_type == IBV_QPT_RC)
                fabric_fail_qp(qp, status);
        }
    }
}

void fabric_kill_device(unsigned device)
{
    FABRIC_GUARD;
    dead[device] = true;
    fail_qps(device, false, IBV_WC_FATAL_ERR);
    tell(device, IBV_EVENT_DEVICE_FATAL);
}

void fabric_event(unsigned device, unsigned type)
{
    tell(device, (enum ibv_event_type)type);
}

void fabric_port_event(unsigned device, bool up)
{
    tell(device, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void fabric_forget_connections(void)
{
    FABRIC_GUARD;
    size_t cursor = 0;
    for (fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        if (qp->qp.qp_base.qp_type == IBV_QPT_RC)
            qp->dest = 0;
}

void fabric_break_all_connections(unsigned status)
{
    FABRIC_GUARD;
    for (unsigned i = 0; i < FABRIC_DEVICES; i++)
        fail_qps(i, true, (enum ibv_wc_status)status);
}

unsigned fabric_connections_with(uint64_t bytes)
{
    FABRIC_GUARD;
    size_t cursor = 0;
    unsigned count = 0;
    for (const fabric_qp_t *qp; (qp = map_next(&fabric_qps, &cursor, NULL)) != NULL;)
        count += qp->qp.qp_base.qp_type == IBV_QPT_RC && qp->bytes >= bytes;
    return count;
}

void fabric_install(unsigned count)
{
    memset(&fabric_script, 0, sizeof(fabric_script));
    memset(&fabric_counts, 0, sizeof(fabric_counts));
    memset(dead, 0, sizeof(dead));
    fabric_script.inline_max = 128;
    random_state = 0;
    fabric_device_reset(count);
    fabric_ah_reset();
    map_init(&fabric_qps);
    map_init(&fabric_mrs);
    fabric_device_calls(&api);
    fabric_object_calls(&api);
    fabric_qp_calls(&api);
    fabric_ah_calls(&api);
    api.attach_group = fabric_attach_group;
    api.detach_group = fabric_detach_group;
    verbs_api_replace(&api);
    verbs_cm_replace(&fabric_cm);
}

void fabric_remove(void)
{
    verbs_api_replace(NULL);
    verbs_cm_replace(NULL);
    map_free(&fabric_qps);
    map_free(&fabric_mrs);
}
