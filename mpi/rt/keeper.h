/* SPDX-License-Identifier: Apache-2.0
 * keeper.h - the thread that answers for a rank that computes.
 */
#ifndef VERBENA_RT_KEEPER_H
#define VERBENA_RT_KEEPER_H

/* -1: with a text in rt.error. */
int rt_keeper_start(void);
/* Does nothing when it was not started. */
void rt_keeper_stop(void);
int rt_keeper_runs(void); /* 1 or 0 */

#endif
