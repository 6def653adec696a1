/* SPDX-License-Identifier: Apache-2.0
 * shared.h - inside of the runtime: what threads share with MPI_THREAD_MULTIPLE, and the keeper's mutex.
 */
#ifndef VERBENA_RT_SHARED_H
#define VERBENA_RT_SHARED_H

#include <pthread.h>
#include <stdatomic.h>

#include "rt/rt.h"
#include "rt/threads.h"

/* A thread that waits while another one drives. On its stack. */
typedef struct rt_sleeper {
    struct rt_sleeper *next;
    pthread_cond_t condition;
    const vbn_op_t *op; /* what it waits for; NULL: it has to look itself after each event */
    unsigned events;    /* rt.events when it fell asleep */
    int told;           /* to look again */
} rt_sleeper_t;

/* Guarded by the mutex, but for the atomics. */
typedef struct rt_shared {
    pthread_mutex_t mutex;
    void *_Atomic owner;       /* who is inside; a thread asks only whether it is that itself */
    _Atomic unsigned entering; /* threads that want the mutex */
    _Atomic unsigned entries;  /* so many have come in */
    int depth;                 /* T4 */
    void *driver;              /* T2; NULL: nobody waits */
    int armed;                 /* the driver has armed the worker, and perhaps sleeps */
    rt_sleeper_t *sleepers;    /* the first one gets the drive next */
} rt_shared_t;

extern rt_shared_t rt_shared;

/* Stands for the calling thread. */
void *rt_self(void);
int rt_try_lock(void);
void rt_lock(void);
void rt_unlock(void);
/* Wakes the threads whose operation is complete; of those who have to look themselves all, or those that an event has
 * come for. */
void rt_tell_sleepers(int all);
void rt_sleep_until_told(rt_wait_t *wait);
void rt_let_in(void);
/* Gives the processor away, outside the mutex. */
void rt_yield(void);

#endif
