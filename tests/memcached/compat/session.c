/* SPDX-License-Identifier: Apache-2.0
 * session.c - usage: session SETTING PORT... Calls of libmemcached against servers of loopback, with all that they answer. Run with
 * each of two libraries it has to print the same. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patient.h"

#define TEXT(bytes) bytes, strlen(bytes)

static memcached_st handle;
static bool binary, noreply, quiet; /* quiet: no answer is waited for */

static void print_rc(const char *what, memcached_return_t rc)
{
    printf("%s: %s\n", what, memcached_strerror(&handle, rc));
}

static void print_get(const char *key)
{
    size_t length = 77;
    uint32_t flags = 77;
    memcached_return_t rc;
    char *value = memcached_get(&handle, TEXT(key), &length, &flags, &rc);
    printf("get %.40s: %s, %zu bytes", key, memcached_strerror(&handle, rc), length);
    if (value != NULL)
        printf(", flags %u, %.20s, ended by %d", flags, value, value[length]);
    printf("\n");
    free(value);
}

static void storage(void)
{
    print_rc("set", memcached_set(&handle, TEXT("k"), TEXT("value"), 0, 17));
    print_get("k");
    print_get("none");
    print_rc("add there", memcached_add(&handle, TEXT("k"), TEXT("x"), 0, 0));
    print_rc("add new", memcached_add(&handle, TEXT("a"), TEXT("x"), 0, 5));
    print_rc("replace there", memcached_replace(&handle, TEXT("a"), TEXT("xy"), 0, 6));
    print_rc("replace none", memcached_replace(&handle, TEXT("none"), TEXT("xy"), 0, 6));
    print_rc("append", memcached_append(&handle, TEXT("a"), TEXT("+"), 0, 0));
    print_rc("append none", memcached_append(&handle, TEXT("none"), TEXT("+"), 0, 0));
    print_rc("prepend", memcached_prepend(&handle, TEXT("a"), TEXT("-"), 0, 0));
    print_get("a");
    print_rc("set for long", memcached_set(&handle, TEXT("long"), TEXT("x"), INT32_MAX, 0));
    print_get("long");
    print_rc("set empty", memcached_set(&handle, TEXT("empty"), "", 0, 0, 9));
    print_get("empty");
    if (!noreply) { /* Debian's library waits for answers that do not come, and takes others for them */
        print_rc("exist", memcached_exist(&handle, TEXT("a")));
        print_rc("exist none", memcached_exist(&handle, TEXT("none")));
        print_rc("touch", memcached_touch(&handle, TEXT("a"), 1000));
        print_rc("touch none", memcached_touch(&handle, TEXT("none"), 1000));
    }
    print_rc("delete", memcached_delete(&handle, TEXT("a"), 0));
    print_rc("delete none", memcached_delete(&handle, TEXT("a"), 0));
    print_rc("delete later", memcached_delete(&handle, TEXT("a"), 5));
    if (!binary) { /* whose packets have no negative times */
        print_rc("set expired", memcached_set(&handle, TEXT("gone"), TEXT("x"), -1, 0));
        print_get("gone");
    }
}

static void large(void)
{
    static const size_t sizes[] = {1, 1000, 4096, 4097, 60000, 65536, 65537, 300000, 1000000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t length, size = sizes[i];
        uint32_t flags;
        memcached_return_t rc;
        char *bytes = malloc(size);
        memset(bytes, (int)('a' + i), size);
        print_rc("set large", memcached_set(&handle, TEXT("large"), bytes, size, 0, (uint32_t)i));
        char *value = memcached_get(&handle, TEXT("large"), &length, &flags, &rc);
        printf("get large: %s, %zu, equal %d\n", memcached_strerror(&handle, rc), length,
               value != NULL && length == size && memcmp(value, bytes, size) == 0);
        free(value);
        free(bytes);
    }
    char *huge = calloc(1, 3 << 20);
    print_rc("set huge", memcached_set(&handle, TEXT("large"), huge, 3 << 20, 0, 0));
    print_get("large");
    free(huge);
}

static void print_number(const char *what, memcached_return_t rc, uint64_t number)
{
    printf("%s: %s, %llu\n", what, memcached_strerror(&handle, rc), (unsigned long long)number);
}

static void numbers(void)
{
    uint64_t number = 3;
    memcached_set(&handle, TEXT("n"), TEXT("10"), 0, 0);
    print_number("incr", memcached_increment(&handle, TEXT("n"), 5, &number), number);
    print_number("decr", memcached_decrement(&handle, TEXT("n"), 20, &number), number);
    print_number("incr by key", memcached_increment_by_key(&handle, TEXT("g"), TEXT("none"), 1, &number), number);
    print_number("decr none", memcached_decrement(&handle, TEXT("none"), 1, &number), number);
    memcached_set(&handle, TEXT("word"), TEXT("word"), 0, 0);
    if (!quiet && !binary) /* else Debian's library stops the program, or says PROTOCOL ERROR */
        print_number("incr word", memcached_increment(&handle, TEXT("word"), 1, &number), number);
    print_number("initial", memcached_increment_with_initial(&handle, TEXT("i"), 2, 40, 100, &number), number);
    print_number("initial again", memcached_increment_with_initial(&handle, TEXT("i"), 2, 40, 100, &number), number);
    print_number("initial decr", memcached_decrement_with_initial(&handle, TEXT("i"), 50, 40, 100, &number), number);
    print_number("no initial",
                 memcached_increment_with_initial(&handle, TEXT("j"), 2, 40, MEMCACHED_EXPIRATION_NOT_ADD, &number),
                 number);
}

static void print_fetched(const char *what)
{
    char key[MEMCACHED_MAX_KEY];
    size_t key_length, length;
    uint32_t flags;
    memcached_return_t rc;
    unsigned long long sum = 0;
    unsigned count = 0;
    for (;;) {
        char *value = memcached_fetch(&handle, key, &key_length, &length, &flags, &rc);
        if (rc != MEMCACHED_SUCCESS) {
            free(value);
            break;
        }
        count++;
        sum += length * 31 + flags * 7 + (unsigned char)key[key_length - 1] * 3; /* the order depends on the servers */
        free(value);
    }
    printf("%s: %u items, sum %llu, %s\n", what, count, sum, memcached_strerror(&handle, rc));
}

static void print_results(const char *what, bool has_cas)
{
    memcached_return_t rc;
    memcached_result_st result;
    unsigned count = 0;
    unsigned long long sum = 0;
    memcached_result_create(&handle, &result);
    while (memcached_fetch_result(&handle, &result, &rc) != NULL) {
        count++;
        sum += memcached_result_length(&result) + memcached_result_key_length(&result) * 3 +
               memcached_result_flags(&result);
        if (memcached_result_key_value(&result) == NULL || (memcached_result_cas(&result) != 0) != has_cas)
            printf("no key, or a CAS id that should not be there\n");
    }
    printf("%s: %u results, sum %llu, %s\n", what, count, sum, memcached_strerror(&handle, rc));
    memcached_result_free(&result);
}

static memcached_return_t count_result(const memcached_st *ptr, memcached_result_st *result, void *context)
{
    (void)ptr;
    *(size_t *)context += 1000 + memcached_result_length(result);
    return MEMCACHED_SUCCESS;
}

static void many(void)
{
    const char *keys[200];
    size_t lengths[200], sum = 0;
    char names[200][16];
    memcached_execute_fn callbacks[1] = {count_result};
    for (unsigned i = 0; i < 200; i++) {
        lengths[i] = (size_t)sprintf(names[i], "m%u", i);
        keys[i] = names[i];
        if (i % 3 != 0)
            memcached_set(&handle, keys[i], lengths[i], names[i], lengths[i] - i % 2, 0, i);
    }
    print_rc("mget", memcached_mget(&handle, keys, lengths, 200));
    print_fetched("fetch");
    print_fetched("fetch again");
    print_rc("mget none", memcached_mget(&handle, keys, lengths, 1));
    print_fetched("fetch none");
    print_rc("mget", memcached_mget(&handle, keys, lengths, 200));
    print_rc("fetch_execute", memcached_fetch_execute(&handle, callbacks, &sum, 1));
    printf("sum %zu\n", sum);
    print_rc("mget of nothing", memcached_mget(&handle, keys, lengths, 0));
    print_rc("set by key", memcached_set_by_key(&handle, TEXT("group"), TEXT("g1"), TEXT("in a group"), 0, 3));
    print_rc("mget by key",
             memcached_mget_by_key(&handle, TEXT("group"), (const char *const[]){"g1"}, (size_t[]){2}, 1));
    print_fetched("fetch by key");
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
    print_rc("mget with cas", memcached_mget(&handle, keys, lengths, 200));
    print_fetched("fetch with cas");
    print_rc("mget with cas", memcached_mget(&handle, keys, lengths, 200));
    print_results("results with cas", true);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 0);
    print_rc("mget without cas", memcached_mget(&handle, keys, lengths, 200));
    print_results("results without cas", binary);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
}

static void compare(void)
{
    memcached_return_t rc;
    uint64_t cas = 0;
    memcached_set(&handle, TEXT("c"), TEXT("1"), 0, 0);
    memcached_mget(&handle, (const char *const[]){"c"}, (size_t[]){1}, 1);
    memcached_result_st *result = memcached_fetch_result(&handle, NULL, &rc);
    if (result != NULL)
        cas = memcached_result_cas(result);
    memcached_result_free(result);
    result = memcached_fetch_result(&handle, NULL, &rc);
    print_rc("after the last", rc);
    print_rc("cas", memcached_cas(&handle, TEXT("c"), TEXT("2"), 0, 0, cas));
    print_rc("cas old", memcached_cas(&handle, TEXT("c"), TEXT("3"), 0, 0, cas));
    print_rc("cas none", memcached_cas(&handle, TEXT("none"), TEXT("3"), 0, 0, cas));
    print_get("c");
}

static void keys(void)
{
    char key[300];
    memset(key, 'x', sizeof(key));
    print_rc("key of 250", memcached_set(&handle, key, 240, TEXT("v"), 0, 0));
    print_rc("key of 251", memcached_set(&handle, key, 251, TEXT("v"), 0, 0));
    print_rc("key of 0", memcached_set(&handle, key, 0, TEXT("v"), 0, 0));
    if (!binary) {
        memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_VERIFY_KEY, 1);
        print_rc("key with a blank", memcached_set(&handle, TEXT("a b"), TEXT("v"), 0, 0));
        print_get("with\nbreak");
        memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_VERIFY_KEY, 0);
    }
    print_rc("last", memcached_last_error(&handle));
}

/* Of any bytes: the binary protocol has them. */
static void any_keys(void)
{
    static const char any[] = {'a', ' ', 'b', '\r', '\n', '\x01', '\xff', 'k'};
    const char *two[2] = {any, "a plain one"};
    size_t lengths[2] = {sizeof(any), 11};
    uint64_t number;
    memcached_set(&handle, "n 1", 3, "5", 1, 0, 0);
    print_rc("set", memcached_set(&handle, any, sizeof(any), TEXT("any key"), 0, 4));
    print_rc("append", memcached_append(&handle, any, sizeof(any), TEXT("+"), 0, 0));
    print_rc("set", memcached_set(&handle, two[1], lengths[1], TEXT("other"), 0, 4));
    print_get("a plain one");
    print_rc("mget", memcached_mget(&handle, two, lengths, 2));
    print_fetched("fetch");
    print_rc("incr", memcached_increment(&handle, "n 1", 3, 2, &number));
    print_rc("touch", memcached_touch(&handle, any, sizeof(any), 100));
    print_rc("exist", memcached_exist(&handle, any, sizeof(any)));
    print_rc("delete", memcached_delete(&handle, any, sizeof(any), 0));
    print_rc("exist", memcached_exist(&handle, any, sizeof(any)));
}

static memcached_return_t print_stat(const memcached_instance_st *server, const char *key, size_t key_length,
                                     const char *value, size_t value_length, void *context)
{
    (void)server;
    if (strcmp(key, "limit_maxbytes") == 0 || strcmp(key, "pointer_size") == 0 || strcmp(key, "version") == 0)
        printf("stat %s (%zu) = %s (%zu)\n", key, key_length, value, value_length);
    ++*(unsigned *)context;
    return MEMCACHED_SUCCESS;
}

static void print_version(void)
{
    const memcached_instance_st *first = memcached_server_instance_by_position(&handle, 0);
    print_rc("version", memcached_version(&handle));
    printf("%d.%d.%d, %s\n", memcached_server_major_version(first), memcached_server_minor_version(first),
           memcached_server_micro_version(first), memcached_server_type(first));
}

static void servers(void)
{
    memcached_return_t rc;
    unsigned count = 0;
    memcached_quit(&handle);
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_NOREPLY,
                           0); /* Debian's library sends it with other commands, too */
    print_version();
    print_rc("stat_execute", memcached_stat_execute(&handle, NULL, print_stat, &count));
    print_rc("stat_execute settings", memcached_stat_execute(&handle, "settings", print_stat, &count));
    memcached_stat_st *stat = memcached_stat(&handle, NULL, &rc);
    print_rc("stat", rc);
    char **names = memcached_stat_get_keys(&handle, stat, &rc);
    for (unsigned i = 0; names[i] != NULL; i++) {
        char *value = memcached_stat_get_value(&handle, stat, names[i], &rc);
        bool same = strcmp(names[i], "version") == 0 || strcmp(names[i], "limit_maxbytes") == 0;
        printf("%s: %s, %s\n", names[i], memcached_strerror(&handle, rc), same ? value : "");
        free(value);
    }
    free(names);
    memcached_stat_free(&handle, stat);
    print_rc("verbosity", memcached_verbosity(&handle, 0));
    print_rc("flush_buffers", memcached_flush_buffers(&handle));
    print_get("k");
    print_rc("flush", memcached_flush(&handle, 0));
    print_get("k");
    printf("ping %d\n",
           libmemcached_util_ping("127.0.0.1", memcached_server_port(memcached_server_instance_by_position(&handle, 0)),
                                  &rc));
    print_rc("ping", rc);
    printf("newer than 1.2.3: %d, than 9.0.0: %d\n", libmemcached_util_version_check(&handle, 1, 2, 3),
           libmemcached_util_version_check(&handle, 9, 0, 0));
}

static memcached_return_t make_value(const memcached_st *ptr, const char *key, size_t key_length,
                                     memcached_result_st *result)
{
    (void)ptr;
    memcached_result_set_flags(result, 99);
    return memcached_result_set_value(result, key, key_length);
}

static memcached_return_t note_delete(const memcached_st *ptr, const char *key, size_t key_length)
{
    (void)ptr;
    printf("trigger %.*s\n", (int)key_length, key);
    return MEMCACHED_SUCCESS;
}

static void callbacks(void)
{
    memcached_return_t rc;
    print_rc("set trigger",
             memcached_callback_set(&handle, MEMCACHED_CALLBACK_GET_FAILURE, (void *)(intptr_t)make_value));
    memcached_delete(&handle, TEXT("made"), 0);
    print_get("made");
    print_get("made");
    memcached_callback_set(&handle, MEMCACHED_CALLBACK_GET_FAILURE, NULL);
    if (!binary) /* where Debian's library forgets it */
        print_rc("set trigger",
                 memcached_callback_set(&handle, MEMCACHED_CALLBACK_DELETE_TRIGGER, (void *)(intptr_t)note_delete));
    print_rc("delete", memcached_delete(&handle, TEXT("made"), 0));
    memcached_callback_set(&handle, MEMCACHED_CALLBACK_DELETE_TRIGGER, NULL);
    printf("data %d\n", memcached_callback_get(&handle, MEMCACHED_CALLBACK_USER_DATA, &rc) != NULL);
    print_rc("no data", rc);
    memcached_callback_set(&handle, MEMCACHED_CALLBACK_USER_DATA, &handle);
    printf("data %d\n", memcached_get_user_data(&handle) == &handle);
}

static void clones(void)
{
    memcached_return_t rc;
    size_t length;
    uint32_t flags;
    memcached_st on_stack, *made = memcached_clone(NULL, &handle);
    memcached_clone(&on_stack, made);
    memcached_flush_buffers(&handle);
    memcached_behavior_set(made, MEMCACHED_BEHAVIOR_NOREPLY, 0);
    memcached_behavior_set(made, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 0);
    print_rc("set by a clone", memcached_set(made, TEXT("clone"), TEXT("of it"), 0, 0));
    memcached_flush_buffers(made);
    char *value = memcached_get(&on_stack, TEXT("clone"), &length, &flags, &rc);
    printf("get by a clone: %s, %s, %u servers\n", memcached_strerror(made, rc), value,
           memcached_server_count(&on_stack));
    free(value);
    memcached_quit(made);
    print_rc("set after quit", memcached_set(made, TEXT("clone"), TEXT("again"), 0, 0));
    memcached_free(made);
    memcached_free(&on_stack);
    memcached_quit(&handle);
    print_get("clone");
}

static void behaviors(void)
{
    for (unsigned i = 0; i < MEMCACHED_BEHAVIOR_MAX; i++) {
        if (i == MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE || i == MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE ||
            i == MEMCACHED_BEHAVIOR_USER_DATA || i == MEMCACHED_BEHAVIOR_LOAD_FROM_FILE)
            continue;
        printf("%s = %llu\n", libmemcached_string_behavior((memcached_behavior_t)i),
               (unsigned long long)memcached_behavior_get(&handle, (memcached_behavior_t)i));
    }
}

static void set_up(const char *setting, int count, char **ports)
{
    memcached_create(&handle);
    behaviors();
    be_patient(&handle);
    binary = strstr(setting, "binary") != NULL;
    noreply = strstr(setting, "noreply") != NULL;
    quiet = noreply || strstr(setting, "buffer") != NULL;
    for (int i = 0; i < count; i++)
        memcached_server_add(&handle, "127.0.0.1", (in_port_t)atoi(ports[i]));
    memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, binary);
    if (noreply)
        print_rc("noreply", memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_NOREPLY, 1));
    if (strstr(setting, "buffer") != NULL)
        print_rc("buffer", memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1));
    if (strstr(setting, "prefix") != NULL)
        print_rc("prefix", memcached_callback_set(&handle, MEMCACHED_CALLBACK_PREFIX_KEY, "prefix:"));
    if (strstr(setting, "ketama") != NULL)
        print_rc("ketama", memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1));
    if (strstr(setting, "noblock") != NULL)
        print_rc("noblock", memcached_behavior_set(&handle, MEMCACHED_BEHAVIOR_NO_BLOCK, 1));
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    print_rc("flush nothing", memcached_create(&handle) == NULL ? MEMCACHED_FAILURE : memcached_flush(&handle, 0));
    print_rc("set nowhere", memcached_set(&handle, TEXT("k"), TEXT("v"), 0, 0));
    memcached_free(&handle);
    set_up(argv[1], argc - 2, argv + 2);
    memcached_flush(&handle, 0);
    storage();
    if (!quiet)
        large();
    numbers();
    many();
    if (!quiet)
        compare();
    keys();
    if (binary && !quiet)
        any_keys();
    behaviors();
    if (!quiet)
        callbacks();
    clones();
    servers();
    memcached_free(&handle);
    return 0;
}
