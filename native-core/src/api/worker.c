/* SPDX-License-Identifier: Apache-2.0
 * worker.c - public worker calls. */
#include <stdlib.h>

#include "api/api_private.h"
#include "base/os.h"
#include "fast/fast.h"

static vbn_status_t open_engines(vbn_worker_t *worker)
{
    vbn_context_t *context = worker->context;
    const vbn_config_t *config = &context->config;
    proto_params_t proto = {.settings = &config->settings,
                            .log = &config->log,
                            .counters = worker->counters,
                            .memory = context->memory,
                            .host = &context->host,
                            .measures = config->settings.proto_cost_file[0] == '\0',
                            .short_max = FAST_DATA_MAX};
    link_params_t link = {.settings = &config->settings,
                          .log = &config->log,
                          .counters = worker->counters,
                          .memory = context->memory,
                          .job_key = config->has_key ? config->job_key : NULL};
    vbn_status_t status = proto_engine_open(&proto, &worker->proto);
    if (status < 0)
        return status;
    proto_link_upcalls(worker->proto, &link);
    link.upcalls.fast = &fast_lane;
    status = link_engine_open(&link, &worker->link);
    if (status < 0) {
        proto_engine_close(worker->proto);
        return status;
    }
    proto_attach(worker->proto, worker->link);
    return VBN_OK;
}

static void count_worker(vbn_context_t *context, int by)
{
    pthread_mutex_lock(&context->lock);
    context->workers = (unsigned)((int)context->workers + by);
    pthread_mutex_unlock(&context->lock);
}

vbn_status_t vbn_worker_create(vbn_context_t *context, vbn_worker_t **worker_p)
{
    if (context == NULL || worker_p == NULL)
        return err_set(VBN_ERR_INVALID, "a worker needs a context (vbn_open)");
    if (os_fork_generation() != context->fork_generation)
        return err_set(VBN_ERR_FORKED, "the context belongs to the parent process; open one after fork()");
    vbn_worker_t *worker = calloc(1, sizeof(*worker));
    if (worker == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a worker");
    worker->context = context;
    worker->counters = stats_row(context->stats);
    vbn_status_t status = open_engines(worker);
    if (status < 0) {
        stats_row_release(context->stats, worker->counters);
        free(worker);
        return status;
    }
    count_worker(context, 1);
    *worker_p = worker;
    return VBN_OK;
}

void vbn_worker_destroy(vbn_worker_t *worker)
{
    if (worker == NULL || os_fork_generation() != worker->context->fork_generation)
        return;
    link_engine_close(worker->link);
    proto_engine_close(worker->proto);
    stats_row_release(worker->context->stats, worker->counters);
    count_worker(worker->context, -1);
    free(worker);
}

unsigned vbn_progress(vbn_worker_t *worker)
{
    API_BY_ONE_THREAD(worker->proto);
    return link_engine_progress(worker->link) + proto_progress(worker->proto);
}

vbn_status_t vbn_arm(vbn_worker_t *worker)
{
    API_BY_ONE_THREAD(worker->proto);
    return proto_busy(worker->proto) ? VBN_BUSY : link_engine_arm(worker->link);
}

int vbn_event_fd(const vbn_worker_t *worker)
{
    return link_engine_fd(worker->link);
}

void vbn_worker_wake(vbn_worker_t *worker)
{
    link_engine_wake(worker->link);
}

vbn_status_t vbn_worker_address(vbn_worker_t *worker, void *blob, size_t *length_p)
{
    API_BY_ONE_THREAD(worker == NULL ? NULL : worker->proto);
    if (worker == NULL || blob == NULL || length_p == NULL)
        return err_set(VBN_ERR_INVALID, "an address needs a worker and a buffer of VBN_ADDRESS_MAX bytes");
    return link_engine_address(worker->link, blob, length_p);
}

size_t vbn_worker_transports(const vbn_worker_t *worker, char *text, size_t capacity)
{
    if (capacity > 0)
        text[0] = '\0';
    return worker == NULL ? 0 : link_engine_transports(worker->link, text, capacity);
}

void vbn_worker_set_peer_lost(vbn_worker_t *worker, vbn_peer_error_func_t func, void *arg)
{
    if (worker != NULL)
        link_engine_set_peer_lost(worker->link, func, arg);
}
