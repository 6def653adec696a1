/* SPDX-License-Identifier: Apache-2.0
 * failures.c - usage: failures refused PORT | silent PORT | eject DEAD_PORT LIVE_PORT | name. Calls to servers that are not there,
 * or say nothing, with their answers. Run with each of two libraries it has to print the same. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A label has at most 63 characters, so no name server is asked, which may be there or not. */
#define NO_NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid"

static memcached_st handle;

static void print_rc(const char *what, memcached_return_t rc)
{
    printf("%s: %s, last %s\n", what, memcached_strerror(&handle, rc),
           memcached_strerror(&handle, memcached_last_error(&handle)));
}

static void calls(void)
{
    memcached_return_t rc;
    size_t length;
    uint32_t flags;
    uint64_t number;
    free(memcached_get(&handle, "key", 3, &length, &flags, &rc));
    print_rc("get", rc);
    print_rc("set", memcached_set(&handle, "key", 3, "v", 1, 0, 0));
    print_rc("delete", memcached_delete(&handle, "key", 3, 0));
    print_rc("incr", memcached_increment(&handle, "key", 3, 1, &number));
    rc = memcached_mget(&handle, (const char *const[]){"key"}, (size_t[]){3}, 1);
    print_rc("mget", rc);
    if (memcached_success(rc)) {
        free(memcached_fetch(&handle, NULL, NULL, &length, &flags, &rc));
        print_rc("fetch", rc);
    }
    print_rc("flush", memcached_flush(&handle, 0));
    printf("last disconnected: %d\n", memcached_server_get_last_disconnect(&handle) != NULL);
}

/* Sets of many keys, until those of the dead server are with the live one. */
static void eject(void)
{
    unsigned failed = 0, stored = 0;
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 1);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, 1);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT);
    for (unsigned i = 0; i < 200; i++) {
        char key[16];
        size_t length = (size_t)sprintf(key, "e%u", i);
        memcached_return_t rc = memcached_set(&handle, key, length, "v", 1, 0, 0);
        failed += rc != MEMCACHED_SUCCESS;
        stored += rc == MEMCACHED_SUCCESS;
        if (rc != MEMCACHED_SUCCESS)
            print_rc("set", rc);
    }
    printf("%u failed, %u stored\n", failed, stored);
}

int main(int argc, char **argv)
{
    memcached_create(&handle);
    bool silent = strcmp(argv[1], "silent") == 0; /* else nothing takes the time */
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, silent ? 500 : 60000);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, silent ? 2000 : 60000);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 60); /* the last call is not the first retry */
    if (strcmp(argv[1], "name") == 0)
        memcached_server_add(&handle, NO_NAME, 11211);
    for (int i = 2; i < argc; i++)
        memcached_server_add(&handle, "127.0.0.1", (in_port_t)atoi(argv[i]));
    if (strcmp(argv[1], "eject") == 0)
        eject();
    else
        calls();
    memcached_free(&handle);
    return 0;
}
