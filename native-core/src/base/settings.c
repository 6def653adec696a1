/* SPDX-License-Identifier: Apache-2.0
 * settings.c - one parser and printer for all rows of the generated settings table. */
#include "base/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/settings_table.h"

#define NAME_MAX_BYTES 63 /* longer names are not compared for a suggestion */
#define ENV_PREFIX "VBN_"

typedef struct unit {
    const char *suffix;
    int64_t factor;
} unit_t;

/* Largest first: the printer takes the first one that divides the value. */
static const unit_t size_units[] = {{"T", INT64_C(1) << 40},
                                    {"G", INT64_C(1) << 30},
                                    {"M", INT64_C(1) << 20},
                                    {"K", INT64_C(1) << 10},
                                    {"", 1},
                                    {NULL, 0}};
static const unit_t time_units[] = {
    {"min", INT64_C(60000000000)}, {"s", INT64_C(1000000000)}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {NULL, 0}};
static const unit_t int_units[] = {{"", 1}, {NULL, 0}};

static const unit_t *units_of(setting_type_t type)
{
    return type == SETTING_TYPE_SIZE ? size_units : type == SETTING_TYPE_TIME ? time_units : int_units;
}

static void *field_of(settings_t *settings, const setting_row_t *row)
{
    return (char *)settings + row->offset;
}

static const void *const_field_of(const settings_t *settings, const setting_row_t *row)
{
    return (const char *)settings + row->offset;
}

/* ------------------------------------------------------------------------------------------- suggestions */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein distance; SIZE_MAX for names too long to be a slip of the pen. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t costs[NAME_MAX_BYTES + 1];
    size_t length = strlen(b);
    if (length > NAME_MAX_BYTES || strnlen(a, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= length; j++)
        costs[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = costs[0];
        costs[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = costs[j];
            costs[j] = min3(replaced, costs[j] + 1, costs[j - 1] + 1);
        }
    }
    return costs[length];
}

static const char *key_name(size_t index)
{
    return setting_rows[index].key;
}

static const char *env_name(size_t index)
{
    return setting_rows[index].env;
}

/* The row whose name is the nearest, and how far that is. */
static size_t nearest_row(const char *name, const char *(*name_of)(size_t index), size_t *distance_p)
{
    size_t nearest = 0;
    *distance_p = SIZE_MAX;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        size_t distance = edit_distance(name, name_of(i));
        if (distance < *distance_p) {
            *distance_p = distance;
            nearest = i;
        }
    }
    return nearest;
}

static vbn_status_t unknown_name(const char *name, const char *(*name_of)(size_t index))
{
    size_t distance;
    size_t nearest = nearest_row(name, name_of, &distance);
    if (distance <= strlen(name) / 2)
        return err_set(VBN_ERR_SETTING, "unknown setting %.64s, did you mean %s?", name, name_of(nearest));
    return err_set(VBN_ERR_SETTING, "unknown setting %.64s; docs/settings.md lists all", name);
}

/* A variable that begins as ours do: a slip of the pen in one of ours, or somebody else's (VBN_HOME)? Ours begin with the
 * name of a group, as in VBN_TL_, or differ from a name by a letter in three at most. */
static bool resembles_setting(const char *name)
{
    const char *rest = name + strlen(ENV_PREFIX);
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *key = setting_rows[i].key;
        size_t group = strcspn(key, ".");
        if (strncasecmp(rest, key, group) == 0 && (rest[group] == '_' || rest[group] == '\0'))
            return true;
    }
    size_t distance;
    (void)nearest_row(name, env_name, &distance);
    return distance <= strlen(rest) / 3;
}

static const setting_row_t *find_row(const char *key)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        if (strcmp(setting_rows[i].key, key) == 0)
            return &setting_rows[i];
    return NULL;
}

/* --------------------------------------------------------------------------------------------- printing */

static void print_number(const setting_row_t *row, int64_t number, char *text, size_t capacity)
{
    const unit_t *unit = units_of(row->type);
    while (unit->factor > 1 && (number == 0 || number % unit->factor != 0))
        unit++;
    snprintf(text, capacity, "%" PRId64 "%s", number / unit->factor, number == 0 ? "" : unit->suffix);
}

void settings_bounds(const setting_row_t *row, char *text, size_t capacity)
{
    char low[32];
    char high[32];
    text[0] = '\0';
    if (row->type == SETTING_TYPE_BOOL || row->type >= SETTING_TYPE_ENUM || (row->max == INT64_MAX && row->min <= 0))
        return;
    print_number(row, row->min, low, sizeof(low));
    print_number(row, row->max, high, sizeof(high));
    snprintf(text, capacity, row->max == INT64_MAX ? "from %s up" : "from %s to %s", low, high);
}

static vbn_status_t bad_value(const setting_row_t *row, const char *value, const char *wanted)
{
    return err_set(VBN_ERR_SETTING, "%s=%.64s: %s", row->key, value, wanted);
}

/* ---------------------------------------------------------------------------------------------- parsing */

static vbn_status_t check_bounds(const setting_row_t *row, const char *value, int64_t number)
{
    char bounds[80];
    if (number >= row->min && number <= row->max)
        return VBN_OK;
    settings_bounds(row, bounds, sizeof(bounds));
    return err_set(VBN_ERR_SETTING, "%s=%.64s: must be %s", row->key, value, bounds);
}

static vbn_status_t bad_number(const setting_row_t *row, const char *value)
{
    if (row->type == SETTING_TYPE_SIZE)
        return bad_value(row, value, "must be a size in bytes such as 4096, 64K, 1M or 1G");
    if (row->type == SETTING_TYPE_TIME)
        return bad_value(row, value, "must be a time with a unit such as 20us, 10ms, 30s or 5min");
    return bad_value(row, value, "must be a whole number");
}

static vbn_status_t parse_number(const setting_row_t *row, const char *value, int64_t *number_p)
{
    char *end = NULL;
    int64_t number = 0;
    const char *digits = value[0] == '-' && row->type == SETTING_TYPE_INT ? value + 1 : value;
    if (digits[0] < '0' || digits[0] > '9')
        return bad_number(row, value);
    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno == ERANGE)
        return bad_number(row, value);
    const unit_t *unit = units_of(row->type);
    while (unit->suffix != NULL && strcmp(end, unit->suffix) != 0)
        unit++;
    bool bare_zero = number == 0 && *end == '\0';
    if (unit->suffix == NULL && !bare_zero)
        return bad_number(row, value);
    if (!bare_zero && __builtin_mul_overflow(number, unit->factor, &number))
        return bad_number(row, value);
    *number_p = number;
    return check_bounds(row, value, number);
}

static vbn_status_t set_number(const setting_row_t *row, const char *value, void *field)
{
    int64_t number = 0;
    vbn_status_t status = parse_number(row, value, &number);
    if (status < 0)
        return status;
    if (row->type == SETTING_TYPE_INT)
        *(int64_t *)field = number;
    else
        *(uint64_t *)field = (uint64_t)number;
    return VBN_OK;
}

static vbn_status_t set_bool(const setting_row_t *row, const char *value, void *field)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(value, words[i]) == 0) {
            *(bool *)field = i % 2 == 1;
            return VBN_OK;
        }
    }
    return bad_value(row, value, "must be true or false");
}

static vbn_status_t set_enum(const setting_row_t *row, const char *value, void *field)
{
    char wanted[256] = "must be one of";
    for (int i = 0; row->values[i] != NULL; i++) {
        if (strcmp(value, row->values[i]) == 0) {
            *(int *)field = i;
            return VBN_OK;
        }
        size_t used = strlen(wanted);
        snprintf(wanted + used, sizeof(wanted) - used, "%s %s", i == 0 ? "" : ",", row->values[i]);
    }
    return bad_value(row, value, wanted);
}

static vbn_status_t set_string(const setting_row_t *row, const char *value, void *field)
{
    size_t length = strnlen(value, SETTING_STRING_BYTES);
    if (length == SETTING_STRING_BYTES)
        return err_set(VBN_ERR_SETTING, "%s is longer than %d bytes", row->key, SETTING_STRING_BYTES - 1);
    memset(field, 0, SETTING_STRING_BYTES);
    memcpy(field, value, length);
    return VBN_OK;
}

static vbn_status_t set_row(settings_t *settings, const setting_row_t *row, const char *value)
{
    void *field = field_of(settings, row);
    switch (row->type) {
    case SETTING_TYPE_BOOL: return set_bool(row, value, field);
    case SETTING_TYPE_ENUM: return set_enum(row, value, field);
    case SETTING_TYPE_STRING: return set_string(row, value, field);
    case SETTING_TYPE_INT:
    case SETTING_TYPE_SIZE:
    case SETTING_TYPE_TIME: return set_number(row, value, field);
    }
    return err_set(VBN_ERR_INVALID, "%s has an unknown type", row->key);
}

/* ------------------------------------------------------------------------------------------------- API */

vbn_status_t settings_index(const char *key, size_t *index_p)
{
    const setting_row_t *row = find_row(key);
    if (row == NULL)
        return unknown_name(key, key_name);
    *index_p = (size_t)(row - setting_rows);
    return VBN_OK;
}

void settings_defaults(settings_t *settings)
{
    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        (void)set_row(settings, &setting_rows[i], setting_rows[i].default_text); /* checked by the generator */
}

vbn_status_t settings_set(settings_t *settings, const char *key, const char *value)
{
    if (key == NULL || value == NULL)
        return err_set(VBN_ERR_INVALID, "a setting needs a key and a value, not NULL");
    const setting_row_t *row = find_row(key);
    return row == NULL ? unknown_name(key, key_name) : set_row(settings, row, value);
}

/* Appends name to the list; "..." stands for what does not fit. */
static void list_foreign(char *list, size_t capacity, const char *name)
{
    static const char more[] = "...";
    size_t used = capacity > 0 ? strlen(list) : 0;
    if (capacity < sizeof(more) || (used >= strlen(more) && strcmp(list + used - strlen(more), more) == 0))
        return;
    const char *separator = used > 0 ? ", " : "";
    size_t wanted = used + strlen(separator) + strlen(name);
    bool fits = wanted + strlen(", ") + sizeof(more) <= capacity; /* so that there is always room for the dots */
    snprintf(list + used, capacity - used, "%s%s", separator, fits ? name : more);
}

static vbn_status_t set_from_env(settings_t *settings, const char *entry, char *foreign, size_t capacity)
{
    char name[256];
    const char *equals = strchr(entry, '=');
    if (equals == NULL)
        return VBN_OK;
    snprintf(name, sizeof(name), "%.*s", (int)(equals - entry < 255 ? equals - entry : 255), entry);
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (strcmp(setting_rows[i].env, name) != 0)
            continue;
        vbn_status_t status = set_row(settings, &setting_rows[i], equals + 1);
        return status < 0 ? err_add(status, "from the environment variable %s", name) : status;
    }
    if (resembles_setting(name))
        return err_add(unknown_name(name, env_name), "from the environment; unset it if it is not for Verbena");
    list_foreign(foreign, capacity, name);
    return VBN_OK;
}

vbn_status_t settings_from_env(settings_t *settings, char **environment, char *foreign, size_t capacity)
{
    settings_t changed = *settings; /* an error leaves the caller's values as they were */
    if (capacity > 0)
        foreign[0] = '\0';
    for (char **entry = environment; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
            continue;
        vbn_status_t status = set_from_env(&changed, *entry, foreign, capacity);
        if (status < 0)
            return status;
    }
    *settings = changed;
    return VBN_OK;
}

static void print_row(const settings_t *settings, const setting_row_t *row, char *text, size_t capacity)
{
    const void *field = const_field_of(settings, row);
    switch (row->type) {
    case SETTING_TYPE_BOOL: snprintf(text, capacity, "%s", *(const bool *)field ? "true" : "false"); break;
    case SETTING_TYPE_ENUM: snprintf(text, capacity, "%s", row->values[*(const int *)field]); break;
    case SETTING_TYPE_STRING: snprintf(text, capacity, "%s", (const char *)field); break;
    case SETTING_TYPE_INT: print_number(row, *(const int64_t *)field, text, capacity); break;
    case SETTING_TYPE_SIZE:
    case SETTING_TYPE_TIME: print_number(row, (int64_t)*(const uint64_t *)field, text, capacity); break;
    }
}

vbn_status_t settings_get(const settings_t *settings, const char *key, char *value, size_t capacity)
{
    char text[SETTING_STRING_BYTES] = "";
    if (key == NULL || value == NULL)
        return err_set(VBN_ERR_INVALID, "settings_get needs a key and a buffer");
    const setting_row_t *row = find_row(key);
    if (row == NULL)
        return unknown_name(key, key_name);
    print_row(settings, row, text, sizeof(text));
    if (strlen(text) >= capacity)
        return err_set(VBN_ERR_LIMIT, "the value of %s needs %zu byte%s, the buffer has %zu", key, strlen(text) + 1,
                       plural(strlen(text) + 1), capacity);
    memcpy(value, text, strlen(text) + 1);
    return VBN_OK;
}

bool settings_is_default(const settings_t *settings, const char *key)
{
    settings_t defaults;
    char now[SETTING_STRING_BYTES] = "";
    char then[SETTING_STRING_BYTES] = "";
    const setting_row_t *row = find_row(key);
    if (row == NULL)
        return false;
    settings_defaults(&defaults);
    print_row(settings, row, now, sizeof(now));
    print_row(&defaults, row, then, sizeof(then));
    return strcmp(now, then) == 0;
}

static vbn_status_t number_of(const settings_t *settings, const char *key, int64_t *number_p)
{
    if (key == NULL)
        return err_set(VBN_ERR_INVALID, "no setting is named");
    const setting_row_t *row = find_row(key);
    if (row == NULL)
        return unknown_name(key, key_name);
    const void *field = const_field_of(settings, row);
    switch (row->type) {
    case SETTING_TYPE_BOOL: *number_p = *(const bool *)field; return VBN_OK;
    case SETTING_TYPE_INT: *number_p = *(const int64_t *)field; return VBN_OK;
    case SETTING_TYPE_SIZE:
    case SETTING_TYPE_TIME: *number_p = (int64_t)*(const uint64_t *)field; return VBN_OK;
    case SETTING_TYPE_ENUM:
    case SETTING_TYPE_STRING: break;
    }
    return err_set(VBN_ERR_INVALID, "the value of %s is a text, not a number", key);
}

vbn_status_t settings_read(const settings_t *settings, const char *key, char *text, size_t capacity, int64_t *number_p)
{
    int64_t number = 0;
    vbn_status_t status = number_p == NULL ? VBN_OK : number_of(settings, key, &number);
    if (status == VBN_OK && text != NULL)
        status = settings_get(settings, key, text, capacity);
    if (status == VBN_OK && number_p != NULL)
        *number_p = number;
    return status;
}
