/* SPDX-License-Identifier: Apache-2.0
 * fork.h - noticing a fork() in one load, for calls that run too often for os_fork_generation(). C only. */
#ifndef VBN_BASE_FORK_H
#define VBN_BASE_FORK_H

#include "base/atomics.h"

/* Written in a child of fork() while it has one thread. Counts from the first os_fork_generation() on. */
extern __attribute__((visibility("hidden"))) _Atomic uint64_t os_fork_count;

/* As os_fork_generation(), which the process must have called before. Any thread. */
static inline uint64_t os_fork_generation_now(void)
{
    return atomic_get_relaxed(&os_fork_count);
}

#endif
