/* SPDX-License-Identifier: Apache-2.0
 * replicas.c - usage: replicas PORT PORT PORT. With two replicas each server has each item; get does without a server that is
 * gone. Debian's library cannot be compared: it mixes up the answers of replicas. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patient.h"

/* On how many of the servers the item is. */
static unsigned count(int ports, char **port, const char *key)
{
    unsigned found = 0;
    for (int i = 0; i < ports; i++) {
        memcached_st *one = memcached_create(NULL);
        memcached_server_add(one, "127.0.0.1", (in_port_t)atoi(port[i]));
        be_patient(one);
        found += memcached_exist(one, key, strlen(key)) == MEMCACHED_SUCCESS;
        memcached_free(one);
    }
    return found;
}

int main(int argc, char **argv)
{
    memcached_st *ptr = memcached_create(NULL);
    size_t length;
    uint32_t flags;
    memcached_return_t rc;
    for (int i = 1; i < argc; i++)
        memcached_server_add(ptr, "127.0.0.1", (in_port_t)atoi(argv[i]));
    be_patient(ptr);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS, 2);
    memcached_behavior_set(ptr, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 60);
    rc = memcached_set(ptr, "copied", 6, "value", 5, 0, 0);
    memcached_flush_buffers(ptr);
    printf("set: %s, on %u servers\n", memcached_strerror(ptr, rc), count(argc - 1, argv + 1, "copied"));
    char *value = memcached_get(ptr, "copied", 6, &length, &flags, &rc);
    printf("get: %s, %s\n", memcached_strerror(ptr, rc), value);
    free(value);
    rc = memcached_delete(ptr, "copied", 6, 0);
    memcached_flush_buffers(ptr);
    printf("delete: %s, on %u servers\n", memcached_strerror(ptr, rc), count(argc - 1, argv + 1, "copied"));
    memcached_free(ptr);
    return 0;
}
