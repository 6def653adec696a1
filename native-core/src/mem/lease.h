/* SPDX-License-Identifier: Apache-2.0
 * lease.h - memory that a worker touches for a peer, which its owner may give up at any moment, in any thread:
 * mem_free, mem_revoke and mem_invalidate shut it, and from their return on no worker touches it.
 *
 *   worker: mem_enter, one copy or system call, mem_leave      owner: mem_shut: none may enter; waits for those inside,
 *   worker: a lease for what outlives this                     then copies what leases still need
 *
 * The owner waits for a copy or a system call that does not block, never for a worker's progress. What waits to be sent
 * (answers to gets) holds a lease: shutting copies its bytes, and the lease's piece points to the copy from then on.
 *
 * Z1 between enter and leave nothing waits, and no callback of the user runs: he may shut. Z2 a worker that finds
 * memory shut waits for the copies while it is inside nothing. Z3 who looks at a lease's piece is inside it. Z4 the
 * object outlives its memory: references keep the object, mem_hold the memory. */
#ifndef VBN_MEM_LEASE_H
#define VBN_MEM_LEASE_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/list.h"
#include "mem/mem.h"

/* May touch the memory until mem_leave. False: it is shut, or the kernel has said that its pages changed. No lock, no
 * system call. */
bool mem_enter(vbn_mem_t *mem);
void mem_leave(vbn_mem_t *mem);
/* The object, not the memory. */
void mem_reference(vbn_mem_t *mem);
void mem_unreference(vbn_mem_t *mem);

typedef struct mem_lease {
    list_link_t link; /* in mem->leases; its lock */
    vbn_mem_t *mem;   /* referenced; NULL: no lease */
    struct iovec *piece;
    void *copy;     /* lock; of the piece, owned */
    unsigned depth; /* the worker's, as the next one: enters less leaves */
    bool apart;     /* seen to be shut: the piece is a copy */
    bool lost;      /* lock; there was no heap for the copy */
} mem_lease_t;

/* The worker is inside mem, and leaves. The bytes of piece, one place in mem, are there until mem_lease_close, for who enters
 * the lease. Takes a lock of the memory's own. */
void mem_lease_open(mem_lease_t *lease, vbn_mem_t *mem, struct iovec *piece);
/* Frees what it holds. Nothing happens without a lease. */
void mem_lease_close(mem_lease_t *lease);

typedef enum mem_lease_state {
    MEM_LEASE_IN,   /* mem_lease_leave follows */
    MEM_LEASE_WAIT, /* only when `wait` was not said: ask again while inside nothing */
    MEM_LEASE_LOST  /* the bytes are gone; err_text() says why */
} mem_lease_state_t;

/* Before the piece is looked at. wait: the caller is inside no other memory. Lease NULL: IN. */
mem_lease_state_t mem_lease_enter(mem_lease_t *lease, bool wait);
void mem_lease_leave(mem_lease_t *lease);

#endif
