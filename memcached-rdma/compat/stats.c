/* SPDX-License-Identifier: Apache-2.0
 * stats.c - statistics of servers, line by line and as memcached_stat_st. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

#define VALUE_BYTES 64u

/* A row of memcached_stat_st, in the order of memcached_stat_get_keys. */
typedef enum stat_kind { STAT_LONG, STAT_LONG_LONG, STAT_PID, STAT_VERSION, STAT_TIME } stat_kind_t;
typedef struct stat_row {
    const char *key;
    stat_kind_t kind;
    size_t at, micro_at; /* micro_at: of STAT_TIME, whose seconds are at `at` */
} stat_row_t;

#define LONG(name) {#name, STAT_LONG, offsetof(memcached_stat_st, name), 0}
#define LONG_LONG(name) {#name, STAT_LONG_LONG, offsetof(memcached_stat_st, name), 0}
#define TIME(name)                                                                                                     \
    {#name, STAT_TIME, offsetof(memcached_stat_st, name##_seconds), offsetof(memcached_stat_st, name##_microseconds)}

static const stat_row_t ROWS[] = {
    {"pid", STAT_PID, 0, 0},
    LONG(uptime),
    LONG(time),
    {"version", STAT_VERSION, 0, 0},
    LONG(pointer_size),
    TIME(rusage_user),
    TIME(rusage_system),
    LONG(curr_items),
    LONG(total_items),
    LONG_LONG(bytes),
    LONG(curr_connections),
    LONG(total_connections),
    LONG(connection_structures),
    LONG_LONG(cmd_get),
    LONG_LONG(cmd_set),
    LONG_LONG(get_hits),
    LONG_LONG(get_misses),
    LONG_LONG(evictions),
    LONG_LONG(bytes_read),
    LONG_LONG(bytes_written),
    LONG_LONG(limit_maxbytes),
    LONG(threads),
};
#define ROW_COUNT (sizeof(ROWS) / sizeof(ROWS[0]))

static const stat_row_t *row_of(const char *key)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(ROWS[i].key, key) == 0)
            return &ROWS[i];
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- asking */

typedef struct stat_walk {
    memcached_instance_st *server;
    memcached_stat_fn func;
    void *context;
    rc_t rc;
} stat_walk_t;

/* "STAT key value", up to END. Values end at their first blank, as in libmemcached. */
static bool take_stat(void *arg, char *text, size_t length)
{
    stat_walk_t *walk = arg;
    text[length] = '\0'; /* the end of the line was there */
    if (strncmp(text, "STAT ", 5) != 0) {
        if (strcmp(text, "ERROR") == 0)
            walk->rc = MEMCACHED_INVALID_ARGUMENTS;
        else if (strncmp(text, "SERVER_ERROR", 12) == 0)
            walk->rc = MEMCACHED_SERVER_ERROR;
        else if (strncmp(text, "CLIENT_ERROR", 12) == 0)
            walk->rc = MEMCACHED_CLIENT_ERROR;
        return false;
    }
    char *key = text + 5, *value = key + strcspn(key, " ");
    size_t key_length = (size_t)(value - key);
    if (*value == ' ')
        *value++ = '\0';
    value[strcspn(value, " ")] = '\0';
    (void)walk->func(walk->server, key, key_length, value, strlen(value), walk->context);
    return true;
}

static rc_t ask_server(memcached_instance_st *server, const char *args, memcached_stat_fn func, void *context)
{
    char command[MEMCACHED_MAX_KEY + 16];
    stat_walk_t walk = {.server = server, .func = func, .context = context};
    bool has_args = args != NULL && *args != '\0';
    if (snprintf(command, sizeof(command), "stats%s%s\r\n", has_args ? " " : "", has_args ? args : "") >=
        (int)sizeof(command))
        return fail(server->root, MEMCACHED_BAD_KEY_PROVIDED, "the arguments are too long");
    rc_t rc = command_ask(server, command, take_stat, &walk);
    if (rc == MEMCACHED_SUCCESS && walk.rc != MEMCACHED_SUCCESS)
        return fail_server(server, walk.rc, 0, "the server refuses the arguments");
    return rc;
}

/* No line breaks: the rest would be another command. */
static rc_t check_args(memcached_st *ptr, const char *args)
{
    for (; args != NULL && *args != '\0'; args++)
        if ((unsigned char)*args < ' ' || *args == 0x7f)
            return fail(ptr, MEMCACHED_BAD_KEY_PROVIDED, "the arguments have control characters");
    return MEMCACHED_SUCCESS;
}

rc_t memcached_stat_execute(memcached_st *ptr, const char *args, memcached_stat_fn func, void *context)
{
    rc_t sum = MEMCACHED_SUCCESS, rc = memcached_version(ptr);
    if (rc != MEMCACHED_SUCCESS && rc != MEMCACHED_SOME_ERRORS)
        return rc;
    rc = func == NULL ? fail(ptr, MEMCACHED_INVALID_ARGUMENTS, "there is no function") : check_args(ptr, args);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    pending_finish(ptr);
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        if (ask_server(&ptr->servers[i], args, func, context) != MEMCACHED_SUCCESS)
            sum = MEMCACHED_SOME_ERRORS;
    return sum;
}

/* --------------------------------------------------------------------------------------- memcached_stat_st */

/* memcached_stat_fn: fills the row of the key. */
static rc_t fill(const memcached_instance_st *server, const char *key, size_t key_length, const char *value,
                 size_t value_length, void *context)
{
    memcached_stat_st *stat = context;
    const stat_row_t *row = row_of(key);
    (void)server;
    (void)key_length;
    (void)value_length;
    if (row == NULL)
        return MEMCACHED_SUCCESS;
    char *at = (char *)stat + row->at;
    const char *dot = strchr(value, '.');
    switch (row->kind) {
    case STAT_PID: stat->pid = (pid_t)strtol(value, NULL, 10); break;
    case STAT_VERSION: (void)snprintf(stat->version, sizeof(stat->version), "%s", value); break;
    case STAT_LONG: *(unsigned long *)(void *)at = strtoul(value, NULL, 10); break;
    case STAT_LONG_LONG: *(unsigned long long *)(void *)at = strtoull(value, NULL, 10); break;
    case STAT_TIME:
        *(unsigned long *)(void *)at = strtoul(value, NULL, 10);
        *(unsigned long *)(void *)((char *)stat + row->micro_at) = dot == NULL ? 0 : strtoul(dot + 1, NULL, 10);
        break;
    }
    return MEMCACHED_SUCCESS;
}

memcached_stat_st *memcached_stat(memcached_st *ptr, char *args, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    *rc = call_begin(ptr);
    if (*rc == MEMCACHED_SUCCESS)
        *rc = check_args(ptr, args);
    if (*rc != MEMCACHED_SUCCESS)
        return NULL;
    memcached_stat_st *stats = ptr->allocators.calloc(ptr, ptr->number_of_hosts, sizeof(*stats),
                                                      ptr->allocators.context);
    if (stats == NULL) {
        *rc = fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL);
        return NULL;
    }
    pending_finish(ptr);
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++) {
        stats[i].pid = -1;
        stats[i].root = ptr;
        rc_t one = ask_server(&ptr->servers[i], args, fill, &stats[i]);
        if (one == MEMCACHED_INVALID_ARGUMENTS) {
            *rc = one;
            break;
        }
        if (one != MEMCACHED_SUCCESS)
            *rc = MEMCACHED_SOME_ERRORS;
    }
    return stats;
}

rc_t memcached_stat_servername(memcached_stat_st *stat, char *args, const char *hostname, in_port_t port)
{
    memcached_st ptr;
    memcached_stat_st unused;
    if (stat == NULL)
        stat = &unused;
    memset(stat, 0, sizeof(*stat));
    if (memcached_create(&ptr) == NULL)
        return MEMCACHED_MEMORY_ALLOCATION_FAILURE;
    rc_t rc = memcached_server_add(&ptr, hostname, port);
    if (rc == MEMCACHED_SUCCESS)
        rc = check_args(&ptr, args);
    if (rc == MEMCACHED_SUCCESS)
        rc = ask_server(&ptr.servers[0], args, fill, stat);
    memcached_free(&ptr);
    return rc;
}

char **memcached_stat_get_keys(memcached_st *ptr, memcached_stat_st *stat, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    (void)stat;
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (ptr == NULL)
        return NULL;
    const char **keys = memory_take(ptr, (ROW_COUNT + 1) * sizeof(char *));
    *rc = keys == NULL ? fail(ptr, MEMCACHED_MEMORY_ALLOCATION_FAILURE, NULL) : MEMCACHED_SUCCESS;
    for (size_t i = 0; keys != NULL && i <= ROW_COUNT; i++)
        keys[i] = i < ROW_COUNT ? ROWS[i].key : NULL;
    return (char **)(uintptr_t)keys; /* the program frees the list, not the keys */
}

static void write_value(const memcached_stat_st *stat, const stat_row_t *row, char *text)
{
    const char *at = (const char *)stat + row->at;
    switch (row->kind) {
    case STAT_PID: (void)snprintf(text, VALUE_BYTES, "%ld", (long)stat->pid); break;
    case STAT_VERSION: (void)snprintf(text, VALUE_BYTES, "%s", stat->version); break;
    case STAT_LONG: (void)snprintf(text, VALUE_BYTES, "%lu", *(const unsigned long *)(const void *)at); break;
    case STAT_LONG_LONG:
        (void)snprintf(text, VALUE_BYTES, "%llu", *(const unsigned long long *)(const void *)at);
        break;
    case STAT_TIME:
        (void)snprintf(text, VALUE_BYTES, "%lu.%lu", *(const unsigned long *)(const void *)at,
                       *(const unsigned long *)(const void *)((const char *)stat + row->micro_at));
        break;
    }
}

/* The const of the handle is libmemcached's. */
char *memcached_stat_get_value(const memcached_st *ptr, memcached_stat_st *stat, const char *key, rc_t *error)
{
    rc_t ignored, *rc = error == NULL ? &ignored : error;
    char text[VALUE_BYTES];
    *rc = MEMCACHED_INVALID_ARGUMENTS;
    if (stat == NULL || key == NULL)
        return NULL;
    const stat_row_t *row = row_of(key);
    if (row == NULL) {
        if (ptr != NULL)
            (void)fail((memcached_st *)(uintptr_t)ptr, MEMCACHED_INVALID_ARGUMENTS, "Invalid key provided");
        return NULL;
    }
    write_value(stat, row, text);
    char *value = strdup(text);
    *rc = value == NULL ? MEMCACHED_MEMORY_ALLOCATION_FAILURE : MEMCACHED_SUCCESS;
    return value;
}

void memcached_stat_free(const memcached_st *ptr, memcached_stat_st *stat)
{
    if (stat != NULL)
        memory_give(ptr != NULL ? ptr : stat->root, stat);
}
