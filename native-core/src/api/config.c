/* SPDX-License-Identifier: Apache-2.0
 * config.c - public configuration calls. */
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "base/settings_table.h"

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
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        config->chosen[i] = getenv(setting_rows[i].env) != NULL;
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
    size_t index = 0;
    vbn_status_t status = settings_index(key, &index);
    if (status == VBN_OK)
        status = settings_set(&config->settings, key, value);
    if (status == VBN_OK)
        config->chosen[index] = true;
    return status;
}

vbn_status_t vbn_config_prefer(vbn_config_t *config, const char *key, const char *value)
{
    if (config == NULL || key == NULL || value == NULL)
        return err_set(VBN_ERR_INVALID, "a setting needs a configuration, a key and a value");
    size_t index = 0;
    vbn_status_t status = settings_index(key, &index);
    return status < 0 || config->chosen[index] ? status : settings_set(&config->settings, key, value);
}

vbn_status_t vbn_config_get(const vbn_config_t *config, const char *key, char *text, size_t capacity, int64_t *number_p)
{
    if (config == NULL || key == NULL || (text == NULL) != (capacity == 0))
        return err_set(VBN_ERR_INVALID,
                       "reading a setting needs a configuration, a key, and a text with its capacity or neither");
    return settings_read(&config->settings, key, text, capacity, number_p);
}

vbn_status_t vbn_setting_at(size_t index, vbn_setting_info_t *info)
{
    static const char *const types[] = {
        [SETTING_TYPE_BOOL] = "bool", [SETTING_TYPE_INT] = "int",   [SETTING_TYPE_SIZE] = "size",
        [SETTING_TYPE_TIME] = "time", [SETTING_TYPE_ENUM] = "enum", [SETTING_TYPE_STRING] = "string"};
    if (info == NULL || index >= SETTINGS_COUNT)
        return err_set(VBN_ERR_INVALID, "there are %d settings, numbered from 0, and a place for the answer is needed",
                       SETTINGS_COUNT);
    const setting_row_t *row = &setting_rows[index];
    *info = (vbn_setting_info_t){row->key, row->env, types[row->type], row->default_text, row->values, row->help};
    return VBN_OK;
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
