/* SPDX-License-Identifier: Apache-2.0
 * kind.h - kinds of memory: what an address is, and how its bytes are reached. Today there is host memory only. Another
 * kind (a GPU's) is one more table in kind.c; where its library is loaded at run time, the core links nothing new.
 *
 * Rules for a new kind: detect asks the device's driver, and never guesses from the address. An address that no kind
 * claims is an error, not host memory. `id` is the driver's identity of the buffer: a cached registration is valid while
 * it is the same, since no device memory can be watched. Entries that a device cannot do are NULL. */
#ifndef VBN_MEM_KIND_H
#define VBN_MEM_KIND_H

#include "base/status.h"

typedef enum mem_kind { MEM_KIND_HOST, MEM_KIND_COUNT } mem_kind_t;

typedef struct mem_kind_info {
    mem_kind_t kind;
    int device;      /* number of the device, 0 for the host */
    uintptr_t start; /* the whole buffer or mapping that holds the address */
    uintptr_t end;
    uint64_t id; /* identity of the buffer, 0 when mappings are watched instead */
} mem_kind_info_t;

/* A copy that may still be running; the kind's own. */
typedef struct mem_kind_event {
    uint64_t words[2];
} mem_kind_event_t;

typedef struct mem_kind_ops {
    const char *name;
    /* Whose address is it? VBN_ERR_RANGE: not this kind's. Any thread. */
    vbn_status_t (*detect)(uintptr_t address, mem_kind_info_t *info_p);
    /* Makes whole pages [start, end) ready for remote access with these VBN_ACCESS_ rights: they exist, the rights are
     * there. VBN_ERR_ACCESS, VBN_ERR_NO_MEMORY. Any thread. */
    vbn_status_t (*prepare)(uintptr_t start, uintptr_t end, unsigned access);
    /* Starts a copy of which at least one side is this kind. VBN_OK: it is done. VBN_INPROGRESS: ask copy_test. */
    vbn_status_t (*copy)(void *to, const void *from, size_t bytes, mem_kind_event_t *event_p);
    vbn_status_t (*copy_test)(mem_kind_event_t *event);
    /* Sharing with another process of the host: a handle of at most VBN_KEY_MAX bytes, mapped and unmapped there. NULL
     * for the host kind, whose memory is shared by descriptors (mem_key_descriptor). */
    vbn_status_t (*ipc_export)(uintptr_t start, uintptr_t end, void *handle, size_t *bytes_p);
    vbn_status_t (*ipc_open)(const void *handle, size_t bytes, void **address_p);
    void (*ipc_close)(void *address);
    /* A dma-buf of the range, for network devices that register device memory by it. NULL for the host kind. */
    vbn_status_t (*dmabuf_fd)(uintptr_t start, uintptr_t end, int *fd_p);
} mem_kind_ops_t;

const mem_kind_ops_t *mem_kind_ops(mem_kind_t kind);
/* Asks the kinds one after the other. VBN_ERR_RANGE when the address is nobody's. */
vbn_status_t mem_kind_detect(uintptr_t address, mem_kind_info_t *info_p);

#endif
