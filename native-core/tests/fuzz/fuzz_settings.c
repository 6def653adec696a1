/* SPDX-License-Identifier: Apache-2.0
 * fuzz_settings.c - names and values of settings. First byte: a row of the table whose name is taken, 254: the input is
 * an environment, one entry a line, else the name is in the input, up to '='. */
#include "balance.h"
#include "base/settings.h"
#include "base/settings_table.h"

#define TEXT_MAX 600u

/* What was set prints as a text that sets the same; what was refused left no trace. */
static void set(const char *key, const char *value)
{
    static settings_t before;
    static settings_t after;
    char text[SETTING_STRING_BYTES];
    settings_defaults(&before);
    memcpy(&after, &before, sizeof(after));
    vbn_status_t status = settings_set(&after, key, value);
    if (status != VBN_OK) {
        require(status == VBN_ERR_SETTING && memcmp(&before, &after, sizeof(after)) == 0);
        require(strlen(vbn_error_text()) > 0);
        return;
    }
    require(settings_get(&after, key, text, sizeof(text)) == VBN_OK);
    require(settings_set(&before, key, text) == VBN_OK);
    require(memcmp(&before, &after, sizeof(after)) == 0);
}

static void from_environment(char *text)
{
    static settings_t settings;
    char *entries[17];
    unsigned count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && count < 16; line = strtok_r(NULL, "\n", &rest))
        entries[count++] = line;
    entries[count] = NULL;
    settings_defaults(&settings);
    char foreign[40];
    vbn_status_t status = settings_from_env(&settings, entries, foreign, sizeof(foreign));
    require(status == VBN_OK || status == VBN_ERR_SETTING);
    require(strnlen(foreign, sizeof(foreign)) < sizeof(foreign));
}

static void run(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX];
    if (size == 0 || size > sizeof(text))
        return;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    char *equals = strchr(text, '=');
    if (data[0] == 254) {
        from_environment(text);
    } else if (data[0] < SETTINGS_COUNT) {
        set(setting_rows[data[0]].key, text);
    } else if (equals != NULL) {
        *equals = '\0';
        set(text, equals + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_balanced(run, data, size, false);
}
