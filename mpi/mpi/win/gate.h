/* SPDX-License-Identifier: Apache-2.0
 * gate.h - the lock of a rank's memory as one word (MPI 5.0, 12.5.3). Ranks that have mapped the word take and return a free lock
 * by themselves. For all others, and for ranks that must wait, the target does (grant.c).
 *
 * G1 The word counts readers, or has a writer. G2 While requests wait in the target's queue, nobody goes past them: only the target
 * hands the lock out. G3 Who returns the last lock while requests wait tells the target. The queue's mark and the return change one
 * word, so one of both sees the other. G4 A request that MPI_Win_lock_all has promised joins readers in spite of the queue (E2),
 * also out of the queue. So readers that follow each other without a gap can keep a writer out.
 * G5 A memory that MPI_Win_post exposes is not locked (E4).
 */
#ifndef VERBENA_MPI_WIN_GATE_H
#define VERBENA_MPI_WIN_GATE_H

#include <stdint.h>

#ifdef __cplusplus /* unit tests */
typedef uint32_t win_gate_t;
#else
typedef _Atomic uint32_t win_gate_t; /* 0: free */
#endif

typedef enum win_pass { WIN_PASS_GOT, WIN_PASS_WAIT, WIN_PASS_EXPOSED } win_pass_t;

/* Takes the lock if that is allowed now, without waiting. */
win_pass_t win_gate_enter(win_gate_t *gate, int exclusive, int promised);
/* Returns a lock. 1: the target is to be told (G3). */
int win_gate_leave(win_gate_t *gate, int exclusive);

/* The target alone: takes a free lock for a request, also past its queue; 1: it has it. */
int win_gate_grant(win_gate_t *gate, int exclusive);
/* Whether requests wait. */
void win_gate_queue(win_gate_t *gate, int waits);
void win_gate_expose(win_gate_t *gate, int is_exposed);
/* A rank has the lock for writing. */
int win_gate_is_exclusive(const win_gate_t *gate);

#endif
