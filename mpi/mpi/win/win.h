/* SPDX-License-Identifier: Apache-2.0
 * win.h - windows (MPI 5.0, chapter 12): memory that a group of ranks opens to each other.
 *
 * W1 A window has a communicator of its own. Its messages carry the context id of that communicator, so messages of two
 *    windows never meet, and messages of one origin to one target are handled in the order in which they were sent.
 * W2 Base, size, unit and key of a target are asked for at the first access to it: creation gathers nothing, and a window costs
 *    a rank memory only for the targets that it accesses.
 * W3 Memory of a target that is mapped here, and a rank's own, is reached by loads and stores of the origin. Put and get of other
 *    memory are one-sided operations of the core by the target's key.
 * W4 Calls of the accumulate family on one element never overlap (12.7.1). Memory that several processes map has a word that the
 *    executor of such a call holds meanwhile: the origin where the memory is mapped, else the target. All other memory, and all
 *    memory of dynamic windows, is changed by the target's process only, for messages that it executes when it makes progress;
 *    while it computes, its keeper does (rt/keeper.h).
 * W5 A call of the program is one win_call_t until all its operations have ended, but for plain elements in mapped memory, which
 *    direct.c reads and writes at once. Counts of the target and of the window tell how many calls are under way.
 * W6 A call that a target executes without an answer is complete at the target once a later question has been answered (flush.c).
 * W7 The lock of a rank's memory is a word (gate.h), beside the window's memory in node memory, or else of the rank alone.
 * Everything here happens inside the runtime, between rt_enter and rt_leave.
 */
#ifndef VERBENA_MPI_WIN_H
#define VERBENA_MPI_WIN_H

#include <stdatomic.h>

#include <vbn/vbn.h>

#include "comm/comm.h"
#include "win/gate.h"

#define WIN_PAGE 64 /* targets of one page of the table */
#define WIN_ACCESS (VBN_ACCESS_READ | VBN_ACCESS_WRITE)

typedef enum win_lock { WIN_UNLOCKED = 0, WIN_SHARED = MPI_LOCK_SHARED, WIN_EXCLUSIVE = MPI_LOCK_EXCLUSIVE } win_lock_t;

/* What this rank knows of another rank of the window. */
typedef struct win_target {
    int known;          /* the description has arrived */
    int failed;         /* MPI_SUCCESS, or the class of the first error of a call here since the last synchronisation */
    int pending;        /* calls that are under way */
    int refused;        /* MPI_SUCCESS, or the class of an error of its calls here, which had no answer */
    unsigned sent;      /* messages without an answer (W6) */
    unsigned proved;    /* of these, so many are known to be done */
    int asking;         /* a thread takes the lock that MPI_Win_lock_all has promised */
    int holds;          /* locks of this rank's memory that it keeps for the other one (grant.c) */
    win_lock_t lock;    /* of this rank at the target */
    int lock_checked;   /* it was taken, and is to be returned (no MPI_MODE_NOCHECK) */
    win_gate_t *held;   /* W7: where it is returned; NULL: to the target, by a message */
    unsigned posts;     /* of this target's exposure epochs, without those that MPI_Win_start has used */
    unsigned completes; /* of its access epochs, without those that MPI_Win_wait has used */
    size_t size;
    size_t unit;
    int read_only;          /* its process may not write to the memory */
    vbn_key_t *key;         /* NULL: no bytes, a dynamic window, or not needed */
    unsigned char *near;    /* W3: its memory here; NULL: by key or messages */
    _Atomic uint32_t *word; /* W4; NULL: none */
    win_gate_t *gate;       /* W7; NULL: the target keeps its lock for this rank */
    int lent;               /* the program may load and store there without a call */
} win_target_t;

/* Memory attached to a dynamic window. */
typedef struct win_region {
    struct win_region *next;
    uintptr_t start;
    size_t length;
    int read_only; /* the process may not write to it */
} win_region_t;

/* A rank that waits for a lock of this rank's memory. */
typedef struct win_waiter {
    struct win_waiter *next;
    int rank;
    win_lock_t lock;
    uint64_t token; /* of its question */
    int promised;   /* by MPI_Win_lock_all (E2) */
    int maps;       /* W7: the rank returns the lock by itself */
} win_waiter_t;

typedef enum win_epoch { WIN_NO_EPOCH, WIN_FENCE, WIN_START, WIN_LOCK, WIN_LOCK_ALL } win_epoch_t;

typedef struct mpi_win {
    obj_t obj;
    mpi_comm_t *comm; /* W1 */
    int flavour;
    int model;
    MPI_Aint unit;
    int small_unit; /* as its attribute gives it: MPI_UNDEFINED where an int cannot hold it */
    void *base;
    MPI_Aint size;
    int read_only;             /* the process may not write to base */
    int apart;                 /* parts of a shared window need not touch each other */
    size_t alignment;          /* of base, which a hint has asked for; 0: none has */
    size_t exposed;            /* bytes that the key of mem covers */
    void *block;               /* memory that was allocated for the window (rt/memory.h); NULL: the program's */
    vbn_mem_t *mem;            /* where base lies, for keys; NULL: nowhere */
    int registered;            /* mem is a registration of base */
    int told;                  /* keys of the memory were given to other hosts */
    size_t node_at;            /* of base in node memory (rt/node.h); 0: it is not there */
    _Atomic uint32_t *word;    /* W4: of this rank's memory; NULL: none */
    win_gate_t *gate;          /* W7: of this rank's memory */
    win_gate_t own_gate;       /* it, where no other rank maps it */
    struct win_shared *shared; /* of MPI_Win_allocate_shared (shared.c); NULL: another window */
    struct attr *attrs;
    MPI_Info info; /* hints in effect */
    char name[MPI_MAX_OBJECT_NAME];
    win_target_t **pages;
    int pending;           /* calls that are under way */
    win_epoch_t epoch;     /* of access */
    int used;              /* calls were made since the fence that opened it */
    int locks;             /* targets that are locked, in WIN_LOCK and WIN_LOCK_ALL */
    int nocheck;           /* of MPI_Win_lock_all: no lock is taken */
    rt_group_t *start;     /* targets of MPI_Win_start */
    rt_group_t *post;      /* origins of MPI_Win_post */
    win_waiter_t *waiters; /* for the lock of this rank's memory, in the order of their requests */
    win_waiter_t **waiters_end;
    win_region_t *regions;  /* of a dynamic window */
    struct win_turn *turns; /* messages that wait (turn.c) */
    struct mpi_win *next;   /* of the same hash */
} mpi_win_t;

/* NULL: not a window. */
static inline mpi_win_t *win_of(MPI_Win win)
{
    return obj_is(win, OBJ_WIN) ? (mpi_win_t *)win : NULL;
}

/* What is known of a rank of the window; NULL with MPI_ERR_NO_MEM: no memory left. Its lock, counts and errors are valid from the
 * start. */
win_target_t *win_target(mpi_win_t *win, int rank);
/* The same when there is something; NULL: nothing is known. */
static inline win_target_t *win_target_known(const mpi_win_t *win, int rank)
{
    win_target_t *page = win->pages == NULL ? NULL : win->pages[(unsigned)rank / WIN_PAGE];
    return page == NULL ? NULL : &page[(unsigned)rank % WIN_PAGE];
}
/* Whether a rank of the window may have its memory, and the words of W4 and W7, in memory that this rank maps, too. */
int win_shares_node(const mpi_win_t *win, int rank);
/* Asks for the description at the first access. MPI_SUCCESS, or an error: the rank is lost, no memory is left. */
int win_describe(mpi_win_t *win, int rank, win_target_t **target_p);
void win_targets_free(mpi_win_t *win);
/* MPI_SUCCESS, or MPI_ERR_RANK: the window has no such rank, or it is MPI_PROC_NULL. */
int win_check_rank(const mpi_win_t *win, int rank);
/* MPI_SUCCESS, or MPI_ERR_PROC_ABORTED once the rank is lost. */
int win_check_alive(const mpi_win_t *win, int rank, const char *what);

#endif
