/* SPDX-License-Identifier: Apache-2.0
 * mem_harness.h - mem.h for C++ tests, which cannot include headers with C atomics. */
#ifndef VBN_TEST_MEM_HARNESS_H
#define VBN_TEST_MEM_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vbn/vbn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench bench_t; /* a registry with its counters */
bench_t *bench_open(void);
vbn_status_t bench_close(bench_t *bench);                                 /* frees only when it returns VBN_OK */
const char *bench_log(bench_t *bench);                                    /* all lines so far */
void bench_configure(bench_t *bench, const char *key, const char *value); /* one setting, the others default */
void *bench_slab_get(bench_t *bench, size_t bytes);
void bench_slab_put(bench_t *bench, void *block, size_t bytes);
uint64_t bench_counter(bench_t *bench, const char *name);

vbn_status_t bench_alloc(bench_t *bench, size_t size, vbn_backing_t backing, const char *path, vbn_mem_t **mem_p);
vbn_status_t bench_reserve(bench_t *bench, size_t size, vbn_mem_t **mem_p);
vbn_status_t bench_adopt(bench_t *bench, int fd, void *address, size_t size, vbn_mem_t **mem_p);
vbn_status_t bench_open_file(bench_t *bench, const char *path, vbn_mem_t **mem_p);
vbn_status_t bench_register(bench_t *bench, void *address, size_t length, unsigned access, vbn_mem_t **mem_p);
vbn_status_t bench_invalidate(bench_t *bench, const void *address, size_t length);
vbn_mem_t *bench_find(bench_t *bench, const void *address, size_t length);
vbn_status_t bench_resolve(bench_t *bench, uint64_t key, uint64_t offset, uint64_t length, unsigned access,
                           void **address_p);
/* mem_reach of a worker of this bench; the caller is inside the memory then. */
vbn_status_t bench_reach(bench_t *bench, uint64_t key, uint64_t offset, uint64_t length, unsigned access,
                         void **address_p, vbn_mem_t **mem_p);
bool mem_enter(vbn_mem_t *mem);
void mem_leave(vbn_mem_t *mem);
/* A piece of memory that a worker, inside it, goes on to need. */
typedef struct bench_lease bench_lease_t;
bench_lease_t *bench_lease_keep(vbn_mem_t *mem, void *piece, size_t length);
/* Its bytes, inside the lease; NULL: they are lost. bench_lease_leave follows. */
const void *bench_lease_enter(bench_lease_t *lease);
void bench_lease_leave(bench_lease_t *lease);
void bench_lease_end(bench_lease_t *lease);
/* Keeps the memory of an operation of our own. */
bool bench_hold(bench_t *bench, const void *address, size_t length, vbn_mem_t **mem_p);
void mem_unhold(vbn_mem_t *mem);
vbn_status_t bench_descriptor(bench_t *bench, uint64_t key, int *fd_p);
/* Decodes; key handle out. */
vbn_status_t bench_decode(const void *blob, size_t length, uint64_t *key_p);
/* Decodes and maps; fd is taken over. NULL fd (-1): only looks for an existing mapping. */
vbn_status_t bench_import(bench_t *bench, const void *blob, size_t length, int fd, void **import_p);
/* The connection that later imports come over. */
void bench_import_from(bench_t *bench, uint64_t source);
void *bench_import_address(void *import);
void bench_import_release(void *import);

/* A device of which nothing is real: what it serves is counted, what it is to refuse it refuses. */
typedef struct bench_device bench_device_t;
bench_device_t *bench_device_open(bench_t *bench);
void bench_device_end(bench_device_t *device); /* serves nothing any more, and is freed */
void bench_device_refuse(bench_device_t *device, bool refuse);
unsigned bench_device_serves(const bench_device_t *device);
/* Device key and address of the key's range; the rights of the registration in *access_p. */
vbn_status_t bench_expose(bench_device_t *device, uint64_t key, uint32_t *device_key_p, uint64_t *address_p,
                          unsigned *access_p);

vbn_status_t mem_revoke(vbn_mem_t *mem);
vbn_status_t mem_discard(vbn_mem_t *mem);
vbn_status_t mem_uncommit(vbn_mem_t *mem, size_t offset, size_t length);
vbn_status_t mem_free(vbn_mem_t *mem);
void *mem_address(const vbn_mem_t *mem);
size_t mem_size(const vbn_mem_t *mem);
vbn_status_t mem_key_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access, void *blob,
                            size_t *length_p);

#ifdef __cplusplus
}
#endif
#endif
