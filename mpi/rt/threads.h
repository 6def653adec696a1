/* SPDX-License-Identifier: Apache-2.0
 * threads.h - who may be inside the runtime: one thread at a time.
 *
 * T1 Below MPI_THREAD_MULTIPLE the program sees to it that one of its threads calls at a time. Only the keeper comes
 *    besides. The program's thread writes a word when it enters and leaves; the keeper sets `wanted`, runs membarrier()
 *    and reads the word: so either it sees that a thread is inside and goes away, or that thread sees `wanted` and waits
 *    until the keeper has gone.
 * T2 With MPI_THREAD_MULTIPLE a mutex guards the runtime. One thread that waits drives (rt_wait_step): it calls
 *    vbn_progress, lets others in between, and leaves the mutex while it sleeps on the event fd. Other waiting threads
 *    sleep until the driver finds their operation complete, or hands the drive to them when it leaves.
 *    A call that tests and finds nothing steps aside for threads that want in; nobody gives the processor away inside.
 * T3 Who leaves a worker that the driver has armed wakes it, and so does who begins to wait beside it: what it has begun may need
 *    progress before anything arrives.
 * T4 Functions of the program (operations, error handlers, those of attributes and general requests) are called outside, and
 *    without any other lock of ours: they may call MPI, and wait for other threads that do (as those of Python do). An error
 *    handler may also leave by longjmp() or an exception. Entering again by the same thread is counted all the same.
 * T5 The keeper calls no function of the program: these wait in rt.later for a thread of the program.
 * T6 What any thread may call at any time (MPI 5.0, 11.4.1), below MPI_THREAD_MULTIPLE too, does not enter: T1 is for one
 *    thread. It takes a lock of its own (mpi/obj/obj.h), a leaf.
 */
#ifndef VERBENA_RT_THREADS_H
#define VERBENA_RT_THREADS_H

#include <stdatomic.h>
#include <stdint.h>

#define RT_GATE_ENTRY 0x100u /* upper bits of the word: how often a thread has entered */
#define RT_GATE_DEPTH 0xffu  /* lower bits: how often it is inside */

typedef struct rt_gate {
    _Atomic uint32_t word;   /* T1; written by the program's thread only */
    _Atomic uint32_t wanted; /* T1; the keeper looks, or there is no membarrier(): enter by the mutex */
    int shared;              /* T2: MPI_THREAD_MULTIPLE */
} rt_gate_t;

extern rt_gate_t rt_gate;

/* Starts the keeper, and from here on serves calls of several threads at once when shared is set; once more for each
 * library of the process, and the first that sets shared decides for all. The caller is inside, once, and stays so. -1: with
 * a text in rt.error. */
int rt_threads_open(int shared);
/* The last one ends the keeper: no other thread may call any more. The caller is and stays inside. */
void rt_threads_close(void);

/* The unlikely parts of rt_enter and rt_leave. */
void rt_enter_after_keeper(void);
void rt_enter_shared(void);
void rt_leave_shared(void);

static inline void rt_enter(void)
{
    if (__builtin_expect(rt_gate.shared, 0)) {
        rt_enter_shared();
        return;
    }
    const uint32_t word = atomic_load_explicit(&rt_gate.word, memory_order_relaxed);
    atomic_store_explicit(&rt_gate.word, word + RT_GATE_ENTRY + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* compiler only: the keeper's membarrier does the rest */
    /* acquire: pairs with the keeper's release of `wanted`; what it has done is seen here */
    if (__builtin_expect(atomic_load_explicit(&rt_gate.wanted, memory_order_acquire) != 0, 0))
        rt_enter_after_keeper();
}

static inline void rt_leave(void)
{
    if (__builtin_expect(rt_gate.shared, 0)) {
        rt_leave_shared();
        return;
    }
    const uint32_t word = atomic_load_explicit(&rt_gate.word, memory_order_relaxed);
    /* release: pairs with the keeper's acquire of the word */
    atomic_store_explicit(&rt_gate.word, word - 1, memory_order_release);
}

#endif
