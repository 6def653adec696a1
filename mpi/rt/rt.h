/* SPDX-License-Identifier: Apache-2.0
 * rt.h - the one runtime of this process, for MPI and OpenSHMEM: one context, one worker, the map of processes.
 *
 * R1 One thread at a time is inside the runtime, between rt_enter and rt_leave (threads.h).
 * R2 Nothing moves outside rt_progress and rt_wait_step.
 * R3 The side that dials sends "rank r of this job" first, so vbn_peer_user of the sender of any later message is its
 *    rt_process_t.
 * R4 Tagged messages go by rt_tag_send: VBN_ERR_LIMIT reaches nobody.
 * R5 The handle of a peer that dialled us ends with its connection, inside vbn_progress. So a peer is asked for (rt_peer)
 *    right before it is used.
 * Failures return a negative vbn_status_t or -1 with a text in rt.error: what failed: cause; cure.
 */
#ifndef VERBENA_RT_H
#define VERBENA_RT_H

#include <vbn/vbn.h>

#include "pmi/pmi.h"

#define RT_AM_HELLO 0 /* ids of active messages */
#define RT_AM_WAKE 1  /* empty: who sleeps for something in node memory looks again */
#define RT_AM_ASK 2   /* rt_ask */
#define RT_AM_WATCH 3 /* grp/watch.h */

typedef struct rt_process {
    vbn_peer_t *peer; /* NULL: no contact yet, or lost; nobody keeps a copy (R5) */
    uint64_t uid;     /* of its worker, once there was contact */
    int rank;         /* in the job */
    int lost;         /* its connection ended */
    int told_lost;    /* another rank says that it has lost it (grp/watch.h, W7) */
    int left;         /* it has ended its last session, and may end (grp/watch.h, W7) */
    int open;         /* it was seen to have opened the runtime (rt_await) */
    int dialled;      /* by this side: the handle outlives the connection */
    vbn_peer_t *late; /* of a lost peer that had dialled (rt_peer_lost); NULL: not asked for */
} rt_process_t;

/* A call that waits for a thread of the program (rt_call_later). */
typedef struct rt_later {
    struct rt_later *next;
    void (*call)(void *arg);
    void *arg;
} rt_later_t;

#define RT_WATCH_MS 200 /* a rank that is watched sleeps so long at most */

#define RT_PAGE 64 /* processes of one page of the map; pages are made at first contact */

typedef struct rt {
    vbn_context_t *context;
    vbn_worker_t *worker;
    int rank;
    int size;
    int users;          /* of rt_acquire and rt_acquire_alone */
    int together;       /* those of rt_acquire */
    int opened;         /* so often: keys of the launcher's space are put once, so each time has its own */
    int fenced;         /* everybody has opened the runtime, this time */
    int parted;         /* rt_part was called */
    int stays;          /* at the launcher, until the process ends */
    int kept;           /* open without users, with a thread that answers (rt_acquire_alone) */
    int own_threads;    /* of the core */
    int leaving;        /* in the last rt_release: nothing of this rank is under way */
    int oversubscribed; /* more ranks on this node than processors they may use */
    int64_t spin_ns;    /* how long a wait polls before it sleeps */
    rt_process_t **pages;
    unsigned events;           /* so far: whoever waits for several things looks again when it has changed */
    rt_later_t *later;         /* in the order of rt_call_later */
    int keeping;               /* the keeper is inside */
    void (*watch)(void);       /* called when a wait has slept, and when a program tests in a loop; NULL: nobody */
    struct rt_queue *deferred; /* defer.c; NULL: every message went to the core at once */
    pmi_t pmi;
    char error[1024];
} rt_t;

extern rt_t rt;

/* Opens the runtime, or takes one more reference. Collective over the job the first time. */
int rt_acquire(void);
/* Drops a reference. The last one is collective: waits until every rank is here and everything sent has arrived. */
int rt_release(void);
/* What is collective in the next rt_release, before it, where rt_acquire_alone has users, too: other threads go on meanwhile. */
int rt_part(void);
/* The same for a part of the job that is not all of it: nobody waits for other ranks to call it, but under a launcher other than
 * mpiexec, where the first time is collective. The last release waits until everything sent has arrived; once a rank of the
 * job has called rt_acquire_alone, the runtime stays open at all ranks until the process ends, for whoever still needs an
 * answer. */
int rt_acquire_alone(void);
int rt_release_alone(void);
/* Waits until everything sent has arrived; a rank that is lost is not waited for. */
void rt_flush(void);
/* Waits for an answer of a rank, which its keeper gives when it computes: what that rank has sent before, the ends of messages
 * that it has received among it, has been seen then. Returns at once for a rank without contact, or lost. */
void rt_ask(int rank);
/* Ends the whole job with the low byte of this exit code, or 1 if that is 0: it never looks like a success. Does not return. The
 * program's streams are flushed before, for 2 s at most. */
void rt_abort(int code) __attribute__((noreturn));
/* The same, as a wish and no failure: the job's exit code may be 0. */
void rt_exit_job(int code) __attribute__((noreturn));
/* Threads of this process, without the runtime's own. */
int rt_threads_of_program(void);
/* Sets rt.error; returns -1. */
int rt_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line on stderr, whole or not at all; its end is added. */
void rt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The peer of a rank of the job; dials at first contact. NULL: failed, or it is lost. */
vbn_peer_t *rt_peer(int rank);
/* The same if there was contact; else NULL. */
static inline vbn_peer_t *rt_peer_known(int rank)
{
    const rt_process_t *page = rt.pages[(unsigned)rank / RT_PAGE];
    return page == NULL ? NULL : page[(unsigned)rank % RT_PAGE].peer;
}
/* A rank that is lost: names it in receives of what had arrived of it before; nothing else comes. NULL: it is not lost, or has no
 * address. */
vbn_peer_t *rt_peer_lost(int rank);
/* The peer of a receive from a rank: of a lost one only if a message that suits has arrived before. NULL: text in rt.error. */
vbn_peer_t *rt_source(int rank, uint64_t tag, uint64_t mask);
rt_process_t *rt_process_at(int rank);
/* The rank of a message's sender: by its peer, or by uid where the peer is lost already. -1: unknown. */
int rt_rank_of(const vbn_peer_t *peer, uint64_t uid);
/* Name of what a rank puts into the launcher's space: "vbn-a7", the second time "vbn-a7.1". */
void rt_key_name(char *name, size_t capacity, const char *what, int rank);
int rt_processes_open(void);
void rt_processes_close(void);
/* Disconnects all: they see an orderly end. Right before the worker is destroyed. */
void rt_processes_leave(void);

/* An ordered set of ranks of the job: a range (stride 1), a stride, or a table. 0 bytes per rank unless it is a
 * table. */
typedef struct rt_group {
    int refs;
    int size;
    int rank; /* of this process in it, -1: not a member */
    int first;
    int stride;
    int *table; /* NULL: regular; else world ranks by rank */
    int *index; /* NULL: regular; else ranks sorted by their world rank */
} rt_group_t;

/* Copies the list; finds out by itself whether it is regular. NULL: no memory left. */
rt_group_t *rt_group_create(const int *world_ranks, int size);
rt_group_t *rt_group_range(int first, int stride, int size);
void rt_group_release(rt_group_t *group);
/* The rank in the group of a rank of the job; -1: not a member. */
int rt_group_find(const rt_group_t *group, int world_rank);

static inline int rt_group_world(const rt_group_t *group, int rank)
{
    return group->table == NULL ? group->first + rank * group->stride : group->table[rank];
}

/* Waits until all of these have opened the runtime. After rt_acquire they have; after rt_acquire_alone whoever sends first asks. */
int rt_await(const rt_group_t *ranks);

/* A wait: while (!condition) rt_wait_step(&wait); polls for a while, then sleeps until something arrives. */
typedef struct rt_wait {
    int64_t until;      /* when polling ends; 0: not decided yet */
    unsigned polls;     /* without an event */
    int armed;          /* the next step sleeps */
    int joined;         /* the thread that drives knows what was begun before this wait (T3) */
    int fd;             /* a further descriptor that ends a sleep, -1: none */
    int look_ms;        /* a sleep ends after so long at the latest; 0: only by an event */
    unsigned yields;    /* of an oversubscribed rank, before it sleeps; 0: the usual number */
    const vbn_op_t *op; /* the wait is over when this is complete; NULL: the caller has to look after each event */
} rt_wait_t;

#define RT_WAIT ((rt_wait_t){.fd = -1})

void rt_wait_step(rt_wait_t *wait);

/* For the functions below: puts the message behind those that wait; sends it unless some wait for that peer; sends those
 * that wait as far as the core takes them, and says how many it took. */
vbn_status_t rt_defer(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                      vbn_op_t *op);
vbn_status_t rt_send_in_order(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count, unsigned flags,
                              vbn_op_t *op);
unsigned rt_send_deferred(void);
/* Takes a message out that still waits: it completes with VBN_ERR_CLOSED, done is called. 1: it did. */
int rt_withdraw_deferred(vbn_op_t *op);

/* Calls it from rt_progress, on a thread of the program, outside vbn_progress: it may leave the runtime and enter again.
 * later stays where it is until then. */
void rt_call_later(rt_later_t *later);
unsigned rt_run_later(void);

/* vbn_tag_send, but what exceeds a limit of the core goes later, in order: it is never the caller's error. */
static inline vbn_status_t rt_tag_send(vbn_peer_t *peer, uint64_t tag, const struct iovec *iov, size_t count,
                                       unsigned flags, vbn_op_t *op)
{
    if (__builtin_expect(rt.deferred != NULL, 0))
        return rt_send_in_order(peer, tag, iov, count, flags, op);
    const vbn_status_t status = vbn_tag_send(peer, tag, iov, count, flags, op);
    return __builtin_expect(status == VBN_ERR_LIMIT, 0) ? rt_defer(peer, tag, iov, count, flags, op) : status;
}

/* How many events there were. */
static inline unsigned rt_progress(void)
{
    unsigned events = vbn_progress(rt.worker);
    if (__builtin_expect(rt.deferred != NULL, 0))
        events += rt_send_deferred();
    if (__builtin_expect(rt.later != NULL, 0) && !rt.keeping)
        events += rt_run_later();
    rt.events += events;
    return events;
}

/* +1 and -1, around the time in which others reach this rank's memory at any moment: the keeper looks each millisecond, and
 * sleeps on the worker's event fd while the program computes. */
void rt_keeper_serve(int change);

/* One look at the network by a call that does not wait. When there was nothing, a rank that shares its processor lets others
 * run, and with MPI_THREAD_MULTIPLE threads that want in have been in afterwards. */
void rt_look(void);

#endif
