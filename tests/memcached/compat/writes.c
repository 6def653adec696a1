/* SPDX-License-Identifier: Apache-2.0
 * writes.c - usage: writes PORT GETS text|binary. Gets of a missing key without TCP_NODELAY and with NO_BLOCK, between two lines:
 * "begin", after which it waits for a line, and "end". Then a get and a touch behind a set that is still in the buffer. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patient.h"

static memcached_st handle;

static const char *get(const char *key)
{
    static char value[16];
    size_t length = 0;
    uint32_t flags;
    memcached_return_t rc;
    char *found = memcached_get(&handle, key, strlen(key), &length, &flags, &rc);
    (void)snprintf(value, sizeof(value), "%.*s", (int)length, found == NULL ? "(none)" : found);
    free(found);
    return rc == MEMCACHED_NOTFOUND ? "not found" : rc == MEMCACHED_SUCCESS ? value : memcached_strerror(&handle, rc);
}

static void gets(int count)
{
    char line[16];
    printf("first %s\nbegin\n", get("none"));
    (void)fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL)
        exit(1);
    for (int i = 0; i < count; i++)
        if (strcmp(get("none"), "not found") != 0)
            exit(1);
    printf("end\n");
    (void)fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 4 || memcached_create(&handle) == NULL)
        return 2;
    memcached_server_add(&handle, "127.0.0.1", (in_port_t)atoi(argv[1]));
    be_patient(&handle);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, strcmp(argv[3], "binary") == 0);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_TCP_NODELAY, 0);
    gets(atoi(argv[2]));
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
    memcached_set(&handle, "a", 1, "old", 3, 0, 0);
    memcached_set(&handle, "a", 1, "new", 3, 0, 0);
    printf("a is %s\n", get("a"));
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_NOREPLY, 1);
    printf("touch: %s\n", memcached_strerror(&handle, memcached_touch(&handle, "a", 1, 100)));
    memcached_free(&handle);
    return 0;
}
