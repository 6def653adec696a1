/* SPDX-License-Identifier: Apache-2.0
 * memory.c - shareable memory of the core for the store. The context's key is random and known to nobody: no process can
 * join it, and nothing of it is given away here. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/os.h"
#include "server/server.h"

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

/* False: the core cannot be opened here; its error text says why. */
static bool open_context(server_t *server)
{
    uint8_t key[VBN_JOB_KEY_BYTES];
    vbn_config_t *config;
    if (vbn_config_create(&config) != VBN_OK)
        return false;
    os_random(key, sizeof(key));
    vbn_config_set_log(config, relay_log, server);
    bool opened = vbn_config_set_job_key(config, key) == VBN_OK && vbn_open(config, &server->context) == VBN_OK;
    vbn_config_destroy(config);
    return opened;
}

store_source_t memory_source(server_t *server)
{
    if (open_context(server))
        return (store_source_t){.get = get_shareable, .put = put_shareable, .arg = server};
    log_line(server, 0, "items are in private memory, which nobody can read one-sided: %s", vbn_error_text());
    return (store_source_t){.get = get_private, .put = put_private, .arg = server};
}

void memory_close(server_t *server)
{
    if (server->context != NULL)
        (void)vbn_close(server->context);
    server->context = NULL;
}
