/* SPDX-License-Identifier: Apache-2.0
 * parts.c - usage: parts PORT. Pools, texts of options, allocators, lists of servers, results. Run with each of two libraries it
 * has to print the same. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "patient.h"

#define TEXT(bytes) bytes, strlen(bytes)

static void print_rc(const char *what, memcached_return_t rc)
{
    printf("%s: %s\n", what, memcached_strerror(NULL, rc));
}

/* ----------------------------------------------------------------------------------------------- options */

static void print_options(const char *text)
{
    char error[512] = "";
    memcached_return_t rc = libmemcached_check_configuration(text, strlen(text), error, sizeof(error));
    memcached_st *ptr = memcached(text, strlen(text));
    printf("%s: %s, %s", text, memcached_success(rc) ? "good" : "bad", ptr != NULL ? "made" : "none");
    if (memcached_success(rc) && ptr != NULL) {
        memcached_return_t found;
        const char *prefix = memcached_callback_get(ptr, MEMCACHED_CALLBACK_PREFIX_KEY, &found);
        printf(", %u servers, prefix %s, poll %d, hash %d, distribution %d, binary %d, cas %d",
               memcached_server_count(ptr), prefix == NULL ? "none" : prefix,
               (int)memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_POLL_TIMEOUT),
               (int)memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_HASH),
               (int)memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_DISTRIBUTION),
               (int)memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL),
               (int)memcached_behavior_get(ptr, MEMCACHED_BEHAVIOR_SUPPORT_CAS));
        for (uint32_t i = 0; i < memcached_server_count(ptr); i++) {
            const memcached_instance_st *server = memcached_server_instance_by_position(ptr, i);
            printf(", %s:%d %s", memcached_server_name(server), memcached_server_port(server),
                   memcached_server_type(server));
        }
    }
    printf("\n");
    memcached_free(ptr);
}

static void options(void)
{
    static const char *const texts[] = {
        "--SERVER=localhost",
        "--SERVER=localhost:11212 --SERVER=10.0.0.1:11213/?5",
        "--server=host.example.org:11212/?3",
        "--SOCKET=\"/tmp/one.sock\" --SERVER=ten.example.org",
        "--SERVER=localhost --POLL-TIMEOUT=250 --CONNECT-TIMEOUT=100 --HASH=MD5 --DISTRIBUTION=consistent",
        "--SERVER=localhost --DISTRIBUTION=modula --BINARY-PROTOCOL --SUPPORT-CAS",
        "--SERVER=localhost --NAMESPACE=\"shop\"",
        "--SERVER=localhost --NAMESPACE=shop --NAMESPACE=again",
        "--SERVER=localhost --UNKNOWN-OPTION",
        "--SERVER=localhost --POLL-TIMEOUT=abc",
        "--SERVER=localhost --HASH=none",
        "--SERVER=localhost ERROR",
        "--SERVER=localhost --POOL-MIN=2 --POOL-MAX=3",
        "--SERVER=",
        "garbage",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        print_options(texts[i]);
    printf("empty: %d\n", memcached("", 0) != NULL);
    memcached_st *empty = memcached(NULL, 0);
    printf("none: %d\n", empty != NULL);
    print_rc("reset", memcached_reset(empty));
    memcached_free(empty);
}

/* ------------------------------------------------------------------------------------------------- lists */

static void print_list(const char *text)
{
    memcached_server_list_st list = memcached_servers_parse(text);
    printf("'%s': %u", text, memcached_server_list_count(list));
    for (uint32_t i = 0; i < memcached_server_list_count(list); i++)
        printf(", %s:%d weight %u type %d", list[i].hostname, list[i].port, list[i].weight, list[i].type);
    printf("\n");
    memcached_server_list_free(list);
}

static void lists(void)
{
    memcached_return_t rc;
    memcached_st ptr;
    print_list("a");
    print_list("a:1,b:2, c:3");
    print_list("a:1:5,b");
    print_list("[::1]:11300,/tmp/a.sock");
    memcached_server_list_st list = memcached_server_list_append(NULL, "one", 11211, &rc);
    list = memcached_server_list_append_with_weight(list, "two", 11300, 7, &rc);
    print_rc("append", rc);
    memcached_create(&ptr);
    print_rc("push", memcached_server_push(&ptr, list));
    memcached_server_list_free(list);
    printf("%u servers, weighted %d\n", memcached_server_count(&ptr), (int)ptr.ketama.weighted_);
    print_rc("udp", memcached_server_add_udp(&ptr, "a", 1));
    memcached_servers_reset(&ptr);
    printf("%u servers\n", memcached_server_count(&ptr));
    print_rc("push nothing", memcached_server_push(&ptr, NULL));
    memcached_free(&ptr);
}

/* --------------------------------------------------------------------------------------------- allocators */

static size_t taken, given;

static void *take(const memcached_st *ptr, const size_t size, void *context)
{
    (void)ptr;
    taken += context == &taken;
    return malloc(size);
}

static void give(const memcached_st *ptr, void *memory, void *context)
{
    (void)ptr;
    given += context == &taken && memory != NULL;
    free(memory);
}

static void *resize(const memcached_st *ptr, void *memory, const size_t size, void *context)
{
    (void)ptr;
    taken += context == &taken && memory == NULL;
    return realloc(memory, size);
}

static void *take_zero(const memcached_st *ptr, size_t count, const size_t size, void *context)
{
    (void)ptr;
    taken += context == &taken;
    return calloc(count, size);
}

static void allocators(in_port_t port)
{
    memcached_st *ptr = memcached_create(NULL);
    size_t length, before;
    uint32_t flags;
    memcached_return_t rc;
    memcached_malloc_fn get_malloc;
    memcached_free_fn get_free;
    memcached_realloc_fn get_realloc;
    memcached_calloc_fn get_calloc;
    memcached_server_add(ptr, "127.0.0.1", port);
    be_patient(ptr);
    print_rc("some", memcached_set_memory_allocators(ptr, take, give, NULL, NULL, NULL));
    print_rc("all", memcached_set_memory_allocators(ptr, take, give, resize, take_zero, &taken));
    memcached_get_memory_allocators(ptr, &get_malloc, &get_free, &get_realloc, &get_calloc);
    printf("same %d\n", get_malloc == take && get_free == give && get_realloc == resize && get_calloc == take_zero &&
                            memcached_get_memory_allocators_context(ptr) == &taken);
    memcached_set(ptr, TEXT("k"), TEXT("value"), 0, 0);
    before = taken;
    char *value = memcached_get(ptr, TEXT("k"), &length, &flags, &rc);
    printf("%s comes from the program's memory: %d\n", value, taken > before);
    get_free(ptr, value, memcached_get_memory_allocators_context(ptr));
    print_rc("standard", memcached_set_memory_allocators(ptr, NULL, NULL, NULL, NULL, NULL));
    memcached_free(ptr);
}

/* ----------------------------------------------------------------------------------------------- results */

static void results(void)
{
    memcached_st ptr;
    memcached_result_st on_stack, *made;
    memcached_create(&ptr);
    memcached_result_create(&ptr, &on_stack);
    made = memcached_result_create(&ptr, NULL);
    print_rc("set value", memcached_result_set_value(&on_stack, "text", 4));
    memcached_result_set_flags(&on_stack, 12);
    printf("%zu %u %.4s\n", memcached_result_length(&on_stack), memcached_result_flags(&on_stack),
           memcached_result_value(&on_stack));
    char *value = memcached_result_take_value(&on_stack);
    printf("%s, then %zu\n", value, memcached_result_length(&on_stack));
    free(value);
    printf("new: %zu %u %d\n", memcached_result_length(made), memcached_result_flags(made),
           memcached_result_key_value(made) == NULL);
    memcached_result_free(made);
    memcached_result_free(&on_stack);
    memcached_free(&ptr);
}

static void prefixes(void)
{
    memcached_st ptr;
    char text[200];
    memset(text, 'p', sizeof(text));
    memcached_create(&ptr);
    text[127] = '\0';
    print_rc("prefix of 127", memcached_callback_set(&ptr, MEMCACHED_CALLBACK_PREFIX_KEY, text));
    text[127] = 'p', text[128] = '\0';
    print_rc("prefix of 128", memcached_callback_set(&ptr, MEMCACHED_CALLBACK_PREFIX_KEY, text));
    print_rc("empty prefix", memcached_callback_set(&ptr, MEMCACHED_CALLBACK_PREFIX_KEY, ""));
    print_rc("blank in a prefix", memcached_callback_set(&ptr, MEMCACHED_CALLBACK_PREFIX_KEY, "a b"));
    print_rc("no prefix", memcached_callback_set(&ptr, MEMCACHED_CALLBACK_PREFIX_KEY, NULL));
    print_rc("failure limit 0", memcached_behavior_set(&ptr, MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, 0));
    print_rc("wrong hash", memcached_behavior_set(&ptr, MEMCACHED_BEHAVIOR_HASH, 77));
    print_rc("hsieh", memcached_behavior_set(&ptr, MEMCACHED_BEHAVIOR_HASH, MEMCACHED_HASH_HSIEH));
    print_rc("wrong distribution", memcached_behavior_set(&ptr, MEMCACHED_BEHAVIOR_DISTRIBUTION, 6));
    print_rc("cork", memcached_behavior_set(&ptr, MEMCACHED_BEHAVIOR_CORK, 1));
    for (int rc = 0; rc <= MEMCACHED_MAXIMUM_RETURN; rc++)
        print_rc("text", (memcached_return_t)rc);
    memcached_free(&ptr);
}

/* -------------------------------------------------------------------------------------------------- pools */

static memcached_pool_st *pool;

static void *work(void *name)
{
    for (int i = 0; i < 100; i++) {
        memcached_return_t rc;
        char value[32];
        size_t length, size = (size_t)snprintf(value, sizeof(value), "%s%d", (char *)name, i);
        uint32_t flags;
        struct timespec time = {.tv_sec = 60};
        memcached_st *mine = memcached_pool_fetch(pool, &time, &rc);
        if (mine == NULL) {
            print_rc("no handle", rc);
            return NULL;
        }
        memcached_set(mine, name, 1, value, size, 0, 0);
        char *got = memcached_get(mine, name, 1, &length, &flags, &rc);
        if (got == NULL || length != size || memcmp(got, value, size) != 0)
            printf("%s got another value\n", (char *)name);
        free(got);
        memcached_pool_release(pool, mine);
    }
    return NULL;
}

static void pools(in_port_t port)
{
    memcached_return_t rc;
    pthread_t threads[4];
    memcached_st *master = memcached_create(NULL), *first, *second;
    uint64_t value = 0;
    memcached_server_add(master, "127.0.0.1", port);
    be_patient(master);
    pool = memcached_pool_create(master, 1, 2);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (char *[]){"a", "b", "c", "d"}[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    first = memcached_pool_pop(pool, false, &rc);
    print_rc("first", rc);
    second = memcached_pool_pop(pool, false, &rc);
    print_rc("second", rc);
    printf("third %d\n", memcached_pool_pop(pool, false, &rc) != NULL);
    print_rc("third", rc);
    print_rc("set", memcached_pool_behavior_set(pool, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 1234));
    print_rc("get", memcached_pool_behavior_get(pool, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, &value));
    print_rc("push", memcached_pool_push(pool, first));
    print_rc("push", memcached_pool_push(pool, second));
    first = memcached_pool_pop(pool, true, &rc);
    printf("%llu %llu\n", (unsigned long long)value,
           (unsigned long long)memcached_behavior_get(first, MEMCACHED_BEHAVIOR_POLL_TIMEOUT));
    memcached_pool_push(pool, first);
    printf("master %d\n", memcached_pool_destroy(pool) == master);
    memcached_free(master);
    pool = memcached_pool(TEXT("--SERVER=localhost --POOL-MIN=1 --POOL-MAX=2"));
    printf("pool of a text %d\n", pool != NULL);
    memcached_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    in_port_t port = (in_port_t)(argc > 1 ? atoi(argv[1]) : 11211);
    options();
    lists();
    results();
    prefixes();
    allocators(port);
    pools(port);
    return 0;
}
