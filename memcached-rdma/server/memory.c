/* SPDX-License-Identifier: Apache-2.0
 * memory.c - the context of the core: its key and settings, and shareable memory for the store. Without a key that clients
 * could know the context's key is random: no process can join it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "server/login.h"
#include "util/key_file.h"

static void *get_shareable(void *arg, size_t bytes, void **handle_p)
{
    server_t *server = arg;
    vbn_mem_t *mem;
    vbn_status_t status = vbn_mem_alloc(server->context, bytes, VBN_BACKING_MEMFD, NULL, &mem);
    if (status != VBN_OK) {
        log_line(server, 0, "no memory for %zu MiB of items: %s", bytes >> 20, vbn_error_text());
        return NULL;
    }
    *handle_p = mem;
    return vbn_mem_address(mem);
}

static void put_shareable(void *arg, void *handle)
{
    (void)arg;
    (void)vbn_mem_free(handle);
}

static size_t export_key(void *arg, void *handle, uint8_t *blob)
{
    size_t length = STORE_KEY_BLOB;
    (void)arg;
    _Static_assert(STORE_KEY_BLOB >= VBN_KEY_MAX, "a key fits its place in the page");
    return vbn_key_export(handle, 0, vbn_mem_size(handle), VBN_ACCESS_READ, blob, &length) == VBN_OK ? length : 0;
}

size_t memory_page_key(const server_t *server, uint8_t key[VBN_KEY_MAX])
{
    size_t length = VBN_KEY_MAX;
    void *page = store_page(server->store);
    if (page == NULL || vbn_key_export(page, 0, vbn_mem_size(page), VBN_ACCESS_READ, key, &length) != VBN_OK)
        return 0;
    return length;
}

typedef struct private_memory {
    void *address;
    size_t bytes;
} private_memory_t;

static void *get_private(void *arg, size_t bytes, void **handle_p)
{
    (void)arg;
    private_memory_t *memory = malloc(sizeof(*memory));
    if (memory == NULL)
        return NULL;
    *memory = (private_memory_t){.bytes = bytes};
    memory->address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory->address == MAP_FAILED) {
        free(memory);
        return NULL;
    }
    *handle_p = memory;
    return memory->address;
}

static void put_private(void *arg, void *handle)
{
    private_memory_t *memory = handle;
    (void)arg;
    munmap(memory->address, memory->bytes);
    free(memory);
}

static void relay_log(void *arg, const vbn_log_record_t *record)
{
    log_line(arg, record->level <= VBN_LOG_WARN ? 1 : 2, "core: %s", record->text);
}

/* ---------------------------------------------------------------------------------------- settings */

/* Settings of ours where nobody has chosen: clients of other users (the key decides who takes part), and small
 * rings, since clients are many. */
static const struct preset {
    const char *key, *value;
} presets[] = {{"security.same_user", "false"},
               {"tl.shm.ring_slots", "32"},
               {"tl.shm.chunks", "4"},
               {"tl.shm.chunk_bytes", "4K"},
               {"link.promoted_max", "256"}};

/* "key=value:key=value". */
static vbn_status_t set_all(vbn_config_t *config, const char *settings)
{
    char *copy = strdup(settings), *rest = NULL;
    vbn_status_t status = copy == NULL ? VBN_ERR_NO_MEMORY : VBN_OK;
    for (char *word = copy == NULL ? NULL : strtok_r(copy, ":", &rest); word != NULL && status == VBN_OK;
         word = strtok_r(NULL, ":", &rest)) {
        char *value = strchr(word, '=');
        if (value != NULL)
            *value++ = '\0';
        status = vbn_config_set(config, word, value == NULL ? "" : value);
    }
    free(copy);
    return status;
}

bool memory_check_settings(const char *settings)
{
    vbn_config_t *config;
    if (vbn_config_create(&config) != VBN_OK)
        return false;
    bool right = set_all(config, settings) == VBN_OK;
    vbn_config_destroy(config);
    return right;
}

static bool configure(const server_t *server, vbn_config_t *config)
{
    const settings_t *settings = &server->settings;
    vbn_status_t status = VBN_OK;
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]) && status == VBN_OK; i++)
        status = vbn_config_prefer(config, presets[i].key, presets[i].value);
    if (status == VBN_OK)
        status = within_listeners(settings, config);
    if (status == VBN_OK && settings->no_auth)
        status = vbn_config_set(config, "security.auth", "none");
    if (status == VBN_OK && settings->core != NULL)
        status = set_all(config, settings->core);
    return status == VBN_OK;
}

/* ------------------------------------------------------------------------------------------- the key */

/* Clients know a server by its port, and this one may listen on several (-l): each has the default file under its name. */
static bool share_key(server_t *server)
{
    char other[sizeof(server->key_path)], *error = server->no_messages;
    for (unsigned i = 0; i < server->listener_count; i++) {
        const char *name = server->listener_names[i], *port = name == NULL ? NULL : strrchr(name, ':');
        const key_server_t place = {.port = port == NULL ? 0 : atoi(port + 1)};
        if (port == NULL || strncmp(name, "tcp", 3) != 0 || place.port == server->settings.port)
            continue;
        if (!key_file_place(&place, other, sizeof(other), error) || !key_file_share(server->key_path, other, error))
            return false;
    }
    return true;
}

/* The key that clients know; false: there is none, server->no_messages says why. */
static bool find_key(server_t *server, uint8_t key[VBN_JOB_KEY_BYTES])
{
    const settings_t *settings = &server->settings;
    const key_server_t place = {.port = settings->port, .socket_path = settings->socket_path};
    char *path = server->key_path, *error = server->no_messages;
    if (!login_lets_messages(server)) {
        (void)snprintf(error, sizeof(server->no_messages), "%s; -o verbena_key=FILE lets clients with that key in",
                       settings->login_file != NULL ? "-Y asks for a login, which messages do not have"
                                                    : "-Z protects sockets, and messages do not use TLS");
        return false;
    }
    _Static_assert(sizeof(server->no_messages) >= KEY_FILE_ERROR, "an error about a key fits");
    if (settings->key_file == NULL) {
        if (!key_file_place(&place, path, sizeof(server->key_path), error))
            return false;
    } else if (settings->key_file != path) { /* of a daemon it is there already */
        (void)snprintf(path, sizeof(server->key_path), "%s", settings->key_file);
    }
    if (!key_file_make(path, error))
        return false;
    if (key_file_read(path, false, key) != VBN_OK) {
        (void)snprintf(error, sizeof(server->no_messages), "%s", vbn_error_text());
        return false;
    }
    return settings->key_file != NULL || share_key(server);
}

/* -------------------------------------------------------------------------------------- the context */

/* False: the core cannot be opened here; its error text says why. */
static bool open_context(server_t *server)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    vbn_config_t *config;
    if (vbn_config_create(&config) != VBN_OK)
        return false;
    bool known = server->settings.no_auth || find_key(server, key);
    if (!known)
        os_random(key, sizeof(key));
    vbn_config_set_log(config, relay_log, server);
    bool opened = configure(server, config) &&
                  (server->settings.no_auth || vbn_config_set_job_key(config, key) == VBN_OK) &&
                  vbn_open(config, &server->context) == VBN_OK;
    vbn_config_destroy(config);
    explicit_bzero(key, sizeof(key));
    bool asks = server->settings.protocol != PROTOCOL_BINARY;
    server->messages = opened && known && asks;
    if (!asks)
        (void)snprintf(server->no_messages, sizeof(server->no_messages),
                       "clients ask for messages by a line of text, which -B binary refuses; use -B auto");
    if (!opened)
        (void)snprintf(server->no_messages, sizeof(server->no_messages), "%s", vbn_error_text());
    return opened;
}

/* -L where no huge page is free: the core takes ordinary ones, as it does without -L. */
static void tell_large_pages(const server_t *server)
{
    static const char path[] = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    unsigned long number = 0;
    FILE *file = server->settings.large_pages ? fopen(path, "r") : NULL;
    bool known = file != NULL && fscanf(file, "%lu", &number) == 1;
    if (file != NULL)
        (void)fclose(file);
    if (server->settings.large_pages && (!known || number == 0))
        log_line(server, 0, "-L: no huge page is free, so ordinary ones are used; set vm.nr_hugepages (sysctl)");
}

store_source_t memory_source(server_t *server)
{
    tell_large_pages(server);
    server->instance = os_random_u64();
    if (open_context(server))
        return (store_source_t){.get = get_shareable,
                                .put = put_shareable,
                                .arg = server,
                                .key = server->messages && server->settings.onesided != ONESIDED_OFF ? export_key
                                                                                                     : NULL};
    log_line(server, 0, "items are in private memory, which nobody can read one-sided: %s", vbn_error_text());
    return (store_source_t){.get = get_private, .put = put_private, .arg = server};
}

void memory_close(server_t *server)
{
    if (server->context != NULL)
        (void)vbn_close(server->context);
    server->context = NULL;
}
