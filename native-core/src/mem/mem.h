/* SPDX-License-Identifier: Apache-2.0
 * mem.h - shareable memory, its keys, and mappings of other processes' memory.
 *
 * A registry belongs to a context and is locked inside: any thread may call it. Every object is reached from outside
 * by a handle (index + generation), never by a pointer.
 *
 *   owner                                   same-host peer                     other peer
 *   mem_t  <-- key entry {mem, range,       asks for the descriptor by key     sends GET/PUT packets with the key
 *              rights}, handle = "key id"   handle (tl), maps it once per      handle; owner checks mem_key_resolve
 *                                           (connection, mem id): mem_import_t
 *
 * Invariants: I1 all pages of a mem_t are allocated before anyone may touch them. I2 a key resolves only while its
 * mem lives and only within its range and rights. I3 an import stays mapped while a reference is held, also after the
 * owner freed or died. I4 memory of the user's own (mem_register) is held by a region of the cache (cache.h) and never
 * mapped by peers; with a key that allows it they copy it by the kernel (consent.h). When the kernel reports it gone, its
 * keys are stale. I5 in a child after fork() every call that changes
 * something is VBN_ERR_FORKED and touches no lock. I6 of shared memory (mem_reserve, mem_join) only what mem_commit
 * has allocated exists: I1 holds for that. Its keys name it by its first owner's ids, so that every context that has joined
 * it finds its own mapping (shared.c). */
#ifndef VBN_MEM_MEM_H
#define VBN_MEM_MEM_H

#include "base/counters.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/status.h"

typedef struct mem_registry mem_registry_t;
typedef struct mem_import mem_import_t;

vbn_status_t mem_registry_open(const log_sink_t *log, counters_t *counters, mem_registry_t **registry_p);
/* Takes the mem.* settings; before the first mem_register. Without it their defaults hold. */
void mem_registry_configure(mem_registry_t *registry, const settings_t *settings);
/* VBN_ERR_INVALID, with counts in the text, while memory is left. */
vbn_status_t mem_registry_close(mem_registry_t *registry);

/* As vbn_mem_* (which call these): vbn_mem_t is defined in mem/mem_private.h. */
vbn_status_t mem_alloc(mem_registry_t *registry, size_t size, vbn_backing_t backing, const char *path,
                       vbn_mem_t **mem_p);
vbn_status_t mem_open(mem_registry_t *registry, const char *path, vbn_mem_t **mem_p);
vbn_status_t mem_reserve(mem_registry_t *registry, size_t size, vbn_mem_t **mem_p);
vbn_status_t mem_adopt(mem_registry_t *registry, int fd, void *address, size_t size, vbn_mem_t **mem_p);
vbn_status_t mem_commit(vbn_mem_t *mem, size_t offset, size_t length);
uint64_t mem_room(void);
vbn_status_t mem_uncommit(vbn_mem_t *mem, size_t offset, size_t length);
/* Reserved, adopted or joined: most of its pages may not exist, so a device must not be given all of it. */
bool mem_is_shared(const vbn_mem_t *mem);
vbn_status_t mem_register(mem_registry_t *registry, void *address, size_t length, unsigned access, vbn_mem_t **mem_p);
vbn_status_t mem_invalidate(mem_registry_t *registry, const void *address, size_t length);
vbn_status_t mem_revoke(vbn_mem_t *mem);
vbn_status_t mem_discard(vbn_mem_t *mem);
vbn_status_t mem_free(vbn_mem_t *mem);
void *mem_address(const vbn_mem_t *mem);
size_t mem_size(const vbn_mem_t *mem);
/* The memory that holds all of [address, address+length), length > 0, that peers can map and that is not revoked, or
 * NULL. The caller sees to it that the
 * memory is not freed meanwhile. */
vbn_mem_t *mem_find(mem_registry_t *registry, const void *address, size_t length);

/* ------------------------------------------------------------------------------------ keys, owner's side */

/* Blob of VBN_KEY_MAX or fewer bytes, little endian, versioned; layout in key_blob.h. */
vbn_status_t mem_key_export(vbn_mem_t *mem, size_t offset, size_t length, unsigned access, void *blob,
                            size_t *length_p);
/* What a peer reaches by a key is looked up by reach.h, and touched as lease.h says. */
void mem_unhold(vbn_mem_t *mem);
/* Keeps the memory that holds all of [address, address+length) mapped until mem_unhold, also when mem_free is called
 * meanwhile (the unmapping waits); for what the worker's own operations work on. false: there is none. `users`: also
 * the user's own, of which only the object is kept, see mem_is_there. Never shared memory: its callers give all of a memory
 * to a device. Any thread. */
bool mem_hold(mem_registry_t *registry, const void *address, size_t length, bool users, vbn_mem_t **mem_p);
bool mem_is_writable(const vbn_mem_t *mem); /* here; not what mem_open has mapped */
bool mem_is_users(const vbn_mem_t *mem);
/* Its addresses still mean what they meant when it was held. The user's own: one system call. */
bool mem_is_there(const vbn_mem_t *mem);
bool mem_is_freed(const vbn_mem_t *mem); /* of memory that is held: its owner has freed or revoked it */
/* Descriptor to hand to a same-host peer: read-only unless the key allows writing. Caller closes it. */
vbn_status_t mem_key_descriptor(mem_registry_t *registry, uint64_t key_handle, int *fd_p);

/* --------------------------------------------------------------------------------- keys, importer's side */

typedef struct mem_key_info {
    uint64_t key_handle; /* owner's handle */
    uint64_t owner_id;   /* the owning registry's random id */
    uint64_t mem_handle; /* owner's handle of the memory, for sharing one mapping */
    uint64_t mem_bytes;  /* size of the whole memory */
    uint64_t offset;     /* of the range in the memory */
    uint64_t length;     /* of the range */
    unsigned access;
    /* Memory of the user's own: it has no descriptor, so peers do not ask for it. With VBN_ACCESS_COPY they may copy it by the
     * kernel. */
    bool by_packets;
} mem_key_info_t;

/* When [address, address+length) lies in one memory that peers can map: holds it as mem_hold does, and describes a
 * key that lets a peer read all of it, with offset and length those of the range. false: it does not, nothing is held. */
bool mem_hold_range(mem_registry_t *registry, const void *address, size_t length, mem_key_info_t *info_p,
                    vbn_mem_t **mem_p);
/* When [address, address+length) lies in one memory that peers can map, and a key that its owner has exported lets them
 * write there: describes that key, with offset and length those of the range in the memory. Gives nobody new rights. */
bool mem_find_writable(mem_registry_t *registry, const void *address, size_t length, mem_key_info_t *info_p);
/* Decodes a blob from outside: checks version, lengths, rights, overflow. VBN_ERR_PROTOCOL. Pure. */
vbn_status_t mem_key_decode(const void *blob, size_t length, mem_key_info_t *info_p);
/* What a peer says about its memory is true for that peer only: an import belongs to the connection over which its descriptor
 * came, and only that connection finds it again. A source names such a connection: new for each, never used twice, and
 * MEM_SOURCE_SELF for our own memory. */
#define MEM_SOURCE_SELF 0u
uint64_t mem_new_source(mem_registry_t *registry);
/* An existing mapping of the source's (owner_id, mem_handle) with these rights, reference taken; NULL when there is none. */
mem_import_t *mem_import_find(mem_registry_t *registry, uint64_t source, const mem_key_info_t *info);
/* Maps a descriptor received from the owner (checks its real size against info); takes over fd, also on failure. */
vbn_status_t mem_import_map(mem_registry_t *registry, uint64_t source, const mem_key_info_t *info, int fd,
                            mem_import_t **import_p);
/* One reference more, for who uses the mapping longer than its finder does. */
void mem_import_hold(mem_import_t *import);
void *mem_import_address(const mem_import_t *import); /* of the whole memory */
void mem_import_release(mem_import_t *import);
/* As vbn_mem_join: of the key that info describes and the import it led to. */
vbn_status_t mem_join(mem_registry_t *registry, const mem_key_info_t *info, mem_import_t *import, vbn_mem_t **mem_p);

#endif
