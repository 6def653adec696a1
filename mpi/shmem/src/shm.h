/* SPDX-License-Identifier: Apache-2.0
 * shm.h - OpenSHMEM on the runtime: the state of this PE, and what the parts of the library say to each other.
 *
 *     part of a PE in node memory:   | rt and grp | page, static data | symmetric heap     |
 *                                    0        2^shift/4           2^shift/2          2^shift
 *
 * A symmetric object has the same place in every PE's part, so its address at a PE of this node is the own one plus a
 * multiple of 2^shift. A PE that shares memory with nobody has page, static data and heap in memory of its own. PEs of other
 * nodes are reached by keys (far.c).
 *
 * M1 Near operations take no lock and no call of the core. Everything else happens between rt_enter and rt_leave.
 * M2 An error of the program ends the job with function, argument, value and PE (shm_fatal).
 * M3 Collectives that change the heap end with an agreement of all PEs: they fail alike, and different calls are found.
 */
#ifndef VERBENA_SHMEM_SHM_H
#define VERBENA_SHMEM_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <shmem.h>

#include "grp/grp.h"
#include "rt/node.h"
#include "rt/rt.h"
#include "rt/threads.h"

#define SHM_FETCH 16 /* beside vbn_atomic_kind_t: reads only */
#define SHM_REGION_HEAP 0
#define SHM_EXTENT ((size_t)4 << 20) /* bytes of the first extent of the heap; each further one doubles what there is */
#define SHM_EXTENTS 24
#define SHM_STATICS 128 /* segments with static data; those of more libraries are not symmetric */

typedef struct shm_team {
    rt_group_t *ranks;
    grp_t grp;
    unsigned id;
    int num_contexts;
    struct shm_team *next; /* of those that the program has made */
} shm_team_t;

typedef struct shm_ctx {
    shm_team_t *team; /* whose PE numbers its operations have; NULL: the world's */
    long options;
    _Atomic uint64_t pending; /* operations that are not complete; changed inside the runtime only */
    _Atomic int unfenced;     /* some were issued since the last fence */
    struct shm_ctx *next;     /* of those that the program has made */
} shm_ctx_t;

/* What other PEs of the node read and write of a PE. */
typedef struct shm_page {
    _Atomic uint32_t asleep; /* threads of this PE that sleep until something changes in its memory */
    unsigned char apart[60];
} shm_page_t;

/* Static data of a loaded object: [start, start + length) lies at `offset` of the region of static data. */
typedef struct shm_static {
    uintptr_t start;
    size_t length;
    size_t offset;
} shm_static_t;

typedef struct shm {
    uintptr_t heap; /* this PE's */
    size_t used;    /* bytes of it that exist */
    unsigned first; /* PEs first .. first + near - 1 are this node's, with indices 0 .. near - 1 */
    unsigned near;  /* 0: not a range, see index_of */
    unsigned shift;
    unsigned index;           /* of this PE among those of the node */
    _Atomic uint64_t touched; /* PEs, by index & 63, to which was written since the last fence or quiet */
    int inits;
    int pe;
    int pes;
    int threads;    /* level provided */
    int *index_of;  /* index of a PE, -1: it is elsewhere; NULL: a range */
    int on_node;    /* PEs that share this memory */
    uintptr_t part; /* this PE's part */
    size_t page_at; /* of the page in the part */
    size_t statics_at;
    size_t heap_at;
    size_t limit; /* of the heap: SHMEM_SYMMETRIC_SIZE */
    size_t statics_length;
    int static_count;
    shm_static_t statics[SHM_STATICS];
    vbn_mem_t *mem;       /* where the part lies */
    size_t mem_at;        /* the part's place in it */
    vbn_mem_t *own;       /* the same, when it shares with nobody; NULL: node memory */
    struct shm_far **far; /* by PE */
    int debug;
} shm_t;

extern shm_t shm;
extern shm_ctx_t shm_default;
extern shm_team_t shm_world;
extern shm_team_t shm_shared;

/* ---- errors (error.c) */

/* Ends the job: "PE 2 of 4: shmem_int_put: text". */
void shm_fatal(const char *function, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* Ends it because a collective or an operation failed: a PE that is lost is named by the launcher. */
void shm_failed(const char *function, int status, const char *text) __attribute__((noreturn));
void shm_unwritten(const char *function) __attribute__((noreturn));
/* A line of this PE on standard error. */
void shm_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shm_check_ready(const char *function);

/* ---- where objects lie (translate.c) */

/* The address at a PE of this node; NULL: the PE is elsewhere. Ends the job for what is no PE or not symmetric. */
void *shm_find_near(const void *address, size_t length, int pe, const char *function);
/* 1: symmetric, with region (SHM_REGION_HEAP or 1: static data) and offset there. */
int shm_locate(const void *address, size_t length, int *region_p, size_t *offset_p);
int shm_index(int pe);
shm_page_t *shm_page_of(unsigned index);
/* The PE of an index. */
int shm_pe_at(unsigned index);

/* ---- memory (arena.c, heap.c, statics.c) */

int shm_arena_open(void);
void shm_arena_close(void);
/* Allocates pages of this PE's part. -1: none left, text in rt.error. */
int shm_commit(size_t at, size_t length);
void shm_heap_open(void);
void shm_heap_close(void);
/* Finds the static data of the program and of its libraries; how many bytes of the region it takes. */
void shm_statics_find(void);
uint64_t shm_statics_mark(void); /* equal at PEs that run the same program and libraries */
int shm_statics_map(void);
void shm_statics_unmap(void);

/* ---- waking (wait.c) */

/* Wakes the PEs that sleep and were written to. */
void shm_wake_touched(void);
void shm_wake_index(unsigned index);

/* ---- operations on PEs elsewhere (far.c); inside the runtime */

int shm_far_open(void);
void shm_far_close(void);

/* ---- contexts (ctx.c) */

/* team: NULL is the world. options: hints, also those of later versions. -1: no memory left. */
int shm_ctx_make(shm_team_t *team, long options, shmem_ctx_t *ctx);
shm_ctx_t *shm_ctx_find(shmem_ctx_t ctx, const char *function);
void shm_contexts_close(void);
void shm_contexts_of_team_close(const shm_team_t *team);

/* ---- teams (team.c), active sets (set_coll.c) */

int shm_teams_open(void);
void shm_teams_close(void);
shm_team_t *shm_team_find(shmem_team_t team, const char *function);
void shm_sets_close(void);

/* Waits until the context's operations are complete. Inside the runtime. */
void shm_drain(shm_ctx_t *ctx);

#endif
