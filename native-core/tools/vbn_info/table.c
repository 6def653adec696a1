/* SPDX-License-Identifier: Apache-2.0
 * table.c - all settings: what docs/settings.md lists, and the values that the environment gives them here. */
#include <stdio.h>
#include <string.h>

#include "base/settings_table.h"
#include "info.h"

static const char *const TYPES[] = {"bool", "int", "size", "time", "enum", "string"};

/* What may be given, in the words of the table; "" where anything of the type may. */
static void allowed(const setting_row_t *row, char *text, size_t capacity)
{
    text[0] = '\0';
    if (row->type == SETTING_TYPE_ENUM)
        for (size_t i = 0, used = 0; row->values[i] != NULL && used < capacity; i++)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", i > 0 ? ", " : "", row->values[i]);
    else
        settings_bounds(row, text, capacity);
}

static void print_json(report_t *report, const setting_row_t *row, const char *value, const char *range)
{
    const struct {
        const char *name;
        const char *text;
    } FIELDS[] = {{"key", row->key}, {"env", row->env}, {"type", TYPES[row->type]}, {"default", row->default_text},
                  {"value", value},  {"range", range},  {"help", row->help}};
    json_next(report);
    for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++) {
        printf("%s\"%s\": ", i > 0 ? ", " : "{", FIELDS[i].name);
        json_string(FIELDS[i].text);
    }
    printf("}");
}

void print_settings(report_t *report, const here_t *here)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting_row_t *row = &setting_rows[i];
        char value[SETTING_STRING_BYTES] = "";
        char range[256];
        (void)settings_get(&here->settings, row->key, value, sizeof(value));
        allowed(row, range, sizeof(range));
        if (report->json) {
            print_json(report, row, value, range);
            continue;
        }
        bool chosen = !settings_is_default(&here->settings, row->key);
        printf("%s = %s%s%s\n", row->key, value[0] != '\0' ? value : "(empty)", chosen ? "  # default: " : "",
               !chosen                        ? ""
               : row->default_text[0] != '\0' ? row->default_text
                                              : "(empty)");
        printf("    %s; %s%s%s\n    %s\n", row->env, TYPES[row->type], range[0] != '\0' ? ": " : "", range, row->help);
    }
}
