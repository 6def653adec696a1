/* SPDX-License-Identifier: Apache-2.0
 * mem_harness.c - see mem_harness.h. */
#include "mem/expose.h"
#include "mem/mem.h"
#include "mem/reach.h"
#include "mem/slab.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem_harness.h"

struct bench {
    mem_registry_t *registry;
    mem_reach_t reach;
    uint64_t source; /* of imports */
    counters_t counters;
    log_sink_t log;
    char lines[4096];
};

static void on_log(void *arg, const vbn_log_record_t *record)
{
    bench_t *bench = arg;
    strncat(bench->lines, record->text, sizeof(bench->lines) - strlen(bench->lines) - 1);
}

bench_t *bench_open(void)
{
    bench_t *bench = calloc(1, sizeof(*bench));
    if (bench == NULL)
        abort();
    bench->log = (log_sink_t){.func = on_log, .arg = bench, .level = VBN_LOG_INFO};
    if (mem_registry_open(&bench->log, &bench->counters, &bench->registry) != VBN_OK)
        abort();
    mem_reach_open(&bench->reach, bench->registry);
    return bench;
}

vbn_status_t bench_close(bench_t *bench)
{
    vbn_status_t status = mem_registry_close(bench->registry);
    if (status != VBN_OK)
        return status;
    mem_reach_close(&bench->reach);
    free(bench);
    return VBN_OK;
}

const char *bench_log(bench_t *bench)
{
    return bench->lines;
}

void bench_configure(bench_t *bench, const char *key, const char *value)
{
    settings_t settings;
    settings_defaults(&settings);
    if (settings_set(&settings, key, value) != VBN_OK)
        abort();
    mem_registry_configure(bench->registry, &settings);
}

void *bench_slab_get(bench_t *bench, size_t bytes)
{
    mpool_source_t source = mem_slab_source(bench->registry);
    return source.get(source.arg, bytes);
}

void bench_slab_put(bench_t *bench, void *block, size_t bytes)
{
    mpool_source_t source = mem_slab_source(bench->registry);
    source.put(source.arg, block, bytes);
}

uint64_t bench_counter(bench_t *bench, const char *name)
{
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counter_name((counter_id_t)i), name) == 0)
            return atomic_get_relaxed(&bench->counters.values[i]);
    return UINT64_MAX;
}

vbn_status_t bench_alloc(bench_t *bench, size_t size, vbn_backing_t backing, const char *path, vbn_mem_t **mem_p)
{
    return mem_alloc(bench->registry, size, backing, path, mem_p);
}

vbn_status_t bench_reserve(bench_t *bench, size_t size, vbn_mem_t **mem_p)
{
    return mem_reserve(bench->registry, size, mem_p);
}

vbn_status_t bench_adopt(bench_t *bench, int fd, void *address, size_t size, vbn_mem_t **mem_p)
{
    return mem_adopt(bench->registry, fd, address, size, mem_p);
}

vbn_status_t bench_open_file(bench_t *bench, const char *path, vbn_mem_t **mem_p)
{
    return mem_open(bench->registry, path, mem_p);
}

vbn_status_t bench_register(bench_t *bench, void *address, size_t length, unsigned access, vbn_mem_t **mem_p)
{
    return mem_register(bench->registry, address, length, access, mem_p);
}

vbn_status_t bench_invalidate(bench_t *bench, const void *address, size_t length)
{
    return mem_invalidate(bench->registry, address, length);
}

vbn_mem_t *bench_find(bench_t *bench, const void *address, size_t length)
{
    return mem_find(bench->registry, address, length);
}

vbn_status_t bench_reach(bench_t *bench, uint64_t key, uint64_t offset, uint64_t length, unsigned access,
                         void **address_p, vbn_mem_t **mem_p)
{
    return mem_reach(&bench->reach, key, offset, length, access, address_p, mem_p);
}

vbn_status_t bench_resolve(bench_t *bench, uint64_t key, uint64_t offset, uint64_t length, unsigned access,
                           void **address_p)
{
    vbn_mem_t *mem;
    vbn_status_t status = mem_reach(&bench->reach, key, offset, length, access, address_p, &mem);
    if (status == VBN_OK)
        mem_leave(mem);
    return status;
}

struct bench_lease {
    mem_lease_t lease;
    struct iovec piece;
};

bench_lease_t *bench_lease_keep(vbn_mem_t *mem, void *piece, size_t length)
{
    bench_lease_t *lease = calloc(1, sizeof(*lease));
    if (lease == NULL)
        abort();
    lease->piece = (struct iovec){piece, length};
    mem_lease_open(&lease->lease, mem, &lease->piece);
    return lease;
}

const void *bench_lease_enter(bench_lease_t *lease)
{
    return mem_lease_enter(&lease->lease, true) == MEM_LEASE_IN ? lease->piece.iov_base : NULL;
}

void bench_lease_leave(bench_lease_t *lease)
{
    mem_lease_leave(&lease->lease);
}

void bench_lease_end(bench_lease_t *lease)
{
    mem_lease_close(&lease->lease);
    free(lease);
}

bool bench_hold(bench_t *bench, const void *address, size_t length, vbn_mem_t **mem_p)
{
    return mem_hold(bench->registry, address, length, false, mem_p);
}

vbn_status_t bench_descriptor(bench_t *bench, uint64_t key, int *fd_p)
{
    return mem_key_descriptor(bench->registry, key, fd_p);
}

vbn_status_t bench_decode(const void *blob, size_t length, uint64_t *key_p)
{
    mem_key_info_t info = {0};
    vbn_status_t status = mem_key_decode(blob, length, &info);
    *key_p = info.key_handle;
    if (status == VBN_OK && (info.offset > info.mem_bytes || info.length > info.mem_bytes - info.offset))
        abort(); /* decode promised this */
    return status;
}

void bench_import_from(bench_t *bench, uint64_t source)
{
    bench->source = source;
}

vbn_status_t bench_import(bench_t *bench, const void *blob, size_t length, int fd, void **import_p)
{
    mem_key_info_t info;
    vbn_status_t status = mem_key_decode(blob, length, &info);
    if (status != VBN_OK) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (fd < 0) {
        *import_p = mem_import_find(bench->registry, bench->source, &info);
        return VBN_OK;
    }
    mem_import_t *import = NULL;
    status = mem_import_map(bench->registry, bench->source, &info, fd, &import);
    *import_p = import;
    return status;
}

void *bench_import_address(void *import)
{
    return mem_import_address(import);
}

void bench_import_release(void *import)
{
    mem_import_release(import);
}

/* --------------------------------------------------------------------------------------------- devices */

#define SERVED 32u

struct bench_device {
    bench_t *bench;
    mem_device_t device;
    _Atomic unsigned access[SERVED]; /* 0: not served */
    unsigned count;
    _Atomic unsigned serves;
    bool refuse;
};

static vbn_status_t serve(void *arg, void *address, size_t bytes, unsigned access, void **handle_p, uint32_t *key_p)
{
    bench_device_t *device = arg;
    (void)address;
    (void)bytes;
    if (device->refuse || device->count == SERVED)
        return err_set(VBN_ERR_LIMIT, "the device is full");
    device->access[device->count] = access;
    *key_p = device->count;
    *handle_p = &device->access[device->count++];
    device->serves++;
    return VBN_OK;
}

static void hide(void *arg, void *handle)
{
    *(_Atomic unsigned *)handle = 0;
    ((bench_device_t *)arg)->serves--;
}

bench_device_t *bench_device_open(bench_t *bench)
{
    bench_device_t *device = calloc(1, sizeof(*device));
    if (device == NULL)
        abort();
    device->bench = bench;
    device->device = (mem_device_t){.add = serve, .remove = hide, .arg = device};
    mem_device_init(&device->device);
    return device;
}

void bench_device_end(bench_device_t *device)
{
    mem_device_end(device->bench->registry, &device->device);
    free(device);
}

void bench_device_refuse(bench_device_t *device, bool refuse)
{
    device->refuse = refuse;
}

unsigned bench_device_serves(const bench_device_t *device)
{
    return device->serves;
}

vbn_status_t bench_expose(bench_device_t *device, uint64_t key, uint32_t *device_key_p, uint64_t *address_p,
                          unsigned *access_p)
{
    mem_exposed_t exposed;
    vbn_status_t status = mem_expose(device->bench->registry, &device->device, key, &exposed);
    if (status != VBN_OK)
        return status;
    *device_key_p = exposed.key;
    *address_p = exposed.address;
    *access_p = device->access[exposed.key];
    return VBN_OK;
}
