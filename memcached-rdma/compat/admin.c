/* SPDX-License-Identifier: Apache-2.0
 * admin.c - commands to all servers: flush_all, version, verbosity, dump of keys. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/compat.h"

#define SLAB_CLASSES 64u

/* The result of a line that is no item of an answer. */
static rc_t rc_of(const char *text)
{
    if (strncmp(text, "SERVER_ERROR", 12) == 0)
        return MEMCACHED_SERVER_ERROR;
    if (strncmp(text, "CLIENT_ERROR", 12) == 0)
        return MEMCACHED_CLIENT_ERROR;
    if (strncmp(text, "ERROR", 5) == 0)
        return MEMCACHED_ERROR;
    return MEMCACHED_SUCCESS;
}

/* The first line of an answer, as a text. */
typedef struct answer {
    char text[128];
} answer_t;

static bool take_answer(void *arg, char *text, size_t length)
{
    answer_t *answer = arg;
    (void)snprintf(answer->text, sizeof(answer->text), "%.*s", (int)length, text);
    return false;
}

static rc_t ask_one(memcached_instance_st *server, const char *command, answer_t *answer)
{
    rc_t rc = command_ask(server, command, take_answer, answer);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    rc = rc_of(answer->text);
    return rc == MEMCACHED_SUCCESS ? rc : fail_server(server, rc, 0, answer->text);
}

static rc_t ask_all(memcached_st *ptr, const char *command)
{
    rc_t rc = MEMCACHED_SUCCESS;
    answer_t answer;
    pending_finish(ptr);
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        if (ask_one(&ptr->servers[i], command, &answer) != MEMCACHED_SUCCESS)
            rc = MEMCACHED_SOME_ERRORS;
    return rc;
}

rc_t memcached_flush(memcached_st *ptr, time_t expiration)
{
    char command[64];
    rc_t rc = call_begin(ptr);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (expiration == 0)
        (void)snprintf(command, sizeof(command), "flush_all\r\n");
    else
        (void)snprintf(command, sizeof(command), "flush_all %lld\r\n", (long long)expiration);
    return ask_all(ptr, command);
}

rc_t memcached_verbosity(memcached_st *ptr, uint32_t verbosity)
{
    char command[64];
    rc_t rc = call_begin(ptr);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    (void)snprintf(command, sizeof(command), "verbosity %" PRIu32 "\r\n", verbosity);
    return ask_all(ptr, command);
}

/* ----------------------------------------------------------------------------------------------- version */

static rc_t ask_version(memcached_instance_st *server)
{
    answer_t answer;
    unsigned major, minor, micro;
    rc_t rc = ask_one(server, "version\r\n", &answer);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (sscanf(answer.text, "VERSION %u.%u.%u", &major, &minor, &micro) != 3)
        return fail_server(server, MEMCACHED_PROTOCOL_ERROR, 0, "no version in the answer");
    server->major_version = (uint8_t)major;
    server->minor_version = (uint8_t)minor;
    server->micro_version = (uint8_t)micro;
    return rc;
}

rc_t memcached_version(memcached_st *ptr)
{
    bool errors = false;
    rc_t rc = call_begin(ptr);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    for (uint32_t i = 0; i < ptr->number_of_hosts; i++)
        if (ptr->servers[i].major_version == VERSION_UNKNOWN)
            errors = ask_version(&ptr->servers[i]) != MEMCACHED_SUCCESS || errors;
    return errors ? MEMCACHED_SOME_ERRORS : MEMCACHED_SUCCESS;
}

/* -------------------------------------------------------------------------------------------------- dump */

typedef struct dump {
    memcached_st *ptr;
    memcached_dump_fn *function;
    void *context;
    uint32_t count;
    rc_t rc;
} dump_t;

/* "ITEM key [2 b; 0 s]", up to END. */
static bool take_key(void *arg, char *text, size_t length)
{
    dump_t *dump = arg;
    char key[MEMCACHED_MAX_KEY];
    if (length < 5 || memcmp(text, "ITEM ", 5) != 0) {
        text[length] = '\0';
        dump->rc = rc_of(text);
        return false;
    }
    size_t end = 5;
    while (end < length && text[end] != ' ')
        end++;
    if (end - 5 >= sizeof(key))
        return true;
    memcpy(key, text + 5, end - 5);
    key[end - 5] = '\0';
    for (uint32_t i = 0; i < dump->count; i++)
        if (dump->function[i](dump->ptr, key, end - 5, dump->context) != MEMCACHED_SUCCESS)
            break;
    return true;
}

static rc_t dump_server(memcached_instance_st *server, dump_t *dump)
{
    for (unsigned class = 0; class < SLAB_CLASSES; class++) {
        char command[64];
        (void)snprintf(command, sizeof(command), "stats cachedump %u 0\r\n", class);
        rc_t rc = command_ask(server, command, take_key, dump);
        if (rc != MEMCACHED_SUCCESS)
            return rc;
        if (dump->rc != MEMCACHED_SUCCESS && dump->rc != MEMCACHED_CLIENT_ERROR) /* a class that the server has not */
            return fail_server(server, dump->rc, 0, "stats cachedump");
    }
    return MEMCACHED_SUCCESS;
}

rc_t memcached_dump(memcached_st *ptr, memcached_dump_fn *function, void *context, uint32_t number_of_callbacks)
{
    dump_t dump = {.ptr = ptr, .function = function, .context = context, .count = number_of_callbacks};
    rc_t rc = call_begin(ptr);
    if (rc != MEMCACHED_SUCCESS)
        return rc;
    if (ptr->flags.binary_protocol)
        return fail(ptr, MEMCACHED_NOT_SUPPORTED, "Binary protocol is not supported for memcached_dump()");
    pending_finish(ptr);
    for (uint32_t i = 0; i < ptr->number_of_hosts && rc == MEMCACHED_SUCCESS; i++)
        rc = dump_server(&ptr->servers[i], &dump);
    return rc;
}
