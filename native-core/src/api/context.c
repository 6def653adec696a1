/* SPDX-License-Identifier: Apache-2.0
 * context.c - public context calls and counters. */
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "base/os.h"
#include "proto/measure.h"

static vbn_log_level_t log_level(const settings_t *settings)
{
    switch (settings->log_level) {
    case SETTING_LOG_LEVEL_ERROR: return VBN_LOG_ERROR;
    case SETTING_LOG_LEVEL_INFO: return VBN_LOG_INFO;
    case SETTING_LOG_LEVEL_DEBUG: return VBN_LOG_DEBUG;
    default: return VBN_LOG_WARN;
    }
}

static void free_context(vbn_context_t *context)
{
    if (context->counters != NULL)
        stats_row_release(context->stats, context->counters);
    if (context->stats != NULL)
        stats_close(context->stats);
    explicit_bzero(context->config.job_key, sizeof(context->config.job_key));
    pthread_mutex_destroy(&context->lock);
    free(context);
}

vbn_status_t vbn_open(const vbn_config_t *config, vbn_context_t **context_p)
{
    if (config == NULL || context_p == NULL)
        return err_set(VBN_ERR_INVALID, "a context needs a configuration (vbn_config_create)");
    if (!config->has_key && config->settings.security_auth != SETTING_SECURITY_AUTH_NONE)
        return err_set(VBN_ERR_SETTING,
                       "no job key: make one with vbn-info --new-key FILE and call vbn_config_read_job_key, or "
                       "vbn_config_set_job_key; or set security.auth=none where everybody on the network is trusted");
    vbn_context_t *context = calloc(1, sizeof(*context));
    if (context == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a context");
    context->config = *config;
    context->config.log.level = log_level(&config->settings);
    context->fork_generation = os_fork_generation();
    pthread_mutex_init(&context->lock, NULL);
    vbn_status_t status = stats_open(&context->stats);
    if (status >= 0) {
        context->counters = stats_row(context->stats);
        status = mem_registry_open(&context->config.log, context->counters, &context->memory);
    }
    if (status >= 0)
        mem_registry_configure(context->memory, &context->config.settings);
    if (status < 0) {
        free_context(context);
        return status;
    }
    if (config->foreign[0] != '\0')
        LOG_WARN(&context->config.log,
                 "no settings of Verbena, ignored: %s of the environment (docs/settings.md lists all)",
                 config->foreign);
    measure_load(&config->settings, &context->config.log, &context->host);
    *context_p = context;
    return VBN_OK;
}

vbn_status_t vbn_close(vbn_context_t *context)
{
    if (context == NULL)
        return VBN_OK;
    if (os_fork_generation() != context->fork_generation)
        return err_set(VBN_ERR_FORKED, "the context belongs to the parent process");
    pthread_mutex_lock(&context->lock);
    unsigned workers = context->workers;
    pthread_mutex_unlock(&context->lock);
    if (workers > 0)
        return err_set(VBN_ERR_INVALID, "the context still has %u worker%s: call vbn_worker_destroy first", workers,
                       plural(workers));
    vbn_status_t status = mem_registry_close(context->memory);
    if (status < 0)
        return status;
    free_context(context);
    return VBN_OK;
}

vbn_status_t vbn_setting(const vbn_context_t *context, const char *key, char *text, size_t capacity, int64_t *number_p)
{
    if (context == NULL || key == NULL || (text == NULL) != (capacity == 0))
        return err_set(VBN_ERR_INVALID,
                       "reading a setting needs a context, a key, and a text with its capacity or neither");
    return settings_read(&context->config.settings, key, text, capacity, number_p);
}

size_t vbn_counters(vbn_context_t *context, vbn_counter_t *counters, size_t capacity)
{
    if (context == NULL)
        return 0;
    for (size_t i = 0; i < COUNTER_COUNT && i < capacity; i++) {
        counters[i].name = counter_name((counter_id_t)i);
        counters[i].value = stats_sum(context->stats, (counter_id_t)i);
    }
    return COUNTER_COUNT;
}
