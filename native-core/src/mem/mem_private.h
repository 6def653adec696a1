/* SPDX-License-Identifier: Apache-2.0
 * mem_private.h - the structs behind mem.h. Everything in a registry is guarded by its lock, except the constant
 * fields of a memory or an import (address, size, descriptor), which are written before the object is published.
 *
 * File of a VBN_BACKING_FILE memory:
 *   page 0   mem_file_header_t, rest zero      never part of the user's memory
 *   page 1.. user data                         mem_address() points here */
#ifndef VBN_MEM_MEM_PRIVATE_H
#define VBN_MEM_MEM_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/atomics.h"
#include "base/handle.h"
#include "base/itree.h"
#include "base/list.h"
#include "base/map.h"
#include "mem/cache.h"
#include "mem/mem.h"
#include "mem/ranges.h"

#define MEM_MAX_MEMORIES (1u << 20)
#define MEM_MAX_KEYS (1u << 22)

#define MEM_FILE_MAGIC UINT64_C(0x314d454d4e425645) /* "EVBNMEM1" */
#define MEM_FILE_VERSION 1u
#define MEM_FILE_LIVE 1u
#define MEM_FILE_REVOKED 2u

/* Same host only, so in the host's byte order. state is the only field that changes after creation. */
typedef struct mem_file_header {
    uint64_t magic;
    uint32_t version;
    _Atomic uint32_t state;
    uint64_t generation; /* random per file, not 0 */
    uint64_t user_bytes; /* without this page */
    uint64_t host_id;    /* boot id of the kernel on which the file was made */
    uint64_t owner_id;   /* registry id of the maker */
} mem_file_header_t;

_Static_assert(sizeof(mem_file_header_t) == 48, "file layout");

struct mem_registry {
    pthread_mutex_t lock;     /* a leaf: nothing else is locked while it is held */
    pthread_mutex_t exposing; /* lock of exposures (expose.h); before `lock` */
    uint64_t id;
    uint64_t fork_generation;
    size_t huge_bytes;        /* of a huge page; 0: none, or not wanted */
    _Atomic bool huge_logged; /* what the log says once */
    _Atomic bool lock_logged;
    mem_cache_t *cache; /* made by the first mem_register; lock */
    mem_cache_params_t cache_params;
    const log_sink_t *log;
    counters_t *counters;
    handle_table_t memories; /* handle -> vbn_mem_t */
    handle_table_t keys;     /* handle -> mem_key_t */
    itree_t by_address;      /* vbn_mem_t.node */
    list_link_t shared;      /* vbn_mem_t.shared: reserved and joined memories */
    map_t imports;           /* hash of identity -> chain of mem_import_t */
    size_t import_count;
    uint64_t last_source; /* mem_new_source */
    uint64_t consents;    /* address of the table of consent.h; 0: none yet. Lock; peers read it, too */
};

struct vbn_mem {
    mem_registry_t *registry;
    itree_node_t node; /* user memory's range; lock */
    uint64_t handle;
    uint64_t owner_id; /* in keys: registry and handle of the first owner, whose memory it was before it was joined */
    uint64_t owner_handle;
    list_link_t shared;            /* registry->shared; lock */
    mem_import_t *import;          /* reserved, joined: what peers' keys of it lead to (shared.c); else NULL */
    void (*unmap)(vbn_mem_t *mem); /* the same: ends the mapping and the import */
    size_t committed;              /* lock; bytes of shared memory that commits of this context have allocated */
    mem_ranges_t here;             /* lock; where: they are not asked for again */
    dev_t device;                  /* of the file of shared memory, with inode */
    ino_t inode;
    char *path;   /* NULL for memfd */
    uint8_t *map; /* whole mapping, header page included */
    size_t map_bytes;
    size_t header_bytes;         /* 0 or one page */
    mem_region_t *region;        /* the user's own memory: what keeps it ready; else NULL */
    unsigned access;             /* most that a key may allow */
    _Atomic uint32_t inside;     /* threads that touch it for a peer, and whether it is shut: lease.c */
    _Atomic uint32_t references; /* to the object: the owner's while it has memory, and mem_reference's */
    pthread_mutex_t lease_lock;  /* a leaf; the next two */
    list_link_t leases;          /* mem_lease_t.link */
    bool apart;                  /* shut, and what leases need is copied */
    int fd;                      /* -1 for the user's own */
    bool adopted;          /* the mapping is the caller's, who gives pages back at any time: no device may serve them */
    bool opened;           /* mapped read-only by mem_open: the file is another's */
    bool revoked;          /* lock */
    bool discarded;        /* lock: it has no pages any more */
    bool freed;            /* lock: mem_free was called, the last mem_unhold destroys */
    size_t holds;          /* lock: mem_hold and mem_hold_range less mem_unhold */
    list_link_t keys;      /* mem_key_t.link; lock */
    list_link_t exposures; /* mem_exposure_t.of_mem; lock of exposures */
    map_t key_by_range;    /* hash of {offset, length, access} -> mem_key_t; lock */
};

typedef struct mem_key {
    list_link_t link;
    vbn_mem_t *mem;
    uint64_t handle;
    uint64_t offset;
    uint64_t length;
    unsigned access;
} mem_key_t;

struct mem_import {
    mem_registry_t *registry;
    mem_import_t *next_same_hash; /* lock */
    uint64_t hash;
    uint64_t source;
    uint64_t owner_id; /* as the source says, and the next two */
    uint64_t mem_handle;
    uint64_t mem_bytes;
    bool writable;
    uint8_t *map;
    size_t map_bytes;
    size_t header_bytes;
    size_t references; /* lock */
    int fd;            /* of a writable memfd, for mem_join; else -1 */
    vbn_mem_t *lender; /* reserved memory of our own, held while there are references; NULL: a mapping of its own */
    void (*last)(mem_import_t *import); /* of a lender: the last reference is gone */
};

static inline uint64_t mem_mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 31);
}

/* What a key allows. The memory lives on while the lock of exposures is held: mem_revoke, which comes before its end,
 * takes that one, too. VBN_ERR_STALE. */
typedef struct mem_key_rights {
    vbn_mem_t *mem;
    uint64_t offset;
    uint64_t length;
    unsigned access;
} mem_key_rights_t;
vbn_status_t mem_key_rights(mem_registry_t *registry, uint64_t key_handle, mem_key_rights_t *rights_p);
/* No device serves the memory any more. Its keys are stale already, so that it cannot be exposed again. */
void mem_unexpose(vbn_mem_t *mem);
/* The same for ranges inside [start, end) of shared memory. */
void mem_unexpose_inside(vbn_mem_t *mem, uint64_t start, uint64_t end);

/* VBN_ERR_INVALID: no rights, or unknown ones. */
vbn_status_t mem_check_access(unsigned access);
/* Makes every key of mem stale. Lock held. */
void mem_drop_keys(vbn_mem_t *mem);
/* Makes every key of a range inside [start, end) of mem stale. Lock held. */
void mem_drop_keys_inside(vbn_mem_t *mem, uint64_t start, uint64_t end);
/* As mem_find. Lock held. */
vbn_mem_t *mem_find_locked(mem_registry_t *registry, const void *address, size_t length);
/* As mem_find_locked, among the user's own that is not known to have changed: whether it has is for mem_is_there to
 * say. */
vbn_mem_t *mem_find_users_locked(mem_registry_t *registry, const void *address, size_t length);
/* VBN_ERR_FORKED in a child of the process that opened the registry. */
vbn_status_t mem_check_fork(const mem_registry_t *registry);
/* A memory without mapping and descriptor, not published; NULL when the heap is exhausted. path may be NULL. */
vbn_mem_t *mem_new(mem_registry_t *registry, const char *path, size_t user_bytes, size_t header_bytes);
/* VBN_ERR_NO_MEMORY when the host or a control group has not so many bytes left: the kernel would kill somebody. VBN_OK: allocate
 * now, then mem_room_leave: what others ask for meanwhile waits, if it could be too much. */
vbn_status_t mem_room_enter(size_t bytes, int *turn_p);
void mem_room_leave(int turn);
/* The kernel refused: adds what is left, and where, to the error's text. Returns the status. */
vbn_status_t mem_room_explain(vbn_status_t status);
/* Adds a complete memory to the registry and gives it its handle. */
vbn_status_t mem_publish(vbn_mem_t *mem);
/* Takes it out again; true: no operation holds it, and it is the caller's to destroy, else the last mem_unhold does. */
bool mem_unpublish(vbn_mem_t *mem);
/* Unmaps and closes a memory that is not (or no longer) published; the object goes with its last reference. */
void mem_destroy(vbn_mem_t *mem);
/* Its pages are gone: they count no more. */
void mem_count_discarded(vbn_mem_t *mem);
/* From its return on nobody is inside the memory, and nobody will be: see lease.h. Any thread that is not inside. */
void mem_shut(vbn_mem_t *mem);
bool mem_is_shut(const vbn_mem_t *mem);
/* The key, if it allows this. Texts go to a remote requester: they name no address and no path. Lock held.
 * VBN_ERR_STALE, VBN_ERR_RANGE, VBN_ERR_ACCESS, counted. */
vbn_status_t mem_key_find(mem_registry_t *registry, uint64_t handle, uint64_t offset, uint64_t length, unsigned access,
                          const mem_key_t **key_p);

/* consent.c: of a key with VBN_ACCESS_COPY. Without heap for the table there is no consent. Lock held. */
void mem_consent_give(const mem_key_t *key);
/* Of any key. Lock held. */
void mem_consent_end(const mem_key_t *key);
void mem_consents_close(mem_registry_t *registry);

/* Checks that path's directory belongs to us and to us alone. */
vbn_status_t mem_file_check_directory(const char *path);
void mem_file_write_header(vbn_mem_t *mem);
/* Checks owner, rights, format and size of an open descriptor of a memory file; header_p gets a checked copy. */
vbn_status_t mem_file_check(int fd, const char *path, mem_file_header_t *header_p);
/* Marks our file as revoked and removes its name, if the name still leads to our file. */
void mem_file_revoke(vbn_mem_t *mem);

#endif
