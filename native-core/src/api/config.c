/* SPDX-License-Identifier: Apache-2.0
 * config.c - public configuration calls. */
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"

extern char **environ;

vbn_status_t vbn_config_create(vbn_config_t **config_p)
{
    if (config_p == NULL)
        return err_set(VBN_ERR_INVALID, "no place for the configuration given");
    vbn_config_t *config = calloc(1, sizeof(*config));
    if (config == NULL)
        return err_set(VBN_ERR_NO_MEMORY, "no memory for a configuration");
    settings_defaults(&config->settings);
    vbn_status_t status = settings_from_env(&config->settings, environ, config->foreign, sizeof(config->foreign));
    if (status < 0) {
        free(config);
        return status;
    }
    *config_p = config;
    return VBN_OK;
}

void vbn_config_destroy(vbn_config_t *config)
{
    if (config == NULL)
        return;
    explicit_bzero(config->job_key, sizeof(config->job_key));
    free(config);
}

vbn_status_t vbn_config_set(vbn_config_t *config, const char *key, const char *value)
{
    if (config == NULL || key == NULL || value == NULL)
        return err_set(VBN_ERR_INVALID, "a setting needs a configuration, a key and a value");
    return settings_set(&config->settings, key, value);
}

vbn_status_t vbn_config_set_job_key(vbn_config_t *config, const uint8_t key[VBN_JOB_KEY_BYTES])
{
    if (config == NULL || key == NULL)
        return err_set(VBN_ERR_INVALID, "a job key needs a configuration and %d bytes", VBN_JOB_KEY_BYTES);
    memcpy(config->job_key, key, VBN_JOB_KEY_BYTES);
    config->has_key = true;
    return VBN_OK;
}

void vbn_config_set_log(vbn_config_t *config, vbn_log_func_t func, void *arg)
{
    if (config == NULL)
        return;
    config->log.func = func;
    config->log.arg = arg;
}
