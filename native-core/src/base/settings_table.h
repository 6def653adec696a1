/* SPDX-License-Identifier: Apache-2.0
 * settings_table.h - one row per setting, as generated from config/settings.yaml. Private to base. */
#ifndef VBN_BASE_SETTINGS_TABLE_H
#define VBN_BASE_SETTINGS_TABLE_H

#include <stddef.h>

#include "base/settings.h"

typedef enum setting_type {
    SETTING_TYPE_BOOL,
    SETTING_TYPE_INT,
    SETTING_TYPE_SIZE,
    SETTING_TYPE_TIME,
    SETTING_TYPE_ENUM,
    SETTING_TYPE_STRING
} setting_type_t;

typedef struct setting_row {
    const char *key; /* "tl.tcp.port" */
    const char *env; /* "VBN_TL_TCP_PORT" */
    setting_type_t type;
    size_t offset; /* of the field in settings_t */
    const char *default_text;
    int64_t min; /* in base units: bytes, nanoseconds */
    int64_t max;
    const char *const *values; /* of an enum, ends with NULL */
    const char *help;
} setting_row_t;

extern const setting_row_t setting_rows[SETTINGS_COUNT];

#endif
