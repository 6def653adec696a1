/* SPDX-License-Identifier: Apache-2.0
 * monitor.h - tells the registration cache which of the process's mappings changed.
 *
 * The news is read by a helper thread, so that a thread in munmap never waits for our user, and by whoever asks
 * monitor_settle. Either does so while it holds the cache's lock, and `gone` runs under that lock: what is looked up
 * under the same lock after monitor_settle said true is never stale.
 * Rule for everybody who holds this lock: no malloc, no free, no munmap, no madvise. They could block on news that only
 * the owner of the lock reads. */
#ifndef VBN_MEM_MONITOR_H
#define VBN_MEM_MONITOR_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct mem_monitor mem_monitor_t;
typedef void (*monitor_gone_func_t)(void *arg, uintptr_t start, uintptr_t end);

/* lock: the cache's. VBN_ERR_UNSUPPORTED with cause and cure when this host cannot watch. */
vbn_status_t monitor_open(pthread_mutex_t *lock, monitor_gone_func_t gone, void *arg, mem_monitor_t **monitor_p);
/* Stops the helper thread; threads blocked in munmap go on. Lock not held. */
void monitor_close(mem_monitor_t *monitor);
/* Watches [start, end), whole pages, from now on. False when these mappings cannot be watched. Any thread. */
bool monitor_watch(mem_monitor_t *monitor, uintptr_t start, uintptr_t end);
/* Reads all news, until no change is in flight. False when that took more than a second (a thread that was stopped in
 * the middle of munmap): nothing is known then. Lock held. */
bool monitor_settle(mem_monitor_t *monitor);
/* Without the lock, and without a system call: news is being read that `gone` may not have been told yet. Who sees
 * false first and then what `gone` has written sees every change that was over (munmap had returned) before he asked. A
 * change that another thread is in the middle of may be missed: monitor_settle misses none. */
bool monitor_reading(const mem_monitor_t *monitor);

#endif
