/* SPDX-License-Identifier: Apache-2.0
 * context.c - contexts of the core: one in the process for each key, shared by handles; each handle has a worker of its own in it,
 * since handles belong to threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/os.h"
#include "client/mc.h"

typedef struct mc_context {
    struct mc_context *next;
    vbn_context_t *core;
    unsigned users;
    bool no_auth, devices;
    uint8_t key[VBN_JOB_KEY_BYTES];
} mc_context_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static mc_context_t *contexts;
static _Atomic uint64_t forks; /* os_fork_generation of the process that they belong to */

/* In a child of fork() the parent's contexts are left alone; another thread may have held the lock (C4). */
static void enter(void)
{
    uint64_t now = os_fork_generation(), before = atomic_load_explicit(&forks, memory_order_relaxed);
    bool child = before != now && atomic_compare_exchange_strong(&forks, &before, now);
    if (child) { /* it has one thread until it has made others, which takes longer than this */
        lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        contexts = NULL;
    }
    pthread_mutex_lock(&lock);
}

static mc_context_t *find(const uint8_t *key, bool no_auth, bool devices)
{
    for (mc_context_t *context = contexts; context != NULL; context = context->next)
        if (context->no_auth == no_auth && context->devices == devices &&
            (no_auth || memcmp(context->key, key, sizeof(context->key)) == 0))
            return context;
    return NULL;
}

/* As the server's: clients of any user who know the key, and small rings. Devices cost 12 MiB for each worker: only where the
 * server has some. */
static vbn_status_t configure(vbn_config_t *config, bool devices)
{
    static const struct preset {
        const char *key, *value;
    } presets[] = {{"security.same_user", "false"},
                   {"tl.shm.ring_slots", "32"},
                   {"tl.shm.chunks", "4"},
                   {"tl.shm.chunk_bytes", "4K"}};
    vbn_status_t status = VBN_OK;
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]) && status == VBN_OK; i++)
        status = vbn_config_prefer(config, presets[i].key, presets[i].value);
    if (status == VBN_OK && !devices)
        status = vbn_config_prefer(config, "tl.enable", "shm,tcp");
    return status;
}

static void no_log(void *arg, const vbn_log_record_t *record)
{
    (void)arg;
    (void)record; /* vmc_explain tells */
}

static mc_context_t *open_context(const uint8_t *key, bool no_auth, bool devices)
{
    vbn_config_t *config;
    mc_context_t *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return NULL;
    vbn_status_t status = vbn_config_create(&config);
    if (status != VBN_OK) {
        free(context);
        return NULL;
    }
    *context = (mc_context_t){.next = contexts, .no_auth = no_auth, .devices = devices};
    if (!no_auth)
        memcpy(context->key, key, sizeof(context->key));
    vbn_config_set_log(config, no_log, NULL);
    status = configure(config, devices);
    if (status == VBN_OK)
        status = no_auth ? vbn_config_set(config, "security.auth", "none") : vbn_config_set_job_key(config, key);
    if (status == VBN_OK)
        status = vbn_open(config, &context->core);
    vbn_config_destroy(config);
    if (status == VBN_OK)
        return contexts = context;
    free(context);
    return NULL;
}

static void leave_context(mc_context_t *context)
{
    if (--context->users > 0)
        return;
    mc_context_t **at = &contexts;
    while (*at != NULL && *at != context)
        at = &(*at)->next;
    if (*at != NULL)
        *at = context->next;
    (void)vbn_close(context->core);
    explicit_bzero(context->key, sizeof(context->key));
    free(context);
}

net_t *net_get(vmc_t *mc, const uint8_t key[VBN_JOB_KEY_BYTES], bool no_auth, bool devices)
{
    enter();
    mc_context_t *context = find(key, no_auth, devices);
    list_for_each(link, &mc->nets) {
        net_t *net = container_of(link, net_t, link);
        if (context != NULL && net->context == context) {
            pthread_mutex_unlock(&lock);
            return net;
        }
    }
    net_t *net = calloc(1, sizeof(*net));
    if (context == NULL && net != NULL)
        context = open_context(key, no_auth, devices);
    if (net != NULL && context != NULL && vbn_worker_create(context->core, &net->worker) == VBN_OK) {
        context->users++;
        net->context = context;
        net->mc = mc;
        list_append(&mc->nets, &net->link);
        message_listen(net);
    } else {
        if (context != NULL && context->users == 0) {
            context->users = 1;
            leave_context(context);
        }
        free(net);
        net = NULL;
    }
    pthread_mutex_unlock(&lock);
    return net;
}

void net_close(net_t *net)
{
    vbn_worker_destroy(net->worker);
    enter();
    leave_context(net->context);
    pthread_mutex_unlock(&lock);
    list_remove(&net->link);
    free(net);
}
